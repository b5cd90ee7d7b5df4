//! `punchlist watch` while Gemini CLI works.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Request};
use serde_json::json;

use super::WITH_TODOS;
use super::plans::{set, todos};
use crate::live::{Answer, Held};
use crate::place::Place;
use crate::shown::shows;

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn it_is_found_and_followed_while_it_works() {
    let _shows = shows(Agent::Gemini, Feature::Watch, "");
    let place = Place::new();
    place.gemini_settings(&json!({}));
    let story: [&[(&str, &str)]; 3] = [
        &[("Write it", "in_progress"), ("Test it", "pending")],
        &[("Write it", "completed"), ("Fuzz it", "in_progress")],
        &[("Write it", "completed"), ("Fuzz it", "cancelled")],
    ];
    let lists =
        ["[>] Write it, [ ] Test it", "[x] Write it, [>] Fuzz it", "[x] Write it, [-] Fuzz it"];
    let held = Held::new(story.map(|it| Message::new().calls("write_todos", todos(it))));
    let agent = |model: &_| place.gemini(model, "Build a parser").args(&["-m", WITH_TODOS]);
    held.follow(&place, agent, &lists).succeeded();
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn its_tracker_is_followed_too() {
    let _shows = shows(Agent::Gemini, Feature::Watch, "");
    let place = Place::new();
    place.gemini_settings(&json!({"experimental": {"taskTracker": true}}));
    let input = json!({"title": "Write it", "description": "as it says", "type": "task"});
    let create = move |_: &Request| Message::new().calls("tracker_create_task", input.clone());
    let held = Held::computed([
        Box::new(create) as Answer,
        Box::new(set("Write it", "in_progress")),
        Box::new(set("Write it", "closed")),
    ]);
    let agent = |model: &_| place.gemini(model, "Build a parser");
    held.follow(&place, agent, &["[ ] Write it", "[>] Write it", "[x] Write it"]).succeeded();
}
