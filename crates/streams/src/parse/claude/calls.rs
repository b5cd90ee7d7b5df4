//! The todo tools of Claude Code, and what is known of a call of one before its result comes.

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

    /// Its name as it stands in a line. One that is written with escapes is no tool of ours: the search
    /// for lines that tell of lists would not find it either.
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

/// What was called, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Asked {
    pub(super) tool: Tool,
    /// When.
    pub(super) at: Moment,
    /// A number for the message that it was part of.
    pub(super) message: u64,
}

pub(super) type Call = pending::Call<Asked>;
pub(super) type Calls = pending::Pending<Asked>;

/// Those that will not be answered any more once a call is made.
pub(super) fn dead(calls: &mut Calls, call: &Call) -> Vec<Call> {
    // All results of a message come before the next message: what came before it is not answered any
    // more. Of that, a whole list is still worth telling until another one takes its place.
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
