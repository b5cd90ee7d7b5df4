//! `punchlist watch`: what it finds, reports and records, and how it draws.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};

use punchlist_streams::event::owned::AgentEvent;
use serde_json::Value;

use crate::world::{Ran, World, finish};

mod found;
mod screen;
mod sub_agents;

const CLAUDE: &str = "home/.claude/projects/-home-dev-project/8232a5c5.jsonl";
const CODEX: &str = "home/.codex/sessions/2026/01/02/rollout-x.jsonl";
const GEMINI: &str = "home/.gemini/tmp/docs/chats/session-x.jsonl";

fn fixture(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|it| it.to_owned() + "\n").collect()
}

/// Three agents in the middle of their work.
fn three(world: &World) {
    let part = |name: &str, lines: usize| fixture(name)[..lines].concat();
    world.write(CLAUDE, part("claude/transcript-tasks.jsonl", 30));
    world.write(CODEX, part("codex/rollout-a-plan.jsonl", 18));
    world.write(GEMINI, part("gemini/chats-a-todos.jsonl", 8));
    world.write("home/.gemini/tmp/docs/.project_root", "/home/dev/docs\n");
}

/// A call with a time after all recordings.
fn later(world: &World, arguments: &[&str]) -> Ran {
    let mut command = world.command("project");
    command.args(arguments).env("PUNCHLIST_NOW", "2026-11-15T18:20:00Z");
    finish(command, b"")
}

