//! Requests without an answer. Each side numbers its own requests, and an answer has only the
//! number.

use std::collections::BTreeMap;

use crate::json::{Object, Str};
use crate::parse::names::{LONGEST_NAME, name};

/// Maximum of stored requests of either side.
const MOST_REQUESTS: usize = 1_024;

/// A request of the client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Asked {
    /// The session; empty if the request is for a new one.
    pub(super) session: String,
    pub(super) cwd: Option<String>,
    /// Whether the answer ends a turn.
    pub(super) is_turn: bool,
}

/// The requests without an answer.
#[derive(Default, Debug)]
pub(super) struct Requests {
    of_client: BTreeMap<String, Asked>,
    /// Requests of the agent: the session and the call.
    of_agent: BTreeMap<String, (String, String)>,
}

/// The id of a request: a number or a text.
fn id(message: &Object<'_>) -> Option<String> {
    let id = message.get("id")?.raw();
    (id.len() <= LONGEST_NAME).then(|| id.to_owned())
}

impl Requests {
    /// Stores a request of the client.
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

    /// The request that an answer belongs to.
    pub(super) fn take(&mut self, message: &Object<'_>) -> Option<Asked> {
        self.of_client.remove(&id(message)?)
    }

    /// Stores a request of the agent for permission to make a call.
    pub(super) fn waits(&mut self, message: &Object<'_>, session: &str, call: Str<'_>) {
        let (Some(id), Some(call)) = (id(message), name(call)) else { return };
        if self.of_agent.len() >= MOST_REQUESTS {
            self.of_agent.pop_first();
        }
        self.of_agent.insert(id, (session.to_owned(), call.into_owned()));
    }

    /// The session and the call that an answer is about.
    pub(super) fn answered(&mut self, message: &Object<'_>) -> Option<(String, String)> {
        self.of_agent.remove(&id(message)?)
    }
}
