//! The client's side of the Agent Client Protocol, for one session: initialise, make or load the session,
//! send the prompt, wait for the end of the turn. Further prompts may follow. Pure.
//!
//! Lines that are no JSON, and messages that nobody waits for, are passed over: some programs print
//! other things too.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::permission::PermissionRequest;

/// The version of the protocol that we speak.
const VERSION: u64 = 1;
/// The error code for a method that does not exist.
const UNKNOWN_METHOD: i64 = -32_601;
/// The error code of agents that want the user to log in.
const NOT_LOGGED_IN: i64 = -32_000;

/// What is to be done after a message.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Effect {
    /// Send this message.
    Send(Value),
    /// Decide about this request, and send the answer.
    Ask(Box<PermissionRequest>),
    /// The agent takes this request back: its answer came from elsewhere, or is no longer needed.
    TakeBack(Value),
    /// The turn has ended: the agent's reason, or the error.
    Over(Result<String, String>),
}

/// The answer that the client waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Initialize,
    LoadSession,
    NewSession,
    Prompt,
    Nothing,
}

/// The client.
#[derive(Debug)]
pub(crate) struct Client {
    directory: PathBuf,
    prompt: String,
    step: Step,
    /// How many requests were made. The id of a request is its number, from 0.
    requests: u64,
    session: Option<String>,
    /// The session of an earlier process, to go on with.
    earlier: Option<String>,
    /// What became of the earlier session, once that is known and until it is told.
    resumed: Option<Resumed>,
    /// The name under which our own agent asks questions.
    name: Option<String>,
}

/// What became of a session of an earlier process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Resumed {
    /// The agent has loaded it.
    Loaded,
    /// The agent cannot load sessions: this is a new one.
    NotOffered,
    /// The agent could not load it, for this reason: this is a new one.
    Failed(String),
}

/// The message that tells an agent to end its turn.
pub(crate) fn cancel(session: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
}

impl Client {
    /// A client for one prompt in a directory, and its first message.
    pub(crate) fn new(directory: &Path, prompt: String) -> (Self, Value) {
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": {
                "fs": {"readTextFile": false, "writeTextFile": false},
                "terminal": false,
            },
            "clientInfo": {"name": "punchlist", "version": env!("CARGO_PKG_VERSION")},
        });
        let mut client = Self {
            directory: directory.to_owned(),
            prompt,
            step: Step::Initialize,
            requests: 0,
            session: None,
            earlier: None,
            resumed: None,
            name: None,
        };
        let hello = client.request("initialize", params);
        (client, hello)
    }

    /// Goes on with a session of an earlier process, if the agent can.
    #[must_use]
    pub(crate) fn resuming(self, session: Option<String>) -> Self {
        Self { earlier: session, ..self }
    }

    /// Tells our own agent under which name it asks questions.
    #[must_use]
    pub(crate) fn named(self, name: Option<String>) -> Self {
        Self { name, ..self }
    }

    /// Whether the agent tells what happened in the session before, which is no news.
    pub(crate) fn is_loading(&self) -> bool {
        self.step == Step::LoadSession
    }

    /// What became of the session of an earlier process. It is told once.
    pub(crate) fn take_resumed(&mut self) -> Option<Resumed> {
        self.resumed.take()
    }

    /// The id of the session, once the agent has made it.
    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The message with a further prompt; `None` if there is no session, or the last turn has not ended.
    pub(crate) fn prompt(&mut self, text: &str) -> Option<Value> {
        if self.step != Step::Nothing {
            return None;
        }
        let session = self.session.clone()?;
        text.clone_into(&mut self.prompt);
        Some(self.prompted(&session))
    }

    fn prompted(&mut self, session: &str) -> Value {
        self.step = Step::Prompt;
        let prompt = json!([{"type": "text", "text": self.prompt}]);
        self.request("session/prompt", json!({"sessionId": session, "prompt": prompt}))
    }

    /// Reads one line of the agent.
    pub(crate) fn line(&mut self, line: &[u8]) -> Option<Effect> {
        let message: Value = serde_json::from_slice(line).ok()?;
        let id = message.get("id").filter(|it| !it.is_null());
        match (message.get("method").and_then(Value::as_str), id) {
            (Some("session/request_permission"), Some(id)) => {
                let request = PermissionRequest::read(id, &message["params"], &self.directory);
                Some(Effect::Ask(Box::new(request)))
            }
            // We offered neither files nor terminals.
            (Some(method), Some(id)) => {
                let method: String = method.chars().take(100).collect();
                let why = format!("{method} is not offered");
                let error = json!({"code": UNKNOWN_METHOD, "message": why});
                Some(Effect::Send(json!({"jsonrpc": "2.0", "id": id, "error": error})))
            }
            (Some("$/cancel_request"), None) => {
                Some(Effect::TakeBack(message["params"]["requestId"].clone()))
            }
            (Some(_), None) => None,
            (None, Some(id)) if id.as_u64() == self.requests.checked_sub(1) => {
                self.answered(&message)
            }
            (None, _) => None,
        }
    }

    /// Handles the answer that the client waits for.
    fn answered(&mut self, message: &Value) -> Option<Effect> {
        if let Some(error) = message.get("error") {
            if self.step == Step::LoadSession {
                self.resumed = Some(Resumed::Failed(words(error)));
                return Some(Effect::Send(self.new_session()));
            }
            self.step = Step::Nothing;
            return Some(Effect::Over(Err(words(error))));
        }
        let result = &message["result"];
        let over = |why: &str| Some(Effect::Over(Err(why.to_owned())));
        match self.step {
            Step::Initialize => {
                if result["protocolVersion"].as_u64() != Some(VERSION) {
                    self.step = Step::Nothing;
                    let its = &result["protocolVersion"];
                    return over(&format!(
                        "it speaks version {its} of the protocol, not {VERSION}"
                    ));
                }
                let earlier = self.earlier.take();
                let can_load = result["agentCapabilities"]["loadSession"] == true;
                match earlier {
                    Some(session) if can_load => {
                        self.step = Step::LoadSession;
                        let mut params = self.place();
                        params["sessionId"] = Value::from(session.as_str());
                        self.session = Some(session);
                        Some(Effect::Send(self.request("session/load", params)))
                    }
                    earlier => {
                        self.resumed = earlier.map(|_| Resumed::NotOffered);
                        Some(Effect::Send(self.new_session()))
                    }
                }
            }
            Step::LoadSession => {
                self.resumed = Some(Resumed::Loaded);
                let session = self.session.clone()?;
                Some(Effect::Send(self.prompted(&session)))
            }
            Step::NewSession => {
                let Some(session) = result["sessionId"].as_str() else {
                    self.step = Step::Nothing;
                    return over("it made no session");
                };
                self.session = Some(session.to_owned());
                Some(Effect::Send(self.prompted(session)))
            }
            Step::Prompt => {
                self.step = Step::Nothing;
                let reason = result["stopReason"].as_str().unwrap_or("without a reason");
                Some(Effect::Over(Ok(reason.to_owned())))
            }
            Step::Nothing => None,
        }
    }

    fn new_session(&mut self) -> Value {
        self.step = Step::NewSession;
        self.session = None;
        let params = self.place();
        self.request("session/new", params)
    }

    /// Where the session works.
    fn place(&self) -> Value {
        let mut params = json!({"cwd": self.directory.to_string_lossy(), "mcpServers": []});
        if let Some(name) = &self.name {
            params["_meta"] = json!({"punchlist": {"name": name}});
        }
        params
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.requests;
        self.requests += 1;
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    }
}

