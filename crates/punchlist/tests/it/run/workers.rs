//! Items for an agent, with a program in the agent's place. The real agents are tested in
//! `tests/agents`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::{items, read};
use crate::world::{Ran, World, finish};

/// A program with the name of Codex, which records its arguments, and then does what it is told.
const PROGRAM: &str = r#"#!/bin/sh
env > seen.txt
printf '%s\n' "$@" > told.txt
cat list.jsonl
echo '{"type":"item.completed","item":{"id":"item_9","type":"agent_message","text":"Wrote it."}}'
echo '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}'
"#;

/// Its output of a list.
fn list(entries: &[(&str, bool)]) -> String {
    let entry = |(text, done): &(&str, bool)| serde_json::json!({"text": text, "completed": done});
    let items: Vec<Value> = entries.iter().map(entry).collect();
    let item = serde_json::json!({"id": "item_1", "type": "todo_list", "items": items});
    let started = serde_json::json!({"type": "item.started", "item": item});
    format!("{{\"type\":\"thread.started\",\"thread_id\":\"t-1\"}}\n{started}\n")
}

/// Runs the project's file with that program on the search path.
fn run(world: &World, arguments: &[&str]) -> Ran {
    run_with(world, PROGRAM, arguments)
}

/// The same with another program.
fn run_with(world: &World, text: &str, arguments: &[&str]) -> Ran {
    let program = world.path("project/bin/codex");
    world.write("project/bin/codex", text);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = world.command("project");
    let path = format!("{}:/usr/bin:/bin", world.path("project/bin").display());
    command.env("PATH", path).env("PUNCHLIST_PLAN", "other");
    command.args(["run", "plan.md"]).args(arguments);
    finish(command, b"")
}

/// The items as lines.
fn listed(world: &World) -> String {
    let items = items(world, "plan.md");
    items.iter().map(|(title, status)| format!("{status} {title}\n")).collect()
}

#[test]
fn a_program_that_is_not_installed_is_named() {
    for agent in ["claude", "codex", "gemini"] {
        let world = World::new();
        world.write("project/plan.md", format!("- [ ] Write the notes\n  agent: {agent}\n"));
        let mut command = world.command("project");
        command.env("PATH", world.path("project")).args(["run", "plan.md"]);
        let ran = finish(command, b"");
        assert_eq!(ran.code, 6, "{}\n{}", ran.out, ran.err);
        let said = format!(
            "Write the notes ({agent} did not start: there is no program {agent} in PATH; install it, \
             or name another agent)"
        );
        assert!(ran.out.contains(&said), "{}", ran.out);
    }
}

#[test]
fn an_agent_that_nobody_knows_is_named_with_those_that_there_are() {
    let world = World::new();
    world.write("project/plan.md", "- [ ] Write the notes\n  agent: moon\n");
    let ran = run(&world, &[]);
    assert_eq!(ran.code, 6, "{}\n{}", ran.out, ran.err);
    assert!(
        ran.out.contains("there is no agent \"moon\"; there are: claude, codex, gemini"),
        "{}",
        ran.out
    );
}

