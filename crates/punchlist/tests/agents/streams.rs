//! The output of Claude Code and its transcripts give the same lists.

use std::path::PathBuf;

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script};
use serde_json::{Value, json};

use crate::place::Place;
use crate::shown::shows;

impl Place {
    /// The transcript of one session.
    #[track_caller]
    pub(crate) fn transcript(&self, session: &str) -> PathBuf {
        let files = self.files("home/.claude/projects", &format!("{session}.jsonl"));
        let [file] = files.as_slice() else { panic!("not one of {session}: {files:#?}") };
        file.clone()
    }
}

fn create(subject: &str) -> (&'static str, Value) {
    ("TaskCreate", json!({"subject": subject, "description": "as it says"}))
}

fn update(task: &str, change: &str, to: &str) -> (&'static str, Value) {
    ("TaskUpdate", json!({"taskId": task, change: to}))
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn tasks_are_followed_from_their_making_to_their_end() {
    let _shows = [
        shows(Agent::Claude, Feature::Events, "its stream"),
        shows(Agent::Claude, Feature::Events, "its files"),
    ];
    let place = Place::new();
    let script = Script::new()
        .thinks("A list first")
        .says("I will plan.")
        .calls_all([create("Write the parser"), create("Test the parser")])
        .calls_all([update("1", "status", "in_progress")])
        .calls_all([update("1", "status", "completed"), update("7", "status", "completed")])
        .calls_all([update("2", "subject", "Fuzz the parser")])
        .calls_all([create("Tag it")])
        .calls_all([update("2", "status", "completed")])
        .calls_all([update("3", "status", "deleted")])
        .stops("All is done.");
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").with_tasks().ends().well();
    assert_eq!(model.left(), 0);

    let lists = [
        "[ ] Write the parser",
        "[ ] Write the parser, [ ] Test the parser",
        "[>] Write the parser, [ ] Test the parser",
        "[x] Write the parser, [ ] Test the parser",
        "[x] Write the parser, [ ] Fuzz the parser",
        "[x] Write the parser, [ ] Fuzz the parser, [ ] Tag it",
        "[x] Write the parser, [x] Fuzz the parser, [ ] Tag it",
        "[x] Write the parser, [x] Fuzz the parser",
    ];
    let printed = place.printed(&ended).understood();
    let kept = place.kept(&place.transcript(&ended.session())).understood();
    assert_eq!(printed.lists(), lists);
    assert_eq!(kept.lists(), lists);
    assert_eq!(printed.agents(), [ended.session()]);
    assert_eq!(kept.agents(), printed.agents());
    for told in [&printed, &kept] {
        let tools =
            told.events.iter().filter(|it| it["type"].as_str().unwrap().starts_with("tool."));
        assert_eq!(tools.count(), 0, "{:#?}", told.events);
    }
    assert_eq!(printed.of_kind("turn.completed").last().unwrap()["status"], "success");
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_whole_list_is_followed_from_its_making_to_its_end() {
    let _shows = [
        shows(Agent::Claude, Feature::Events, "its stream"),
        shows(Agent::Claude, Feature::Events, "its files"),
    ];
    let place = Place::new();
    let write = |entries: &[(&str, &str)]| {
        let entry = |(text, status): &(&str, &str)| json!({"content": text, "status": status, "activeForm": format!("{text}, now")});
        let todos: Vec<Value> = entries.iter().map(entry).collect();
        ("TodoWrite", json!({"todos": todos}))
    };
    let script = Script::new()
        .calls_all([write(&[("Write the parser", "in_progress"), ("Test the parser", "pending")])])
        // Refused: there is no such status.
        .calls_all([write(&[("Write the parser", "given_up")])])
        .calls_all([write(&[
            ("Write the parser", "completed"),
            ("Fuzz the parser", "in_progress"),
        ])])
        .calls_all([write(&[("Write the parser", "completed"), ("Fuzz the parser", "completed")])])
        .stops("All is done.");
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").with_todo_write().ends().well();
    assert_eq!(model.left(), 0);

    let lists = [
        "[>] Write the parser, [ ] Test the parser",
        "[x] Write the parser, [>] Fuzz the parser",
        "[x] Write the parser, [x] Fuzz the parser",
    ];
    let printed = place.printed(&ended).understood();
    let kept = place.kept(&place.transcript(&ended.session())).understood();
    assert_eq!(printed.lists(), lists);
    assert_eq!(kept.lists(), lists);
}
