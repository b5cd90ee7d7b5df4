//! Sub-agents of Claude Code, whose transcripts are separate files: what is reported and recorded.

use super::{Watcher, append, event, fixture, kept, todos};
use crate::world::{Ran, World, finish};

const TASKS: &str = "home/.claude/projects/-home-dev-project/35b2a8f5-dff5-436c-9502-b2d7c5d318e0";
const TODOS: &str = "home/.claude/projects/-home-dev-project/af118c93-4bb2-49bd-9113-798751a3aa1d";

/// A call soon after all recordings.
fn soon(world: &World, arguments: &[&str]) -> Ran {
    let mut command = world.command("project");
    command.args(arguments).env("PUNCHLIST_NOW", "2026-11-16T18:37:30Z");
    finish(command, b"")
}

fn with_todos(world: &World) {
    world.write(
        &format!("{TODOS}.jsonl"),
        fixture("claude/transcript-subagent-todowrite.jsonl").concat(),
    );
    for (agent, name) in [("a4f0f3eb81e47a454", "one"), ("ad5b873601b02fc18", "two")] {
        let lines = fixture(&format!("claude/transcript-subagent-todowrite-{name}.jsonl"));
        world.write(&format!("{TODOS}/subagents/agent-{agent}.jsonl"), lines.concat());
    }
}

#[test]
fn programs_are_told_the_sessions_whole_list_whoever_changed_it() {
    let world = World::new();
    let main = fixture("claude/transcript-subagent-tasks.jsonl");
    let sub = fixture("claude/transcript-subagent-tasks-agent.jsonl");
    let (path, sub_path) =
        (format!("{TASKS}.jsonl"), format!("{TASKS}/subagents/agent-a56b513575fc761d8.jsonl"));
    world.write(&path, main[..11].concat());
    let mut watcher = Watcher::start(&world, &["--json", "--only", "todo_list"]);
    // What existed at the start is reported in its present state, or as it developed.
    while todos(&watcher.event("todo_list")) != "[>] Delegate research" {}
    world.write(&sub_path, sub.concat());
    for expected in ["[ ]", "[>]", "[x]"] {
        let list = watcher.event("todo_list");
        assert_eq!(todos(&list), format!("[>] Delegate research, {expected} Sub: list files"));
        assert_eq!(list["agentId"], "35b2a8f5-dff5-436c-9502-b2d7c5d318e0");
    }
    append(&world, &path, &main[11..].concat());
    let list = watcher.event("todo_list");
    assert_eq!(todos(&list), "[x] Delegate research, [x] Sub: list files");
    drop(watcher);
    // A later watcher reports the same.
    let out = soon(&world, &["watch", "--once", "--json", "--only", "todo_list"]).ok();
    let told: Vec<String> = out.lines().map(|it| todos(&event(it))).collect();
    assert_eq!(told, ["[x] Delegate research, [x] Sub: list files"]);
}

#[test]
fn a_sub_agents_own_list_is_shown_and_kept_beside_its_sessions() {
    let world = World::new();
    with_todos(&world);
    let shown = soon(&world, &["watch", "--once"]).ok();
    soon(&world, &["watch", "--once", "--record"]).ok_with_warnings();
    let first = kept(&world);
    insta::assert_snapshot!(format!("{shown}\n{first}"));
    soon(&world, &["watch", "--once", "--record"]).ok_with_warnings();
    assert_eq!(kept(&world), first, "nothing is kept twice");
}
