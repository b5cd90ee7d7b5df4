//! A client of one MCP server on standard input and output. It sends several calls at once and
//! counts the successful answers, or measures the time of one call after the other.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Load, Outcome};

/// The timeout for one answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// After this time no further calls are sent.
const SEND_TIME: Duration = Duration::from_secs(60);

/// How long a server may take to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// How to wait for answers.
#[derive(Clone, Copy)]
pub(crate) enum Waits {
    /// In a separate thread, so that every wait has a timeout.
    Bounded,
    /// In the calling thread, so that no other thread has to wake up. The program that started this
    /// one ends it if it takes too long.
    Directly,
}

/// Returns the next message and when it arrived. The time of parsing it is not the server's.
type NextMessage = Box<dyn FnMut() -> Outcome<(Instant, Value)>>;

pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    next_message: NextMessage,
}

impl Client {
    /// Starts a server and performs the handshake.
    pub(crate) fn start(mut command: Command, waits: Waits) -> Outcome<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or("the server has no output")?;
        let next_message: NextMessage = match waits {
            Waits::Bounded => {
                let (sender, receiver) = mpsc::channel();
                thread::spawn(move || messages(output).try_for_each(|it| sender.send(it)));
                Box::new(move || Ok(receiver.recv_timeout(ANSWER_TIMEOUT)?))
            }
            Waits::Directly => {
                let mut messages = messages(output);
                Box::new(move || messages.next().ok_or_else(|| "the server has ended".into()))
            }
        };
        let mut client = Self { child, input, next_message };
        client.send(&json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "peer_load", "version": "1" },
            },
        }))?;
        while client.answer()?.0 != 0 {}
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    fn send(&mut self, message: &Value) -> Outcome {
        let input = self.input.as_mut().ok_or("the server has no input")?;
        Ok(input.write_all(format!("{message}\n").as_bytes())?)
    }

    /// The next answer: its request, whether it succeeded, and when it arrived.
    fn answer(&mut self) -> Outcome<(u64, bool, Instant)> {
        loop {
            let (at, message) = (self.next_message)()?;
            let id = message.get("id").cloned();
            match (message.get("method").and_then(Value::as_str), id) {
                (Some(method), Some(id)) => {
                    let result =
                        if method == "roots/list" { json!({ "roots": [] }) } else { json!({}) };
                    self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))?;
                }
                (None, Some(id)) => {
                    let failed = message.get("error").is_some()
                        || message.pointer("/result/isError") == Some(&Value::Bool(true));
                    return Ok((id.as_u64().unwrap_or(u64::MAX), !failed, at));
                }
                (_, None) => {}
            }
        }
    }

    /// Calls a tool `count` times and returns how many calls were acknowledged.
    pub(crate) fn call(
        &mut self,
        tool: &str,
        load: Load,
        arguments: impl Fn(u32) -> Value,
    ) -> Outcome<u32> {
        let began = Instant::now();
        let (mut next, mut open, mut good) = (1, BTreeSet::new(), 0);
        loop {
            while next <= load.count
                && open.len() < usize::try_from(load.in_flight)?
                && began.elapsed() < SEND_TIME
            {
                let params = json!({ "name": tool, "arguments": arguments(next) });
                self.send(&json!({
                    "jsonrpc": "2.0", "id": next, "method": "tools/call", "params": params,
                }))?;
                open.insert(u64::from(next));
                next += 1;
            }
            if open.is_empty() {
                return Ok(good);
            }
            let (id, is_good, _) = self.answer()?;
            if open.remove(&id) {
                good += u32::from(is_good);
            }
        }
    }
}

/// The messages of a server as they arrive. Other lines (a banner) are skipped.
fn messages(output: ChildStdout) -> impl Iterator<Item = (Instant, Value)> {
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    lines.map(|line| (Instant::now(), line)).filter_map(|(at, line)| {
        let message = serde_json::from_str(&line).ok()?;
        Some((at, message))
    })
}

impl Client {
    /// Measures one call; fails unless it is acknowledged.
    pub(crate) fn time(&mut self, tool: &str, arguments: &Value) -> Outcome<Duration> {
        let params = json!({ "name": tool, "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let line = format!("{call}\n");
        let input = self.input.as_mut().ok_or("the server has no input")?;
        let began = Instant::now();
        input.write_all(line.as_bytes())?;
        loop {
            match self.answer()? {
                (1, true, at) => return Ok(at.saturating_duration_since(began)),
                (1, false, _) => return Err(format!("{tool} failed").into()),
                _ => {}
            }
        }
    }

    /// The server's resident memory, in kilobytes.
    pub(crate) fn resident(&self) -> Outcome<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
        Ok(number.ok_or("the system says nothing of memory")?)
    }
}

impl Drop for Client {
    /// Lets the server exit, and kills it if it does not.
    fn drop(&mut self) {
        self.input = None;
        let began = Instant::now();
        while began.elapsed() < EXIT_TIMEOUT {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        // It does not matter if the server has exited meanwhile.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
