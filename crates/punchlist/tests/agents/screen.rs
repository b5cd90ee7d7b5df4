//! The interactive program on a terminal that nobody looks at, and what only it can show.

use std::cell::Cell;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script, Server};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use crate::claude::{program, refusals};
use crate::place::Place;
use crate::run::assert_says;
use crate::shown::shows;

/// The longest that anything on the screen may keep us waiting.
const LIMIT: Duration = Duration::from_secs(60);

/// Whether a hook of the agent in this place runs now.
fn runs_a_hook(place: &Place) -> bool {
    let here = place.path("").display().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok()).any(|line| {
        let line = String::from_utf8_lossy(&line);
        line.contains(&here) && line.contains("hook\0claude")
    })
}

/// A running program, its keyboard, and all that it drew so far.
struct Screen {
    child: Child,
    keyboard: ChildStdin,
    drawn: Arc<(Mutex<String>, Condvar)>,
    /// Set once nothing more can be drawn.
    is_closed: Arc<AtomicBool>,
    /// Where the program says what it is about.
    sessions: PathBuf,
}

impl Screen {
    /// Opens the program on a terminal of its own, made by `script`.
    fn open(place: &Place, model: &Server) -> Self {
        // What the user has told the program once and for all, before Punchlist came.
        let project = place.path("project").display().to_string();
        let settled = json!({"hasCompletedOnboarding": true, "theme": "dark",
            "customApiKeyResponses": {"approved": ["mmy-key-for-loopback"], "rejected": []},
            "projects": {project: {"hasTrustDialogAccepted": true}}});
        std::fs::write(place.path("home/.claude.json"), settled.to_string()).unwrap();
        place.install();
        let agent = place.agent(model);
        let mut command = Command::new("script");
        command.args([
            "-q",
            "-e",
            "-f",
            "-c",
            "stty rows 45 cols 140 && exec \"$CLAUDE\"",
            "/dev/null",
        ]);
        command.env_clear().current_dir(place.path("project")).env("CLAUDE", program());
        command.env("SHELL", "/bin/sh");
        command.env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1").env("ENABLE_TOOL_SEARCH", "false");
        for (name, value) in agent.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.process_group(0).spawn().unwrap();
        let keyboard = child.stdin.take().unwrap();
        let mut output = child.stdout.take().unwrap();
        let drawn = Arc::new((Mutex::new(String::new()), Condvar::new()));
        let canvas = Arc::clone(&drawn);
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&is_closed);
        thread::spawn(move || {
            let mut bytes = [0; 8192];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                canvas.0.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
                canvas.1.notify_all();
            }
            closed.store(true, Ordering::Release);
        });
        let sessions = place.path("home/.claude/sessions");
        Self { child, keyboard, drawn, is_closed, sessions }
    }

    /// Waits until something is so, given all that was drawn.
    #[track_caller]
    fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let until = Instant::now() + LIMIT;
        let mut drawn = self.drawn.0.lock().unwrap();
        while !is_so(&drawn) {
            assert!(Instant::now() < until, "it never {what}: {}", letters(&drawn));
            // Not everything that may become so is drawn.
            drawn = self.drawn.1.wait_timeout(drawn, Duration::from_millis(50)).unwrap().0;
        }
    }

    /// Waits until this was drawn, `after` so many bytes of what was drawn.
    #[track_caller]
    fn shows(&self, text: &str, after: usize) {
        self.until(&format!("showed {text:?}"), |drawn| {
            letters(drawn.get(after..).unwrap_or_default()).contains(&letters(text))
        });
    }

    /// What the program notes about itself: its session, and whether it is busy.
    fn note(&self) -> Option<Value> {
        let entry = std::fs::read_dir(&self.sessions).ok()?.next()?.ok()?;
        serde_json::from_slice(&std::fs::read(entry.path()).ok()?).ok()
    }

    /// Types a line once the program has nothing else to do, and sends it off once it is shown.
    #[track_caller]
    fn types(&mut self, line: &str) {
        self.until("was idle", |_| self.note().is_some_and(|it| it["status"] != "busy"));
        let before = self.drawn.0.lock().unwrap().len();
        self.keyboard.write_all(line.as_bytes()).unwrap();
        self.shows(line, before);
        self.keyboard.write_all(b"\r").unwrap();
    }

    /// Goes over to another session in the same program, with a command that does so. A prompt that
    /// is typed before the session's first hook has answered would go without what it says.
    #[track_caller]
    fn changes_sessions(&mut self, place: &Place, command: &str) {
        let session =
            |it: &Self| it.note().and_then(|it| Some(it["sessionId"].as_str()?.to_owned()));
        let before = session(self);
        self.types(command);
        self.until("had another session", |_| session(self).is_some_and(|it| Some(it) != before));
        let id = session(self).unwrap_or_default();
        self.until("told its hooks", |_| {
            let mut known = place.command(&place.punchlist);
            known.args(["gate", "--session", &id]);
            known.output().unwrap().status.success()
        });
        // What a hook said is taken up a moment after its end, and nothing shows it: so it must
        // have been quiet for a while.
        let quiet = Cell::new(0);
        self.until("was done with its hooks", |_| {
            quiet.set(if runs_a_hook(place) { 0 } else { quiet.get() + 1 });
            quiet.get() >= 20
        });
    }

    /// Types a prompt and waits for the answer.
    #[track_caller]
    fn asks(&mut self, prompt: &str, answer: &str) {
        let before = self.drawn.0.lock().unwrap().len();
        self.types(prompt);
        self.shows(answer, before);
    }

    /// Leaves as a user does, and waits for the end.
    #[track_caller]
    fn leaves(mut self) {
        self.types("/exit");
        self.until("ended", |_| self.is_closed.load(Ordering::Acquire));
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Only if the test failed before it left: then nobody else ends it.
        if self.child.try_wait().is_ok_and(|it| it.is_none()) {
            kill_process_group(Pid::from_child(&self.child), Signal::KILL).ok();
            drop(self.child.wait());
        }
    }
}

