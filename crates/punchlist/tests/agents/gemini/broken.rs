//! Punchlist is broken: Gemini CLI works and stops as if it were not installed. For Gemini CLI, an
//! unusual exit code with any output would be a denial.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script};
use serde_json::json;

use super::WITH_TODOS;
use super::plans::todos;
use super::wired::{OPEN, refusals};
use crate::broken::ways;
use crate::place::Place;
use crate::shown::shows;

/// Installs a copy of the program, breaks something, and lets a model work and stop with open
/// items. Without Punchlist, nothing refuses the stop.
#[track_caller]
fn check(break_it: impl FnOnce(&Place)) {
    let script = Script::new()
        .calls("write_todos", todos(&OPEN))
        .calls("run_shell_command", json!({"command": "echo it works"}))
        .stops("Done.");
    let model = Model::new(script).serve().unwrap();
    let mut place = Place::new();
    place.gemini_settings(&json!({}));
    place.copied();
    place.punchlist(&["install", "gemini", "--yes"]);
    break_it(&place);
    // A variable of that name must not get into the command.
    let run = place.gemini(&model, "Build it").args(&["-m", WITH_TODOS]).env("o", "oops");
    run.ends().succeeded();
    let requests = model.requests();
    assert_eq!((refusals(&requests).len(), model.left()), (0, 0));
    let texts: Vec<String> =
        requests.iter().flat_map(|it| it.results()).map(|it| it.text).collect();
    assert!(texts[0].contains("Successfully updated the todo list"), "{texts:?}");
    assert!(texts[1].contains("it works"), "{texts:?}");
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn the_binary_is_gone() {
    let _shows = shows(Agent::Gemini, Feature::Broken, "gone");
    check(ways::gone);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn the_binary_crashes() {
    let _shows = shows(Agent::Gemini, Feature::Broken, "crashing");
    check(ways::crashes);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn the_binary_says_something_and_fails() {
    let _shows = shows(Agent::Gemini, Feature::Broken, "failing");
    check(ways::fails);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn the_binary_hangs() {
    let _shows = shows(Agent::Gemini, Feature::Broken, "hanging");
    check(ways::hangs);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn the_database_is_no_database() {
    let _shows = shows(Agent::Gemini, Feature::Broken, "without a sound database");
    check(ways::no_database);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn the_database_is_from_the_future() {
    let _shows = shows(Agent::Gemini, Feature::Broken, "without a sound database");
    check(ways::from_the_future);
}
