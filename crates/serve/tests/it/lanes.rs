//! A call that goes the short way and one that goes through the library are answered alike, to the
//! byte.

use proptest::prelude::*;
use punchlist_formats::dialect::Dialect;
use punchlist_serve::mcp::{Lanes, serve_streams};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::world::server_of;

/// What a server says to these lines, one after the other.
fn said(dialect: Dialect, lanes: Lanes, lines: &[Vec<u8>]) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(theirs);
        let server = tokio::spawn(serve_streams(server_of(dialect), read, write, lanes));
        let mut said = Vec::new();
        let mut room = vec![0; 1 << 16];
        for line in lines {
            ours.write_all(line).await.unwrap();
            ours.write_all(b"\n").await.unwrap();
            // A ping has an answer, and comes to be answered when all before it is.
            let ping = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{PING}\",\"method\":\"ping\"}}\n");
            ours.write_all(ping.as_bytes()).await.unwrap();
            let from = said.len();
            while !is_answered(&said[from..]) {
                let read = ours.read(&mut room).await.unwrap();
                assert!(read > 0, "the server has ended");
                said.extend_from_slice(&room[..read]);
            }
        }
        ours.shutdown().await.unwrap();
        ours.read_to_end(&mut said).await.unwrap();
        server.await.unwrap().unwrap();
        String::from_utf8(said).unwrap()
    })
}

const PING: &str = "are you there";

fn is_answered(said: &[u8]) -> bool {
    let said = String::from_utf8_lossy(said);
    said.ends_with('\n') && said.contains(PING)
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

#[track_caller]
fn check(dialect: Dialect, version: &str, rest: &[Vec<u8>]) -> String {
    let lines = lines(version, rest.iter().cloned());
    let [short, long] = [Lanes::Both, Lanes::Long].map(|lanes| said(dialect, lanes, &lines));
    assert_eq!(short, long, "{dialect} {version}");
    short
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

/// Calls of every kind in each dialect: what works, what is refused, what is wrong.
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

#[test]
fn every_call_of_every_dialect_is_answered_alike_both_ways() {
    for dialect in Dialect::ALL {
        let said = check(dialect, "2025-11-25", &calls(&table(dialect)));
        assert!(said.contains("\"result\""), "{said}");
    }
}

#[test]
fn every_revision_is_answered_alike_both_ways() {
    let calls = calls(&table(Dialect::Turn));
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "moon"] {
        check(Dialect::Turn, version, &calls);
    }
}

#[test]
fn whatever_else_a_line_may_be_is_answered_alike_both_ways() {
    let list = json!({"name": "list_todo"});
    let mut lines = vec![
        b"".to_vec(),
        b"nonsense".to_vec(),
        b"{\"jsonrpc\":\"2.0\"}".to_vec(),
        b"[]".to_vec(),
        b"\xff\xfe".to_vec(),
        b"\xef\xbb\xbf{}".to_vec(),
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#.to_vec(),
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nobody"}}"#.to_vec(),
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}"#.to_vec(),
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_todo","arguments":3}}"#.to_vec(),
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_vec(),
        br#"{"jsonrpc":"2.0","id":1,"method":"moon/walk","params":{}}"#.to_vec(),
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#.to_vec(),
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_todo"}}"#.repeat(2),
    ];
    for id in
        [json!(0), json!("a \"quoted\" ü"), json!(-4), json!(u64::MAX), json!(1.5), json!(null)]
    {
        lines.push(call(&id, &list));
    }
    let metas = [
        json!({}),
        json!({"progressToken": 3}),
        json!({"progressToken": []}),
        json!(null),
        json!(1),
    ];
    for meta in metas {
        let mut params = list.clone();
        params["_meta"] = meta;
        lines.push(call(&json!(5), &params));
    }
    let newer = "io.modelcontextprotocol/protocolVersion";
    for version in ["2026-07-28", "2025-11-25", "moon"] {
        let mut params = list.clone();
        params["_meta"] = json!({newer: version});
        lines.push(call(&json!(6), &params));
    }
    let mut spaced = b" \t".to_vec();
    spaced.extend(call(&json!(8), &list));
    spaced.extend(b" \r");
    lines.push(spaced);
    // Longer than what is looked at in one piece.
    let long =
        json!({"name": "create_todo", "arguments": {"items": [{"title": "x".repeat(3 << 20)}]}});
    lines.push(call(&json!(9), &long));
    lines.push(call(&json!(10), &list));
    check(Dialect::Turn, "2025-11-25", &lines);
}

#[test]
fn a_call_before_the_client_is_ready_is_answered_alike_both_ways() {
    let mut lines = lines("2025-11-25", calls(&[("list_todo", json!({}))]));
    lines.swap(1, 2);
    let [short, long] = [Lanes::Both, Lanes::Long].map(|it| said(Dialect::Turn, it, &lines));
    assert_eq!(short, long);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn any_texts_are_answered_alike_both_ways(
        texts in prop::collection::vec((".*", ".*", any::<Option<u32>>()), 1..6),
    ) {
        let mut all = Vec::new();
        for (title, context, order) in &texts {
            all.push(("create_todo", json!({"items": [{"title": title, "context": context, "order": order}]})));
            all.push(("complete_todo", json!({"todoId": order, "outcome": context})));
        }
        all.push(("list_todo", json!({"status": "all"})));
        let lines = lines("2025-11-25", calls(&all));
        let [short, long] = [Lanes::Both, Lanes::Long].map(|it| said(Dialect::Turn, it, &lines));
        prop_assert_eq!(short, long);
    }
}
