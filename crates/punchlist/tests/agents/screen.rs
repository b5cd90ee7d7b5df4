//! Claude Code on a terminal: what only an interactive session can show.

use std::cell::Cell;
use std::path::PathBuf;

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script, Server};
use serde_json::{Value, json};

use crate::claude::refusals;
use crate::place::Place;
use crate::run::assert_says;
use crate::shown::shows;
use crate::terminal::Terminal;

/// Whether a hook of the agent runs now.
fn runs_a_hook(place: &Place) -> bool {
    let here = place.path("").display().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok()).any(|line| {
        let line = String::from_utf8_lossy(&line);
        line.contains(&here) && line.contains("hook\0claude")
    })
}

/// Claude Code on a terminal.
struct Screen {
    terminal: Terminal,
    /// The directory in which the program records its sessions.
    sessions: PathBuf,
}

impl Screen {
    fn open(place: &Place, model: &Server) -> Self {
        // Settings that the user made before Punchlist was installed.
        let project = place.path("project").display().to_string();
        let settled = json!({"hasCompletedOnboarding": true, "theme": "dark",
            "customApiKeyResponses": {"approved": ["mmy-key-for-loopback"], "rejected": []},
            "projects": {project: {"hasTrustDialogAccepted": true}}});
        std::fs::write(place.path("home/.claude.json"), settled.to_string()).unwrap();
        place.install();
        let mut agent = place.agent(model);
        agent.env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1").env("ENABLE_TOOL_SEARCH", "false");
        let terminal = Terminal::open(&agent, false);
        Self { terminal, sessions: place.path("home/.claude/sessions") }
    }

    /// The program's record of its session, and whether it is busy.
    fn note(&self) -> Option<Value> {
        let entry = std::fs::read_dir(&self.sessions).ok()?.next()?.ok()?;
        serde_json::from_slice(&std::fs::read(entry.path()).ok()?).ok()
    }

    /// Types a line when the program is idle.
    #[track_caller]
    fn types(&self, line: &str) {
        let is_idle = |_: &str| self.note().is_some_and(|it| it["status"] != "busy");
        self.terminal.until("was idle", is_idle);
        self.terminal.types(line);
    }

    /// Changes to another session in the same program, with a command. A prompt typed before the
    /// session's first hook has answered would miss the hook's text.
    #[track_caller]
    fn changes_sessions(&self, place: &Place, command: &str) {
        let session =
            |it: &Self| it.note().and_then(|it| Some(it["sessionId"].as_str()?.to_owned()));
        let before = session(self);
        self.types(command);
        self.terminal
            .until("had another session", |_| session(self).is_some_and(|it| Some(it) != before));
        let id = session(self).unwrap_or_default();
        self.terminal.until("told its hooks", |_| {
            let mut known = place.command(&place.punchlist);
            known.args(["gate", "--session", &id]);
            known.output().unwrap().status.success()
        });
        // The program uses the hook's answer shortly after the hook has ended, and nothing shows
        // it, so wait until it was idle for a while.
        let quiet = Cell::new(0);
        self.terminal.until("was done with its hooks", |_| {
            quiet.set(if runs_a_hook(place) { 0 } else { quiet.get() + 1 });
            quiet.get() >= 40
        });
    }

    /// Types a prompt and waits for the answer.
    #[track_caller]
    fn asks(&self, prompt: &str, answer: &str) {
        let before = self.terminal.drawn();
        self.types(prompt);
        self.terminal.shows(answer, before);
    }

    /// Leaves like a user, and waits for the end.
    #[track_caller]
    fn leaves(self) {
        self.types("/exit");
        self.terminal.ends();
    }
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
    let screen = Screen::open(&place, &model);
    screen.terminal.shows("❯", 0);
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
fn a_question_to_the_user_may_end_the_turn() {
    let _shows = shows(Agent::Claude, Feature::Question, "");
    let place = Place::new();
    let script = Script::new()
        .calls_all([create("Write the parser")])
        .stops("FIRST ANSWER: どちらにしますか？")
        .stops("SECOND ANSWER");
    let model = Model::new(script).serve().unwrap();
    let screen = Screen::open(&place, &model);
    screen.terminal.shows("❯", 0);
    screen.asks("Build a parser", "FIRST ANSWER");
    screen.asks("TOML", "SECOND ANSWER");
    screen.leaves();
    let requests = model.requests();
    assert_eq!(refusals(&requests[..3]), [] as [String; 0]);
    assert_says(&requests[2].news(), &["TOML"], &[]);
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
    let screen = Screen::open(&place, &model);
    screen.terminal.shows("❯", 0);
    screen.asks("Begin", "FIRST ANSWER");
    screen.changes_sessions(&place, "/clear");
    screen.asks("Begin again", "SECOND ANSWER");
    screen.leaves();

    // The cleared conversation is gone; only the number of open items is mentioned.
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
    place.gate("off");
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
    let screen = Screen::open(&place, &model);
    screen.terminal.shows("❯", 0);
    screen.asks("Hello", "FIRST ANSWER");
    screen.changes_sessions(&place, &format!("/resume {yesterday}"));
    screen.asks("Go on", "SECOND ANSWER");
    screen.leaves();

    assert_says(&model.requests()[1].news(), &["Go on", "[ ] 1. Yesterday"], &[]);
    assert_eq!(place.only_plan().list(), "1 pending: Yesterday\n2 pending: Today\n");
}
