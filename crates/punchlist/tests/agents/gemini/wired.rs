//! Gemini CLI after only `punchlist install gemini --yes`: its lists are stored, its stops are
//! refused, and if Punchlist is broken, it still works.

use std::fs;

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Request, Script};
use serde_json::{Value, json};

use super::WITH_TODOS;
use super::plans::todos;
use crate::place::Place;
use crate::run::assert_says;
use crate::shown::shows;

pub(super) fn installed(more: &Value) -> Place {
    let place = Place::new();
    place.gemini_settings(more);
    place.punchlist(&["install", "gemini", "--yes"]);
    place
}

/// The texts of all refused stops, as the model read them.
pub(super) fn refusals(requests: &[Request]) -> Vec<String> {
    let told = requests.iter().map(Request::news);
    told.filter(|it| it.contains("Not finished: ")).collect()
}

pub(super) const OPEN: [(&str, &str); 3] =
    [("Design it", "completed"), ("Build it", "in_progress"), ("Test it", "pending")];
pub(super) const DONE: [(&str, &str); 3] =
    [("Design it", "completed"), ("Build it", "completed"), ("Test it", "completed")];
const LIST: &str = "1 completed: Design it\n2 completed: Build it\n3 completed: Test it\n";

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn a_stop_with_open_items_is_refused_until_the_list_is_settled() {
    let _shows = [
        shows(Agent::Gemini, Feature::Gate, ""),
        shows(Agent::Gemini, Feature::OwnList, "`write_todos`"),
    ];
    let script = Script::new()
        .calls("write_todos", todos(&OPEN))
        .stops("That is all.")
        .calls("write_todos", todos(&DONE))
        .stops("All is done.");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&json!({}));
    let ended = place.gemini(&model, "Build it").args(&["-m", WITH_TODOS]).ends().succeeded();
    assert_eq!(model.left(), 0);
    let refusals = refusals(&model.requests());
    let [refusal] = refusals.as_slice() else { panic!("{refusals:#?}") };
    assert_says(refusal, &["Build it", "Test it", "write_todos"], &["Design it"]);
    let plan = place.plan_of(&ended.session());
    assert_eq!((plan.list().as_str(), plan.end.as_str()), (LIST, "drained"));
    assert_eq!(plan.actors(), [format!("gemini:{}", &ended.session()[24..])]);
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn the_same_with_the_tools_of_our_server_which_the_newest_models_see() {
    let _shows =
        [shows(Agent::Gemini, Feature::Gate, ""), shows(Agent::Gemini, Feature::PlanTools, "")];
    let titles = ["Design it", "Build it", "Test it"].map(|it| json!({"title": it}));
    let complete = |id: &str| {
        let input = json!({"todoId": id, "outcome": "done", "wait_for_previous": true});
        ("mcp_punchlist_complete_todo", input)
    };
    let script = Script::new()
        .calls("mcp_punchlist_create_todo", json!({"items": titles}))
        .calls_all([complete("1")])
        .stops("That is all.")
        .calls_all([complete("2"), complete("3")])
        .stops("All is done.");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&json!({}));
    let ended = place.gemini(&model, "Build it").ends().succeeded();
    let requests = model.requests();
    assert!(requests[0].declares("mcp_punchlist_create_todo"), "{:?}", requests[0].tools());
    let refusals = refusals(&requests);
    let [refusal] = refusals.as_slice() else { panic!("{refusals:#?}") };
    assert_says(refusal, &["Build it", "mcp_punchlist_complete_todo"], &["Design it"]);
    let plan = place.plan_of(&ended.session());
    assert_eq!((plan.list().as_str(), plan.end.as_str()), (LIST, "drained"));
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn the_tasks_of_its_tracker_are_kept_under_their_own_names() {
    let _shows = [
        shows(Agent::Gemini, Feature::Gate, ""),
        shows(Agent::Gemini, Feature::OwnList, "the task tracker"),
    ];
    let task = |title: &str| json!({"title": title, "description": "it", "type": "task"});
    let script = Script::new()
        .calls("tracker_create_task", task("Build it"))
        .stops("That is all.")
        .then(|request: &Request| {
            // The refusal names the item by the agent's own id.
            let told = request.news();
            let line = told.lines().find(|it| it.contains(". Build it")).unwrap_or_default();
            let id = line.trim().split('.').next().unwrap_or_default();
            Message::new().calls("tracker_update_task", json!({"id": id, "status": "closed"}))
        })
        .stops("All is done.");
    let model = Model::new(script).serve().unwrap();
    let place = installed(&json!({"experimental": {"taskTracker": true}}));
    let ended = place.gemini(&model, "Build it").ends().succeeded();
    assert_eq!(refusals(&model.requests()).len(), 1);
    let plan = place.plan_of(&ended.session());
    assert_eq!((plan.list().as_str(), plan.end.as_str()), ("1 completed: Build it\n", "drained"));
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn two_at_once_keep_two_plans() {
    let _shows = shows(Agent::Gemini, Feature::Two, "");
    let works = |what: &str| {
        let list = |status| todos(&[(what, status)]);
        let script = Script::new().calls("write_todos", list("in_progress"));
        script.calls("write_todos", list("completed")).stops("All is done.")
    };
    let model = Model::new(Script::new())
        .conversation("the lexer", works("Write the lexer"))
        .conversation("the parser", works("Write the parser"))
        .serve()
        .unwrap();
    let place = installed(&json!({}));
    let runs = ["Build the lexer", "Build the parser"]
        .map(|it| place.gemini(&model, it).args(&["-m", WITH_TODOS]).begin());
    let [lexer, parser] = runs.map(|it| it.ends().succeeded().session());
    assert_eq!(place.plan_of(&lexer).list(), "1 completed: Write the lexer\n");
    assert_eq!(place.plan_of(&parser).list(), "1 completed: Write the parser\n");
}

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn after_a_run_only_our_entries_go() {
    let _shows = shows(Agent::Gemini, Feature::Uninstall, "after runs all that is not ours");
    let model = Model::new(Script::new().stops("Done.")).serve().unwrap();
    let place = Place::new();
    place.gemini_settings(&json!({}));
    let settings = || fs::read_to_string(place.path("home/.gemini/settings.json")).unwrap();
    let before = settings();
    place.punchlist(&["install", "gemini", "--yes"]);
    place.gemini(&model, "Hello").ends().succeeded();
    let doctor = place.punchlist(&["doctor"]);
    assert_says(&doctor, &["trust: the plan tools run without asking"], &["✗"]);
    place.punchlist(&["uninstall", "gemini"]);
    assert_eq!(settings(), before);
}
