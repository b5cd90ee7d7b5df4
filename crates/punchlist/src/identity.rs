//! Who acts: the person at the keyboard, and the process that a claim may be bound to.
//!
//! A verb's own process is never the holder of a claim: it ends at once. `--pid` names one that
//! lives on.

use std::env;

use punchlist_bridge::process::{self, Ancestor};
use punchlist_engine::session;
use punchlist_model::{Actor, Holder, Process, Slice};

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

/// What this machine is called.
pub(crate) fn host() -> String {
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
        Some(pid) => Some(process::process(&host(), pid).ok_or_else(|| {
            Fail::not_found(format!("there is no process {pid}"))
                .hint("give the id of a process that runs as long as the work does.")
        })?),
        None => None,
    };
    Ok(Holder { name: name.to_owned(), process })
}

/// This process.
pub(crate) fn process() -> Option<Process> {
    process::process(&host(), std::process::id())
}

/// The processes behind claims of this plan that are known to have ended.
///
/// Only a process of this host, boot and pid namespace can be known; any other has to let its lease
/// run out.
pub(crate) fn gone(plan: &Slice) -> Vec<Process> {
    let claimed: Vec<&Process> = plan
        .in_progress()
        .filter_map(|item| item.claim.as_ref()?.holder.process.as_ref())
        .collect();
    if claimed.is_empty() {
        return Vec::new();
    }
    let host = host();
    claimed.into_iter().filter(|it| process::has_ended(&host, it)).cloned().collect()
}

/// The processes above this one, nearest first, up to the one looked for.
///
/// In debug builds `PUNCHLIST_ANCESTORS` says how many of them are looked at, so that tests do not
/// depend on who runs them; a release build does not know it.
pub(crate) fn ancestors(is_it: impl Fn(&Ancestor) -> bool) -> Vec<Ancestor> {
    let mut found = process::ancestors(&host(), std::process::id(), is_it);
    if cfg!(debug_assertions)
        && let Ok(most) = env::var("PUNCHLIST_ANCESTORS")
    {
        found.truncate(most.parse().unwrap_or(0));
    }
    found
}

/// The same up to the nearest that is called like an agent that we know.
pub(crate) fn up_to_agent() -> Vec<Ancestor> {
    ancestors(session::is_known)
}

#[cfg(test)]
mod tests {
    use punchlist_model::{
        Attempt, Claim, IdSource, Item, ItemId, Number, Plan, PlanId, Status, Timestamp,
    };

    use super::*;

    #[test]
    fn a_claim_is_freed_early_only_by_a_process_of_this_host_that_is_gone() {
        let me = process::process(&host(), std::process::id()).unwrap();
        let ended = Process { start_time: me.start_time - 1, ..me.clone() };
        let elsewhere = Process { host: "another host".to_owned(), ..ended.clone() };
        let gone = |process: &Process| {
            let at = Timestamp::UNIX_EPOCH;
            let ids = IdSource::fixed(at, 1);
            let mut item = Item::new(ItemId(ids.nth(0)), Number(1), "a", at);
            item.status = Status::InProgress;
            let holder = Holder { name: "ann".to_owned(), process: Some(process.clone()) };
            item.claim = Some(Claim { holder, attempt: Attempt(1), expires_at: at });
            let mut plan = Plan::new(PlanId(ids.nth(1)), "/p", at);
            plan.items.insert(Number(1), item);
            gone(&plan)
        };
        assert_eq!(gone(&me), []);
        assert_eq!(gone(&elsewhere), []);
        assert_eq!(gone(&ended), std::slice::from_ref(&ended));
    }

    #[test]
    fn a_process_that_is_not_there_cannot_hold() {
        assert!(holder("ann", Some(u32::MAX - 1)).is_err());
    }
}
