//! `punchlist acp` as editors use it: the real program over pipes, message by message.

mod acpx;
mod client;
mod hostile;
mod output;
mod sdk;
mod servers;

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::World;
use client::{Client, command};

/// Two files, of which the second may be refused, and a list that says so.
fn two_files() -> Value {
    let items = json!([{"title": "Write a"}, {"title": "Write b"}]);
    let write = |name: &str| {
        let arguments = json!({"path": format!("{name}.txt"), "content": format!("{name}\n")});
        json!([{"tool": "write", "arguments": arguments}])
    };
    let done = |id: &str, status: &str| {
        let arguments = json!({"todoId": id, "status": status, "outcome": "as it was"});
        json!([{"tool": "complete_todo", "arguments": arguments}])
    };
    json!({"answers": [
        {"thinking": "Two files.", "calls": [{"tool": "create_todo", "arguments": {"items": items}}]},
        {"text": "First a.", "calls": write("a")},
        {"calls": done("1", "completed")},
        {"text": "Then b.", "calls": write("b")},
        {"calls": done("2", "cancelled")},
        {"text": "That is all."},
        {"calls": [{"tool": "shell", "arguments": {"command": "sleep 100"}}]},
        {"text": "Nothing more."},
        {"text": "Really nothing."},
    ]})
}

/// A model that only says something, again and again.
fn talk() -> Value {
    let answers: Vec<Value> = (1..=9).map(|it| json!({"text": format!("Answer {it}.")})).collect();
    json!({"answers": answers})
}

/// A model that runs a command which takes long.
fn slow() -> Value {
    json!({"answers": [
        {"text": "This takes a while.", "calls": [{"tool": "shell", "arguments": {"command": "sleep 100"}}]},
        {"text": "It was interrupted.", "expect": {"contains": ["interrupted"]}},
        {"text": "Next."},
        {"text": "And next."},
    ]})
}

#[test]
fn a_prompt_is_worked_on_with_plan_calls_and_questions() {
    let world = World::new();
    let (mut client, session) = Client::playing(&world, &two_files());
    let done = client.prompt(&session, "Write two files", &["once", "reject"]);
    assert_eq!(done.stop(), "end_turn");
    assert_eq!(done.text("agent_thought_chunk"), "Two files.");
    assert_eq!(done.text("agent_message_chunk"), "First a.\n\nThen b.\n\nThat is all.");
    assert_eq!(fs::read_to_string(world.path("project/a.txt")).unwrap(), "a\n");
    assert!(!world.path("project/b.txt").exists());

    let plans = done.of_kind("plan");
    let shown = |it: &&Value| {
        let entries = it["entries"].as_array().unwrap();
        let entry = |it: &Value| format!("{}: {}", it["content"], it["status"]).replace('"', "");
        entries.iter().map(entry).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        plans.iter().map(shown).collect::<Vec<_>>(),
        [
            "Write a: pending, Write b: pending",
            "Write a: completed, Write b: pending",
            "Write a: completed, Write b (skipped): completed",
        ]
    );
    let last = &plans[2]["entries"][1];
    assert_eq!(last["priority"], "medium");
    assert_eq!(last["_meta"]["punchlist"], json!({"number": 2, "status": "cancelled"}));

    let calls = done.of_kind("tool_call");
    assert_eq!(calls.len(), 2, "the plan's own tools are not shown: {calls:?}");
    let path = world.path("project/a.txt");
    assert_eq!(calls[0]["kind"], "edit");
    assert_eq!(calls[0]["title"], "Write a.txt");
    assert_eq!(calls[0]["locations"], json!([{"path": path}]));
    let diff = json!({"type": "diff", "path": path, "oldText": null, "newText": "a\n"});
    assert_eq!(calls[0]["content"], json!([diff]));
    let states: Vec<&Value> =
        done.of_kind("tool_call_update").into_iter().map(|it| &it["status"]).collect();
    assert_eq!(states, ["in_progress", "completed", "failed"]);

    let question = &done.questions[0];
    assert_eq!(question["sessionId"], session.as_str());
    assert_eq!(question["toolCall"]["toolCallId"], calls[0]["toolCallId"]);
    let kinds = question["options"].as_array().unwrap().iter().map(|it| &it["kind"]);
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        ["allow_once", "allow_always", "allow_always", "reject_once"]
    );
    // The answers are those of the person behind the editor.
    let stored = world.run(&["questions", "--all", "--json"]).json();
    assert!(stored.to_string().contains("me@host via test"), "{stored}");
    assert!(client.end().success());
}

