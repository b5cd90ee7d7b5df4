//! A writer that is stopped in the middle: other processes name it and go on, and nothing is lost.
//!
//! The writer is the real program. Another connection holds SQLite's own lock until the writer,
//! which already has our write lock, waits for it. Then the writer is stopped, and the other
//! connection releases its lock.

use std::fs::File;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::init::read_only;
use crate::run::until;
use crate::world::{Ran, World, finish};

const DATABASE: &str = "home/.local/share/punchlist/punchlist.db";

/// A stopped writer. It continues when this is dropped.
pub(crate) struct Stopped {
    child: Child,
}

impl Stopped {
    pub(crate) fn new(world: &World) -> Self {
        let foreign = rusqlite::Connection::open(world.path(DATABASE)).unwrap();
        foreign.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut command = world.command("project");
        command.args(["add", "Late"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let bell = File::open(world.path(&format!("{DATABASE}-bell"))).unwrap();
        until(|| match bell.try_lock() {
            Ok(()) => {
                bell.unlock().unwrap();
                false
            }
            Err(_) => true,
        });
        // It holds the lock; then it records its name.
        let queue = world.path(&format!("{DATABASE}-queue"));
        let record = format!("{} ", child.id());
        until(|| std::fs::read(&queue).is_ok_and(|it| it.starts_with(record.as_bytes())));
        let stopped = Self { child };
        stopped.signal(Signal::STOP);
        foreign.execute_batch("ROLLBACK").unwrap();
        stopped
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Its pid.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Continues the writer, and waits for its end.
    pub(crate) fn go_on(mut self) {
        self.signal(Signal::CONT);
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A call with these waiting times in milliseconds: until the message, and until it gives up.
fn waiting(world: &World, limits: &str, arguments: &[&str]) -> Ran {
    let mut command = world.command("project");
    command.args(arguments).env("PUNCHLIST_WAIT_MS", limits);
    finish(command, b"")
}

fn titles(world: &World) -> Vec<String> {
    let list = world.run(&["list", "--all", "--json"]).json();
    let items = list["items"].as_array().unwrap().iter();
    items.map(|it| it["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn whoever_waits_names_the_writer_that_was_stopped_and_ends_with_exit_8() {
    let world = World::new();
    world.typed("add First").works();
    let stopped = Stopped::new(&world);
    let ran = waiting(&world, "1,20", &["add", "Second"]);
    let holder = format!("punchlist add (process {})", stopped.pid());
    assert_eq!(ran.code, 8, "{}", ran.err);
    let lines: Vec<&str> = ran.err.lines().collect();
    assert!(lines[0].contains(&holder) && lines[0].ends_with("; waiting for it"), "{}", ran.err);
    assert!(lines[0].contains(" since 2026-01-02T03:"), "{}", ran.err);
    assert!(lines[1].contains(&holder) && lines[1].contains("; timed out, "), "{}", ran.err);
    assert!(ran.err.contains("nothing was changed"), "{}", ran.err);
    // Readers do not wait.
    assert_eq!(titles(&world), ["First"]);
    stopped.go_on();
    world.typed("add Second").works();
    assert_eq!(titles(&world), ["First", "Late", "Second"]);
}

#[test]
fn a_program_that_is_waited_for_and_comes_back_costs_nothing_but_a_line() {
    let world = World::new();
    world.typed("add First").works();
    let stopped = Stopped::new(&world);
    let mut command = world.command("project");
    command.args(["add", "Second"]).env("PUNCHLIST_WAIT_MS", "1,60000");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut told = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut told, &mut line).unwrap();
    assert!(line.contains("waiting for it"), "{line}");
    stopped.go_on();
    assert!(child.wait().unwrap().success());
    assert_eq!(titles(&world), ["First", "Late", "Second"]);
}

/// Calls a hook of Claude Code.
fn hook(world: &World, name: &str, fields: &Value) -> Ran {
    let mut event = json!({
        "session_id": "12345678-aaaa-bbbb", "cwd": world.path("project"), "hook_event_name": name,
    });
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let mut command = world.command("home");
    command.args(["hook", "claude"]).env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli");
    command.env("PUNCHLIST_WAIT_MS", "1,20");
    finish(command, event.to_string().as_bytes())
}

fn create(id: usize) -> Value {
    let subject = format!("Task {id}");
    json!({"tool_name": "TaskCreate", "tool_input": {"subject": subject, "description": "d"},
        "tool_response": {"task": {"id": id.to_string(), "subject": subject}}})
}

fn update(id: usize, status: &str) -> Value {
    json!({"tool_name": "TaskUpdate", "tool_input": {"taskId": id.to_string(), "status": status},
        "tool_response": {"success": true, "taskId": id.to_string(), "updatedFields": ["status"]}})
}

/// The session's list: titles and statuses.
fn tasks(world: &World) -> Vec<(String, String)> {
    let plans = world.run(&["plans", "--all", "--json"]).json();
    let plans = plans["plans"].as_array().unwrap().clone();
    let own =
        plans.iter().find(|it| it["agent"] == "claude").unwrap_or_else(|| panic!("{plans:?}"));
    let list =
        world.run(&["list", "--all", "--json", "--plan", own["id"].as_str().unwrap()]).json();
    let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
    let items = list["items"].as_array().unwrap().iter();
    // The item of the stopped writer goes on the list of the live session.
    let own = items.filter(|it| it["title"] != "Late");
    own.map(|it| (text(it, "title"), text(it, "status"))).collect()
}

fn spooled(world: &World) -> usize {
    std::fs::read_dir(world.path(&format!("{DATABASE}-spool"))).map_or(0, |it| it.count())
}

fn one(title: &str, status: &str) -> (String, String) {
    (title.to_owned(), status.to_owned())
}

#[test]
fn hooks_keep_their_events_beside_the_database_and_the_next_verb_applies_them_in_order_and_once() {
    let world = World::new();
    world.typed("add First").works();
    hook(&world, "SessionStart", &json!({"source": "startup"}));
    hook(&world, "PostToolUse", &create(1));
    let stopped = Stopped::new(&world);
    for fields in
        [create(2), update(2, "in_progress"), update(1, "completed"), update(2, "completed")]
    {
        let ran = hook(&world, "PostToolUse", &fields);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    }
    // Without an answer, the hook's stop is not refused.
    hook(&world, "Stop", &json!({"last_assistant_message": "Done."}));
    assert_eq!(spooled(&world), 4);
    let doctor = world.run(&["doctor"]).out;
    assert!(doctor.contains("4 events wait in "), "{doctor}");
    stopped.go_on();
    assert_eq!(tasks(&world), [one("Task 1", "completed"), one("Task 2", "completed")]);
    assert_eq!(spooled(&world), 0);
    let before = tasks(&world);
    assert_eq!(tasks(&world), before, "once");
    let doctor = world.run(&["doctor"]).out;
    assert!(!doctor.contains("wait in"), "{doctor}");
}

#[test]
fn the_next_hook_applies_what_was_kept_before_its_own_event() {
    let world = World::new();
    world.typed("add First").works();
    hook(&world, "SessionStart", &json!({"source": "startup"}));
    let stopped = Stopped::new(&world);
    hook(&world, "PostToolUse", &create(1));
    stopped.go_on();
    assert_eq!(spooled(&world), 1);
    hook(&world, "PostToolUse", &update(1, "completed"));
    assert_eq!(spooled(&world), 0);
    assert_eq!(tasks(&world), [one("Task 1", "completed")]);
}

/// Breaks the database, calls a hook, and repairs the database.
fn through(world: &World, break_it: impl FnOnce(), mend: impl FnOnce()) {
    hook(world, "SessionStart", &json!({"source": "startup"}));
    hook(world, "PostToolUse", &create(1));
    break_it();
    let ran = hook(world, "PostToolUse", &update(1, "completed"));
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    let doctor = world.run(&["doctor"]).out;
    assert!(doctor.contains("1 event waits in "), "{doctor}");
    assert!(doctor.contains("the event is kept"), "{doctor}");
    mend();
    assert_eq!(tasks(world), [one("Task 1", "completed")]);
}

#[test]
fn an_event_survives_a_database_of_a_future_schema() {
    let world = World::new();
    let schema = |version: Option<i64>| {
        let database = rusqlite::Connection::open(world.path(DATABASE)).unwrap();
        let now: i64 = database.pragma_query_value(None, "user_version", |it| it.get(0)).unwrap();
        database.pragma_update(None, "user_version", version.unwrap_or(now + 10_000)).unwrap();
        now
    };
    world.typed("add First").works();
    let now = std::cell::Cell::new(0);
    through(&world, || now.set(schema(None)), || assert!(schema(Some(now.get())) > 10_000));
}

#[test]
fn an_event_survives_a_database_that_a_foreign_program_keeps_to_itself() {
    let world = World::new();
    world.typed("add First").works();
    let foreign = rusqlite::Connection::open(world.path(DATABASE)).unwrap();
    through(
        &world,
        || foreign.execute_batch("BEGIN IMMEDIATE").unwrap(),
        || foreign.execute_batch("ROLLBACK").unwrap(),
    );
}

#[test]
fn an_event_survives_a_database_that_is_damaged_and_put_back() {
    let world = World::new();
    world.typed("add First").works();
    let files = ["", "-wal", "-shm"].map(|it| world.path(&format!("{DATABASE}{it}")));
    let aside = |it: &std::path::Path| world.path("home").join(it.file_name().unwrap());
    let there = || files.iter().filter(|it| it.exists());
    through(
        &world,
        || {
            there().for_each(|it| std::fs::rename(it, aside(it)).unwrap());
            std::fs::write(&files[0], "no database at all, but long enough".repeat(99)).unwrap();
        },
        || {
            there().for_each(|it| std::fs::remove_file(it).unwrap());
            let back = files.iter().filter(|it| aside(it).exists());
            back.for_each(|it| std::fs::rename(aside(it), it).unwrap());
        },
    );
}

#[test]
fn an_event_survives_a_database_that_can_only_be_read() {
    let world = World::new();
    let event = |fields: Value| {
        let mut event = json!({"session_id": "12345678-aaaa-bbbb", "cwd": world.path("project"),
            "hook_event_name": "PostToolUse"});
        event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        event.to_string().into_bytes()
    };
    let database = world.path("project/ro/my.db").display().to_string();
    let hook = ["hook", "claude", "--db", &database];
    world.run_with(&hook, &event(create(1))).works();
    let dir = world.path("project/ro");
    let Some(run) = read_only(&world, &dir) else { return };
    run(&hook, &event(update(1, "completed"))).works();
    // The database's directory cannot be written, so the spool is in the user's data directory.
    let doctor = world.run(&["doctor", "--db", &database]).out;
    assert!(doctor.contains("1 event waits in /") && doctor.contains("/spool/"), "{doctor}");
    let plans = world.run(&["plans", "--all", "--json", "--db", &database]).json();
    let id = plans["plans"][0]["id"].as_str().unwrap().to_owned();
    let list = world.run(&["list", "--all", "--json", "--plan", &id, "--db", &database]).json();
    assert_eq!(list["items"][0]["status"], "completed");
}

/// Removes all files of the database.
fn remove(world: &World) {
    for ending in ["", "-wal", "-shm"] {
        std::fs::remove_file(world.path(&format!("{DATABASE}{ending}"))).ok();
    }
}

#[test]
fn following_a_database_that_is_deleted_ends_with_exit_8_and_says_so() {
    let world = World::new();
    world.typed("add First").works();
    let mut command = world.command("project");
    command.args(["log", "--follow"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    remove(&world);
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(8), "{said}");
    assert!(said.contains("was moved or deleted"), "{said}");
}

#[test]
fn a_run_whose_database_is_deleted_ends_with_exit_8_and_says_so() {
    let world = World::new();
    let plan = "- [ ] A\n  run: touch begun; until test -e go; do sleep 0.02; done\n";
    world.write("project/plan.md", plan);
    let mut command = world.command("project");
    command.args(["run", "plan.md"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    until(|| world.path("project/begun").exists());
    remove(&world);
    world.write("project/go", "");
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(8), "{said}");
    assert!(said.contains("was moved or deleted"), "{said}");
}

#[test]
fn a_watcher_goes_on_with_the_database_that_took_the_place_of_a_deleted_one() {
    let world = World::new();
    world.typed("add First").works();
    let mut command = world.command("project");
    command.args(["watch", "--json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut out = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    assert!(out.any(|it| it.unwrap().contains("First")));
    remove(&world);
    world.typed("add Second").works();
    assert!(out.any(|it| it.unwrap().contains("Second")));
    child.kill().unwrap();
    child.wait().unwrap();
}
