//! Who waits for room: of several calls that could run, the one with the higher priority, then the
//! one that was scheduled first. Knows limits and nothing else.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Limits;
use super::marks::Marks;
use crate::call::{CallId, Kind};

/// The priority that most calls have: those need not be put in order, their numbers are.
const PLAIN: i32 = 0;

#[derive(Clone, Debug)]
pub(super) struct Queue {
    room: u32,
    /// By kind; those without a limit of their own are the first.
    kinds: Vec<Waiting>,
}

#[derive(Clone, Debug)]
struct Waiting {
    room: u32,
    /// Those of no particular priority.
    plain: Marks,
    /// The others: the highest priority first, then the lowest number.
    others: BinaryHeap<(i32, Reverse<CallId>)>,
}

impl Waiting {
    fn new(room: u32) -> Self {
        Self { room, plain: Marks::default(), others: BinaryHeap::new() }
    }

    fn push(&mut self, id: CallId, priority: i32) {
        if priority == PLAIN {
            self.plain.insert(id);
        } else {
            self.others.push((priority, Reverse(id)));
        }
    }

    /// Who is next: the greatest of these.
    fn peek(&self) -> Option<(i32, Reverse<CallId>)> {
        let plain = self.plain.first().map(|id| (PLAIN, Reverse(id)));
        plain.max(self.others.peek().copied())
    }

    fn pop(&mut self) -> Option<CallId> {
        let (priority, Reverse(id)) = self.peek()?;
        if priority == PLAIN {
            self.plain.remove(id);
        } else {
            self.others.pop();
        }
        Some(id)
    }
}

impl Queue {
    pub(super) fn new(limits: &Limits) -> Self {
        let most = limits.of_kind.keys().map(|kind| usize::from(kind.0)).max().unwrap_or(0);
        let kinds = (0..=most).map(|n| {
            let kind = Kind(u16::try_from(n).unwrap_or(u16::MAX));
            let room = limits.of_kind.get(&kind).copied().unwrap_or(u32::MAX);
            Waiting::new(room)
        });
        Self { room: limits.all, kinds: kinds.collect() }
    }

    pub(super) fn push(&mut self, id: CallId, kind: Kind, priority: i32) {
        if let Some(waiting) = self.of(kind) {
            waiting.push(id, priority);
        }
    }

    /// The next call that there is room for. It counts as running until [`Queue::ended`]; if it is
    /// not wanted any more, that must be said too.
    pub(super) fn pop(&mut self) -> Option<CallId> {
        if self.room == 0 {
            return None;
        }
        let with_room = self.kinds.iter_mut().filter(|it| it.room > 0);
        let best = with_room.max_by_key(|it| it.peek())?;
        let id = best.pop()?;
        best.room = best.room.saturating_sub(1);
        self.room -= 1;
        Some(id)
    }

    /// A call of that kind runs no more.
    pub(super) fn ended(&mut self, kind: Kind) {
        self.room = self.room.saturating_add(1);
        if let Some(waiting) = self.of(kind) {
            waiting.room = waiting.room.saturating_add(1);
        }
    }

    fn of(&mut self, kind: Kind) -> Option<&mut Waiting> {
        let n = usize::from(kind.0);
        let n = if n < self.kinds.len() { n } else { 0 };
        self.kinds.get_mut(n)
    }
}
