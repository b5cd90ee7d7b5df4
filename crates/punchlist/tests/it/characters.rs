//! Control characters in JSON output: always escaped, and parsed back unchanged. And lone
//! surrogates, which JavaScript clients send.

use serde_json::{Value, json};

use crate::world::{Ran, World, finish};

/// DEL, C1, line separators, and all bidirectional controls.
const ACTING: &str = "a\u{7f}b\u{80}\u{9b}31m\u{9f}c\u{2028}\u{2029}d\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}e";

fn acts(ch: char) -> bool {
    matches!(
        ch,
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{61c}' | '\u{200e}' | '\u{200f}'
    ) || matches!(ch, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[track_caller]
fn check(what: &str, out: &str) {
    assert!(!out.contains(acts), "{what}: {out:?}");
    let has = |value: &Value| contains(value, ACTING);
    let values = out.lines().map(|it| serde_json::from_str::<Value>(it).unwrap());
    assert!(values.into_iter().any(|it| has(&it)), "{what}: the text is gone: {out:?}");
}

/// Whether a text is somewhere in a value, or in a text that is JSON itself.
fn contains(value: &Value, text: &str) -> bool {
    match value {
        Value::String(it) => {
            it.contains(text)
                || serde_json::from_str::<Value>(it)
                    .is_ok_and(|it| it.is_object() && contains(&it, text))
        }
        Value::Array(all) => all.iter().any(|it| contains(it, text)),
        Value::Object(all) => all.values().any(|it| contains(it, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[test]
fn json_of_every_verb_writes_characters_that_act_as_escapes() {
    let world = World::new();
    world.run(&["add", ACTING, "--context", ACTING]).works();
    world.run(&["start", "1"]).works();
    world.run(&["plans", "rename", ACTING]);
    for line in
        ["list", "show", "show 1", "log", "next --peek", "plans", "edit 1 --criteria x", "export"]
    {
        let arguments: Vec<&str> = line.split(' ').chain(["--json"]).collect();
        let ran = world.run(&arguments);
        if ran.code == 0 && contains_any(&ran) {
            check(line, &ran.out);
        } else {
            assert!(!ran.out.contains(acts), "{line}: {:?}", ran.out);
        }
    }
    check("list", &world.run(&["list", "--json"]).out);
    check("log", &world.run(&["log", "--json"]).out);
    check("export", &world.run(&["export"]).out);
    let refused = world.run(&["add", "--json", &ACTING.repeat(40)]);
    assert!(refused.code != 0 && !refused.err.contains(acts), "{:?}", refused.err);
}

fn contains_any(ran: &Ran) -> bool {
    ran.out
        .lines()
        .any(|it| serde_json::from_str::<Value>(it).is_ok_and(|it| contains(&it, ACTING)))
}

#[test]
fn an_export_is_read_back_as_it_was() {
    let world = World::new();
    world.run(&["add", ACTING]).works();
    let file = world.run(&["export"]).out;
    assert!(!file.contains(acts), "{file:?}");
    let other = World::new();
    let ran = other.run_with(&["import", "-"], file.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let plans = other.run(&["plans", "--all", "--json"]).json();
    let id = plans["plans"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(other.run(&["list", "--json", "--plan", &id]).json()["items"][0]["title"], ACTING);
}

fn stream() -> String {
    let todo = json!({"content": ACTING, "status": "pending", "activeForm": ACTING});
    let call =
        json!({"type": "tool_use", "id": "t1", "name": "TodoWrite", "input": {"todos": [todo]}});
    let lines = [
        json!({"type": "system", "subtype": "init", "session_id": "s", "cwd": "/p", "model": ACTING}),
        json!({"type": "assistant", "message": {"id": "m", "role": "assistant", "content": [call]},
            "session_id": "s"}),
        json!({"type": "user", "session_id": "s", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]},
            "tool_use_result": {"oldTodos": [], "newTodos": [todo]}}),
        json!({"type": "assistant", "message": {"id": "n", "role": "assistant", "content": [
            {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": ACTING}}]},
            "session_id": "s"}),
    ];
    lines.map(|it| it.to_string() + "\n").concat()
}

#[test]
fn events_and_watch_write_characters_that_act_as_escapes() {
    let world = World::new();
    let ran = world.run_with(&["events"], stream().as_bytes());
    check("events", &ran.out);
    let events: Vec<Value> = ran.out.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let list = events.iter().find(|it| it["type"] == "todo_list").unwrap();
    assert_eq!(list["items"][0]["text"], ACTING);
    let call = events.iter().find(|it| it["type"] == "tool.scheduled").unwrap();
    assert_eq!(call["input"]["command"], ACTING);
    check("watch", &world.run_with(&["watch", "--json", "-"], stream().as_bytes()).out);
}

#[test]
fn mcp_results_write_characters_that_act_as_escapes() {
    let world = World::new();
    let request = |id: u32, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string() + "\n"
    };
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}});
    for dialect in ["turn", "manager", "todowrite"] {
        let (tool, arguments) = match dialect {
            "turn" => ("create_todo", json!({"items": [{"title": ACTING}]})),
            "manager" => ("todo_manager", json!({"action": "add_multiple", "todos": [ACTING]})),
            _ => (
                "TodoWrite",
                json!({"todos": [
                {"content": ACTING, "status": "pending", "activeForm": "x"}]}),
            ),
        };
        let lines = [
            request(1, "initialize", hello.clone()),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string() + "\n",
            request(2, "tools/call", json!({"name": tool, "arguments": arguments})),
            request(3, "resources/list", json!({})),
        ];
        let ran = world.run_with(&["mcp", "--dialect", dialect], lines.concat().as_bytes());
        assert!(!ran.out.contains(acts), "{dialect}: {:?}", ran.out);
        assert!(ran.out.contains("\"id\":2"), "{dialect}: {:?}", ran.out);
        if dialect == "turn" {
            check(dialect, &ran.out);
        }
    }
}

fn hook(world: &World, agent: &str, event: &str) -> Ran {
    let mut command = world.command("home");
    command.args(["hook", agent]).env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli");
    finish(command, event.as_bytes())
}

/// An event of the session, with a lone surrogate in place of HERE.
fn event(world: &World, name: &str, fields: Value) -> String {
    let mut event =
        json!({"session_id": "s-1", "cwd": world.path("project"), "hook_event_name": name});
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    event.to_string().replace("HERE", "\\ud83d")
}

#[test]
fn a_task_whose_subject_is_cut_in_a_character_is_kept() {
    let world = World::new();
    let fields = json!({"tool_name": "TaskCreate", "tool_input": {"subject": "Ship HERE", "description": ""},
        "tool_response": {"task": {"id": "1", "subject": "Ship HERE"}}});
    let ran = hook(&world, "claude", &event(&world, "PostToolUse", fields));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let plans = world.run(&["plans", "--all", "--json"]).json();
    let id = plans["plans"][0]["id"].as_str().unwrap().to_owned();
    let list = world.run(&["list", "--json", "--plan", &id]).json();
    assert_eq!(list["items"][0]["title"], "Ship \u{fffd}");
}

#[test]
fn an_answer_that_is_cut_in_a_character_does_not_open_the_gate() {
    for (agent, written, stop) in [
        (
            "claude",
            json!({"tool_name": "TodoWrite", "tool_input": {}, "tool_response": {"newTodos": [
            {"content": "A", "status": "pending", "activeForm": "A"}]}}),
            "Stop",
        ),
        (
            "codex",
            json!({"tool_name": "update_plan", "tool_response": "Plan updated", "tool_input": {"plan": [
            {"step": "A", "status": "pending"}]}}),
            "Stop",
        ),
    ] {
        let world = World::new();
        hook(&world, agent, &event(&world, "SessionStart", json!({"source": "startup"})));
        hook(&world, agent, &event(&world, "PostToolUse", written));
        let answer = json!({"last_assistant_message": "All done HERE", "stop_hook_active": false});
        let ran = hook(&world, agent, &event(&world, stop, answer));
        assert!(ran.out.contains("\"decision\":\"block\""), "{agent}: {:?}", ran.out);
    }
}

#[test]
fn a_tool_of_a_dialect_takes_half_a_character_as_the_replacement_character() {
    let world = World::new();
    let ran =
        world.run_with(&["tool", "turn", "create_todo"], br#"{"items":[{"title":"x\ude00"}]}"#);
    assert_eq!(ran.json()["created"][0]["title"], "x\u{fffd}");
    let plan = br#"{"plan":[{"step":"y\ud83d","status":"pending"}]}"#;
    let ran = world.run_with(&["tool", "update_plan", "update_plan", "--conversation", "c"], plan);
    assert_eq!(ran.out, "Plan updated\n");
}
