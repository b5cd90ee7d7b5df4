//! The client's side of the Agent Client Protocol, for one task: initialise, make a session, send the
//! prompt, wait for the end of the turn. Pure.
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
    Ask(PermissionRequest),
    /// The turn has ended: the agent's reason, or the error.
    Over(Result<String, String>),
}

/// The answer that the client waits for. Its number is the id of the request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Initialize = 0,
    NewSession = 1,
    Prompt = 2,
    Nothing = 3,
}

/// The client.
#[derive(Debug)]
pub(crate) struct Client {
    directory: PathBuf,
    prompt: String,
    step: Step,
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
        let client = Self { directory: directory.to_owned(), prompt, step: Step::Initialize };
        let hello = client.request("initialize", params);
        (client, hello)
    }

    /// Reads one line of the agent.
    pub(crate) fn line(&mut self, line: &[u8]) -> Option<Effect> {
        let message: Value = serde_json::from_slice(line).ok()?;
        let id = message.get("id").filter(|it| !it.is_null());
        match (message.get("method").and_then(Value::as_str), id) {
            (Some("session/request_permission"), Some(id)) => {
                let request = PermissionRequest::read(id, &message["params"], &self.directory);
                Some(Effect::Ask(request))
            }
            // We offered neither files nor terminals.
            (Some(method), Some(id)) => {
                let method: String = method.chars().take(100).collect();
                let why = format!("{method} is not offered");
                let error = json!({"code": UNKNOWN_METHOD, "message": why});
                Some(Effect::Send(json!({"jsonrpc": "2.0", "id": id, "error": error})))
            }
            (Some(_), None) => None,
            (None, Some(id)) if id.as_u64() == Some(self.step as u64) => self.answered(&message),
            (None, _) => None,
        }
    }

    /// Handles the answer that the client waits for.
    fn answered(&mut self, message: &Value) -> Option<Effect> {
        if let Some(error) = message.get("error") {
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
                self.step = Step::NewSession;
                let cwd = self.directory.to_string_lossy();
                let params = json!({"cwd": cwd, "mcpServers": []});
                Some(Effect::Send(self.request("session/new", params)))
            }
            Step::NewSession => {
                let Some(session) = result["sessionId"].as_str() else {
                    self.step = Step::Nothing;
                    return over("it made no session");
                };
                self.step = Step::Prompt;
                let prompt = json!([{"type": "text", "text": self.prompt}]);
                let params = json!({"sessionId": session, "prompt": prompt});
                Some(Effect::Send(self.request("session/prompt", params)))
            }
            Step::Prompt => {
                self.step = Step::Nothing;
                let reason = result["stopReason"].as_str().unwrap_or("without a reason");
                Some(Effect::Over(Ok(reason.to_owned())))
            }
            Step::Nothing => None,
        }
    }

    fn request(&self, method: &str, params: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.step as u64, "method": method, "params": params})
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
        return format!("{message}; start it once by hand and log in");
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
            "Authentication required; start it once by hand and log in",
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