#[test]
fn a_worker_is_told_its_item_and_no_plan() {
    let world = World::new();
    world.write("project/list.jsonl", list(&[]));
    let text =
        "- [ ] Write the notes\n  agent: codex\n  Keep it short.\n- [ ] Other\n  run: true\n";
    world.write("project/plan.md", text);
    let ran = run(&world, &[]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    let seen = read(&world, "project/seen.txt");
    let has = |name: &str| seen.lines().any(|it| it.starts_with(name));
    assert!(has("PUNCHLIST_RUN=") && has("PUNCHLIST_ITEM=1"), "{seen}");
    assert!(!has("PUNCHLIST_PLAN="), "{seen}");
    let told = read(&world, "project/told.txt");
    assert!(told.starts_with("exec\n--json\nDo this one item"), "{told}");
    assert!(told.contains("Keep it short.") && !told.contains("Other"), "{told}");
    // Its last message is the item's outcome.
    let item = world.run(&["show", "1", "--plan", "plan.md", "--json"]).json();
    assert_eq!(item["item"]["outcome"], "Wrote it.");
}

#[test]
fn what_stands_under_an_item_stays_beside_the_list_of_its_agent() {
    let world = World::new();
    world.write("project/list.jsonl", list(&[("Look", true), ("Write", false)]));
    let text = "- [ ] Notes\n  agent: codex\n  - [ ] Collect\n    run: true\n";
    world.write("project/plan.md", text);
    let ran = run(&world, &[]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert!(ran.out.ends_with("1 done, 0 failed, 0 left.\n"), "{}", ran.out);
    let all = "completed Notes\ncompleted Look\ncancelled Write\ncompleted Collect\n";
    assert_eq!(listed(&world), all);
    let again = run(&world, &[]);
    assert_eq!(again.out, "All done already: 1 item. `--fresh` starts over.\n");
    assert_eq!(listed(&world), all);
}

#[test]
fn a_list_is_of_one_time_and_goes_with_its_item() {
    let world = World::new();
    let text =
        "- [ ] Notes\n  agent: codex\n  verify: test -e done.txt\n- [ ] Other\n  run: true\n";
    world.write("project/plan.md", text);
    world.write("project/list.jsonl", list(&[("Look", true), ("Write", false)]));
    assert_eq!(run(&world, &["--on-failure", "skip"]).code, 6);
    let left = "pending Notes\ncompleted Look\npending Write\ncompleted Other\n";
    assert_eq!(listed(&world), left);
    // The items of its last list are not manual steps.
    world.write("project/done.txt", "");
    world.write("project/list.jsonl", list(&[("Look again", true)]));
    let ran = run(&world, &[]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert_eq!(listed(&world), "completed Notes\ncompleted Look again\ncompleted Other\n");
    world.write("project/list.jsonl", list(&[("Afresh", true)]));
    assert_eq!(run(&world, &["--fresh"]).code, 0);
    assert_eq!(listed(&world), "completed Notes\ncompleted Afresh\ncompleted Other\n");
    world.write("project/plan.md", "- [ ] Other\n  run: true\n");
    assert_eq!(run(&world, &[]).code, 0);
    assert_eq!(listed(&world), "completed Other\n");
}

/// The names and item counts of all other plans.
fn others(world: &World) -> Vec<(String, u64)> {
    let plans = world.run(&["plans", "--all", "--json"]).json();
    let plans = plans["plans"].as_array().unwrap().iter().filter(|it| it["name"] != "plan.md");
    plans
        .map(|it| (it["title"].as_str().unwrap().to_owned(), it["open"].as_u64().unwrap()))
        .collect()
}

/// A program with Punchlist's hooks: only the hooks get the list of its session. `rest` runs after
/// that.
fn with_hooks(world: &World, rest: &str) -> Ran {
    let call = serde_json::json!({
        "session_id": "t-1", "cwd": world.path("project"), "hook_event_name": "PostToolUse",
        "tool_name": "update_plan", "tool_response": "Plan updated",
        "tool_input": {"plan": [
            {"step": "Look", "status": "completed"}, {"step": "Write", "status": "in_progress"},
        ]},
    });
    world.write("project/call.json", call.to_string());
    world.write("project/list.jsonl", "{\"type\":\"thread.started\",\"thread_id\":\"t-1\"}\n");
    let hook = format!("'{}' hook codex < call.json\n", env!("CARGO_BIN_EXE_punchlist"));
    let program = PROGRAM.replace("cat list.jsonl\n", &format!("cat list.jsonl\n{hook}{rest}"));
    run_with(world, &program, &[])
}

#[test]
fn the_plan_of_a_workers_own_session_goes_under_its_item() {
    let world = World::new();
    world.write("project/plan.md", "# Release\n- [ ] Notes\n  agent: codex\n");
    let ran = with_hooks(&world, "");
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert_eq!(listed(&world), "completed Notes\ncompleted Look\ncancelled Write\n");
    assert_eq!(others(&world), [("a worker's list: see item 1 of Release".to_owned(), 0)]);
    // So a later session is not offered anything.
    let begins = serde_json::json!({"session_id": "t-2", "cwd": world.path("project"),
        "hook_event_name": "SessionStart", "source": "startup"});
    let mut command = world.command("project");
    command.args(["hook", "codex"]);
    let said = finish(command, begins.to_string().as_bytes()).out;
    assert!(!said.contains("open"), "{said}");
}

#[test]
fn the_plan_of_a_worker_that_was_killed_goes_under_its_item_with_the_next_run() {
    let world = World::new();
    world.write("project/plan.md", "# Release\n- [ ] Notes\n  agent: codex\n");
    // It kills its run as soon as its session is recorded.
    let program = env!("CARGO_BIN_EXE_punchlist");
    let ran = with_hooks(
        &world,
        &format!(
            "for n in $(seq 500); do '{program}' show 1 --plan plan.md --json | grep -q '\"t-1\"' && \
             kill -9 $(cat $HOME/.local/share/punchlist/runs/*.lock); sleep 0.02; done\n"
        ),
    );
    assert_eq!(ran.code, -1, "{}\n{}", ran.out, ran.err);
    assert_eq!(others(&world), [(String::new(), 1)]);
    let ran = super::run(&world, &["plan.md"]);
    assert_eq!(ran.code, 7, "{}\n{}", ran.out, ran.err);
    assert_eq!(listed(&world), "pending Notes\ncompleted Look\npending Write\n");
    assert_eq!(others(&world), [("a worker's list: see item 1 of Release".to_owned(), 0)]);
}

#[test]
fn when_its_check_fails_the_workers_last_words_are_shown() {
    let world = World::new();
    world.write("project/list.jsonl", list(&[]));
    let text = "- [ ] Notes\n  agent: codex\n  verify: echo 'no notes'; false\n";
    world.write("project/plan.md", text);
    let ran = run(&world, &[]);
    assert_eq!(ran.code, 6, "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("\nNotes\n  Wrote it.\n  no notes\n"), "{}", ran.out);
}