/// What of a terminal's bytes is text, without blanks: programs move the cursor instead of
/// printing some of them.
fn letters(drawn: &str) -> String {
    let mut text = String::new();
    let mut rest = drawn.chars();
    while let Some(character) = rest.next() {
        if character != '\u{1b}' {
            text.extend(Some(character).filter(|it| !it.is_whitespace() && !it.is_control()));
            continue;
        }
        match rest.next() {
            Some('[') => drop(rest.find(|it| ('@'..='~').contains(it))),
            Some(']') => drop(rest.find(|it| matches!(it, '\u{7}' | '\\'))),
            _ => {}
        }
    }
    text
}

#[test]
fn letters_are_what_is_left_of_a_drawing() {
    assert_eq!(letters("a\u{1b}[1;31mb\u{1b}[2C c\u{1b}]0;title\u{7}d\u{1b}7e\r\n"), "abcde");
}

fn create(subject: &str) -> (&'static str, Value) {
    ("TaskCreate", json!({"subject": subject, "description": "as it says"}))
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_user_who_sits_there_sees_one_refusal_and_no_more() {
    let _shows = shows(Agent::Claude, Feature::Screen, "");
    let place = Place::new();
    let script = Script::new()
        .calls_all([create("Write the parser"), create("Test the parser")])
        .stops("FIRST ANSWER")
        .stops("SECOND ANSWER");
    let model = Model::new(script).serve().unwrap();
    let mut screen = Screen::open(&place, &model);
    screen.shows("❯", 0);
    screen.asks("Build a parser", "SECOND ANSWER");
    screen.leaves();

    let refused = refusals(&model.requests());
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert_says(&refused[0], &["Write the parser", "Test the parser"], &[]);
    let plan = place.only_plan();
    assert_eq!(plan.end, "stopped");
    assert_eq!(plan.list(), "1 pending: Write the parser\n2 pending: Test the parser\n");
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn after_clear_tools_and_hooks_work_on_the_new_sessions_plan() {
    let _shows = shows(Agent::Claude, Feature::Sessions, "`/clear`");
    let place = Place::new();
    let script = Script::new()
        .calls("mcp__punchlist__create_todo", json!({"items": [{"title": "Before the clearing"}]}))
        .stops("FIRST ANSWER. Shall I go on?")
        .calls("mcp__punchlist__create_todo", json!({"items": [{"title": "After the clearing"}]}))
        .stops("SECOND ANSWER. Shall I go on?");
    let model = Model::new(script).serve().unwrap();
    let mut screen = Screen::open(&place, &model);
    screen.shows("❯", 0);
    screen.asks("Begin", "FIRST ANSWER");
    screen.changes_sessions(&place, "/clear");
    screen.asks("Begin again", "SECOND ANSWER");
    screen.leaves();

    // What was cleared away is no part of the new conversation; only how much of it is told.
    let told = model.requests()[2].text();
    assert_says(&told, &["Begin again", "punchlist adopt"], &["Before the clearing"]);
    let plans = place.plans();
    let lists: Vec<String> =
        plans.iter().map(|it| place.plan_of(it["conversation"].as_str().unwrap()).list()).collect();
    assert_eq!(lists, ["1 pending: After the clearing\n", "1 pending: Before the clearing\n"]);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn after_a_resume_inside_the_program_tools_and_hooks_work_on_the_resumed_sessions_plan() {
    let _shows = shows(Agent::Claude, Feature::Sessions, "`/resume`");
    let place = Place::installed();
    let add = |title: &str| json!({"items": [{"title": title}]});
    let script = Script::new()
        .calls("mcp__punchlist__create_todo", add("Yesterday"))
        .stops("Shall I go on?");
    let model = Model::new(script).serve().unwrap();
    let yesterday = place.claude(&model, "Begin").ends().well().session();

    let script = Script::new()
        .stops("FIRST ANSWER")
        .calls("mcp__punchlist__create_todo", add("Today"))
        .stops("SECOND ANSWER. Shall I go on?");
    let model = Model::new(script).serve().unwrap();
    let mut screen = Screen::open(&place, &model);
    screen.shows("❯", 0);
    screen.asks("Hello", "FIRST ANSWER");
    screen.changes_sessions(&place, &format!("/resume {yesterday}"));
    screen.asks("Go on", "SECOND ANSWER");
    screen.leaves();

    assert_says(&model.requests()[1].news(), &["Go on", "[ ] 1. Yesterday"], &[]);
    assert_eq!(place.only_plan().list(), "1 pending: Yesterday\n2 pending: Today\n");
}
