//! Calls of todo tools without a result, for programs whose results name their call.
//!
//! Memory is bounded by number and bytes. This file knows no tool and no agent.

use std::collections::VecDeque;

/// Maximum of stored calls, and of their bytes.
const MOST_CALLS: usize = 1_024;
const MOST_BYTES: usize = 16 << 20;

/// A call without a result.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Call<T> {
    pub(crate) id: String,
    pub(crate) session: String,
    pub(crate) agent: Option<String>,
    /// The tool, and what else the parser needs to know. It owns no memory.
    pub(crate) what: T,
    /// The arguments as the source wrote them.
    pub(crate) input: String,
    /// Whether to report the list if no result comes: a whole list that no later one has replaced.
    pub(crate) is_wish: bool,
}

impl<T> Call<T> {
    /// The approximate size in bytes.
    fn size(&self) -> usize {
        let agent = self.agent.as_ref().map_or(0, String::len);
        self.id.len() + self.session.len() + agent + self.input.len()
    }

    /// Whether both calls are from the same agent.
    pub(crate) fn has_owner_of(&self, other: &Self) -> bool {
        self.session == other.session && self.agent == other.agent
    }
}

/// The calls without a result.
#[derive(Debug)]
pub(crate) struct Pending<T> {
    calls: VecDeque<Call<T>>,
    bytes: usize,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self { calls: VecDeque::new(), bytes: 0 }
    }
}

impl<T: Copy> Pending<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds a call. Returns whether older ones were dropped for it.
    pub(crate) fn push(&mut self, call: Call<T>) -> bool {
        // A resumed program may reuse the ids of calls.
        self.take(&call.id);
        if call.is_wish {
            // Of several whole lists, the newest counts.
            let older = self.calls.iter_mut().filter(|it| it.has_owner_of(&call));
            older.for_each(|it| it.is_wish = false);
        }
        self.bytes += call.size();
        self.calls.push_back(call);
        let before = self.calls.len();
        while self.calls.len() > MOST_CALLS || (self.bytes > MOST_BYTES && self.calls.len() > 1) {
            self.remove(0);
        }
        self.calls.len() < before
    }

    /// Whether this call has no result yet.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.calls.iter().any(|it| it.id == id)
    }

    /// Removes the call that a result belongs to.
    pub(crate) fn take(&mut self, id: &str) -> Option<Call<T>> {
        let at = self.calls.iter().position(|it| it.id == id)?;
        self.remove(at)
    }

    /// Removes calls that will not get a result any more, oldest first.
    pub(crate) fn give_up(&mut self, is_over: impl Fn(&Call<T>) -> bool) -> Vec<Call<T>> {
        let mut over = Vec::new();
        let mut at = 0;
        while let Some(call) = self.calls.get(at) {
            if is_over(call) {
                over.extend(self.remove(at));
            } else {
                at += 1;
            }
        }
        over
    }

    fn remove(&mut self, at: usize) -> Option<Call<T>> {
        let call = self.calls.remove(at)?;
        self.bytes -= call.size();
        Some(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: usize, size: usize) -> Call<()> {
        Call { id: id.to_string(), input: "x".repeat(size), is_wish: true, ..Call::default() }
    }

    #[test]
    fn calls_that_are_never_answered_do_not_pile_up() {
        let mut pending = Pending::default();
        let given_up = (0..MOST_CALLS + 5).filter(|id| pending.push(call(*id, 10))).count();
        assert_eq!((given_up, pending.calls.len()), (5, MOST_CALLS));
        assert!(pending.take("4").is_none());
        assert!(pending.take("5").is_some());
    }

    #[test]
    fn long_arguments_do_not_pile_up() {
        let mut pending = Pending::default();
        for id in 0..10 {
            pending.push(call(id, MOST_BYTES / 3 - 8));
        }
        assert_eq!(pending.calls.len(), 3);
        pending.push(call(11, MOST_BYTES * 2));
        assert_eq!(pending.calls.len(), 1, "the newest is kept however long it is");
        pending.take("11");
        assert_eq!(pending.bytes, 0);
    }

    #[test]
    fn of_the_whole_lists_of_one_owner_only_the_newest_is_a_wish() {
        let mut pending = Pending::default();
        let other = |id| Call { agent: Some("other".to_owned()), ..call(id, 1) };
        let step = |id| Call { is_wish: false, ..call(id, 1) };
        for it in [call(1, 1), other(2), call(3, 1), step(4)] {
            pending.push(it);
        }
        let wishes = pending.give_up(|_| true).into_iter().filter(|it| it.is_wish);
        assert_eq!(wishes.map(|it| it.id).collect::<Vec<_>>(), ["2", "3"]);
    }

    #[test]
    fn an_id_that_comes_again_means_the_newer_call() {
        let mut pending = Pending::default();
        pending.push(call(1, 10));
        pending.push(call(1, 20));
        assert_eq!(pending.take("1").map(|it| it.input.len()), Some(20));
        assert!(pending.is_empty());
    }

    #[test]
    fn what_is_given_up_is_gone_and_the_rest_is_still_awaited() {
        let mut pending = Pending::default();
        (1..=4).for_each(|id| {
            pending.push(call(id, 1));
        });
        let over = pending.give_up(|it| it.id == "1" || it.id == "3");
        assert_eq!(over.into_iter().map(|it| it.id).collect::<Vec<_>>(), ["1", "3"]);
        assert!(pending.take("3").is_none());
        assert!(pending.take("2").is_some() && pending.take("4").is_some());
        assert_eq!(pending.bytes, 0);
    }
}
