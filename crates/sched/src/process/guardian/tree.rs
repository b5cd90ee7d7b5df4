//! The members of a ward on Linux: all descendants, wherever they are.
//!
//! A process whose parent has ended becomes a child of the guardian, so all descendants of wards
//! are descendants of the guardian. The ward of each is found by its parent, its group or session,
//! or the mark in its environment. A process that hides all of these belongs to the last remaining
//! ward, so none survives all wards.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, kill_process_group, pidfd_open,
    pidfd_send_signal,
};

use super::mark;
use super::ward::Ward;

/// A process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Member {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    /// Its start time, which identifies it together with its pid.
    began: u64,
    is_stopped: bool,
}

/// Finds the members of wards.
#[derive(Debug)]
pub(super) struct Family {
    us: i32,
    variable: &'static str,
}

impl Family {
    /// Orphans are children of the guardian, so their end is reported and nobody has to look again.
    pub(super) const LOOK_AGAIN: Option<Duration> = None;

    pub(super) fn new(variable: &'static str) -> Self {
        Self { us: getpid().as_raw_pid(), variable }
    }

    /// The members of a ward except its leader. `leaders` are the leaders that have not ended.
    pub(super) fn members(
        &self,
        id: u64,
        ward: &Ward,
        leaders: &BTreeMap<i32, u64>,
        is_last: bool,
    ) -> Vec<Member> {
        let has_orphans = || {
            let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.us));
            // If the kernel does not list the children, look at all processes.
            children.map_or(true, |it| {
                let mut pids = it.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
                pids.any(|pid: i32| !leaders.contains_key(&pid))
            })
        };
        if !ward.has_leader() && !has_orphans() {
            return Vec::new();
        }
        let all = everybody();
        self.of(id, ward, leaders, is_last, &all)
    }

    fn of(
        &self,
        id: u64,
        ward: &Ward,
        leaders: &BTreeMap<i32, u64>,
        is_last: bool,
        all: &BTreeMap<i32, Member>,
    ) -> Vec<Member> {
        let leader = ward.leader.as_raw_pid();
        let mut ours: BTreeSet<i32> = BTreeSet::new();
        if ward.has_leader() {
            ours.insert(leader);
        }
        let orphans: Vec<&Member> = all
            .values()
            .filter(|it| it.parent == self.us && !leaders.contains_key(&it.pid))
            .collect();
        let (us_group, us_session) =
            all.get(&self.us).map_or((self.us, self.us), |it| (it.group, it.session));
        for orphan in &orphans {
            if is_last || orphan.group == leader || self.is_marked(orphan.pid, id) {
                ours.insert(orphan.pid);
            }
        }
        loop {
            let count = ours.len();
            let begot: Vec<i32> = all
                .values()
                .filter(|it| ours.contains(&it.parent) && !leaders.contains_key(&it.pid))
                .map(|it| it.pid)
                .collect();
            ours.extend(begot);
            // An orphan in the same group or session as a member is a member too, with or without
            // the mark.
            let known: Vec<&Member> = ours.iter().filter_map(|pid| all.get(pid)).collect();
            let groups: BTreeSet<i32> = known.iter().map(|it| it.group).collect();
            let sessions: BTreeSet<i32> = known.iter().map(|it| it.session).collect();
            let related = orphans.iter().filter(|it| {
                (it.group != us_group && groups.contains(&it.group))
                    || (it.session != us_session && sessions.contains(&it.session))
            });
            ours.extend(related.map(|it| it.pid));
            if ours.len() == count {
                break;
            }
        }
        ours.remove(&leader);
        ours.iter().filter_map(|pid| all.get(pid)).copied().collect()
    }

    /// Sends a signal to a ward: to the leader's group first, then to every member that left it.
    pub(super) fn signal(&self, ward: &Ward, members: &[Member], signal: Signal) {
        let group = ward.leader;
        let is_there = ward.has_leader() || members.iter().any(|it| it.group == group.as_raw_pid());
        if is_there {
            let _ = kill_process_group(group, signal);
        }
        for member in members {
            if member.group != group.as_raw_pid() {
                send(member, signal);
            }
            // A stopped process handles a signal only when it continues.
            if member.is_stopped && signal != Signal::KILL {
                send(member, Signal::CONT);
            }
        }
        if ward.has_leader() && signal != Signal::KILL {
            let _ = kill_process_group(group, Signal::CONT);
        }
    }

    fn is_marked(&self, pid: i32, id: u64) -> bool {
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
        let mark = mark(id);
        environment.split(|it| *it == 0).any(|entry| {
            let value = entry.strip_prefix(self.variable.as_bytes());
            value.and_then(|it| it.strip_prefix(b"=")) == Some(mark.as_bytes())
        })
    }
}

