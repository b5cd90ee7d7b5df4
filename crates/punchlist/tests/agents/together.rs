//! Two sessions at the same time in one project.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Request, Script};
use serde_json::{Value, json};

use crate::place::Place;
use crate::run::assert_says;
use crate::shown::shows;

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn each_keeps_a_plan_of_its_own() {
    let _shows = shows(Agent::Claude, Feature::Two, "");
    let place = Place::installed();
    let works_on = |what: &str| {
        let create = |it: &str| {
            ("TaskCreate", json!({"subject": format!("{it} {what}"), "description": "it"}))
        };
        let done = |task: &str| ("TaskUpdate", json!({"taskId": task, "status": "completed"}));
        Script::new()
            .calls_all([create("Write"), create("Test")])
            .calls_all([done("1"), done("2")])
            .stops(format!("{what} is done."))
    };
    let model = Model::new(Script::new())
        .conversation("the lexer", works_on("the lexer"))
        .conversation("the parser", works_on("the parser"))
        .serve()
        .unwrap();
    let runs = ["Build the lexer", "Build the parser"]
        .map(|prompt| place.claude(&model, prompt).with_tasks().begin());
    let [lexer, parser] = runs.map(|it| it.ends().well().session());
    assert_eq!(model.left(), 0);
    let list = |what| format!("1 completed: Write {what}\n2 completed: Test {what}\n");
    assert_eq!(place.plan_of(&lexer).list(), list("the lexer"));
    assert_eq!(place.plan_of(&parser).list(), list("the parser"));
    assert_eq!(place.plans().len(), 2);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn with_a_named_plan_they_share_one_through_claims() {
    let _shows = shows(Agent::Claude, Feature::Shared, "");
    let place = Place::new();
    place.punchlist(&["install", "claude", "--yes", "--plan", "release"]);
    let titles: Vec<String> = (1..=8).map(|it| format!("Step {it}")).collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    place.punchlist(&[&["add", "--plan", "release"], &titles[..]].concat());

    let begun = Arc::new(AtomicUsize::new(0));
    let model = Model::new(Script::new())
        .conversation("first worker", works_off(&begun))
        .conversation("second worker", works_off(&begun))
        .serve()
        .unwrap();
    let runs = ["You are the first worker", "You are the second worker"]
        .map(|prompt| place.claude(&model, prompt).begin());
    let sessions = runs.map(|it| it.ends().well().session());

    let plan = place.only_plan();
    assert_eq!(plan.end, "drained");
    let done: String = (1..=8).map(|it| format!("{it} completed: Step {it}\n")).collect();
    assert_eq!(plan.list(), done);
    // Each item was completed once, by one of the two.
    assert_eq!(plan.happened("added"), 8);
    let names: Vec<String> = plan.who("completed");
    assert_eq!(names.len(), 8, "{names:?}");
    let names: BTreeSet<String> = names.into_iter().collect();
    let both = sessions.iter().map(|it| format!("claude:{}", &it[24..])).collect();
    assert_eq!(names, both);
    for request in model.requests() {
        assert_says(&request.news(), &[], &["Not finished: "]);
    }
}

/// A worker that takes the next item and completes it, until none is left. It keeps its first item
/// until the other worker has one, so that each gets some.
fn works_off(begun: &Arc<AtomicUsize>) -> Script {
    let begun = Arc::clone(begun);
    let take = || Message::new().calls("mcp__punchlist__next_todo", json!({"claim": true}));
    let mut held: Option<String> = None;
    Script::new().always(move |request: &Request| {
        let results = request.results();
        let Some(last) = results.first() else { return take() };
        if last.tool.ends_with("complete_todo") {
            return take();
        }
        if last.tool.ends_with("next_todo") {
            let value: Value = serde_json::from_str(&last.text).unwrap_or_default();
            let is_first = held.is_none();
            held = value["item"]["id"].as_str().map(str::to_owned);
            if is_first && held.is_some() {
                begun.fetch_add(1, Ordering::Relaxed);
            }
        }
        match &held {
            None => Message::new().says("Nothing is left for me."),
            Some(_) if begun.load(Ordering::Relaxed) < 2 => {
                Message::new().calls("mcp__punchlist__list_todo", json!({}))
            }
            Some(id) => {
                let input = json!({"todoId": id, "outcome": "done"});
                Message::new().calls("mcp__punchlist__complete_todo", input)
            }
        }
    })
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_session_may_join_a_named_plan_by_its_environment() {
    let place = Place::installed();
    place.gate("off");
    place.punchlist(&["add", "--plan", "release", "Tag it"]);
    let create = json!({"items": [{"title": "Tell everybody"}]});
    let script = Script::new().calls("mcp__punchlist__create_todo", create).stops("Shall I go on?");
    let model = Model::new(script).serve().unwrap();
    place.claude(&model, "Release it").env("PUNCHLIST_PLAN", "release").ends().well();
    assert_eq!(place.only_plan().list(), "1 pending: Tag it\n2 pending: Tell everybody\n");
    // The model sees the open items, because this is its own plan now.
    assert_says(&model.requests()[0].text(), &["Tag it"], &[]);
}
