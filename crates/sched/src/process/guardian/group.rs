//! The members of a ward on systems where orphans do not come to us: its process group.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::{Signal, kill_process_group, test_kill_process_group};

use super::ward::Ward;

/// The rest of a group. Their number is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Member;

/// Finds the members of wards.
#[derive(Debug)]
pub(super) struct Family;

impl Family {
    /// How often a group is checked: nobody reports the end of its last member.
    pub(super) const LOOK_AGAIN: Option<Duration> = Some(Duration::from_millis(10));

    pub(super) fn new(_variable: &'static str) -> Self {
        Self
    }

    /// Whether a ward whose leader has ended has members left.
    pub(super) fn members(
        &self,
        _id: u64,
        ward: &Ward,
        _leaders: &BTreeMap<i32, u64>,
        _is_last: bool,
    ) -> Vec<Member> {
        if !ward.has_leader() && test_kill_process_group(ward.leader).is_ok() {
            vec![Member]
        } else {
            Vec::new()
        }
    }

    /// Sends a signal to the group.
    pub(super) fn signal(&self, ward: &Ward, _members: &[Member], signal: Signal) {
        let _ = kill_process_group(ward.leader, signal);
        if signal != Signal::KILL {
            // A stopped process handles a signal only when it continues.
            let _ = kill_process_group(ward.leader, Signal::CONT);
        }
    }
}
