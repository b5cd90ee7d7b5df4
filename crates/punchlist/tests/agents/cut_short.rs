//! Turns that end without a stop hook: at the program's limit of turns, and by Ctrl-C. No stop is
//! refused, the plan stays as it was, and the next turn sees it.

use std::time::Duration;

use punchlist_testkit::model::{Message, Model, Script, Server};
use serde_json::json;

use crate::claude::refusals;
use crate::place::Place;
use crate::run::{Ended, assert_says};
use crate::workers::until;

const LIST: &str = "1 in_progress: Write the parser\n2 pending: Test the parser\n";

/// Two tasks, the first one in progress.
fn two_tasks() -> Script {
    let create = |it: &str| ("TaskCreate", json!({"subject": it, "description": "as it says"}));
    Script::new()
        .calls_all([create("Write the parser"), create("Test the parser")])
        .calls("TaskUpdate", json!({"taskId": "1", "status": "in_progress"}))
}

/// Checks that there was no refusal, that the plan is unchanged, and that the same session and a
/// new one see it.
#[track_caller]
fn check(place: &Place, model: &Server, ended: &Ended, subtype: &str) {
    let result = ended.lines.iter().rev().find(|it| it["type"] == "result");
    let result = result.unwrap_or_else(|| panic!("no result: {}", ended.errors));
    assert_eq!(result["subtype"], subtype, "{result:#}");
    assert_eq!(refusals(&model.requests()), [] as [String; 0]);
    let session = ended.session();
    let plan = place.plan_of(&session);
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("open", LIST));

    place.gate("off");
    let asker = || Model::new(Script::new().stops("Are you sure?")).serve().unwrap();
    let model = asker();
    place.claude(&model, "What is to be done?").with_tasks().ends().well();
    let told = model.requests()[0].text();
    assert_says(&told, &["punchlist adopt"], &["Write the parser", "Test the parser"]);
    let model = asker();
    place.claude(&model, "Go on").with_tasks().resume(&session).ends().well();
    let told = model.requests()[0].news();
    assert_says(&told, &["[>] 1. Write the parser", "[ ] 2. Test the parser"], &[]);
    assert_eq!(place.plan_of(&session).list(), LIST);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn at_its_limit_of_turns() {
    let place = Place::installed();
    let model = Model::new(two_tasks().stops("Done.")).serve().unwrap();
    let run = place.claude(&model, "Build a parser").with_tasks();
    let ended = run.args(&["--max-turns", "2"]).ends();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.errors);
    check(&place, &model, &ended, "error_max_turns");
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn by_ctrl_c_while_the_model_answers() {
    let place = Place::installed();
    let script = two_tasks().turn(Message::new().says("I am writ").hangs());
    let model = Model::new(script).serve().unwrap();
    let running = place.claude(&model, "Build a parser").with_tasks().begin();
    assert!(model.wait_for("", 3, Duration::from_secs(60)), "{}", model.requests().len());
    check(&place, &model, &running.interrupted(), "error_during_execution");
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn by_ctrl_c_while_a_tool_runs() {
    let place = Place::installed();
    let begun = place.path("tmp/begun");
    let input = json!({"command": format!("touch '{}'; exec sleep 30", begun.display()),
        "description": "Take long"});
    let model = Model::new(two_tasks().calls("Bash", input)).serve().unwrap();
    let run = place.claude(&model, "Build a parser").with_tasks();
    let running = run.args(&["--allowedTools", "Bash"]).begin();
    until(|| begun.exists());
    check(&place, &model, &running.interrupted(), "error_during_execution");
}
