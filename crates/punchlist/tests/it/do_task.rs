//! `punchlist do` as a program: its exit codes, its output, and where a key must not be.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use punchlist_testkit::model::{Model, Script};
use serde_json::{Value, json};

use crate::world::{Ran, World, finish};

const CONFIG: &str = "home/.config/punchlist/config.toml";
const ALLOW: &str = "[[policy]]\ndecision = 'allow'\ntool = 'shell'\n";
const CANARY: &str = "canary-5d0c1b7e";

fn call(tool: &str, arguments: &Value) -> Value {
    json!({"calls": [{"tool": tool, "arguments": arguments}]})
}

fn create(titles: &[&str]) -> Value {
    let items: Vec<Value> = titles.iter().map(|it| json!({"title": it})).collect();
    call("create_todo", &json!({"items": items}))
}

fn says(text: &str) -> Value {
    json!({"text": text})
}

/// Does a task with a scripted model.
fn does(world: &World, answers: &[Value], options: &[&str]) -> Ran {
    world.write("scenario.json", json!({"answers": answers}).to_string());
    let model = format!("scripted:{}", world.path("scenario.json").display());
    let mut arguments = vec!["do", "Paint the door", "--model", &model];
    arguments.extend(options);
    world.run(&arguments)
}

#[test]
fn exit_0_answered_and_nothing_open() {
    let world = World::new();
    let done = call("complete_todo", &json!({"todoId": "1", "outcome": "blue"}));
    let ran = does(&world, &[create(&["Paint"]), done, says("It is blue.")], &["--quiet"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "It is blue.\n"), "{}", ran.err);
}

#[test]
fn exit_7_with_items_open_and_the_answer_names_them() {
    let world = World::new();
    let mut answers = vec![create(&["Paint", "Dry"])];
    answers.extend(vec![says("Done."); 4]);
    let ran = does(&world, &answers, &["--quiet"]);
    let expected = "Done.\n\nStill open:\n- Paint\n- Dry\n";
    assert_eq!((ran.code, ran.out.as_str()), (7, expected), "{}", ran.err);
}

