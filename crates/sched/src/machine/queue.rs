//! The queue of calls that wait for a free place: by priority, then in the order in which they were
//! scheduled. Knows only limits.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::Limits;
use crate::call::{CallId, Kind};

#[derive(Clone, Debug)]
pub(super) struct Queue {
    room: u32,
    /// By kind; kinds without a limit are [`Kind::OTHER`].
    kinds: BTreeMap<Kind, Waiting>,
}

#[derive(Clone, Debug)]
struct Waiting {
    room: u32,
    /// Ordered by descending priority, then by id.
    calls: BTreeSet<(Reverse<i32>, CallId)>,
}

impl Queue {
    pub(super) fn new(limits: &Limits) -> Self {
        let other = (Kind::OTHER, u32::MAX);
        let limited = limits.of_kind.iter().map(|(kind, room)| (*kind, *room));
        let kinds = std::iter::once(other).chain(limited);
        let waiting = |room| Waiting { room, calls: BTreeSet::new() };
        Self { room: limits.all, kinds: kinds.map(|(kind, room)| (kind, waiting(room))).collect() }
    }

    pub(super) fn push(&mut self, id: CallId, kind: Kind, priority: i32) {
        if let Some(waiting) = self.of(kind) {
            waiting.calls.insert((Reverse(priority), id));
        }
    }

    /// Removes a call, if it waits.
    pub(super) fn remove(&mut self, id: CallId, kind: Kind, priority: i32) {
        if let Some(waiting) = self.of(kind) {
            waiting.calls.remove(&(Reverse(priority), id));
        }
    }

    /// The next call for which there is a free place. It counts as running until [`Queue::ended`].
    pub(super) fn pop(&mut self) -> Option<CallId> {
        if self.room == 0 {
            return None;
        }
        let with_room = self.kinds.values_mut().filter(|it| it.room > 0 && !it.calls.is_empty());
        let best = with_room.min_by_key(|it| it.calls.first().copied())?;
        let (_, id) = best.calls.pop_first()?;
        best.room = best.room.saturating_sub(1);
        self.room -= 1;
        Some(id)
    }

    /// Frees the place of a call of that kind.
    pub(super) fn ended(&mut self, kind: Kind) {
        self.room = self.room.saturating_add(1);
        if let Some(waiting) = self.of(kind) {
            waiting.room = waiting.room.saturating_add(1);
        }
    }

    /// The number of waiting calls.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.kinds.values().map(|it| it.calls.len()).sum()
    }

    fn of(&mut self, kind: Kind) -> Option<&mut Waiting> {
        let kind = if self.kinds.contains_key(&kind) { kind } else { Kind::OTHER };
        self.kinds.get_mut(&kind)
    }
}
