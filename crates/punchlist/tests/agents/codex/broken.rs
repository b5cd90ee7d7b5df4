//! Punchlist is broken: Codex works and stops as if it were not installed.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script};
use serde_json::json;

use super::DIRECT;
use super::plans::plan;
use super::wired::{OPEN, refusals};
use crate::broken::ways;
use crate::place::Place;
use crate::shown::shows;

/// Installs a copy of the program, breaks something, and lets a model work and stop with open
/// items. Without Punchlist, nothing refuses the stop.
#[track_caller]
fn check(break_it: impl FnOnce(&Place)) {
    let script = Script::new()
        .calls("update_plan", plan(&OPEN))
        .calls("exec_command", json!({"cmd": "echo it works"}))
        .stops("Done.");
    let model = Model::new(script).serve().unwrap();
    let mut place = Place::new();
    place.codex_settings(&model, DIRECT);
    place.copied();
    place.punchlist(&["install", "codex", "--yes"]);
    break_it(&place);
    let ended = place.codex(&["Build it"]).ends().completed();
    assert_eq!((refusals(&model.requests()).len(), model.left()), (0, 0));
    let requests = model.requests();
    assert_eq!(requests[1].results()[0].text, "Plan updated");
    assert!(requests[2].results()[0].text.contains("it works"), "{:?}", requests[2].results());
    assert!(ended.printed.contains("\"text\":\"Done.\""), "{}", ended.printed);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn the_binary_is_gone() {
    let _shows = shows(Agent::Codex, Feature::Broken, "gone");
    check(ways::gone);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn the_binary_crashes() {
    let _shows = shows(Agent::Codex, Feature::Broken, "crashing");
    check(ways::crashes);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn the_binary_says_something_and_fails() {
    let _shows = shows(Agent::Codex, Feature::Broken, "failing");
    check(ways::fails);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn the_binary_hangs() {
    let _shows = shows(Agent::Codex, Feature::Broken, "hanging");
    check(ways::hangs);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn the_database_is_no_database() {
    let _shows = shows(Agent::Codex, Feature::Broken, "without a sound database");
    check(ways::no_database);
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn the_database_is_from_the_future() {
    let _shows = shows(Agent::Codex, Feature::Broken, "without a sound database");
    check(ways::from_the_future);
}
