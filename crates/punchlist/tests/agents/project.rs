//! Installed for a project: in files at its root, and nothing in the home directory.

use std::fs;

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script};
use serde_json::{Value, json};

use crate::claude::refusals;
use crate::install::tree;
use crate::place::Place;
use crate::run::assert_says;
use crate::shown::shows;

fn create(subject: &str) -> (&'static str, Value) {
    ("TaskCreate", json!({"subject": subject, "description": "as it says"}))
}

/// Marks the folder as trusted, which the program asks before its first session there. Otherwise it
/// ignores the project's settings.
fn trust(place: &Place) -> String {
    let project = place.path("project").display().to_string();
    json!({"projects": {project: {"hasTrustDialogAccepted": true}}}).to_string()
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn its_list_is_kept_and_its_stop_is_held_there_and_afterwards_nothing_of_ours_is_left() {
    let _shows = shows(Agent::Claude, Feature::Project, "");
    let place = Place::new();
    fs::write(place.path("home/.claude.json"), trust(&place)).unwrap();
    let before = tree(&place.path("project"));
    place.punchlist(&["install", "claude", "--project", "--yes"]);
    assert!(place.path("project/.mcp.json").exists());
    assert!(place.path("project/.claude/settings.json").exists());
    assert_eq!(fs::read_to_string(place.path("home/.claude.json")).unwrap(), trust(&place));
    assert!(!place.path("home/.claude/settings.json").exists());

    let script = Script::new()
        .calls_all([create("Write the parser"), create("Test the parser")])
        .calls("mcp__punchlist__list_todo", json!({}))
        .stops("All done!")
        .calls("TaskUpdate", json!({"taskId": "1", "status": "completed"}))
        .calls("TaskUpdate", json!({"taskId": "2", "status": "completed"}))
        .stops("Now all is done.");
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").with_tasks().ends().well();
    assert_eq!((ended.answer(), model.left()), ("Now all is done.", 0));
    let requests = model.requests();
    // The same plan for verbs and tools.
    let seen = &requests[2].results()[0];
    assert!(!seen.is_error && seen.text.contains("Test the parser"), "{seen:?}");
    let refused = refusals(&requests);
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert_says(&refused[0], &["1. Write the parser", "2. Test the parser", "TaskUpdate"], &[]);
    let plan = place.plan_of(&ended.session());
    let list = "1 completed: Write the parser\n2 completed: Test the parser\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("drained", list));

    place.punchlist(&["uninstall", "claude", "--project"]);
    assert_eq!(tree(&place.path("project")), before);
    let model = Model::new(Script::new().calls_all([create("Write it")]).stops("Done."));
    let model = model.serve().unwrap();
    place.claude(&model, "Hello again").with_tasks().ends().well();
    assert_eq!(refusals(&model.requests()), [] as [String; 0]);
    assert!(!model.requests()[0].tools().iter().any(|it| it.starts_with("mcp__punchlist__")));
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn installed_twice_for_the_user_and_for_the_project_it_keeps_one_list_and_refuses_once() {
    let place = Place::installed();
    place.punchlist(&["install", "claude", "--project", "--yes"]);
    let settings = fs::read_to_string(place.path("project/.claude/settings.json")).unwrap();
    assert!(settings.contains("hook claude"), "{settings}");
    let script = Script::new()
        .calls_all([create("Write the parser")])
        .stops("All done!")
        .calls("TaskUpdate", json!({"taskId": "1", "status": "completed"}))
        .stops("Now all is done.");
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").with_tasks().ends().well();
    assert_eq!((ended.answer(), model.left()), ("Now all is done.", 0));
    assert_eq!(refusals(&model.requests()).len(), 1);
    let plan = place.only_plan();
    assert_eq!(
        (plan.end.as_str(), plan.list().as_str()),
        ("drained", "1 completed: Write the parser\n")
    );
    assert_eq!(plan.happened("added"), 1);
}
