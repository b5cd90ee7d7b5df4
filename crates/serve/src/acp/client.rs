//! The client: what it is told, and what it is asked.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use punchlist_agent::session::Input;
use punchlist_model::QuestionId;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::out::Out;
use super::permission::{Choices, ServerAnswer};
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
    about: About,
}

/// What permission is asked for, and where the answer goes.
enum About {
    /// A call.
    Call { question: QuestionId, choices: Choices, inputs: UnboundedSender<Input> },
    /// The use of an MCP server.
    Server(oneshot::Sender<ServerAnswer>),
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

    /// Asks the user of the client for permission to run a call. The answer goes to `inputs`.
    pub(super) fn ask(
        &self,
        session: &str,
        question: QuestionId,
        tool_call: &Value,
        choices: Choices,
        inputs: UnboundedSender<Input>,
    ) {
        let options = choices.options();
        // A client that has the store too finds the whole question there.
        let meta = json!({"punchlist": {"question": question.to_string()}});
        let about = About::Call { question, choices, inputs };
        self.request(session, tool_call, &options, Some(meta), about);
    }

    /// Asks the user of the client for permission to use an MCP server. Without an answer, for example
    /// because the prompt was cancelled, the receiver fails.
    pub(super) fn ask_about_server(
        &self,
        session: &str,
        tool_call: &Value,
    ) -> oneshot::Receiver<ServerAnswer> {
        let (sender, receiver) = oneshot::channel();
        self.request(session, tool_call, &ServerAnswer::options(), None, About::Server(sender));
        receiver
    }

    fn request(
        &self,
        session: &str,
        tool_call: &Value,
        options: &[Value],
        meta: Option<Value>,
        about: About,
    ) {
        let mut params = json!({"sessionId": session, "toolCall": tool_call, "options": options});
        if let Some(meta) = meta {
            params["_meta"] = meta;
        }
        let mut asked = self.asked();
        asked.last = asked.last.saturating_add(1);
        let id = asked.last;
        asked.open.insert(id, Permission { session: session.to_owned(), about });
        drop(asked);
        let method = "session/request_permission";
        self.out.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// Passes on the client's answer to a request. An answer that nobody waits for is ignored.
    pub(super) fn answered(&self, id: &Value, result: &Result<Value, Value>) {
        let found = id.as_u64().and_then(|id| self.asked().open.remove(&id));
        match found.map(|it| it.about) {
            Some(About::Call { question, choices, inputs }) => {
                inputs.send(Input::Answer(question, choices.chosen(result))).ok();
            }
            Some(About::Server(sender)) => {
                sender.send(ServerAnswer::chosen(result)).ok();
            }
            None => {}
        }
    }

    /// Takes back a request whose question was answered elsewhere.
    pub(super) fn settled(&self, question: QuestionId) {
        let mut asked = self.asked();
        let is_about = |it: &Permission| matches!(&it.about, About::Call { question: of, .. } if *of == question);
        let ids: Vec<u64> = asked.open.iter().filter(|it| is_about(it.1)).map(|it| *it.0).collect();
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