#[test]
fn an_answer_for_always_is_a_rule() {
    let world = World::new();
    let write =
        |text: &str| json!([{"tool": "write", "arguments": {"path": "a.txt", "content": text}}]);
    let scenario = json!({"answers": [
        {"calls": write("1\n")}, {"text": "Once."}, {"calls": write("2\n")}, {"text": "Twice."},
    ]});
    let (mut client, session) = Client::playing(&world, &scenario);
    let done = client.prompt(&session, "Write", &["always-1"]);
    assert_eq!((done.stop(), done.questions.len()), ("end_turn", 1));
    let rules = fs::read_to_string(world.path("home/.config/punchlist/config.toml")).unwrap();
    assert!(rules.contains("tool = \"write\""), "{rules}");
    let done = client.prompt(&session, "Write again", &[]);
    assert_eq!((done.stop(), done.questions.len()), ("end_turn", 0));
    let old = &done.of_kind("tool_call")[0]["content"][0]["oldText"];
    assert_eq!(old, "1\n", "the text that is replaced is shown");
}

#[test]
fn a_prompt_is_cancelled_while_a_call_runs_or_asks() {
    let world = World::new();
    let call = json!([{"tool": "shell", "arguments": {"command": "sleep 100"}}]);
    let scenario = json!({"answers": [{"calls": call}, {"calls": call}, {"text": "Go on."}]});
    let (mut client, session) = Client::playing(&world, &scenario);
    let cancelled = json!({"sessionId": session});
    // Nothing runs, so nothing happens.
    client.notify("session/cancel", &cancelled);

    let id = client.begin(&session, "Wait");
    let question = client.wait(|it| it["method"] == "session/request_permission");
    client.choose(&question, "once");
    client.sees_call_run();
    let began = Instant::now();
    client.notify("session/cancel", &cancelled);
    assert_eq!(client.until(id, &[]).stop(), "cancelled");
    assert!(began.elapsed() < Duration::from_secs(30), "the command was not waited for");

    let id = client.begin(&session, "Wait again");
    let question = client.wait(|it| it["method"] == "session/request_permission");
    client.notify("session/cancel", &cancelled);
    let outcome = json!({"outcome": {"outcome": "cancelled"}});
    client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": outcome}));
    assert_eq!(client.until(id, &[]).stop(), "cancelled");

    let done = client.prompt(&session, "Still there?", &[]);
    assert_eq!((done.stop(), done.text("agent_message_chunk").as_str()), ("end_turn", "Go on."));
    assert!(client.end().success());
}

#[test]
fn a_session_is_loaded_by_another_process() {
    let world = World::new();
    let (mut client, session) = Client::playing(&world, &two_files());
    client.prompt(&session, "Write two files", &["once"]);
    assert!(client.end().success());

    let mut client = Client::of(command(&world, &two_files()));
    let loaded = client.loads(&world, &session);
    assert_eq!(loaded.answer["result"], json!({}));
    assert_eq!(loaded.text("user_message_chunk"), "Write two files");
    assert_eq!(loaded.text("agent_thought_chunk"), "Two files.");
    assert_eq!(loaded.text("agent_message_chunk"), "First a.\n\nThen b.\n\nThat is all.\n\n");
    assert_eq!(loaded.of_kind("tool_call").len(), 2);
    let states = loaded.of_kind("tool_call_update");
    assert!(states.iter().all(|it| it["status"] == "completed"), "{states:?}");
    let plans = loaded.of_kind("plan");
    assert_eq!(plans.len(), 1);
    assert_eq!(plans[0]["entries"][0]["content"], "Write a");
    // It goes on where it was, and the plan of the first turn is told once.
    let id = client.begin(&session, "And now?");
    client.wait(|it| it["method"] == "session/request_permission");
    client.notify("session/cancel", &json!({"sessionId": session}));
    assert_eq!(client.until(id, &[]).stop(), "cancelled");
    // Other programs see the same session.
    let sessions = world.run(&["sessions", "--json"]).json();
    assert!(sessions.to_string().contains(&session), "{sessions}");
}

#[test]
fn a_turn_that_a_crash_cut_off_goes_on_with_the_next_prompt() {
    let world = World::new();
    let (mut client, session) = Client::playing(&world, &slow());
    client.begin(&session, "Wait");
    let question = client.wait(|it| it["method"] == "session/request_permission");
    client.choose(&question, "once");
    client.sees_call_run();
    client.child.kill().unwrap();
    client.child.wait().unwrap();

    let mut client = Client::of(command(&world, &slow()));
    client.loads(&world, &session);
    let done = client.prompt(&session, "What is next?", &[]);
    assert_eq!(done.stop(), "end_turn");
    let text = done.text("agent_message_chunk");
    assert_eq!(text, "It was interrupted.\n\nNext.");
}

