//! The client: what it is told, and what it is asked.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use punchlist_agent::session::Input;
use punchlist_model::QuestionId;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::out::Out;
use super::permission::Choices;
use super::rpc::{self, Error};

/// The client of a connection.
pub(super) struct Client {
    out: Out,
    asked: Mutex<Requests>,
}

/// The requests to the client that it has not answered.
#[derive(Default)]
struct Requests {
    /// The number of the last request.
    last: u64,
    open: BTreeMap<u64, Permission>,
}

/// A request for permission.
struct Permission {
    session: String,
    question: QuestionId,
    choices: Choices,
    inputs: UnboundedSender<Input>,
}

impl Client {
    pub(super) fn new(out: Out) -> Self {
        Self { out, asked: Mutex::default() }
    }

    /// Where messages to the client are queued.
    pub(super) fn out(&self) -> &Out {
        &self.out
    }

    /// Answers a request of the client.
    pub(super) fn answer(&self, id: &Value, result: Result<Value, Error>) {
        self.out.send(&rpc::answer(id, result));
    }

    /// Tells the client what happened in a session.
    pub(super) fn update(&self, session: &str, update: Value) {
        let params = json!({"sessionId": session, "update": update});
        self.out.send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    /// Asks the user of the client for permission. The answer goes to `inputs`.
    pub(super) fn ask(
        &self,
        session: &str,
        question: QuestionId,
        tool_call: Value,
        choices: Choices,
        inputs: UnboundedSender<Input>,
    ) {
        let params =
            json!({"sessionId": session, "toolCall": tool_call, "options": choices.options()});
        let mut asked = self.asked();
        asked.last = asked.last.saturating_add(1);
        let id = asked.last;
        let session = session.to_owned();
        asked.open.insert(id, Permission { session, question, choices, inputs });
        drop(asked);
        let method = "session/request_permission";
        self.out.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// Passes on the client's answer to a request. An answer that nobody waits for is ignored.
    pub(super) fn answered(&self, id: &Value, result: &Result<Value, Value>) {
        let found = id.as_u64().and_then(|id| self.asked().open.remove(&id));
        if let Some(Permission { question, choices, inputs, .. }) = found {
            inputs.send(Input::Answer(question, choices.chosen(result))).ok();
        }
    }

    /// Takes back a request whose question was answered elsewhere.
    pub(super) fn settled(&self, question: QuestionId) {
        let mut asked = self.asked();
        let ids: Vec<u64> =
            asked.open.iter().filter(|it| it.1.question == question).map(|it| *it.0).collect();
        for id in ids {
            asked.open.remove(&id);
            let params = json!({"requestId": id});
            self.out
                .send(&json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": params}));
        }
    }

    /// Ignores the answers to the requests of a session from now on. The client answers them with
    /// "cancelled" when it cancels a prompt.
    pub(super) fn forget(&self, session: &str) {
        self.asked().open.retain(|_, it| it.session != session);
    }

    fn asked(&self) -> MutexGuard<'_, Requests> {
        // No holder panics with a half-written state, so the state behind a poisoned lock is valid.
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