fn append(world: &World, path: &str, text: &str) {
    let mut file = OpenOptions::new().append(true).open(world.path(path)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// A watcher that ends with the test.
struct Watcher {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watcher {
    fn start(world: &World, arguments: &[&str]) -> Self {
        let mut command = world.command("project");
        command.arg("watch").args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        // The clock is set to the time of the recordings.
        command.env("PUNCHLIST_NOW", "2026-11-15T17:00:00Z");
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().expect("it goes on").unwrap()
    }

    /// The next event of a kind.
    fn event(&mut self, kind: &str) -> Value {
        loop {
            let value = event(&self.line());
            if value["type"] == kind {
                return value;
            }
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Parses a line as an event, and checks it against the published schema.
#[track_caller]
fn event(line: &str) -> Value {
    let value: Value = serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/reference/events.schema.json"))
            .unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&value).map(|it| it.to_string()).collect();
    assert!(errors.is_empty(), "{line}: {errors:?}");
    assert!(value["timestamp"].is_i64(), "a watcher always says when: {line}");
    serde_json::from_value::<AgentEvent>(value.clone()).unwrap();
    value
}

fn todos(event: &Value) -> String {
    let items = event["items"].as_array().unwrap();
    let items = items.iter().map(|it| {
        let sign = match it["status"].as_str().unwrap() {
            "completed" => "x",
            "in_progress" => ">",
            _ => " ",
        };
        format!("[{sign}] {}", it["text"].as_str().unwrap())
    });
    items.collect::<Vec<_>>().join(", ")
}

#[test]
fn once_shows_every_agent_that_there_is() {
    let world = World::new();
    three(&world);
    let mut shown = String::new();
    for columns in ["40", "80", "200"] {
        let mut command = world.command("project");
        command.args(["watch", "--once"]).env("COLUMNS", columns);
        command.env("PUNCHLIST_NOW", "2026-11-15T18:20:00Z");
        let ran = finish(command, b"");
        shown.push_str(&format!("== {columns}\n{}", ran.ok()));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn programs_are_told_what_is_known_and_then_what_happens() {
    let world = World::new();
    world.write(CODEX, fixture("codex/rollout-a-plan.jsonl")[..4].concat());
    let mut watcher = Watcher::start(&world, &["--json"]);
    assert_eq!(watcher.event("session.started")["agentType"], "openai-codex");
    let rest = fixture("codex/rollout-a-plan.jsonl")[4..].concat();
    append(&world, CODEX, &rest);
    let first = watcher.event("todo_list");
    assert!(first["items"].as_array().is_some_and(|it| !it.is_empty()), "{first}");
    assert_eq!(watcher.event("turn.completed")["status"], "success");
    // A session of another agent that starts during the watch.
    world.write(CLAUDE, fixture("claude/transcript-todowrite.jsonl").concat());
    assert_eq!(watcher.event("session.started")["agentType"], "claude-code");
    watcher.event("todo_list");
}

#[test]
fn only_what_is_asked_for_is_told() {
    let world = World::new();
    three(&world);
    let out = later(&world, &["watch", "--once", "--json", "--only", "todo_list"]).ok();
    let kinds: Vec<Value> = out.lines().map(|it| event(it)["type"].clone()).collect();
    assert_eq!(kinds, ["todo_list"; 3], "{out}");
}

#[test]
fn a_plan_of_the_store_is_shown_and_every_change_of_it_is_told() {
    let world = World::new();
    world.typed("add \"Dig the garden\"").works();
    let mut watcher = Watcher::start(&world, &["--json", "--only", "todo_list", "--since", "400d"]);
    assert_eq!(todos(&watcher.event("todo_list")), "[ ] Dig the garden");
    world.typed("start 1").works();
    assert_eq!(todos(&watcher.event("todo_list")), "[>] Dig the garden");
    world.typed("add Water").works();
    let last = watcher.event("todo_list");
    assert_eq!(todos(&last), "[>] Dig the garden, [ ] Water");
    assert_eq!(last["agentType"], "punchlist");
}

#[test]
fn elsewhere_than_on_a_terminal_a_change_is_a_line() {
    let world = World::new();
    world.write(CODEX, fixture("codex/rollout-a-plan.jsonl")[..4].concat());
    let mut watcher = Watcher::start(&world, &[]);
    let first = watcher.line();
    assert!(first.contains("codex  codexproj  "), "{first}");
    append(&world, CODEX, &fixture("codex/rollout-a-plan.jsonl")[4..].concat());
    let last = loop {
        let line = watcher.line();
        assert!(!line.contains('\u{1b}'), "{line:?}");
        if line.contains("3/3") {
            break line;
        }
    };
    assert!(last.ends_with("codex  codexproj  3/3  idle"), "{last}");
}

#[test]
fn stdin_and_named_files_are_watched_whoever_wrote_them() {
    let world = World::new();
    let text = fixture("gemini/stream-a-todos.jsonl").concat();
    let mut command = world.command("project");
    command.args(["watch", "-", "--json", "--only", "todo_list"]);
    let out = finish(command, text.as_bytes()).ok();
    assert!(out.lines().count() > 1, "{out}");
    out.lines().for_each(|it| assert_eq!(event(it)["agentType"], "google-gemini"));
    world.write("project/log.jsonl", &text);
    let shown = world.typed("watch log.jsonl --once").ok();
    assert!(shown.contains("gemini"), "{shown}");
    for (line, code, expected) in [
        ("watch nowhere/log.jsonl", 4, "there is no"),
        ("watch .", 2, "is a directory"),
        ("watch - < hello\\n", 2, "cannot tell which agent wrote stdin"),
        ("watch --since soon", 2, "a time such as"),
        ("watch --only moon", 2, "there is session.started"),
    ] {
        let ran = world.typed(line);
        assert_eq!(ran.code, code, "{line}: {}", ran.err);
        assert!(ran.err.contains(expected), "{line}: {}", ran.err);
    }
}

#[test]
fn nothing_is_made_by_watching() {
    let world = World::new();
    world.typed("watch --once").works();
    let made: Vec<PathBuf> =
        fs::read_dir(world.path("home")).unwrap().map(|it| it.unwrap().path()).collect();
    assert!(made.is_empty(), "{made:?}");
}

/// The items of every plan, and its number of changes.
fn kept(world: &World) -> String {
    let plans = world.typed("plans --all --json").json();
    let mut all: Vec<String> = Vec::new();
    for plan in plans["plans"].as_array().unwrap() {
        let id = plan["id"].as_str().unwrap();
        let list = world.run(&["list", "--json", "--all", "--plan", id]).json();
        let items = list["items"].as_array().unwrap().iter();
        let items = items.map(|it| {
            format!("{}:{}", it["title"].as_str().unwrap(), it["status"].as_str().unwrap())
        });
        all.push(format!("{} {}", list["plan"]["revision"], items.collect::<Vec<_>>().join(", ")));
    }
    all.sort();
    all.join("\n")
}

#[test]
fn what_is_seen_can_be_kept_and_is_not_kept_twice() {
    let world = World::new();
    three(&world);
    later(&world, &["watch", "--once", "--record"]).ok_with_warnings();
    let first = kept(&world);
    insta::assert_snapshot!(first);
    // A second watch of the same files adds nothing, and makes no change.
    later(&world, &["watch", "--once", "--record"]).ok_with_warnings();
    assert_eq!(kept(&world), first);
    // The rest of the session is a change of the same plan.
    append(&world, CODEX, &fixture("codex/rollout-a-plan.jsonl")[18..].concat());
    later(&world, &["watch", "--once", "--record"]).ok_with_warnings();
    let later = kept(&world);
    assert_ne!(later, first);
    assert_eq!(later.lines().count(), first.lines().count());
}

#[test]
fn a_session_that_is_kept_shows_its_plan_once() {
    let world = World::new();
    three(&world);
    let before = later(&world, &["watch", "--once", "--json", "--only", "todo_list"]).ok();
    later(&world, &["watch", "--once", "--record"]).ok_with_warnings();
    let after = later(&world, &["watch", "--once", "--json", "--only", "todo_list"]).ok();
    let lists = |out: &str| {
        let mut all: Vec<(String, String)> = out
            .lines()
            .map(|it| (event(it)["agentId"].as_str().unwrap().to_owned(), todos(&event(it))))
            .collect();
        all.sort();
        all
    };
    assert_eq!(lists(&after), lists(&before));
}

#[test]
fn secrets_are_masked_before_they_are_kept() {
    let world = World::new();
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
    let text = fixture("codex/rollout-a-plan.jsonl")[..18].concat();
    assert!(text.contains("Read the code"));
    world.write(CODEX, text.replace("Read the code", &format!("Use {secret}")));
    later(&world, &["watch", "--once", "--record"]).ok_with_warnings();
    let kept = kept(&world);
    assert!(kept.contains("Use ") && !kept.contains("abcdefghijkl"), "{kept}");
}

#[test]
fn of_two_that_record_one_does_and_the_other_takes_over() {
    let world = World::new();
    three(&world);
    let mut first = Watcher::start(&world, &["--record", "--json", "--only", "todo_list"]);
    first.event("todo_list");
    let second = later(&world, &["watch", "--once", "--record"]);
    assert!(
        second.err.contains("another watch is recording")
            || second.out.contains("another watch is recording"),
        "{}{}",
        second.out,
        second.err
    );
    let before = kept(&world);
    drop(first);
    later(&world, &["watch", "--once", "--record"]).ok_with_warnings();
    assert_eq!(kept(&world), before);
}

#[test]
fn a_session_whose_hooks_keep_its_list_is_left_to_them() {
    let world = World::new();
    let lines = fixture("claude/transcript-todowrite.jsonl");
    world.write(CLAUDE, lines.concat());
    let id = serde_json::from_str::<Value>(&lines[lines.len() - 1]).unwrap()["sessionId"].clone();
    let event = serde_json::json!({
        "hook_event_name": "PostToolUse", "session_id": id, "cwd": world.path("project"),
        "tool_name": "TodoWrite", "tool_input": {},
        "tool_response": {"oldTodos": [], "newTodos": [{"content": "Theirs", "status": "pending", "activeForm": "x"}]},
    });
    assert_eq!(world.run_with(&["hook", "claude"], event.to_string().as_bytes()).code, 0);
    let before = kept(&world);
    assert!(before.contains("Theirs:pending"), "{before}");
    later(&world, &["watch", "--once", "--record"]).ok_with_warnings();
    assert_eq!(kept(&world), before);
}

#[test]
fn an_agent_that_died_is_told_as_such() {
    let world = World::new();
    let lines = fixture("claude/transcript-sigkill.jsonl");
    world.write(CLAUDE, lines.concat());
    let id = serde_json::from_str::<Value>(&lines[lines.len() - 1]).unwrap()["sessionId"].clone();
    let note = serde_json::json!({"pid": 4_000_000, "sessionId": id, "procStart": "1"});
    world.write("home/.claude/sessions/4000000.json", note.to_string());
    let shown = later(&world, &["watch", "--once"]).ok();
    assert!(shown.contains("died"), "{shown}");
    let out = later(&world, &["watch", "--once", "--json", "--only", "error"]).ok();
    let died = event(out.lines().last().unwrap());
    assert_eq!(died["code"], "died", "{out}");
}

#[test]
fn an_interrupt_ends_it_with_the_code_for_that() {
    let world = World::new();
    three(&world);
    let mut watcher = Watcher::start(&world, &[]);
    watcher.line();
    let pid = rustix::process::Pid::from_child(&watcher.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(watcher.child.wait().unwrap().code(), Some(130));
}