/// An error of the agent in words.
fn words(error: &Value) -> String {
    let message = error["message"].as_str().unwrap_or("an error without a message");
    let details = error["data"]["details"].as_str().or_else(|| error["data"].as_str());
    let message = match details {
        Some(details) => format!("{message}: {details}"),
        None => message.to_owned(),
    };
    if error["code"].as_i64() == Some(NOT_LOGGED_IN) {
        let message = message.trim_end_matches('.');
        return format!(
            "{message}; start it once by hand and log in, or name the variable of its key in `env`"
        );
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> Client {
        Client::new(Path::new("/p"), "Do it.".to_owned()).0
    }

    fn line(client: &mut Client, message: &Value) -> Option<Effect> {
        client.line(message.to_string().as_bytes())
    }

    fn send(effect: Option<Effect>) -> Value {
        let Some(Effect::Send(message)) = effect else { panic!("{effect:?}") };
        message
    }

    #[test]
    fn a_task_is_three_requests_and_the_reason_of_the_last_answer() {
        let (mut client, hello) = Client::new(Path::new("/p"), "Do it.".to_owned());
        assert_eq!((&hello["method"], &hello["id"]), (&json!("initialize"), &json!(0)));
        assert_eq!(hello["params"]["clientCapabilities"]["fs"]["readTextFile"], false);
        let new = send(line(&mut client, &json!({"id": 0, "result": {"protocolVersion": 1}})));
        assert_eq!(new["params"], json!({"cwd": "/p", "mcpServers": []}));
        let prompt = send(line(&mut client, &json!({"id": 1, "result": {"sessionId": "s"}})));
        assert_eq!(prompt["params"]["prompt"][0]["text"], "Do it.");
        let end = json!({"id": 2, "result": {"stopReason": "end_turn"}});
        assert_eq!(line(&mut client, &end), Some(Effect::Over(Ok("end_turn".to_owned()))));
        // The same answer again is for nobody.
        assert_eq!(line(&mut client, &end), None);
    }

    #[test]
    fn a_session_takes_one_prompt_after_the_other() {
        let mut client = client();
        assert_eq!(client.prompt("Too early."), None);
        line(&mut client, &json!({"id": 0, "result": {"protocolVersion": 1}}));
        line(&mut client, &json!({"id": 1, "result": {"sessionId": "s"}}));
        assert_eq!(client.session(), Some("s"));
        assert_eq!(client.prompt("Too early."), None);
        line(&mut client, &json!({"id": 2, "result": {"stopReason": "end_turn"}}));
        let prompt = client.prompt("And now?").unwrap();
        assert_eq!((&prompt["id"], &prompt["params"]["sessionId"]), (&json!(3), &json!("s")));
        assert_eq!(prompt["params"]["prompt"][0]["text"], "And now?");
        let end = json!({"id": 3, "result": {"stopReason": "cancelled"}});
        assert_eq!(line(&mut client, &end), Some(Effect::Over(Ok("cancelled".to_owned()))));
    }

    /// A client that goes on with the session `s`, and the agent's answer to its first message.
    fn resuming(can_load: bool) -> (Client, Value) {
        let mut client = client().resuming(Some("s".to_owned()));
        let able = json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": can_load}});
        let next = send(line(&mut client, &json!({"id": 0, "result": able})));
        (client, next)
    }

    #[test]
    fn a_session_of_an_earlier_process_is_loaded_where_the_agent_can() {
        let (mut client, load) = resuming(true);
        assert_eq!(load["method"], "session/load");
        assert_eq!(load["params"], json!({"cwd": "/p", "mcpServers": [], "sessionId": "s"}));
        assert!(client.is_loading());
        assert_eq!(client.take_resumed(), None);
        let prompt = send(line(&mut client, &json!({"id": 1, "result": null})));
        assert_eq!(
            (&prompt["method"], &prompt["params"]["sessionId"]),
            (&json!("session/prompt"), &json!("s"))
        );
        assert!(!client.is_loading());
        assert_eq!((client.take_resumed(), client.take_resumed()), (Some(Resumed::Loaded), None));
    }

    #[test]
    fn where_a_session_cannot_be_loaded_a_new_one_begins_and_the_reason_is_known() {
        let (mut client, new) = resuming(false);
        assert_eq!(new["method"], "session/new");
        assert_eq!(client.take_resumed(), Some(Resumed::NotOffered));
        let (mut client, _) = resuming(true);
        let error = json!({"code": -32602, "message": "no such session"});
        let new = send(line(&mut client, &json!({"id": 1, "error": error})));
        assert_eq!((&new["method"], client.session()), (&json!("session/new"), None));
        assert_eq!(client.take_resumed(), Some(Resumed::Failed("no such session".to_owned())));
        let prompt = send(line(&mut client, &json!({"id": 2, "result": {"sessionId": "t"}})));
        assert_eq!(prompt["params"]["sessionId"], "t");
    }

    #[test]
    fn what_nobody_waits_for_is_passed_over() {
        let mut client = client();
        for text in ["", "loading…", "[1]", "{}", "{\"id\":null}", "{\"id\":7,\"result\":{}}"] {
            assert_eq!(client.line(text.as_bytes()), None, "{text}");
        }
        let update = json!({"method": "session/update", "params": {"sessionId": "s"}});
        assert_eq!(line(&mut client, &update), None);
        assert_eq!(client.line(b"\xff\xfe"), None);
    }

    #[test]
    fn files_and_terminals_are_refused() {
        let mut client = client();
        for method in ["fs/read_text_file", "fs/write_text_file", "terminal/create", "_x"] {
            let message = json!({"id": "a-1", "method": method, "params": {"path": "/etc/passwd"}});
            let answer = send(line(&mut client, &message));
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("a-1"), &json!(-32601)));
        }
    }

    #[test]
    fn an_error_ends_the_turn_in_words() {
        let check = |error: Value, expected: &str| {
            let effect = line(&mut client(), &json!({"id": 0, "error": error}));
            assert_eq!(effect, Some(Effect::Over(Err(expected.to_owned()))));
        };
        check(
            json!({"code": -32000, "message": "Authentication required"}),
            "Authentication required; start it once by hand and log in, or name the variable of its key in `env`",
        );
        check(
            json!({"code": -32603, "message": "Internal error", "data": {"details": "no quota"}}),
            "Internal error: no quota",
        );
        check(json!(null), "an error without a message");
        let version = line(&mut client(), &json!({"id": 0, "result": {"protocolVersion": 9}}));
        let why = "it speaks version 9 of the protocol, not 1".to_owned();
        assert_eq!(version, Some(Effect::Over(Err(why))));
    }
}
