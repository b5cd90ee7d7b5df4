//! MCP servers over ACP: those that the editor offers, and those of the project's `.mcp.json`. The user
//! is asked in the editor.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use super::client::{Answered, Client, command};
use crate::world::World;

/// A key that must be seen nowhere.
pub(super) const CANARY: &str = "canary-acp-4b1d";

/// A server with one tool, `greet`. It notes that it was started.
const SERVER: &str = r#"#!/bin/sh
echo started >> started.txt
env > server-environment.txt
while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"greet","description":"Greets.","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"Hello from '"$PLACE with $DB_TOKEN"'"}]}' ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// A world with the server.
pub(super) fn world() -> World {
    let world = World::new();
    world.write("server.sh", SERVER);
    fs::set_permissions(world.path("server.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    world
}

/// The server as an editor offers it.
pub(super) fn offer(world: &World) -> Value {
    json!({
        "name": "My db",
        "command": world.path("server.sh"),
        "args": [],
        "env": [{"name": "PLACE", "value": "there"}, {"name": "DB_TOKEN", "value": CANARY}],
    })
}

/// A model that calls a tool for each prompt, and then says something.
pub(super) fn calls(tool: &str) -> Value {
    let call = json!({"calls": [{"tool": tool, "arguments": {}}]});
    json!({"answers": [call, {"text": "One."}, call, {"text": "Two."}]})
}

/// Opens a session with servers.
fn opens(client: &mut Client, world: &World, servers: &[Value]) -> String {
    let params = json!({"cwd": world.path("project"), "mcpServers": servers});
    let opened = client.ask("session/new", &params);
    opened["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned()
}

fn titles(answered: &Answered) -> Vec<&str> {
    answered.questions.iter().map(|it| it["toolCall"]["title"].as_str().unwrap()).collect()
}

/// The text of the questions and updates.
fn all_text(answered: &Answered) -> String {
    format!("{:?} {:?} {}", answered.questions, answered.updates, answered.answer)
}

fn times_started(world: &World) -> usize {
    fs::read_to_string(world.path("project/started.txt")).map_or(0, |it| it.lines().count())
}

#[test]
fn an_editors_server_is_used_after_a_yes_that_holds_until_its_entry_changes() {
    let world = world();
    let scenario = calls("mcp__My-db__greet");
    let mut agent = command(&world, &scenario);
    agent.env("ANTHROPIC_API_KEY", "canary-of-the-user");
    let mut client = Client::of(agent);
    let session = opens(&mut client, &world, &[offer(&world)]);
    assert_eq!(times_started(&world), 0, "nothing is started before the yes");

    let done = client.prompt(&session, "Greet", &["always", "once"]);
    assert_eq!(done.stop(), "end_turn");
    assert_eq!(titles(&done), ["Use the MCP server My-db", "mcp__My-db__greet"]);
    let asked = done.questions[0].to_string();
    assert!(asked.contains("PLACE=there") && asked.contains("DB_TOKEN=(hidden)"), "{asked}");
    let text = all_text(&done);
    assert!(text.contains("Hello from there with [key]"), "{text}");
    assert!(!text.contains(CANARY), "{text}");
    let environment = fs::read_to_string(world.path("project/server-environment.txt")).unwrap();
    assert!(environment.contains(CANARY), "{environment}");
    assert!(!environment.contains("canary-of-the-user"), "{environment}");

    // The same server serves the next prompt.
    let done = client.prompt(&session, "Greet again", &["once"]);
    assert_eq!((done.stop(), titles(&done)), ("end_turn", vec!["mcp__My-db__greet"]));
    assert_eq!(times_started(&world), 1);
    assert!(client.end().success());

    // Another process, the same entry: no question about the server. A loaded session uses it too.
    let mut client = Client::of(command(&world, &scenario));
    let params = json!({
        "cwd": world.path("project"), "mcpServers": [offer(&world)], "sessionId": session,
    });
    let id = client.send("session/load", &params);
    client.until(id, &[]);
    let fresh = opens(&mut client, &world, &[offer(&world)]);
    let done = client.prompt(&fresh, "Greet", &["once"]);
    assert_eq!(titles(&done), ["mcp__My-db__greet"]);
    // Another entry: the question comes again.
    let mut changed = offer(&world);
    changed["env"][0]["value"] = json!("elsewhere");
    let other = opens(&mut client, &world, &[changed]);
    let done = client.prompt(&other, "Greet", &["once"]);
    assert_eq!(titles(&done)[0], "Use the MCP server My-db");
    assert!(client.end().success());

    // What was allowed is listed without the key, and can be taken back.
    let listed = world.run(&["policy", "--consents", "--json"]).json();
    let consents = listed["consents"].as_array().unwrap();
    assert_eq!(consents.len(), 1, "\"once\" is not kept: {listed}");
    assert_eq!(consents[0]["name"], "mcp.My-db");
    assert_eq!(consents[0]["what"], world.path("server.sh").display().to_string());
    assert!(!listed.to_string().contains(CANARY), "{listed}");
    world.run(&["policy", "--take-back", "mcp.My-db"]).works();
    let mut client = Client::of(command(&world, &scenario));
    let session = opens(&mut client, &world, &[offer(&world)]);
    let done = client.prompt(&session, "Greet", &["once"]);
    assert_eq!(titles(&done)[0], "Use the MCP server My-db");
}

#[test]
fn a_server_that_is_refused_is_not_started_and_the_prompt_goes_on() {
    let world = world();
    let mut client = Client::of(command(&world, &calls("mcp__My-db__greet")));
    let session = opens(&mut client, &world, &[offer(&world)]);
    let done = client.prompt(&session, "Greet", &["reject"]);
    assert_eq!((done.stop(), done.questions.len()), ("end_turn", 1));
    let thoughts = done.text("agent_thought_chunk");
    assert!(thoughts.contains("MCP server My-db: not started: the editor offers it"), "{thoughts}");
    let state = done.of_kind("tool_call_update")[0];
    assert_eq!(state["status"], "failed");
    // The answer holds for this session.
    assert_eq!(client.prompt(&session, "Again", &[]).questions.len(), 0);
    assert_eq!(times_started(&world), 0);
}

#[test]
fn a_prompt_is_cancelled_while_a_server_is_asked_about() {
    let world = world();
    let mut client = Client::of(command(&world, &calls("mcp__My-db__greet")));
    let session = opens(&mut client, &world, &[offer(&world)]);
    let id = client.begin(&session, "Greet");
    client.wait(|it| it["method"] == "session/request_permission");
    client.notify("session/cancel", &json!({"sessionId": session}));
    assert_eq!(client.until(id, &[]).stop(), "cancelled");
    assert_eq!(times_started(&world), 0);
    // The next prompt asks again.
    client.begin(&session, "Greet");
    client.wait(|it| it["method"] == "session/request_permission");
    // The end of the connection ends the question too.
    assert!(client.end().success());
}

#[test]
fn nobody_is_asked_about_servers_if_an_agent_started_the_program() {
    let world = world();
    let mut command = command(&world, &calls("mcp__My-db__greet"));
    command.env("CLAUDECODE", "1");
    let mut client = Client::of(command);
    let session = opens(&mut client, &world, &[offer(&world)]);
    let done = client.prompt(&session, "Greet", &[]);
    assert_eq!((done.stop(), done.questions.len()), ("end_turn", 0));
    assert_eq!(times_started(&world), 0);
}

#[test]
fn servers_of_the_project_are_asked_about_in_the_editor_too() {
    let world = world();
    let entry = json!({"command": world.path("server.sh"), "env": {"PLACE": "the project"}});
    world.write("project/.mcp.json", json!({"mcpServers": {"own": entry}}).to_string());
    let mut client = Client::of(command(&world, &calls("mcp__own__greet")));
    let session = opens(&mut client, &world, &[]);
    let done = client.prompt(&session, "Greet", &["once"]);
    assert_eq!(titles(&done), ["Use the MCP server own", "mcp__own__greet"]);
    assert!(done.questions[0].to_string().contains(".mcp.json of this project wants"));
    assert!(all_text(&done).contains("Hello from the project"), "{}", all_text(&done));
}

#[test]
fn offers_that_make_no_sense_are_left_out_and_the_session_opens() {
    let world = world();
    let mut client = Client::of(command(&world, &calls("read")));
    for offers in [
        json!([null, 7, "x", {}, [], {"name": "a"}, {"type": "sse", "name": "a", "url": "http://a/"}]),
        json!([{"name": "a", "command": "/nonexistent", "env": {"A": CANARY}}]),
        json!(vec![json!({"name": "\u{1b}[2J", "command": "a"}); 500]),
    ] {
        let params = json!({"cwd": world.path("project"), "mcpServers": offers});
        assert!(client.ask("session/new", &params)["result"]["sessionId"].is_string());
    }
    let params = json!({"cwd": world.path("project"), "mcpServers": {"a": {}}});
    assert_eq!(client.ask("session/new", &params)["error"]["code"], -32602);
    assert!(client.end().success());
}

/// A server over HTTP on loopback with one tool, `greet`. Returns its address, and the headers of the
/// requests that it gets.
fn http_server() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (sender, headers) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                    break;
                }
                if let Some(it) = line.to_lowercase().strip_prefix("content-length:") {
                    length = it.trim().parse().unwrap();
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let request: Value = serde_json::from_slice(&body).unwrap_or_default();
            sender.send(head).ok();
            let result = match request["method"].as_str() {
                Some("initialize") => Some(json!({
                    "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "h", "version": "1"},
                })),
                Some("tools/list") => Some(json!({"tools": [
                    {"name": "greet", "description": "Greets.", "inputSchema": {"type": "object"}},
                ]})),
                Some("tools/call") => {
                    Some(json!({"content": [{"type": "text", "text": "Hello over HTTP"}]}))
                }
                _ => None,
            };
            let answer = match result {
                Some(result) => {
                    let text = json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
                        .to_string();
                    format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\
                         content-length: {}\r\n\r\n{text}",
                        text.len()
                    )
                }
                None if request["method"].is_string() => {
                    "HTTP/1.1 202 Accepted\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
                        .to_owned()
                }
                None => {
                    "HTTP/1.1 405 No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_owned()
                }
            };
            stream.write_all(answer.as_bytes()).ok();
        }
    });
    (address, headers)
}

#[test]
fn an_editors_server_over_http_is_used_with_its_headers() {
    let world = world();
    let (url, headers) = http_server();
    let server = json!({
        "type": "http", "name": "web", "url": url,
        "headers": [{"name": "Authorization", "value": format!("Bearer {CANARY}")}],
    });
    let mut client = Client::silent(command(&world, &calls("mcp__web__greet")));
    let hello = client.ask("initialize", &json!({"protocolVersion": 1}));
    let able = &hello["result"]["agentCapabilities"]["mcpCapabilities"];
    assert_eq!(*able, json!({"http": true, "sse": false}));
    let session = opens(&mut client, &world, &[server]);
    let done = client.prompt(&session, "Greet", &["once"]);
    assert_eq!(done.stop(), "end_turn");
    let text = all_text(&done);
    assert!(text.contains("Hello over HTTP") && text.contains(&url), "{text}");
    assert!(!text.contains(CANARY), "{text}");
    let first = headers.recv().unwrap();
    assert!(first.to_lowercase().contains(&format!("authorization: bearer {CANARY}")), "{first}");
}
