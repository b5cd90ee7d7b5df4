//! The line: which calls wait because they conflict with others.
//!
//! Calls enter the line in the order in which they were scheduled, and wait for conflicting calls
//! ahead of them. No call waits for one behind it, so there is no deadlock. A call that must run
//! alone is a barrier: it waits for all calls ahead, and all calls behind wait for it.

use std::collections::{BTreeMap, VecDeque};

use crate::access::Access;
use crate::call::CallId;

#[derive(Clone, Debug, Default)]
pub(super) struct WaitingLine {
    /// The number of calls in line, without the barrier and the calls behind it.
    ahead: u32,
    barrier: Option<CallId>,
    /// The calls that came after the barrier.
    behind: VecDeque<(CallId, Access)>,
    /// The calls in line that read or write something, and the calls that wait for each.
    places: BTreeMap<CallId, Place>,
    /// For how many calls ahead a call still waits.
    waits: BTreeMap<CallId, u32>,
}

#[derive(Clone, Debug)]
struct Place {
    access: Access,
    holds: Vec<CallId>,
}

impl WaitingLine {
    /// Enters a call. Returns it if it need not wait.
    pub(super) fn enter(&mut self, id: CallId, access: Access) -> Option<CallId> {
        if self.barrier.is_some() {
            self.behind.push_back((id, access));
            return None;
        }
        if access.exclusive {
            self.barrier = Some(id);
            return (self.ahead == 0).then_some(id);
        }
        self.ahead += 1;
        if access.is_free() {
            return Some(id);
        }
        let mut waits = 0;
        for place in self.places.values_mut() {
            if place.access.conflicts_with(&access) {
                place.holds.push(id);
                waits += 1;
            }
        }
        self.places.insert(id, Place { access, holds: Vec::new() });
        if waits == 0 {
            return Some(id);
        }
        self.waits.insert(id, waits);
        None
    }

    /// Removes a call from the line. Returns the calls that need not wait any more.
    pub(super) fn leave(&mut self, id: CallId) -> Vec<CallId> {
        let mut on = Vec::new();
        if self.barrier == Some(id) {
            self.barrier = None;
            while self.barrier.is_none()
                && let Some((next, access)) = self.behind.pop_front()
            {
                on.extend(self.enter(next, access));
            }
            return on;
        }
        if let Some(at) = self.behind.iter().position(|(it, _)| *it == id) {
            self.behind.remove(at);
            return on;
        }
        // A call without accesses has no entry, and nobody waits for it.
        if let Some(place) = self.places.remove(&id) {
            self.waits.remove(&id);
            for held in place.holds {
                if let Some(waits) = self.waits.get_mut(&held) {
                    *waits -= 1;
                    if *waits == 0 {
                        self.waits.remove(&held);
                        on.push(held);
                    }
                }
            }
        }
        self.ahead = self.ahead.saturating_sub(1);
        if self.ahead == 0 {
            on.extend(self.barrier);
        }
        on
    }

    /// The number of calls in line.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let counted = usize::try_from(self.ahead).unwrap_or(usize::MAX);
        counted + usize::from(self.barrier.is_some()) + self.behind.len()
    }
}
