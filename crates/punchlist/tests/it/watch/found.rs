//! What `watch` finds and reports: sorted by the last event, even if files are broken.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::{CLAUDE, GEMINI, Watcher, fixture, later, todos};
use crate::world::{World, finish};

/// A minute after all recordings, as in `later`.
const NOW: Duration = Duration::from_secs(1_794_766_800);

fn touch(world: &World, path: &str, at: SystemTime) {
    fs::File::options().write(true).open(world.path(path)).unwrap().set_modified(at).unwrap();
}

#[test]
fn since_goes_by_the_last_event_and_not_by_when_the_file_was_touched() {
    let world = World::new();
    world.write(GEMINI, fixture("gemini/chats-a-todos.jsonl").concat());
    // As if copied, synchronised or restored just now.
    touch(&world, GEMINI, UNIX_EPOCH + NOW);
    let shown = later(&world, &["watch", "--once", "--since", "1h"]).ok();
    assert!(shown.contains("1 agent"), "{shown}");
    let shown = later(&world, &["watch", "--once", "--since", "5m"]).ok();
    assert!(shown.contains("no agents yet"), "{shown}");
    // A file that a person names is shown however old it is.
    let file = world.path(GEMINI);
    let shown = later(&world, &["watch", "--once", "--since", "5m", file.to_str().unwrap()]).ok();
    assert!(shown.contains("1 agent"), "{shown}");
}

fn wide(world: &World) -> String {
    wide_of(world, &[])
}

fn wide_of(world: &World, files: &[&str]) -> String {
    let mut command = world.command("project");
    command.args(["watch", "--once"]).args(files).env("PUNCHLIST_NOW", "2026-11-15T18:20:00Z");
    command.env("COLUMNS", "200");
    finish(command, b"").ok()
}

/// A session with a prompt and without a list.
const QUIET: &str = r#"{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"go"},"uuid":"u","timestamp":"2026-11-15T18:19:50.000Z","cwd":"/home/dev/project","sessionId":"8232a5c5","version":"2.1.197"}"#;

#[test]
fn after_a_cleared_list_nobody_is_advised_to_install() {
    let world = World::new();
    world.write(GEMINI, fixture("gemini/chats-a-todos.jsonl").concat());
    let shown = wide(&world);
    assert!(shown.contains("list cleared") && !shown.contains("install"), "{shown}");
}

#[test]
fn an_agent_that_is_set_up_is_not_told_to_install() {
    let world = World::new();
    world.write(CLAUDE, QUIET.to_owned() + "\n");
    let shown = wide(&world);
    assert!(shown.contains("no list: punchlist install claude"), "{shown}");
    world.typed("install claude --yes").ok();
    let shown = wide(&world);
    assert!(shown.contains("no list") && !shown.contains("install"), "{shown}");
}

#[test]
fn a_list_appears_at_once_though_the_database_came_after_the_watcher() {
    let world = World::new();
    // Its clock is fixed: an event that depends on a timer would never come.
    let mut watcher = Watcher::start(&world, &["--json", "--only", "todo_list,session.started"]);
    world.write(CLAUDE, QUIET.to_owned() + "\n");
    assert_eq!(watcher.event("session.started")["type"], "session.started");
    let mut command = world.command("project");
    command.args(["add", "Dig"]).env("PUNCHLIST_NOW", "2026-11-15T17:00:00Z");
    finish(command, b"").works();
    assert_eq!(todos(&watcher.event("todo_list")), "[ ] Dig");
}

#[test]
fn a_finished_plan_is_no_agent() {
    let world = World::new();
    world.run(&["add", "Dig", "Rest"]).works();
    let now = |arguments: &[&str]| world.run(arguments).ok();
    assert!(
        now(&["watch", "--once"]).contains("no agents yet · 1 plan"),
        "{}",
        now(&["watch", "--once"])
    );
    world.run(&["done", "1"]).works();
    world.run(&["skip", "2"]).works();
    let shown = now(&["watch", "--once"]);
    assert_eq!(shown.trim(), "no agents yet", "{shown}");
}

#[test]
fn one_bad_plan_does_not_stop_the_others() {
    let world = World::new();
    world.run(&["add", "Good", "--plan", "good"]).works();
    world.run(&["add", "Bad", "--plan", "bad"]).works();
    let database = world.path("home/.local/share/punchlist/punchlist.db");
    let database = rusqlite::Connection::open(database).unwrap();
    let spoil = "UPDATE item SET depends_on = 'nonsense', extra = 'nonsense' WHERE title = 'Bad'";
    assert_eq!(database.execute(spoil, []).unwrap(), 1);
    drop(database);
    let ran = world.run(&["watch", "--once"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("good"), "{}", ran.out);
}

#[test]
fn one_bad_file_or_database_does_not_stop_the_others() {
    let world = World::new();
    world.write(CLAUDE, fixture("claude/transcript-tasks.jsonl")[..30].concat());
    let beside = world.path(CLAUDE).parent().unwrap().to_owned();
    fs::create_dir(beside.join("directory.jsonl")).unwrap();
    std::os::unix::fs::symlink("nowhere", beside.join("dangling.jsonl")).unwrap();
    world.write("home/.claude/projects/-home-dev-project/noise.jsonl", b"\xff\xfe{\0\n{\n\n[1]");
    world.write("home/.local/share/punchlist/punchlist.db", "this is no database");
    let ran = later(&world, &["watch", "--once"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("claude"), "{}", ran.out);
    assert!(ran.out.contains("plans cannot be read"), "{}", ran.out);
}

#[test]
fn sessions_that_older_versions_of_gemini_cli_wrote_are_found() {
    let world = World::new();
    let todo = json!([{"description": "Dig", "status": "in_progress"}]);
    let call = json!({"id": "w", "name": "write_todos", "args": {"todos": todo}, "status": "success",
        "resultDisplay": {"todos": todo}});
    let chat = json!({"sessionId": "s", "projectHash": "h", "startTime": "2026-11-15T18:00:00.000Z",
        "messages": [{"id": "a", "timestamp": "2026-11-15T18:10:00.000Z", "type": "user", "content": "go"},
        {"id": "b", "timestamp": "2026-11-15T18:11:00.000Z", "type": "gemini", "content": "",
            "toolCalls": [call]}]});
    let text = serde_json::to_string_pretty(&chat).unwrap();
    world.write("home/.gemini/tmp/docs/chats/session-2026-11-15T18-00-s.json", text);
    world.write("home/.gemini/tmp/docs/.project_root", "/home/dev/docs");
    let shown = later(&world, &["watch", "--once"]).ok();
    assert!(shown.contains("gemini") && shown.contains("0/1"), "{shown}");
}

#[test]
fn a_stream_that_is_not_supported_is_named_and_not_passed_over_in_silence() {
    let world = World::new();
    let pi = r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/p"}"#;
    world.write("project/pi.jsonl", format!("{pi}\n"));
    world.write("project/moon.jsonl", "moonlight\n");
    world.write("project/empty.jsonl", "");
    let shown = wide_of(&world, &["pi.jsonl", "moon.jsonl", "empty.jsonl"]);
    let said = "pi.jsonl was written by Pi (session format 3), which is not supported";
    assert!(shown.contains(said), "{shown}");
    assert!(
        shown.contains("cannot tell which agent wrote") && shown.contains("moon.jsonl"),
        "{shown}"
    );
    assert!(!shown.contains("empty.jsonl"), "{shown}");
    let ran = world.run_with(&["watch", "-"], pi.as_bytes());
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("stdin was written by Pi (session format 3)"), "{}", ran.err);
}
