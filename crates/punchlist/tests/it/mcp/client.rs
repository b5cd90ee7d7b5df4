//! A small MCP client: the real program with two pipes, one JSON object per line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::world::World;

/// The timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// The revisions with a handshake, oldest first.
pub(super) const OLDER: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The revision without a handshake, in which every request names the revision.
pub(super) const NEWER: &str = "2026-07-28";

/// A server, and the client's end of its pipes.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Messages that arrived while others were awaited.
    aside: Vec<Value>,
    last: u64,
    /// The metadata of each request in the newer revision.
    newer: Option<Value>,
}

impl Client {
    /// A server without any request yet.
    pub(super) fn silent(world: &World, arguments: &[&str]) -> Self {
        Self::of(world.command("project"), arguments)
    }

    pub(super) fn of(mut command: Command, arguments: &[&str]) -> Self {
        let mut child = command
            .arg("mcp")
            .args(arguments)
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
        Self { child, stdin, lines, aside: Vec::new(), last: 0, newer: None }
    }

    /// A client of an older revision, after the handshake.
    pub(crate) fn older(world: &World, arguments: &[&str]) -> Self {
        Self::older_of(world.command("project"), arguments)
    }

    /// The same of a server that this command starts.
    pub(crate) fn older_of(command: Command, arguments: &[&str]) -> Self {
        let mut client = Self::of(command, arguments);
        client.shake_hands(OLDER[3], &json!({}));
        client
    }

    /// A client of the newer revision, which has no handshake.
    pub(super) fn newer(world: &World, arguments: &[&str], capabilities: &Value) -> Self {
        let mut client = Self::silent(world, arguments);
        client.newer = Some(json!({
            "io.modelcontextprotocol/protocolVersion": NEWER,
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        }));
        client
    }

    pub(super) fn shake_hands(&mut self, version: &str, capabilities: &Value) -> Value {
        let answer = self.ask(
            "initialize",
            json!({
                "protocolVersion": version,
                "capabilities": capabilities,
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
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
    pub(super) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        let mut params = params;
        if let (Some(meta), Some(fields)) = (&self.newer, params.as_object_mut()) {
            fields.insert("_meta".into(), meta.clone());
        }
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The next message of any kind.
    pub(super) fn next(&mut self) -> Value {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => serde_json::from_str(&line)
                .unwrap_or_else(|why| panic!("nothing but the protocol on stdout: {line}: {why}")),
            Err(RecvTimeoutError::Timeout) => panic!("the server says nothing"),
            Err(RecvTimeoutError::Disconnected) => panic!("the server has ended"),
        }
    }

    /// The first message that matches; others are kept for later.
    pub(super) fn wait(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.aside.iter().position(&fits) {
            return self.aside.remove(at);
        }
        loop {
            let message = self.next();
            if fits(&message) {
                return message;
            }
            self.aside.push(message);
        }
    }

    /// The answer to a request.
    pub(super) fn answer(&mut self, id: u64) -> Value {
        self.wait(|message| message["id"] == id && message.get("method").is_none())
    }

    pub(super) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// The next notification of this kind.
    pub(super) fn notified(&mut self, method: &str) -> Value {
        self.wait(|message| message["method"] == method && message.get("id").is_none())
    }

    /// Whether a message of this kind arrived while others were awaited.
    pub(super) fn has_heard(&self, method: &str) -> bool {
        self.aside.iter().any(|message| message["method"] == method)
    }

    /// Runs a tool.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        answer.get("result").cloned().unwrap_or_else(|| panic!("{tool}: {answer}"))
    }

    /// Runs a tool, checks that it succeeds, and returns its structured result.
    pub(super) fn works(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"].clone()
    }

    /// Adds titles with the dialect `turn`.
    pub(crate) fn create(&mut self, titles: &[&str]) -> Value {
        let items: Vec<Value> = titles.iter().map(|title| json!({"title": title})).collect();
        self.works("create_todo", json!({"items": items}))
    }

    /// The titles on the list, with the dialect `turn`.
    pub(crate) fn titles(&mut self) -> Vec<String> {
        let list = self.works("list_todo", json!({"status": "all"}));
        let items = list["items"].as_array().unwrap();
        items.iter().map(|item| item["title"].as_str().unwrap().to_owned()).collect()
    }

    /// Closes stdin and waits for the process; returns how long that took.
    pub(crate) fn end(mut self) -> (ExitStatus, Duration) {
        let from = Instant::now();
        drop(self.stdin.take());
        let status = self.child.wait().unwrap();
        (status, from.elapsed())
    }

    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The fields of an object.
pub(super) fn fields(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap_or_else(|| panic!("an object: {value}"))
}

/// The one text of a result.
pub(super) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("a text: {result}"))
}
