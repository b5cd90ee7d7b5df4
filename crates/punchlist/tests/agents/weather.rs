//! The model's servers fail: the plan is not affected.

use punchlist_testkit::model::{Message, Model, Script};
use serde_json::{Value, json};

use crate::claude::refusals;
use crate::place::Place;

fn create(subject: &str) -> (&'static str, Value) {
    ("TaskCreate", json!({"subject": subject, "description": "as it says"}))
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn an_error_ends_the_run_and_the_plan_stays_open() {
    let place = Place::installed();
    let script = Script::new().calls_all([create("Write the parser")]).fails(
        400,
        "invalid_request_error",
        3,
    );
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").with_tasks().ends();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.errors);
    assert_eq!(refusals(&model.requests()), [] as [String; 0]);
    let plan = place.plan_of(&ended.session());
    let list = "1 pending: Write the parser\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("open", list));
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn what_is_tried_again_is_written_once() {
    let place = Place::installed();
    place.gate("off");
    let script = Script::new()
        .fails(529, "overloaded_error", 1)
        .calls_all([create("Write the parser"), create("Test the parser")])
        .fails(529, "overloaded_error", 1)
        .stops("Shall I go on?");
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").with_tasks().ends().well();
    assert_eq!((ended.answer(), model.left()), ("Shall I go on?", 0));
    let plan = place.plan_of(&ended.session());
    assert_eq!(plan.list(), "1 pending: Write the parser\n2 pending: Test the parser\n");
    assert_eq!(plan.happened("added"), 2);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn an_answer_that_breaks_off_leaves_the_plan_as_it_was() {
    let place = Place::installed();
    place.gate("off");
    let script = Script::new()
        .calls_all([create("Write the parser")])
        .turn(Message::new().says("I was going to sa").cut())
        .always(|_| Message::new().says("Shall I go on?"));
    let model = Model::new(script).serve().unwrap();
    // Some versions retry, others give up: the plan is the same.
    let ended = place.claude(&model, "Build a parser").with_tasks().ends();
    assert!(matches!(ended.status.code(), Some(0 | 1)), "{}", ended.status);
    let plan = place.plan_of(&ended.session());
    let list = "1 pending: Write the parser\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("open", list));
}
