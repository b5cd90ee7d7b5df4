//! Calls of todo tools whose result has not come.

use std::collections::VecDeque;

/// The most calls, and the most bytes of them, that are kept.
const MOST_CALLS: usize = 1_024;
const MOST_BYTES: usize = 16 << 20;

/// The todo tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tool {
    TodoWrite,
    TaskCreate,
    TaskUpdate,
    TaskList,
    TaskGet,
}

impl Tool {
    pub(super) const ALL: [Self; 5] =
        [Self::TodoWrite, Self::TaskCreate, Self::TaskUpdate, Self::TaskList, Self::TaskGet];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::TodoWrite => "TodoWrite",
            Self::TaskCreate => "TaskCreate",
            Self::TaskUpdate => "TaskUpdate",
            Self::TaskList => "TaskList",
            Self::TaskGet => "TaskGet",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// A call that was asked for.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) session: String,
    pub(super) agent: Option<String>,
    pub(super) tool: Tool,
    /// The arguments as JSON.
    pub(super) input: String,
    /// The line that it stood on.
    pub(super) line: u64,
    /// The message that it was part of.
    pub(super) message: String,
    /// Whether it is to be told if no result comes: a whole list that no later one has replaced.
    pub(super) is_wish: bool,
}

impl Call {
    /// How many bytes it takes, about.
    fn size(&self) -> usize {
        let agent = self.agent.as_ref().map_or(0, String::len);
        self.input.len() + self.id.len() + self.session.len() + agent + self.message.len()
    }

    fn has_owner_of(&self, other: &Self) -> bool {
        self.session == other.session && self.agent == other.agent
    }
}

/// What is awaited.
#[derive(Default, Debug)]
pub(super) struct Calls {
    calls: VecDeque<Call>,
    bytes: usize,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Awaits a call. Gives whether older ones had to be given up for it.
    pub(super) fn push(&mut self, call: Call) -> bool {
        // A program that was resumed may count its calls anew.
        self.take(&call.id);
        // All results of a message come before the next message: what came before it is not answered
        // any more, and of whole lists the newest counts.
        let is_dead = |it: &Call| {
            it.has_owner_of(&call)
                && it.message != call.message
                && (it.tool != Tool::TodoWrite || call.tool == Tool::TodoWrite)
        };
        self.give_up(is_dead);
        self.supersede(&call);
        self.bytes += call.size();
        self.calls.push_back(call);
        let before = self.calls.len();
        while self.calls.len() > MOST_CALLS || (self.bytes > MOST_BYTES && self.calls.len() > 1) {
            self.remove(0);
        }
        self.calls.len() < before
    }

    /// The call that a result belongs to.
    pub(super) fn take(&mut self, id: &str) -> Option<Call> {
        let at = self.calls.iter().position(|it| it.id == id)?;
        self.remove(at)
    }

    /// A whole list came after those that the same owner asked for before: they are not worth telling.
    pub(super) fn supersede(&mut self, by: &Call) {
        let is_older = |it: &&mut Call| it.has_owner_of(by) && it.line <= by.line;
        if by.tool == Tool::TodoWrite {
            self.calls.iter_mut().filter(is_older).for_each(|it| it.is_wish = false);
        }
    }

    /// What was called on behalf of somebody and will not be answered any more, oldest first.
    pub(super) fn give_up(&mut self, is_over: impl Fn(&Call) -> bool) -> Vec<Call> {
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

    fn remove(&mut self, at: usize) -> Option<Call> {
        let call = self.calls.remove(at)?;
        self.bytes -= call.size();
        Some(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: usize, size: usize) -> Call {
        Call {
            id: id.to_string(),
            session: String::new(),
            agent: None,
            tool: Tool::TodoWrite,
            input: "x".repeat(size),
            line: 0,
            message: String::new(),
            is_wish: true,
        }
    }

    #[test]
    fn calls_that_are_never_answered_do_not_pile_up() {
        let mut calls = Calls::default();
        let given_up = (0..MOST_CALLS + 5).filter(|id| calls.push(call(*id, 10))).count();
        assert_eq!((given_up, calls.calls.len()), (5, MOST_CALLS));
        assert!(calls.take("4").is_none());
        assert!(calls.take("5").is_some());
    }

    #[test]
    fn long_arguments_do_not_pile_up() {
        let mut calls = Calls::default();
        for id in 0..10 {
            calls.push(call(id, MOST_BYTES / 4));
        }
        assert_eq!(calls.calls.len(), 3);
        calls.push(call(11, MOST_BYTES * 2));
        assert_eq!(calls.calls.len(), 1, "the newest is kept however long it is");
        calls.take("11");
        assert_eq!(calls.bytes, 0);
    }

    #[test]
    fn of_older_messages_only_the_last_whole_list_is_kept() {
        let mut calls = Calls::default();
        let with = |id, tool, message: &str| Call {
            tool,
            message: message.to_owned(),
            line: id as u64,
            ..call(id, 1)
        };
        calls.push(with(1, Tool::TodoWrite, "a"));
        calls.push(with(2, Tool::TaskList, "a"));
        calls.push(with(3, Tool::TaskList, "b"));
        calls.push(with(4, Tool::TodoWrite, "b"));
        calls.push(with(5, Tool::TaskGet, "c"));
        let left: Vec<String> = calls.give_up(|_| true).into_iter().map(|it| it.id).collect();
        assert_eq!(left, ["4", "5"]);
    }

    #[test]
    fn an_id_that_comes_again_means_the_newer_call() {
        let mut calls = Calls::default();
        calls.push(call(1, 10));
        calls.push(call(1, 20));
        assert_eq!(calls.take("1").map(|it| it.input.len()), Some(20));
        assert!(calls.is_empty());
    }
}
