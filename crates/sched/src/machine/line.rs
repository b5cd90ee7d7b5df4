//! Who waits for whom because both touch the same.
//!
//! Calls come one after the other, in the order in which they were scheduled, and wait for those ahead
//! that are in their way. Nobody ever waits for somebody behind, so there is no deadlock. A call that
//! must be alone is a barrier: it waits for all ahead, and all behind wait for it.

use std::collections::{BTreeMap, VecDeque};

use crate::access::Access;
use crate::call::CallId;

#[derive(Clone, Debug, Default)]
pub(super) struct WaitingLine {
    /// How many are in line, the barrier and those behind it not counted.
    ahead: u32,
    barrier: Option<CallId>,
    /// Who came after the barrier.
    behind: VecDeque<(CallId, Access)>,
    /// Those in line that touch something, and who waits for each.
    places: BTreeMap<CallId, Place>,
    /// For how many ahead a call still waits.
    waits: BTreeMap<CallId, u32>,
}

#[derive(Clone, Debug)]
struct Place {
    access: Access,
    holds: Vec<CallId>,
}

impl WaitingLine {
    /// A call gets in line. Says who may go on: this one, or nobody.
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

    /// A call leaves the line, wherever it stood. Says who may go on now.
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
        // One that touches nothing has no place, and nobody waits for it.
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

    /// How many calls are in line.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let counted = usize::try_from(self.ahead).unwrap_or(usize::MAX);
        counted + usize::from(self.barrier.is_some()) + self.behind.len()
    }
}
