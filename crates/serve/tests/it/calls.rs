//! Calls over a connection: each is answered once, in one line without control characters. The
//! calls of a connection run in order, and a slow call does not hold up other connections.

use std::time::Duration;

use proptest::prelude::*;
use punchlist_formats::dialect::Dialect;
use punchlist_serve::mcp::{Server, serve_streams};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};

use crate::world::{server_of, slow_server};

/// What a server writes for these lines until it ends.
fn output(dialect: Dialect, lines: &[Vec<u8>]) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (read, write) = tokio::io::split(theirs);
        let server = tokio::spawn(serve_streams(server_of(dialect), read, write));
        let (mut read, mut write) = tokio::io::split(ours);
        let mut output = Vec::new();
        let send = async {
            write.write_all(&lines.join(&b'\n')).await.unwrap();
            write.write_all(b"\n").await.unwrap();
            write.shutdown().await.unwrap();
        };
        let (read, ()) = tokio::join!(read.read_to_end(&mut output), send);
        read.unwrap();
        server.await.unwrap().unwrap();
        String::from_utf8(output).unwrap()
    })
}

/// The lines of a client of some revision: a handshake, then these.
fn lines(version: &str, rest: impl IntoIterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    let params = json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let first = [hello, ready].map(|it| it.to_string().into_bytes());
    first.into_iter().chain(rest).collect()
}

/// The answers to these lines of a client of some revision, without the one to the handshake.
#[track_caller]
fn answers(dialect: Dialect, version: &str, rest: &[Vec<u8>]) -> Vec<Value> {
    let output = output(dialect, &lines(version, rest.iter().cloned()));
    let acts = |ch: char| ch.is_control() || ('\u{202a}'..='\u{2069}').contains(&ch);
    assert!(!output.contains(|ch| ch != '\n' && acts(ch)), "{output:?}");
    let mut answers: Vec<Value> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.remove(0)["id"], 0);
    answers
}

/// The ids of the answers to numbered calls, sorted: an invalid call waits for no other.
fn numbers(answers: &[Value]) -> Vec<u64> {
    let mut numbers: Vec<u64> = answers.iter().filter_map(|it| it["id"].as_u64()).collect();
    numbers.sort_unstable();
    numbers
}

fn call(id: &Value, params: &Value) -> Vec<u8> {
    let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    request.to_string().into_bytes()
}

/// Calls of a tool with these arguments, numbered.
fn calls(calls: &[(&str, Value)]) -> Vec<Vec<u8>> {
    let numbered = (1..).zip(calls);
    numbered
        .map(|(n, (tool, arguments))| {
            call(&json!(n), &json!({"name": tool, "arguments": arguments}))
        })
        .collect()
}

const HOSTILE: &str = "\"\\ \u{1b}[31m \u{202e}evil\u{2069} \u{7f} </todos> \n\t 漢字 👩‍👩‍👧";

/// Calls of every kind in each dialect: valid, refused, invalid.
fn table(dialect: Dialect) -> Vec<(&'static str, Value)> {
    let item = |title: &str| json!({"title": title, "context": "why", "agentType": "x"});
    match dialect {
        Dialect::Turn => vec![
            ("list_todo", json!({})),
            (
                "create_todo",
                json!({"items": [item("One"), item(HOSTILE), {"title": "Three", "dependsOn": [1], "parent": 2}]}),
            ),
            ("list_todo", json!({})),
            ("next_todo", json!({})),
            ("update_todo", json!({"todoId": 2, "waitingOn": HOSTILE})),
            ("complete_todo", json!({"todoId": "#1", "outcome": HOSTILE})),
            ("complete_todo", json!({"todoId": "nobody", "outcome": "x"})),
            ("complete_todo", json!({"todoId": 1, "outcome": "again"})),
            ("create_todo", json!({"items": [{"title": " "}, {"title": 7}, 3]})),
            ("create_todo", json!({"items": [{"title": "x".repeat(600)}]})),
            ("create_todo", Value::Null),
            ("list_todo", json!({"status": "all"})),
            ("list_todo", json!({"status": 1.5e300})),
            ("next_todo", json!({"wait_for_previous": true})),
        ],
        Dialect::Manager => vec![
            ("todo_manager", json!({"action": "add_multiple", "todos": ["One", HOSTILE]})),
            ("todo_manager", json!({"action": "start", "ids": [1]})),
            ("todo_manager", json!({"action": "next"})),
            ("todo_manager", json!({"action": "list"})),
            ("todo_manager", json!({"action": "complete_multiple", "ids": [9]})),
            ("todo_manager", json!({"action": "dance"})),
        ],
        Dialect::TodoWrite => vec![
            (
                "TodoWrite",
                json!({"todos": [{"content": HOSTILE, "status": "pending", "activeForm": "x"}]}),
            ),
            ("TodoWrite", json!({"todos": []})),
            ("TodoWrite", json!({"todos": "none"})),
        ],
        Dialect::WriteTodos => vec![
            ("write_todos", json!({"todos": [{"description": HOSTILE, "status": "blocked"}]})),
            ("write_todos", json!({})),
        ],
        Dialect::UpdatePlan => vec![
            ("update_plan", json!({"plan": [{"step": HOSTILE, "status": "in_progress"}]})),
            ("update_plan", json!({"plan": [{"step": 1}]})),
        ],
        Dialect::Tasks => vec![
            ("TaskCreate", json!({"subject": HOSTILE, "description": "d"})),
            ("TaskUpdate", json!({"taskId": "1", "status": "in_progress"})),
            ("TaskGet", json!({"taskId": "1"})),
            ("TaskList", json!({})),
            ("TaskUpdate", json!({"taskId": "1", "status": "deleted"})),
        ],
    }
}

