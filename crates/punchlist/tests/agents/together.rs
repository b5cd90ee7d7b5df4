//! Two sessions at once in one project.

use std::collections::BTreeSet;

use punchlist_testkit::anthropic::{Message, Model, Request, Script};
use serde_json::{Value, json};

use crate::claude::assert_says;
use crate::place::Place;

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn each_keeps_a_plan_of_its_own() {
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
    let place = Place::new();
    place.punchlist(&["install", "claude", "--yes", "--plan", "release"]);
    let titles: Vec<String> = (1..=8).map(|it| format!("Step {it}")).collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    place.punchlist(&[&["add", "--plan", "release"], &titles[..]].concat());

    let model = Model::new(Script::new())
        .conversation("first worker", Script::new().always(works_off))
        .conversation("second worker", Script::new().always(works_off))
        .serve()
        .unwrap();
    let runs = ["You are the first worker", "You are the second worker"]
        .map(|prompt| place.claude(&model, prompt).begin());
    let sessions = runs.map(|it| it.ends().well().session());

    let plan = place.only_plan();
    assert_eq!(plan.end, "drained");
    let done: String = (1..=8).map(|it| format!("{it} completed: Step {it}\n")).collect();
    assert_eq!(plan.list(), done);
    // Each was begun and completed by one of the two, once; the outcome names who did it.
    assert_eq!(plan.happened("added"), 8);
    let completed = plan.journal.iter().filter(|it| it["kind"] == "complete").collect::<Vec<_>>();
    assert_eq!(completed.len(), 8, "{completed:#?}");
    let names: BTreeSet<String> =
        completed.iter().map(|it| it["actor"]["name"].as_str().unwrap().to_owned()).collect();
    let both = sessions.iter().map(|it| format!("claude:{}", &it[..8])).collect();
    assert_eq!(names, both, "one of them did all the work");
    for request in model.requests() {
        assert_says(&request.news(), &[], &["Stop hook feedback"]);
    }
}

/// What a worker does next: take the next item, complete it, until there is none.
fn works_off(request: &Request) -> Message {
    let results = request.results();
    let Some(last) = results.first() else {
        return Message::new().calls("mcp__punchlist__next_todo", json!({"claim": true}));
    };
    let value: Value = serde_json::from_str(&last.text).unwrap_or_default();
    let item = &value["item"];
    if last.tool.ends_with("next_todo") {
        return match item["id"].as_str() {
            Some(id) => {
                let input = json!({"todoId": id, "outcome": "done"});
                Message::new().calls("mcp__punchlist__complete_todo", input)
            }
            None => Message::new().says("Nothing is left for me."),
        };
    }
    Message::new().calls("mcp__punchlist__next_todo", json!({"claim": true}))
}
