//! A small ACP client: the real program with two pipes, one JSON object per line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::world::World;

/// The timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// An agent, and the client's end of its pipes.
pub(super) struct Client {
    pub(super) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    last: u64,
}

/// What came before the answer to a request, and the answer.
pub(super) struct Answered {
    pub(super) updates: Vec<Value>,
    /// The permission requests.
    pub(super) questions: Vec<Value>,
    pub(super) answer: Value,
}

impl Answered {
    /// The text of the chunks of this kind.
    pub(super) fn text(&self, kind: &str) -> String {
        let chunks = self.updates.iter().filter(|it| it["sessionUpdate"] == kind);
        chunks.filter_map(|it| it["content"]["text"].as_str()).collect()
    }

    /// The updates of this kind.
    pub(super) fn of_kind(&self, kind: &str) -> Vec<&Value> {
        self.updates.iter().filter(|it| it["sessionUpdate"] == kind).collect()
    }

    pub(super) fn stop(&self) -> &str {
        let reason = self.answer["result"]["stopReason"].as_str();
        reason.unwrap_or_else(|| panic!("no stop reason: {}", self.answer))
    }
}

/// A scenario in a file of the world, and the agent that plays it.
pub(super) fn command(world: &World, scenario: &Value) -> Command {
    world.write("scenario.json", scenario.to_string());
    let mut command = world.command("project");
    // A process that stays needs a clock that goes on and ids that differ.
    command.env_remove("PUNCHLIST_NOW").env_remove("PUNCHLIST_SEED").env("PATH", "/usr/bin:/bin");
    // Commands ask, whether or not this machine has a sandbox.
    command.args(["-c", "agent.sandbox=ask", "acp", "--model"]);
    command.arg(format!("scripted:{}", world.path("scenario.json").display()));
    command
}

impl Client {
    /// An agent without any request yet.
    pub(super) fn silent(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.split(b'\n') {
                let line = String::from_utf8(line.unwrap()).expect("what is written is UTF-8");
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, last: 0 }
    }

    /// An agent after the handshake.
    pub(super) fn of(command: Command) -> Self {
        let mut client = Self::silent(command);
        let params = json!({
            "protocolVersion": 1,
            "clientCapabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let hello = client.ask("initialize", &params);
        assert_eq!(hello["result"]["protocolVersion"], 1, "{hello}");
        client
    }

    /// An agent that plays a scenario, and a session in the project.
    pub(super) fn playing(world: &World, scenario: &Value) -> (Self, String) {
        let mut client = Self::of(command(world, scenario));
        let session = client.opens(world, "project");
        (client, session)
    }

    /// Opens a session in a directory.
    pub(super) fn opens(&mut self, world: &World, directory: &str) -> String {
        let params = json!({"cwd": world.path(directory), "mcpServers": []});
        let opened = self.ask("session/new", &params);
        opened["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned()
    }

    /// Writes a raw line.
    pub(super) fn write(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    pub(super) fn say(&mut self, message: &Value) {
        self.write(message.to_string().as_bytes());
    }

    /// Sends a request and returns its id.
    pub(super) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(super) fn notify(&mut self, method: &str, params: &Value) {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Answers a permission request with an option.
    pub(super) fn choose(&mut self, question: &Value, option: &str) {
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        self.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": outcome}));
    }

    /// The next message of any kind.
    pub(super) fn next(&mut self) -> Value {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => serde_json::from_str(&line)
                .unwrap_or_else(|why| panic!("nothing but the protocol on stdout: {line}: {why}")),
            Err(RecvTimeoutError::Timeout) => panic!("the agent says nothing"),
            Err(RecvTimeoutError::Disconnected) => panic!("the agent has ended"),
        }
    }

    /// The next message that matches; others are dropped.
    pub(super) fn wait(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next();
            if fits(&message) {
                return message;
            }
        }
    }

    /// Waits until a call of a session runs.
    pub(super) fn sees_call_run(&mut self) {
        self.wait(|it| it["params"]["update"]["status"] == "in_progress");
    }

    /// The answer to a request that nothing else happens before.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.wait(|it| it["id"] == id && it.get("method").is_none())
    }

    /// Begins a prompt.
    pub(super) fn begin(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.send("session/prompt", &json!({"sessionId": session, "prompt": prompt}))
    }

    /// A prompt to its end. Each question is answered with the next of the options; the last is used
    /// again.
    pub(super) fn prompt(&mut self, session: &str, text: &str, options: &[&str]) -> Answered {
        let id = self.begin(session, text);
        self.until(id, options)
    }

    /// Everything up to the answer to a request.
    pub(super) fn until(&mut self, id: u64, options: &[&str]) -> Answered {
        let (mut updates, mut questions) = (Vec::new(), Vec::new());
        loop {
            let message = self.next();
            match message["method"].as_str() {
                Some("session/update") => updates.push(message["params"]["update"].clone()),
                Some("session/request_permission") => {
                    let option = options.get(questions.len()).or(options.last());
                    self.choose(&message, option.expect("nothing is asked"));
                    questions.push(message["params"].clone());
                }
                Some(other) => panic!("{other}: {message}"),
                None if message["id"] == id => {
                    return Answered { updates, questions, answer: message };
                }
                None => panic!("{message}"),
            }
        }
    }

    /// Loads a session.
    pub(super) fn loads(&mut self, world: &World, session: &str) -> Answered {
        let params = json!({"cwd": world.path("project"), "mcpServers": [], "sessionId": session});
        let id = self.send("session/load", &params);
        self.until(id, &[])
    }

    /// Closes stdin and waits for the end.
    pub(super) fn end(&mut self) -> ExitStatus {
        drop(self.stdin.take());
        self.child.wait().unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
