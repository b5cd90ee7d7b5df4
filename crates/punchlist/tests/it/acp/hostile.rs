//! Messages that no client should send: how they are answered, and that the agent continues.

use punchlist_testkit::naughty::naughty;
use serde_json::{Value, json};

use super::client::{Client, command};
use super::{slow, talk};
use crate::world::World;

/// Checks that the agent still works.
#[track_caller]
fn works(client: &mut Client, session: &str) {
    assert_eq!(client.prompt(session, "Still there?", &[]).stop(), "end_turn");
}

#[test]
fn lines_that_are_no_messages_are_answered_and_forgotten() {
    let world = World::new();
    let (mut client, session) = Client::playing(&world, &talk());
    let cases: [(&[u8], Value, i32); 8] = [
        (b"garbage", Value::Null, -32700),
        (b"\xff\xfe\x00", Value::Null, -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,", Value::Null, -32700),
        (b"[]", Value::Null, -32600),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]", Value::Null, -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":7}", json!("a"), -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"nothing\"}", json!("b"), -32601),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"nothing\"}", Value::Null, -32601),
    ];
    for (line, id, code) in cases {
        client.write(line);
        let answer = client.next();
        let shown = String::from_utf8_lossy(line);
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{shown}");
    }
    // These get no answer: blank lines, notifications, and answers to nothing.
    client.write(b"");
    client.write(b"  \r");
    client.notify("nothing", &json!({}));
    client.notify("session/cancel", &json!({"sessionId": 7}));
    client.notify("session/cancel", &json!("x"));
    client.say(&json!({"jsonrpc": "2.0", "id": 99, "result": {}}));
    client.say(&json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600}}));
    works(&mut client, &session);
}

#[test]
fn a_line_of_any_length_is_refused_by_its_id() {
    let world = World::new();
    let (mut client, session) = Client::playing(&world, &talk());
    let text = "x".repeat(17 * 1024 * 1024);
    let id = client.begin(&session, &text);
    let refused = client.next();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(id), &json!(-32600)));
    works(&mut client, &session);
}

#[test]
fn wrong_parameters_are_refused_with_what_is_wanted() {
    let world = World::new();
    let (mut client, session) = Client::playing(&world, &talk());
    let project = world.path("project");
    let unknown = "0198a000-0000-7000-8000-000000000000";
    let text = json!([{"type": "text", "text": "x"}]);
    let cases = [
        ("initialize", json!({}), -32602),
        ("initialize", json!({"protocolVersion": "1"}), -32602),
        ("session/new", json!(null), -32602),
        ("session/new", json!([]), -32602),
        ("session/new", json!({"cwd": 7, "mcpServers": []}), -32602),
        ("session/new", json!({"cwd": "project", "mcpServers": []}), -32602),
        ("session/new", json!({"cwd": "/no/such/place", "mcpServers": []}), -32602),
        ("session/new", json!({"cwd": project, "mcpServers": "all"}), -32602),
        ("session/load", json!({"cwd": project, "mcpServers": []}), -32602),
        ("session/load", json!({"cwd": project, "sessionId": "x"}), -32002),
        ("session/load", json!({"cwd": project, "sessionId": unknown}), -32002),
        ("session/prompt", json!({"prompt": text}), -32602),
        ("session/prompt", json!({"sessionId": unknown, "prompt": text}), -32002),
        ("session/prompt", json!({"sessionId": session, "prompt": "x"}), -32602),
        ("session/prompt", json!({"sessionId": session, "prompt": []}), -32602),
        ("session/prompt", json!({"sessionId": session, "prompt": [{"type": "image"}]}), -32602),
    ];
    for (method, params, code) in cases {
        let answer = client.ask(method, &params);
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
    // MCP servers of the editor are accepted, though they are not used yet.
    let server = json!({"name": "x", "command": "/bin/x", "args": [], "env": []});
    let opened = client.ask("session/new", &json!({"cwd": project, "mcpServers": [server]}));
    assert!(opened["result"]["sessionId"].is_string(), "{opened}");
    works(&mut client, &session);
}

#[test]
fn nothing_is_opened_before_the_handshake_and_any_version_is_answered() {
    let world = World::new();
    let mut client = Client::silent(command(&world, &talk()));
    let params = json!({"cwd": world.path("project"), "mcpServers": []});
    assert_eq!(client.ask("session/new", &params)["error"]["code"], -32600);
    for version in [0, 1, 2, 65535] {
        let hello = client.ask("initialize", &json!({"protocolVersion": version}));
        assert_eq!(hello["result"]["protocolVersion"], 1, "{hello}");
        assert_eq!(hello["result"]["agentCapabilities"]["loadSession"], true);
    }
    assert_eq!(client.ask("authenticate", &json!({"methodId": "x"}))["result"], json!({}));
    let session = client.opens(&world, "project");
    works(&mut client, &session);
}

#[test]
fn an_id_that_is_in_use_is_refused_without_it() {
    let world = World::new();
    let (mut client, session) = Client::playing(&world, &slow());
    let id = client.begin(&session, "Wait");
    client.wait(|it| it["method"] == "session/request_permission");
    let again = json!({"jsonrpc": "2.0", "id": id, "method": "session/new", "params": {}});
    client.say(&again);
    let refused = client.next();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)));
    client.notify("session/cancel", &json!({"sessionId": session}));
    assert_eq!(client.until(id, &[]).stop(), "cancelled");
    // Afterwards it may be used again.
    client.say(&again);
    assert_eq!(client.wait(|it| it["id"] == id)["error"]["code"], -32602);
}

