//! Requests that await their answer. Both sides count theirs, each for itself, and an answer has nothing
//! but the number.

use std::collections::BTreeMap;

use crate::json::{Object, Str};
use crate::parse::names::{LONGEST_NAME, name};

/// The most requests of either side that are kept.
const MOST_REQUESTS: usize = 1_024;

/// What the client asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Asked {
    /// For which session; empty if it asked for a new one.
    pub(super) session: String,
    pub(super) cwd: Option<String>,
    /// Whether its answer ends a turn.
    pub(super) is_turn: bool,
}

/// What is awaited.
#[derive(Default, Debug)]
pub(super) struct Requests {
    of_client: BTreeMap<String, Asked>,
    /// What the agent asked: the session and the call.
    of_agent: BTreeMap<String, (String, String)>,
}

/// A request's number, or the text that is used as one.
fn id(message: &Object<'_>) -> Option<String> {
    let id = message.get("id")?.raw();
    (id.len() <= LONGEST_NAME).then(|| id.to_owned())
}

impl Requests {
    /// The client asked for something.
    pub(super) fn asked(
        &mut self,
        message: &Object<'_>,
        session: &str,
        is_turn: bool,
        params: &Object<'_>,
    ) {
        let Some(id) = id(message) else { return };
        let cwd = params.text("cwd").filter(|it| it.literal().len() <= 4_096);
        let cwd = cwd.map(|it| it.cow().into_owned());
        if self.of_client.len() >= MOST_REQUESTS {
            self.of_client.pop_first();
        }
        self.of_client.insert(id, Asked { session: session.to_owned(), cwd, is_turn });
    }

    /// What an answer answers.
    pub(super) fn take(&mut self, message: &Object<'_>) -> Option<Asked> {
        self.of_client.remove(&id(message)?)
    }

    /// The agent asked whether it may make a call.
    pub(super) fn waits(&mut self, message: &Object<'_>, session: &str, call: Str<'_>) {
        let (Some(id), Some(call)) = (id(message), name(call)) else { return };
        if self.of_agent.len() >= MOST_REQUESTS {
            self.of_agent.pop_first();
        }
        self.of_agent.insert(id, (session.to_owned(), call.into_owned()));
    }

    /// Which session's call an answer is about.
    pub(super) fn answered(&mut self, message: &Object<'_>) -> Option<(String, String)> {
        self.of_agent.remove(&id(message)?)
    }
}
