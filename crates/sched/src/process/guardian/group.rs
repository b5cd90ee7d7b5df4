//! Who belongs to a ward where the system does not bring orphans to us: its group, and nobody else.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::{Signal, kill_process_group, test_kill_process_group};

use super::ward::Ward;

/// The rest of a group. Nobody can say how many they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Member;

/// Finds out who belongs to whom.
#[derive(Debug)]
pub(super) struct Family;

impl Family {
    /// How soon a group is looked at again: nobody tells when its last one has ended.
    pub(super) const LOOK_AGAIN: Option<Duration> = Some(Duration::from_millis(10));

    pub(super) fn new(_variable: &'static str) -> Self {
        Self
    }

    /// Whether anybody is left of a ward whose leader has ended.
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
            // One that is stopped takes a signal only when it goes on.
            let _ = kill_process_group(ward.leader, Signal::CONT);
        }
    }
}