#[test]
fn an_answer_that_is_none_of_the_options_allows_nothing() {
    let world = World::new();
    let answers = [
        json!({"result": {"outcome": {"outcome": "selected", "optionId": "everything"}}}),
        json!({"result": {"outcome": {"outcome": "selected"}}}),
        json!({"result": {"outcome": "selected"}}),
        json!({"result": null}),
        json!({"result": {"outcome": {"outcome": "cancelled"}}}),
        json!({"error": {"code": -32601, "message": "what is that?"}}),
    ];
    let write = json!([{"tool": "write", "arguments": {"path": "a.txt", "content": "a"}}]);
    let scenario: Vec<Value> =
        answers.iter().flat_map(|_| [json!({"calls": write}), json!({"text": "No."})]).collect();
    let (mut client, session) = Client::playing(&world, &json!({"answers": scenario}));
    for answer in answers {
        let id = client.begin(&session, "Write");
        let question = client.wait(|it| it["method"] == "session/request_permission");
        let mut message = answer.clone();
        message["jsonrpc"] = "2.0".into();
        message["id"] = question["id"].clone();
        client.say(&message);
        assert_eq!(client.until(id, &[]).stop(), "end_turn", "{answer}");
        assert!(!world.path("project/a.txt").exists(), "{answer}");
    }
}

#[test]
fn prompts_of_any_characters_are_answered() {
    let world = World::new();
    let texts: Vec<String> =
        naughty().into_iter().map(|it| it.text).filter(|it| it.len() < 100_000).collect();
    let all = texts.join("\n");
    let (mut client, session) = Client::playing(&world, &talk());
    assert_eq!(client.prompt(&session, &all, &[]).stop(), "end_turn");
    client.write(
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"session/prompt\",\"params\":{{\"sessionId\":\
             \"{session}\",\"prompt\":[{{\"type\":\"text\",\"text\":\"\\ud800 \\u0000\"}}]}}}}"
        )
        .as_bytes(),
    );
    let done = client.wait(|it| it["id"] == "s");
    assert_eq!(done["result"]["stopReason"], "end_turn", "{done}");
    let loaded = client.loads(&world, &session);
    assert!(loaded.text("user_message_chunk").contains(&texts[0]), "{:?}", loaded.updates);
}