#[test]
fn the_end_of_the_connection_stops_the_turns_and_leaves_the_sessions() {
    let world = World::new();
    let (mut client, session) = Client::playing(&world, &slow());
    client.begin(&session, "Wait");
    let question = client.wait(|it| it["method"] == "session/request_permission");
    client.choose(&question, "once");
    client.sees_call_run();
    let began = Instant::now();
    assert!(client.end().success());
    assert!(began.elapsed() < Duration::from_secs(30), "the command was not waited for");
    let shown = world.run(&["sessions", "show", &session]);
    assert!(shown.out.contains("aborted"), "{}", shown.out);
    let sessions = world.run(&["sessions", "--json"]).json();
    assert_eq!(sessions["sessions"][0]["id"], session.as_str(), "{sessions}");
}

#[test]
fn sessions_are_worked_on_side_by_side_and_each_on_one_prompt() {
    let world = World::new();
    world.repository("other/.git");
    let (mut client, slow) = Client::playing(&world, &slow());
    let quick = client.opens(&world, "other");
    let id = client.begin(&slow, "Wait");
    let question = client.wait(|it| it["method"] == "session/request_permission");
    assert_eq!(question["params"]["sessionId"], slow.as_str());
    let prompt = json!([{"type": "text", "text": "And?"}]);
    let busy = client.ask("session/prompt", &json!({"sessionId": slow, "prompt": prompt}));
    assert_eq!(busy["error"]["code"], -32600, "{busy}");
    assert!(busy["error"]["message"].as_str().unwrap().contains("session/cancel"), "{busy}");
    // The other session plays the scenario from its beginning: its call asks as well.
    let other = client.begin(&quick, "Wait too");
    let question = client.wait(|it| it["method"] == "session/request_permission");
    assert_eq!(question["params"]["sessionId"], quick.as_str());
    client.notify("session/cancel", &json!({"sessionId": quick}));
    let stopped = client.wait(|it| it["id"] == other && it.get("method").is_none());
    assert_eq!(stopped["result"]["stopReason"], "cancelled");
    client.notify("session/cancel", &json!({"sessionId": slow}));
    assert_eq!(client.until(id, &[]).stop(), "cancelled");
}

#[test]
fn an_agent_that_started_the_program_answers_nothing() {
    let world = World::new();
    let mut command = command(&world, &two_files());
    command.env("CLAUDECODE", "1");
    let mut client = Client::of(command);
    let session = client.opens(&world, "project");
    let done = client.prompt(&session, "Write two files", &[]);
    assert_eq!((done.stop(), done.questions.len()), ("end_turn", 0));
    assert!(!world.path("project/a.txt").exists());
}

#[test]
fn endings_have_their_stop_reasons_and_failures_say_what_to_do() {
    let world = World::new();
    world.write("home/.config/punchlist/config.toml", "[agent]\nmax_calls = 1\n");
    let list = json!([{"tool": "list_todo", "arguments": {}}]);
    let scenario = json!({"answers": [
        {"calls": list}, {"text": "That is as far as I got."}, {"text": "x", "failure": "truncated"},
    ]});
    let (mut client, session) = Client::playing(&world, &scenario);
    let done = client.prompt(&session, "Go", &[]);
    assert_eq!(done.stop(), "max_turn_requests", "{:?}", done.updates);
    let failed = client.prompt(&session, "Go on", &[]);
    assert_eq!(failed.answer["error"]["code"], -32603, "{}", failed.answer);
    assert!(!failed.answer["error"]["message"].as_str().unwrap().is_empty());

    let mut command = world.command("project");
    command.arg("acp");
    let mut client = Client::of(command);
    let opened =
        client.ask("session/new", &json!({"cwd": world.path("project"), "mcpServers": []}));
    let message = opened["error"]["message"].as_str().unwrap();
    assert!(message.contains("ollama"), "a local model is among the ways: {message}");
}

#[test]
fn a_turn_has_the_id_that_the_editor_gives_it() {
    let world = World::new();
    let (mut client, session) = Client::playing(&world, &talk());
    for (meta, expected) in [
        (json!({"turnId": "turn-7"}), Some("turn-7")),
        // An id is used once, and one that nobody could print is not used.
        (json!({"turnId": "turn-7"}), None),
        (json!({"turnId": "a b\u{7}"}), None),
        (json!({}), None),
    ] {
        let prompt = json!([{"type": "text", "text": "Say it"}]);
        let params = json!({"sessionId": session, "prompt": prompt, "_meta": meta});
        let id = client.send("session/prompt", &params);
        assert_eq!(client.until(id, &[]).stop(), "end_turn");
        let shown = world.run(&["sessions", "export", &session, "--format", "jsonl"]).out;
        let lines = shown.lines().map(|it| serde_json::from_str::<Value>(it).unwrap());
        let last = lines.rev().find(|it| it["type"] == "turn").unwrap();
        let last = last["id"].as_str().unwrap();
        match expected {
            Some(id) => assert_eq!(last, id),
            None => assert!(last != "turn-7" && last.len() == 36, "{last}"),
        }
    }
}
