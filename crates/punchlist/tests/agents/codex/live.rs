//! `punchlist watch` while Codex works.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::Message;

use super::plans::{in_code, plan};
use super::{DIRECT, IN_CODE};
use crate::live::Held;
use crate::place::Place;
use crate::shown::shows;

/// The plans, one after the other: created, worked on, changed and finished.
const STORY: [&[(&str, &str)]; 3] = [
    &[("Write it", "in_progress"), ("Test it", "pending")],
    &[("Write it", "completed"), ("Fuzz it", "in_progress")],
    &[("Write it", "completed"), ("Fuzz it", "completed")],
];

const LISTS: [&str; 3] =
    ["[>] Write it, [ ] Test it", "[x] Write it, [>] Fuzz it", "[x] Write it, [x] Fuzz it"];

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn it_is_found_and_followed_while_it_works() {
    let _shows = shows(Agent::Codex, Feature::Watch, "");
    let place = Place::new();
    let held = Held::new(STORY.map(|steps| Message::new().calls("update_plan", plan(steps))));
    let agent = |model: &_| {
        place.codex_settings(model, DIRECT);
        place.codex(&["Build a parser"])
    };
    held.follow(&place, agent, &LISTS).completed();
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn one_that_plans_in_code_is_followed_as_far_as_its_file_tells() {
    let place = Place::new();
    let held = Held::new(STORY.map(|steps| Message::new().calls("exec", in_code(steps))));
    let lists = LISTS.map(|it| it.replace(", ", " (unconfirmed), ") + " (unconfirmed)");
    let agent = |model: &_| {
        place.codex_settings(model, IN_CODE);
        place.codex(&["Build a parser"])
    };
    held.follow(&place, agent, &lists.each_ref().map(String::as_str)).completed();
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn it_is_said_to_be_gone_when_it_was_killed() {
    let place = Place::new();
    let held = Held::new([Message::new().calls("update_plan", plan(STORY[0]))]);
    let agent = |model: &_| {
        place.codex_settings(model, DIRECT);
        place.codex(&["Build a parser"])
    };
    let mut watched = held.begin(&place, agent);
    watched.tells(LISTS[0]);
    assert_eq!(watched.dies(), "the agent's process is gone; 2 items open");
}
