//! Notices by the user's command: who is told, once, and with what.

use std::fs;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{World, finish};

const CONFIG: &str = "home/.config/punchlist/config.toml";

/// A world whose user is told by a command that keeps what it is given.
fn world() -> World {
    let world = World::new();
    let file = world.path("told.jsonl").display().to_string();
    world.write(CONFIG, format!("[notify]\ncommand = 'cat >> {file}'\n"));
    world
}

/// What the user was told, after at least `count` notices or a while.
fn told(world: &World, count: usize) -> Vec<Value> {
    let until = Instant::now() + Duration::from_secs(if count == 0 { 1 } else { 60 });
    loop {
        let text = fs::read_to_string(world.path("told.jsonl")).unwrap_or_default();
        let is_whole = text.is_empty() || text.ends_with('\n');
        if is_whole && (count > 0 && text.lines().count() >= count || Instant::now() >= until) {
            return text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn stop_event(world: &World, fields: &Value) -> Vec<u8> {
    let mut event = json!({
        "session_id": "12345678-aaaa-bbbb", "cwd": world.path("project"),
        "hook_event_name": "Stop", "last_assistant_message": "Done.",
    });
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    event.to_string().into_bytes()
}

fn hook(world: &World, input: &[u8]) {
    let mut command = world.command("home");
    command.args(["hook", "claude"]).env("CLAUDE_CODE_ENTRYPOINT", "cli");
    let ran = finish(command, input);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
}

#[test]
fn a_stop_that_was_let_go_is_told() {
    let world = world();
    let said = json!({"last_assistant_message": "I fixed it.\n\n**All tests pass.**"});
    hook(&world, &stop_event(&world, &said));
    let told = told(&world, 1);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(told[0]["kind"], "done");
    assert_eq!(told[0]["text"], "All tests pass.");
    assert_eq!(told[0]["agent"], "claude");
    assert_eq!(told[0]["title"], "claude in project is done");
    assert_eq!(told[0]["session"], "12345678-aaaa-bbbb");
    assert!(told[0]["project"].as_str().unwrap().ends_with("/project"));
}

#[test]
fn a_stop_that_asks_is_a_question_and_a_refused_one_is_nothing() {
    let world = world();
    let asks = json!({"last_assistant_message": "Shall I go on?"});
    hook(&world, &stop_event(&world, &asks));
    assert_eq!(told(&world, 1)[0]["kind"], "question");

    let world = self::world();
    let list = json!({"hook_event_name": "PostToolUse", "tool_name": "TaskCreate",
        "tool_input": {"subject": "Dig", "description": "d"},
        "tool_response": {"task": {"id": "1", "subject": "Dig"}}});
    hook(&world, &stop_event(&world, &list));
    let mut command = world.command("home");
    command.args(["hook", "claude"]).env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli");
    let ran = finish(command, &stop_event(&world, &json!({})));
    assert!(ran.out.contains("block"), "{}", ran.out);
    assert_eq!(told(&world, 0), [] as [Value; 0]);
}

#[test]
fn of_processes_that_see_the_same_end_one_tells_it() {
    let world = world();
    let input = stop_event(&world, &json!({}));
    let start = || -> Child {
        let mut command = world.command("home");
        command.args(["hook", "claude"]).env("CLAUDE_CODE_ENTRYPOINT", "cli");
        // The clock of the tests moves on by a minute with each call.
        command.env("PUNCHLIST_NOW", "2026-01-02T03:30:00Z");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), &input).unwrap();
        child
    };
    let children: Vec<Child> = (0..6).map(|_| start()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(told(&world, 1).len(), 1);
    thread::sleep(Duration::from_millis(300));
    assert_eq!(told(&world, 1).len(), 1);
}

#[test]
fn the_end_of_a_run_is_told_and_how_it_ended() {
    let world = world();
    world.write("project/good.md", "# Good\n- [ ] One\n  run: true\n");
    world.write("project/bad.md", "# Bad\n- [ ] Two\n  run: false\n");
    assert_eq!(world.run(&["run", "good.md"]).code, 0);
    let told_now = told(&world, 1);
    assert_eq!((&told_now[0]["kind"], &told_now[0]["agent"]), (&json!("done"), &json!("run")));
    assert_eq!(world.run(&["run", "bad.md"]).code, 6);
    assert_eq!(told(&world, 2)[1]["kind"], "failed");
    // There is nothing to do any more.
    assert_eq!(world.run(&["run", "good.md"]).code, 0);
    assert_eq!(told(&world, 2).len(), 2);
}

#[test]
fn the_end_of_a_session_of_our_own_agent_is_told_with_its_last_sentence() {
    let world = world();
    let scenario = json!({"answers": [{"text": "I looked at it. All is well."}]});
    world.write("scenario.json", scenario.to_string());
    let model = format!("scripted:{}", world.path("scenario.json").display());
    let ran = world.run(&["do", "Look", "--model", &model, "--quiet"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told = told(&world, 1);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!((&told[0]["kind"], &told[0]["agent"]), (&json!("done"), &json!("punchlist")));
    assert_eq!(told[0]["text"], "All is well.");
}

#[test]
fn hostile_texts_are_data_for_the_command() {
    let world = world();
    let text = "x $(touch pwned) `touch pwned` \u{1b}]9;evil\u{7} ';touch pwned;' \"done\".";
    let scenario = json!({"answers": [{"text": text}]});
    world.write("scenario.json", scenario.to_string());
    let model = format!("scripted:{}", world.path("scenario.json").display());
    world.run(&["do", "Look", "--model", &model, "--quiet"]);
    let told = told(&world, 1);
    let text = told[0]["text"].as_str().unwrap();
    assert!(text.contains("$(touch pwned)") && !text.contains('\u{1b}'), "{text:?}");
    assert!(!world.path("project/pwned").exists() && !world.path("home/pwned").exists());
}

#[test]
fn only_the_users_own_file_names_the_command() {
    let world = World::new();
    let file = world.path("told.jsonl").display().to_string();
    let ran = world.run(&["list", "-c", &format!("notify.command=cat >> {file}")]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("a command is only read from files"), "{}", ran.err);
    world.write(CONFIG, "[notify]\nterminal = 'loud'\n");
    let ran = world.run(&["list"]);
    assert!(ran.err.contains("auto, osc9, osc777, bell or off"), "{}", ran.err);
}

#[test]
fn one_agents_plan_is_drawn_for_a_narrow_split() {
    let world = World::new();
    world.run(&["add", "Dig"]).works();
    world.run(&["add", "Pour"]).works();
    let mut command = world.command("project");
    command.args(["watch", "--pane", "--once"]).env("COLUMNS", "24");
    let ran = finish(command, b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("0/2") && ran.out.contains("Dig"), "{}", ran.out);
    let ran = world.run(&["watch", "--pane", "nobody", "--once"]);
    assert_eq!(ran.out, "no agent yet\n");
}
