//! Sub-agents, in the foreground and in the background.

use std::time::Duration;

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Script};
use serde_json::{Value, json};

use crate::claude::refusals;
use crate::place::Place;
use crate::run::assert_says;
use crate::shown::shows;

fn create(subject: &str) -> (&'static str, Value) {
    ("TaskCreate", json!({"subject": subject, "description": "as it says"}))
}

fn done(task: &str) -> (&'static str, Value) {
    ("TaskUpdate", json!({"taskId": task, "status": "completed"}))
}

fn helper(prompt: &str, in_background: bool) -> (&'static str, Value) {
    let input = json!({"description": "A helper", "prompt": prompt,
        "subagent_type": "general-purpose", "run_in_background": in_background});
    ("Agent", input)
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn one_answers_for_what_it_made_and_for_nothing_else() {
    let _shows = shows(Agent::Claude, Feature::SubAgents, "");
    let place = Place::installed();
    let script = Script::new()
        .calls_all([create("Write the parser")])
        .calls_all([helper("HELPER: look around", false)])
        .calls_all([done("1")])
        .stops("All is done.");
    let helping = Script::new()
        .calls_all([create("Look into the cellar")])
        .stops("I looked around.")
        .calls_all([done("2")])
        .stops("Now I did.");
    let model = Model::new(script).conversation("HELPER", helping).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").with_tasks().ends().well();
    assert_eq!((ended.answer(), model.left()), ("All is done.", 0));

    let refused = refusals(&model.requests_of("HELPER"));
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert_says(&refused[0], &["2. Look into the cellar"], &["Write the parser"]);
    assert_eq!(refusals(&model.requests_of("")), [] as [String; 0]);
    let plan = place.plan_of(&ended.session());
    let list = "1 completed: Write the parser\n2 completed: Look into the cellar\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("drained", list));
    let name = format!("claude:{}", &ended.session()[24..]);
    let [main, sub] = &plan.actors()[..] else { panic!("{:?}", plan.actors()) };
    assert_eq!(*main, name);
    assert!(sub.starts_with(&format!("{name}/")), "{sub}");
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn with_todo_write_each_has_a_list_of_its_own() {
    let _shows = shows(Agent::Claude, Feature::SubAgents, "");
    let todo = |title: &str, status: &str| {
        let entry = json!({"content": title, "status": status, "activeForm": "Working"});
        ("TodoWrite", json!({"todos": [entry]}))
    };
    let place = Place::installed();
    let script = Script::new()
        .calls_all([todo("Write the parser", "in_progress")])
        .calls_all([helper("HELPER: look around", false)])
        .calls_all([todo("Write the parser", "completed")])
        .stops("All is done.");
    let helping = Script::new()
        .calls_all([todo("Look into the cellar", "in_progress")])
        .stops("I looked around.")
        .calls_all([todo("Look into the cellar", "completed")])
        .stops("Now I did.");
    let model = Model::new(script).conversation("HELPER", helping).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").with_todo_write().ends().well();
    assert_eq!((ended.answer(), model.left()), ("All is done.", 0));

    let refused = refusals(&model.requests_of("HELPER"));
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert_says(&refused[0], &["Look into the cellar"], &["Write the parser"]);
    assert_eq!(refusals(&model.requests_of("")), [] as [String; 0]);
    let mut lists: Vec<String> = place.plans().iter().map(|it| place.plan(it).list()).collect();
    lists.sort();
    let both = ["1 completed: Look into the cellar\n", "1 completed: Write the parser\n"];
    assert_eq!(lists, both);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn while_one_works_in_the_background_the_agent_may_pause_but_not_finish() {
    let place = Place::installed();
    let script = Script::new()
        .calls_all([create("Write the parser")])
        .calls_all([helper("HELPER: look around", true)])
        .stops("I wait for my helper.")
        // The sub-agent has reported, so the agent is woken, and nothing is left to wait for.
        .stops("That is all.")
        .calls_all([done("1")])
        .stops("All is done.");
    let slowly = Message::new().says("I looked around.").paced(Duration::from_millis(250));
    let model =
        Model::new(script).conversation("HELPER", Script::new().turn(slowly)).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").with_tasks().ends().well();
    assert_eq!((ended.answer(), model.left()), ("All is done.", 0));
    let requests = model.requests_of("");
    assert_eq!(refusals(&requests).len(), 1);
    assert_says(&requests[3].news(), &["task-notification"], &["Not finished: "]);
    assert_eq!(place.plan_of(&ended.session()).list(), "1 completed: Write the parser\n");
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn one_that_has_our_tools_alone_answers_for_what_it_made() {
    let ours = |title: &str| json!({"items": [{"title": title}]});
    let done = |id: &str| json!({"todoId": id, "outcome": "as it says"});
    let place = Place::installed();
    let script = Script::new()
        .calls("mcp__punchlist__create_todo", ours("Write the parser"))
        .calls_all([helper("HELPER: look around", false)])
        .calls("mcp__punchlist__complete_todo", done("1"))
        .stops("All is done.");
    let helping = Script::new()
        .calls("mcp__punchlist__create_todo", ours("Look into the cellar"))
        .stops("I looked around.")
        .calls("mcp__punchlist__complete_todo", done("2"))
        .stops("Now I did.");
    let model = Model::new(script).conversation("HELPER", helping).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").ends().well();
    assert_eq!((ended.answer(), model.left()), ("All is done.", 0));
    let refused = refusals(&model.requests_of("HELPER"));
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert_says(&refused[0], &["2. Look into the cellar"], &["Write the parser"]);
    assert_eq!(refusals(&model.requests_of("")), [] as [String; 0]);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn while_another_works_one_is_held_all_the_same() {
    let place = Place::installed();
    let ours = |title: &str| json!({"items": [{"title": title}]});
    let script = Script::new()
        .calls("mcp__punchlist__create_todo", ours("Write the parser"))
        .calls_all([helper("QUICK: look around", true), helper("SLOW: look around", true)])
        .calls("mcp__punchlist__complete_todo", json!({"todoId": "1", "outcome": "done"}))
        .stops("I wait.")
        .stops("I wait.")
        .stops("I wait.")
        .stops("I wait.")
        .stops("I wait.")
        .stops("I wait.");
    let quick = (0..5).fold(
        Script::new().calls("mcp__punchlist__create_todo", ours("Look into the cellar")),
        |script, _| script.stops("I looked around."),
    );
    let slowly = Message::new().says("I looked around.").paced(Duration::from_millis(2500));
    let model = Model::new(script)
        .conversation("QUICK", quick)
        .conversation("SLOW", Script::new().turn(slowly))
        .serve()
        .unwrap();
    let ended = place.claude(&model, "Build a parser").ends().well();
    assert_eq!(refusals(&model.requests_of("QUICK")).len(), 3);
    let asked = refusals(&model.requests_of(""));
    assert_says(&asked[0], &["2. Look into the cellar"], &[]);
    assert_eq!(place.plan_of(&ended.session()).end, "stopped");
}