#[test]
fn exit_6_if_the_model_fails_or_the_task_is_not_validated() {
    let world = World::new();
    let ran = does(&world, &[json!({"failure": "server_error"})], &[]);
    assert_eq!(ran.code, 6, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("has a problem of its own"), "{}{}", ran.out, ran.err);
    let add = json!({"action": "add_multiple", "todos": [{"content": "Paint"}]});
    let incomplete = says(r#"{"isComplete": false, "reasoning": "It is red."}"#);
    let skip = json!({"action": "skip", "ids": [2], "reason": "no paint"});
    let again = json!({"action": "add_multiple", "todos": [{"content": "Paint again"}]});
    let answers = [
        says(r#"{"isSimple": false}"#),
        call("todo_manager", &add),
        says("Paint it."),
        says("Painted."),
        incomplete.clone(),
        call("todo_manager", &again),
        says("Paint it again."),
        call("todo_manager", &skip),
        incomplete,
    ];
    let ran = does(&world, &answers, &["--strategy", "steps"]);
    assert_eq!(ran.code, 6, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("Created new plan: Paint"), "{}", ran.out);
    let simple =
        does(&world, &[says(r#"{"isSimple": false}"#), says("?!")], &["--strategy", "steps"]);
    assert_eq!(simple.code, 6, "{}{}", simple.out, simple.err);
    let failed = "Planning failed. Could not generate next steps.";
    assert!(simple.out.contains(failed), "{}", simple.out);
}

#[test]
fn exit_130_after_an_interrupt_and_the_list_stays() {
    let world = World::new();
    world.write(CONFIG, ALLOW);
    let answers = [
        create(&["Paint"]),
        call("next_todo", &json!({})),
        call("shell", &json!({"command": "touch begun"})),
        json!({"failure": "silence"}),
    ];
    world.write("scenario.json", json!({"answers": answers}).to_string());
    let mut command = world.command("project");
    let model = format!("scripted:{}", world.path("scenario.json").display());
    command.args(["do", "Paint the door", "--model", &model]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    let begun = world.path("project/begun");
    for _ in 0..3000 {
        if begun.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(begun.exists());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{said}");
    let plans = world.run(&["plans", "--json", "--all"]).json();
    let plans = plans["plans"].as_array().unwrap();
    assert_eq!(plans.len(), 1, "{plans:?}");
    let name = plans[0]["id"].as_str().unwrap().to_owned();
    let list = world.run(&["list", "--plan", &name, "--json"]).json();
    assert!(list.to_string().contains(r#""status":"pending""#), "{list}");
    assert!(!list.to_string().contains(r#""status":"in_progress""#), "{list}");
}

#[test]
fn a_plan_is_made_now_and_worked_on_later() {
    let world = World::new();
    let none = does(&world, &[says("x")], &["--continue"]);
    assert_eq!(none.code, 4, "{}{}", none.out, none.err);
    let ran = does(&world, &[create(&["Paint"]), says("Paint it.")], &["--plan-only", "--quiet"]);
    assert_eq!((ran.code, ran.out.as_str()), (7, "Paint it.\n"), "{}", ran.err);
    let done = call("complete_todo", &json!({"todoId": "1", "outcome": "blue"}));
    let ran = does(&world, &[done, says("It is blue.")], &["--continue", "--quiet"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "It is blue.\n"), "{}", ran.err);
}

#[test]
fn an_answer_fits_its_schema_and_a_budget_ends_the_work() {
    let world = World::new();
    let schema = json!({"type": "object", "required": ["colour"]});
    world.write("project/schema.json", schema.to_string());
    let options = ["--quiet", "--output-schema", "schema.json", "--goal", "The door is blue"];
    let ran = does(&world, &[says("Blue."), says(r#"{"colour": "blue"}"#)], &options);
    assert_eq!((ran.code, ran.out.as_str()), (0, "{\"colour\": \"blue\"}\n"), "{}", ran.err);
    let mut first = create(&["Paint"]);
    first["usage"] = json!({"input": 900, "output": 200});
    let ran = does(&world, &[first, says("Done.")], &["--budget", "tokens=1000"]);
    assert_eq!(ran.code, 7, "{}{}", ran.out, ran.err);
    let said = "the budget of this run is used up: 1100 of 1000 tokens are used";
    assert!(ran.err.contains(said) || ran.out.contains(said), "{}{}", ran.out, ran.err);
}

/// Whether a file below a directory contains a text.
fn is_below(directory: &Path, text: &str) -> bool {
    fs::read_dir(directory).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return is_below(&path, text);
        }
        let bytes = fs::read(&path).unwrap_or_default();
        bytes.windows(text.len()).any(|it| it == text.as_bytes())
    })
}

#[test]
fn a_key_reaches_the_server_and_nothing_else() {
    let world = World::new();
    let script = Script::new()
        .calls("shell", json!({"command": "env > env.txt"}))
        .stops("Done.")
        .fails(401, &format!("bad key {CANARY}"), 1);
    let server = Model::new(script).serve().unwrap();
    let config = format!(
        "{ALLOW}\n[providers.local]\nkind = 'openai-chat'\nbase_url = '{}/v1'\nkey = '$MY_CREDENTIAL'\n",
        server.url()
    );
    world.write(CONFIG, config);
    let run = || {
        let mut command = world.command("project");
        command.args(["do", "Show the variables", "--model", "local/model-1", "--json"]);
        for name in ["MY_CREDENTIAL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GH_TOKEN"] {
            command.env(name, CANARY);
        }
        command.env("HARMLESS", "seen");
        finish(command, b"")
    };
    let ran = run();
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let refused = run();
    assert_eq!(refused.code, 6, "{}{}", refused.out, refused.err);
    for it in [&ran, &refused] {
        assert!(!it.out.contains(CANARY) && !it.err.contains(CANARY), "{}{}", it.out, it.err);
    }
    let variables = fs::read_to_string(world.path("project/env.txt")).unwrap();
    assert!(variables.contains("HARMLESS=seen") && !variables.contains(CANARY), "{variables}");
    for it in server.requests() {
        assert_eq!(it.key_header, Some("authorization"));
        assert!(!it.body.to_string().contains(CANARY));
    }
    assert!(!is_below(&world.path(""), CANARY));
    for format in ["jsonl", "markdown", "html"] {
        let id = world.run(&["sessions", "--json"]).json();
        let id = id["sessions"][0]["id"].as_str().unwrap().to_owned();
        let exported = world.run(&["sessions", "export", &id, "--format", format]);
        assert!(exported.code == 0 && !exported.out.contains(CANARY), "{}", exported.err);
    }
}