#[track_caller]
fn check_numbered(dialect: Dialect, version: &str) {
    let table = table(dialect);
    let answers = answers(dialect, version, &calls(&table));
    assert!(numbers(&answers).into_iter().eq(1..=table.len() as u64), "{dialect} {version}");
    for answer in &answers {
        // An invalid call gets a result too: only then does the model read it.
        assert!(answer["result"]["content"][0]["text"].is_string(), "{answer}");
    }
}

#[test]
fn every_call_of_every_dialect_is_answered_once() {
    for dialect in Dialect::ALL {
        check_numbered(dialect, "2025-11-25");
    }
}

#[test]
fn clients_of_every_revision_with_a_handshake_are_answered() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "moon"] {
        check_numbered(Dialect::Turn, version);
    }
}

#[test]
fn an_id_comes_back_as_it_was_sent() {
    for id in [json!(5), json!("a \"quoted\" ü"), json!(-4), json!("")] {
        let line = call(&id, &json!({"name": "list_todo"}));
        let answers = answers(Dialect::Turn, "2025-11-25", &[line]);
        assert_eq!(answers.iter().map(|it| &it["id"]).collect::<Vec<_>>(), [&id]);
    }
}

#[test]
fn a_line_of_some_megabytes_is_read_whole() {
    let long =
        json!({"name": "create_todo", "arguments": {"items": [{"title": "x".repeat(3 << 20)}]}});
    let lines = [call(&json!(9), &long), call(&json!(10), &json!({"name": "list_todo"}))];
    let answers = answers(Dialect::Turn, "2025-11-25", &lines);
    assert_eq!(numbers(&answers), [9, 10]);
    let long = answers.iter().find(|it| it["id"] == 9).unwrap();
    assert_eq!(long["result"]["isError"], true, "{long}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn calls_with_any_texts_are_answered(
        texts in prop::collection::vec((".*", ".*", any::<Option<u32>>()), 1..6),
    ) {
        let mut all = Vec::new();
        for (title, context, order) in &texts {
            all.push(("create_todo", json!({"items": [{"title": title, "context": context, "order": order}]})));
            all.push(("complete_todo", json!({"todoId": order, "outcome": context})));
        }
        all.push(("list_todo", json!({"status": "all"})));
        let answers = answers(Dialect::Turn, "2025-11-25", &calls(&all));
        prop_assert!(numbers(&answers).into_iter().eq(1..=all.len() as u64));
    }
}

/// A client on a connection of its own, after the handshake.
struct Client {
    stream: BufReader<DuplexStream>,
}

impl Client {
    async fn connect(server: Server) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (read, write) = tokio::io::split(theirs);
        tokio::spawn(serve_streams(server, read, write));
        let mut client = Self { stream: BufReader::new(ours) };
        for line in lines("2025-11-25", []) {
            client.send(&line).await;
        }
        assert_eq!(client.answer().await["id"], 0);
        client
    }

    async fn send(&mut self, line: &[u8]) {
        self.stream.write_all(line).await.unwrap();
        self.stream.write_all(b"\n").await.unwrap();
    }

    async fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

#[test]
fn a_slow_call_of_one_connection_holds_up_no_other() {
    // One thread: a call that blocks it would hold up everybody.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (server, store) = slow_server();
        let mut slow = Client::connect(server.connection()).await;
        let mut other = Client::connect(server.connection()).await;
        let create = json!({"name": "create_todo", "arguments": {"items": [{"title": "A"}]}});
        let list = json!({"name": "list_todo"});
        slow.send(&call(&json!(1), &create)).await;
        slow.send(&call(&json!(2), &list)).await;
        store.wait_until_asked().await;

        other.send(&call(&json!(1), &list)).await;
        assert_eq!(other.answer().await["id"], 1);
        // The next call of the same connection waits for the one before it.
        let early = tokio::time::timeout(Duration::from_millis(50), slow.answer()).await;
        assert!(early.is_err(), "{early:?}");

        store.open();
        assert_eq!(slow.answer().await["id"], 1);
        let second = slow.answer().await;
        assert_eq!(second["id"], 2);
        assert_eq!(second["result"]["structuredContent"]["summary"]["total"], 1, "{second}");
        assert!(!store.was_given_up(), "the slow call did not wait for the store to open");
    });
}
