//! The model asks the user something with items open: that is a way to stop.

use punchlist_testkit::anthropic::{Model, Script};
use serde_json::json;

use crate::claude::refusals;
use crate::place::Place;

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_question_to_the_user_may_end_the_turn() {
    let place = Place::installed();
    let question = "There are two formats. Which one do you want, TOML or JSON?";
    let script = Script::new()
        .calls("TaskCreate", json!({"subject": "Write the parser", "description": "of either"}))
        .stops(question);
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").with_tasks().ends().well();
    assert_eq!(ended.answer(), question);
    assert_eq!(refusals(&model.requests()), [] as [String; 0]);
    let plan = place.plan_of(&ended.session());
    assert_eq!(
        (plan.end.as_str(), plan.list().as_str()),
        ("open", "1 pending: Write the parser\n")
    );
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn in_plan_mode_nothing_is_held() {
    let place = Place::installed();
    let script = Script::new()
        .calls("TaskCreate", json!({"subject": "Write the parser", "description": "of either"}))
        .stops("That is my plan.");
    let model = Model::new(script).serve().unwrap();
    let run = place.claude(&model, "Plan a parser").with_tasks();
    let ended = run.args(&["--permission-mode", "plan"]).ends().well();
    assert_eq!(ended.answer(), "That is my plan.");
    assert_eq!(refusals(&model.requests()), [] as [String; 0]);
}
