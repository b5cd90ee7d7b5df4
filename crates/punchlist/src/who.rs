//! Who acts: the person at the keyboard, and the process that a claim may be bound to.
//!
//! A verb's own process is never the holder of a claim: it ends at once. `--pid` names one that
//! lives on.

use std::env;

use punchlist_model::{Actor, Holder, Plan, Process};

use crate::error::Fail;

/// The name that changes are made under: `--as`, else `user@host`.
pub(crate) fn name(given: Option<&str>) -> Result<String, Fail> {
    match given {
        Some(name) if name.trim().is_empty() || name.contains('\0') => {
            Err(Fail::usage("the name after --as is empty")
                .hint("give the worker's name, as in `--as claude`."))
        }
        Some(name) if name.chars().count() > 200 => {
            Err(Fail::usage("the name after --as is longer than 200 characters"))
        }
        Some(name) => Ok(name.to_owned()),
        None => Ok(format!("{}@{}", user(), host())),
    }
}

/// The author of what this call changes.
pub(crate) fn actor(name: &str) -> Actor {
    Actor::person(name)
}

fn user() -> String {
    ["USER", "LOGNAME"]
        .into_iter()
        .filter_map(|key| env::var(key).ok())
        .find(|user| !user.trim().is_empty())
        .unwrap_or_else(|| rustix::process::geteuid().as_raw().to_string())
}

fn host() -> String {
    if cfg!(debug_assertions)
        && let Ok(host) = env::var("PUNCHLIST_HOST")
    {
        return host;
    }
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The holder of what this call starts.
pub(crate) fn holder(name: &str, pid: Option<u32>) -> Result<Holder, Fail> {
    let process = match pid {
        Some(pid) => Some(system::process(&host(), pid)?),
        None => None,
    };
    Ok(Holder { name: name.to_owned(), process })
}

/// The processes behind claims of this plan that are known to have ended.
///
/// Only a process of this host, boot and pid namespace can be known; any other has to let its lease
/// run out.
pub(crate) fn gone(plan: &Plan) -> Vec<Process> {
    let claimed: Vec<&Process> = plan
        .in_progress()
        .filter_map(|item| item.claim.as_ref()?.holder.process.as_ref())
        .collect();
    if claimed.is_empty() {
        return Vec::new();
    }
    let host = host();
    claimed.into_iter().filter(|it| it.host == host && system::has_ended(it)).cloned().collect()
}

#[cfg(target_os = "linux")]
mod system {
    //! Processes as Linux tells them apart.

    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use punchlist_model::Process;

    use crate::error::Fail;

    /// A running process, by what no other process ever shares.
    pub(super) fn process(host: &str, pid: u32) -> Result<Process, Fail> {
        let found = boot_id().zip(namespace()).zip(start_time(pid));
        let Some(((boot_id, pid_namespace), start_time)) = found else {
            return Err(Fail::not_found(format!("there is no process {pid}"))
                .hint("give the id of a process that runs as long as the work does."));
        };
        Ok(Process { host: host.to_owned(), boot_id, pid_namespace, pid, start_time })
    }

    /// Whether it is certain that a process has ended.
    pub(super) fn has_ended(process: &Process) -> bool {
        boot_id().as_ref() == Some(&process.boot_id)
            && namespace() == Some(process.pid_namespace)
            && start_time(process.pid) != Some(process.start_time)
    }

    fn boot_id() -> Option<String> {
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(text.trim().to_owned())
    }

    fn namespace() -> Option<u64> {
        Some(fs::metadata("/proc/self/ns/pid").ok()?.ino())
    }

    /// When a process started, in ticks since boot. `None` also for one that is only a zombie.
    fn start_time(pid: u32) -> Option<u64> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may contain anything, so the fields are counted behind it.
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = String::from_utf8_lossy(&stat[end + 1..]);
        let mut fields = rest.split_ascii_whitespace();
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        fields.nth(18)?.parse().ok()
    }

    #[cfg(test)]
    mod tests {
        use punchlist_model::{Attempt, Claim, Holder, Item, Number, Plan, Status};

        use super::*;

        #[test]
        fn this_process_runs_and_an_earlier_one_with_its_pid_has_ended() {
            let me = process("here", std::process::id()).unwrap();
            assert!(!has_ended(&me));
            assert!(has_ended(&Process { start_time: me.start_time - 1, ..me.clone() }));
            assert!(!has_ended(&Process { boot_id: "another boot".to_owned(), ..me.clone() }));
            assert!(!has_ended(&Process { pid_namespace: 1, start_time: 0, ..me }));
        }

        #[test]
        fn a_claim_is_freed_early_only_by_a_process_of_this_host_that_is_gone() {
            let me = process(&super::super::host(), std::process::id()).unwrap();
            let ended = Process { start_time: me.start_time - 1, ..me.clone() };
            let elsewhere = Process { host: "another host".to_owned(), ..ended.clone() };
            let gone = |process: &Process| {
                let at = punchlist_model::Timestamp::UNIX_EPOCH;
                let ids = punchlist_model::IdSource::fixed(at, 1);
                let id = punchlist_model::ItemId(ids.nth(0));
                let mut item = Item::new(id, Number(1), "a", at);
                item.status = Status::InProgress;
                let holder = Holder { name: "ann".to_owned(), process: Some(process.clone()) };
                item.claim = Some(Claim { holder, attempt: Attempt(1), expires_at: at });
                let mut plan = Plan::new(punchlist_model::PlanId(ids.nth(1)), "/p", at);
                plan.items.insert(Number(1), item);
                super::super::gone(&plan)
            };
            assert_eq!(gone(&me), []);
            assert_eq!(gone(&elsewhere), []);
            assert_eq!(gone(&ended), [ended.clone()]);
        }

        #[test]
        fn a_process_that_is_not_there_cannot_hold() {
            assert!(process("here", u32::MAX - 1).is_err());
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    //! Elsewhere a process cannot be told apart from a later one with the same id.

    use punchlist_model::Process;

    use crate::error::Fail;

    pub(super) fn process(_host: &str, _pid: u32) -> Result<Process, Fail> {
        Err(Fail::usage("--pid works on Linux only")
            .hint("leave it out: the claim then lasts until its lease runs out."))
    }

    pub(super) fn has_ended(_process: &Process) -> bool {
        false
    }
}
