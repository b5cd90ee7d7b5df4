//! What is written down and not done yet, in few bytes.

use std::collections::VecDeque;
use std::ops::Range;

use punchlist_model::{Attempt, Timestamp};

use crate::call::{BatchId, CallId, Look};
use crate::machine::WakeToken;

/// What is to be done, in fewer bytes than an effect: records are done with when they are written.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Deed {
    Validate(CallId, Look),
    Run(CallId, Attempt),
    Kill(CallId, Attempt),
    Wake(Box<(Timestamp, WakeToken)>),
    BatchDone(BatchId),
    /// Look at these calls for the first time: as many deeds as there are calls.
    Take(Range<u32>),
}

/// Deeds, of which the newest come first.
#[derive(Debug, Default)]
pub(super) struct Todo {
    deeds: VecDeque<Deed>,
    /// How many there are: new calls count one by one.
    count: usize,
}

impl Todo {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Puts a deed before all others.
    pub(super) fn push_front(&mut self, deed: Deed) {
        let count = match &deed {
            Deed::Take(calls) => calls.len(),
            Deed::Validate(..)
            | Deed::Run(..)
            | Deed::Kill(..)
            | Deed::Wake(_)
            | Deed::BatchDone(_) => 1,
        };
        if count > 0 {
            self.count = self.count.saturating_add(count);
            self.deeds.push_front(deed);
        }
    }

    /// The first one.
    pub(super) fn pop_front(&mut self) -> Option<Deed> {
        let one = self.deeds.front_mut().and_then(take_one);
        let deed = one.or_else(|| self.deeds.pop_front())?;
        self.count = self.count.saturating_sub(1);
        Some(deed)
    }

    /// The one that has waited longest.
    pub(super) fn pop_back(&mut self) -> Option<Deed> {
        let one = self.deeds.back_mut().and_then(take_one);
        let deed = one.or_else(|| self.deeds.pop_back())?;
        self.count = self.count.saturating_sub(1);
        Some(deed)
    }
}

/// Takes the first of several calls off, if there are several.
fn take_one(deed: &mut Deed) -> Option<Deed> {
    match deed {
        Deed::Take(calls) if calls.len() > 1 => {
            let first = calls.start;
            calls.start += 1;
            Some(Deed::Take(first..first + 1))
        }
        Deed::Take(_)
        | Deed::Validate(..)
        | Deed::Run(..)
        | Deed::Kill(..)
        | Deed::Wake(_)
        | Deed::BatchDone(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_calls_are_deeds_of_their_own_from_either_end() {
        let mut todo = Todo::default();
        let take = |calls| Deed::Take(calls);
        let run = |call| Deed::Run(CallId(call), Attempt(1));
        todo.push_front(take(5..5));
        assert!(todo.is_empty() && todo.pop_front().is_none() && todo.pop_back().is_none());
        todo.push_front(take(0..3));
        todo.push_front(run(9));
        todo.push_front(take(3..5));
        assert_eq!(todo.len(), 6);
        assert_eq!(todo.pop_back(), Some(take(0..1)));
        assert_eq!(todo.pop_front(), Some(take(3..4)));
        assert_eq!(todo.pop_front(), Some(take(4..5)));
        assert_eq!(todo.pop_front(), Some(run(9)));
        assert_eq!(todo.pop_front(), Some(take(1..2)));
        assert_eq!((todo.len(), todo.is_empty()), (1, false));
        assert_eq!(todo.pop_back(), Some(take(2..3)));
        assert_eq!((todo.len(), todo.pop_back()), (0, None));
    }

    #[test]
    fn a_deed_is_short() {
        assert!(size_of::<Deed>() <= 16, "{} bytes", size_of::<Deed>());
    }
}
