//! The todo tools of Claude Code, and calls of them without a result.

use super::tasks::Moment;
use crate::parse::pending;

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
    const ALL: [Self; 5] =
        [Self::TodoWrite, Self::TaskCreate, Self::TaskUpdate, Self::TaskList, Self::TaskGet];

    /// The literal of its name. A name with escapes is not recognised, because the search for lines
    /// about lists would not find it either.
    const fn literal(self) -> &'static str {
        match self {
            Self::TodoWrite => "\"TodoWrite\"",
            Self::TaskCreate => "\"TaskCreate\"",
            Self::TaskUpdate => "\"TaskUpdate\"",
            Self::TaskList => "\"TaskList\"",
            Self::TaskGet => "\"TaskGet\"",
        }
    }

    pub(super) fn parse(literal: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.literal() == literal)
    }

    /// Whether a tool's name begins here.
    pub(super) fn is_named(line: &[u8]) -> bool {
        Self::ALL.into_iter().any(|it| line.starts_with(it.literal().as_bytes()))
    }
}

/// A call without a result: which tool, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Asked {
    pub(super) tool: Tool,
    /// The moment of the call.
    pub(super) at: Moment,
    /// A number for the message that contains the call.
    pub(super) message: u64,
}

pub(super) type Call = pending::Call<Asked>;
pub(super) type Calls = pending::Pending<Asked>;

/// Calls that will not get a result any more, now that this call is made.
pub(super) fn dead(calls: &mut Calls, call: &Call) -> Vec<Call> {
    // All results of a message come before the next message, so older calls will not get one. A
    // whole list among them is still worth reporting until another list replaces it.
    let is_list = |it: &Call| it.what.tool == Tool::TodoWrite;
    calls.give_up(|it| {
        it.has_owner_of(call)
            && it.what.message != call.what.message
            && (!is_list(it) || is_list(call))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_older_messages_only_the_last_whole_list_is_kept() {
        let mut calls = Calls::default();
        let call = |id: u64, tool, message| Call {
            id: id.to_string(),
            session: String::new(),
            agent: None,
            what: Asked { tool, at: Moment::default().then(None, id), message },
            input: String::new(),
            is_wish: tool == Tool::TodoWrite,
        };
        let ids = |calls: Vec<Call>| calls.into_iter().map(|it| it.id).collect::<Vec<_>>();
        for (call, expected) in [
            (call(1, Tool::TodoWrite, 1), &[][..]),
            (call(2, Tool::TaskList, 1), &[]),
            (call(3, Tool::TaskList, 2), &["2"]),
            (call(4, Tool::TodoWrite, 2), &["1"]),
            (call(5, Tool::TaskGet, 3), &["3"]),
        ] {
            assert_eq!(ids(dead(&mut calls, &call)), expected);
            calls.push(call);
        }
        assert_eq!(ids(calls.give_up(|_| true)), ["4", "5"]);
    }

    #[test]
    fn a_tool_is_known_by_its_whole_name() {
        assert_eq!(Tool::parse("\"TaskList\""), Some(Tool::TaskList));
        assert_eq!(Tool::parse("\"TaskLis\\u0074\""), None);
        assert_eq!(Tool::parse("\"TaskGetter\""), None);
        assert!(Tool::is_named(b"\"TaskGet\",\"input\"") && !Tool::is_named(b"\"TaskGet"));
    }
}