/// Sends a signal to that process, and to no other that has got its pid since.
fn send(member: &Member, signal: Signal) {
    let Some(pid) = Pid::from_raw(member.pid) else { return };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(descriptor) => {
            // While the pidfd is open, the pid is not reused, so now the start time can be
            // compared.
            if look_at(member.pid).is_some_and(|it| it.began == member.began) {
                let _ = pidfd_send_signal(descriptor, signal);
            }
        }
        // An old kernel, or too many open files.
        Err(_) => {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Every living process of the system.
fn everybody() -> BTreeMap<i32, Member> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|it| it.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, look_at(pid)?))).collect()
}

/// A process, if it is alive.
fn look_at(pid: i32) -> Option<Member> {
    parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses `/proc/…/stat`: `7 (a name) S 1 7 7 …`. A name may contain anything.
fn parse(pid: i32, stat: &[u8]) -> Option<Member> {
    let end = stat.iter().rposition(|it| *it == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |n: usize| fields.get(n)?.parse::<i32>().ok();
    let state = *fields.first()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    Some(Member {
        pid,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        began: fields.get(19)?.parse().ok()?,
        is_stopped: matches!(state, "T" | "t"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_it_calls_itself() {
        let stat = b"42 (a) S (b) T 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 99 1";
        let member =
            Member { pid: 42, parent: 7, group: 8, session: 9, began: 12345, is_stopped: true };
        assert_eq!(parse(42, stat), Some(member));
        for nonsense in
            [&b""[..], b"42", b"42 (x", b"42 (x) S", b"42 (x) Z 7 8 9", b"42 (x) S a b c"]
        {
            assert_eq!(parse(42, nonsense), None, "{nonsense:?}");
        }
    }

    fn member(pid: i32, parent: i32, group: i32, session: i32) -> (i32, Member) {
        (pid, Member { pid, parent, group, session, began: 1, is_stopped: false })
    }

    /// Checks the members of a ward. The guardian is 10; 20 leads ward 1, and 30 leads ward 2.
    #[track_caller]
    fn check(ward: &Ward, is_last: bool, others: &[(i32, Member)], expected: &[i32]) {
        let family = Family { us: 10, variable: "PUNCHLIST_NOBODY_HAS_THIS" };
        let mut all: BTreeMap<i32, Member> =
            [member(1, 0, 1, 1), member(10, 1, 10, 10), member(30, 10, 30, 10)].into();
        all.extend(others.iter().copied());
        let mut leaders = BTreeMap::from([(30, 2)]);
        if ward.has_leader() {
            leaders.insert(20, 1);
            all.extend([member(20, 10, 20, 10)]);
        }
        let found = family.of(1, ward, &leaders, is_last, &all);
        let found: Vec<i32> = found.iter().map(|it| it.pid).collect();
        assert_eq!(found, expected);
    }

    fn running() -> Ward {
        Ward::new(Pid::from_raw(20).unwrap())
    }

    fn ended() -> Ward {
        let mut ward = running();
        ward.leader_ended(super::super::ward::Status { code: Some(0), signal: None });
        ward
    }

    #[test]
    fn whoever_came_of_a_leader_belongs_to_it_and_nobody_else() {
        let others = [member(21, 20, 20, 10), member(22, 21, 22, 22), member(31, 30, 30, 10)];
        check(&running(), false, &others, &[21, 22]);
    }

    #[test]
    fn an_orphan_belongs_to_its_group_and_takes_its_relatives_along() {
        // 23 left the group, 24 is its child, 25 shares its session and is an orphan too.
        let others = [
            member(21, 10, 20, 10),
            member(23, 21, 23, 23),
            member(24, 23, 24, 23),
            member(25, 10, 25, 23),
            member(31, 10, 30, 10),
        ];
        check(&ended(), false, &others, &[21, 23, 24, 25]);
    }

    #[test]
    fn who_cannot_be_told_apart_belongs_to_the_last() {
        let others = [member(40, 10, 40, 40), member(41, 40, 40, 40)];
        check(&ended(), false, &others, &[]);
        check(&ended(), true, &others, &[40, 41]);
    }
}
