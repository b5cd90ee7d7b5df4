//! Starts an MCP server over stdio, lists its tools and ends it. A minimal client that calls no
//! tool, so nothing changes.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::run::Group;

/// The longest line that is read. A list of tools is a few kilobytes.
const MOST: u64 = 4 * 1024 * 1024;

/// The message for a server that ends early, whether before or after the request.
const ENDED: &str = "ended without an answer";

/// What a server offers.
pub(super) struct Tools {
    pub(super) names: Vec<String>,
    /// The size of the definitions that a model reads.
    pub(super) bytes: usize,
    pub(super) took: Duration,
}

/// A server's tools, or what went wrong.
pub(super) fn tools(command: Command, version: &str, patience: Duration) -> Result<Tools, String> {
    let begun = Instant::now();
    let mut group =
        Group::start(command, Stdio::null()).map_err(|why| format!("does not start: {why}"))?;
    let mut stdin = group.0.stdin.take().ok_or("cannot be written to")?;
    let stdout = group.0.stdout.take().ok_or("cannot be read from")?;
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = BufReader::new(stdout);
        loop {
            let mut line = Vec::new();
            match (&mut lines).take(MOST).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if send.send(line).is_err() => return,
                Ok(_) => {}
            }
        }
    });
    let deadline = begun + patience;
    let about = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "punchlist-doctor", "version": version},
    });
    ask(&mut stdin, &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}))?;
    answer(&receive, 1, deadline)?;
    ask(&mut stdin, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
    ask(&mut stdin, &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))?;
    let result = answer(&receive, 2, deadline)?;
    let tools = result["tools"].as_array().ok_or("does not list its tools")?;
    let names = tools.iter().filter_map(|it| Some(it["name"].as_str()?.to_owned())).collect();
    // The fields of a tool that a model reads.
    let read = tools.iter().map(|it| json!([it["name"], it["description"], it["inputSchema"]]));
    let bytes = read.map(|it| it.to_string().len()).sum();
    Ok(Tools { names, bytes, took: begun.elapsed() })
}

fn ask(stdin: &mut ChildStdin, message: &Value) -> Result<(), String> {
    let line = format!("{message}\n");
    stdin.write_all(line.as_bytes()).map_err(|_| ENDED.to_owned())
}

/// Waits for the response to one request, and ignores everything else.
fn answer(receive: &Receiver<Vec<u8>>, id: u32, deadline: Instant) -> Result<Value, String> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = receive.recv_timeout(left).map_err(|why| match why {
            mpsc::RecvTimeoutError::Timeout => "does not answer in time".to_owned(),
            mpsc::RecvTimeoutError::Disconnected => ENDED.to_owned(),
        })?;
        let message: Value = serde_json::from_slice(&line)
            .map_err(|_| "prints something that is not JSON".to_owned())?;
        if message["id"] != id {
            continue;
        }
        return match message.get("result") {
            Some(result) => Ok(result.clone()),
            None => {
                let why = message["error"]["message"].as_str().unwrap_or("no reason given");
                let why: String = why.chars().take(200).collect();
                Err(format!("refuses: {why}"))
            }
        };
    }
}
