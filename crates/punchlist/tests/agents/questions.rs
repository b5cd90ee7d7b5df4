//! Stops with open items that are allowed: after a question, in plan mode, and when the user stops
//! the turn.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Script};
use serde_json::json;

use crate::claude::refusals;
use crate::place::Place;
use crate::run::assert_says;
use crate::shown::shows;

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_question_that_nobody_can_answer_is_refused_and_what_needs_a_person_is_parked() {
    let _shows = shows(Agent::Claude, Feature::Unheard, "");
    let place = Place::installed();
    let question = "It is written. Would you like me to commit?";
    let waits = json!({"todoId": "1", "waitingOn": "the user's word"});
    let script = Script::new()
        .calls("TaskCreate", json!({"subject": "Commit the parser", "description": "of TOML"}))
        .stops(question)
        .calls("mcp__punchlist__update_todo", waits)
        .stops(question);
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").with_tasks().ends().well();
    assert_eq!((ended.answer(), model.left()), (question, 0));
    let refused = refusals(&model.requests());
    let [refused] = refused.as_slice() else { panic!("{refused:#?}") };
    assert_says(refused, &["Commit the parser", "Nobody is here", "update_todo", "waitingOn"], &[]);
    let plan = place.plan_of(&ended.session());
    let list = "1 pending: Commit the parser\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("open", list));
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn in_plan_mode_nothing_is_held() {
    let _shows = shows(Agent::Claude, Feature::PlanMode, "");
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

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn a_person_can_turn_the_gate_off_in_mid_session_and_the_agent_cannot() {
    let _shows = shows(Agent::Claude, Feature::Off, "");
    let place = Place::installed();
    let off = format!("'{}' gate off", place.punchlist.display());
    let person = place.person(&["gate", "off"]);
    let script = Script::new()
        .calls("TaskCreate", json!({"subject": "Write the parser", "description": "of either"}))
        .calls("Bash", json!({"command": off, "description": "Open the gate"}))
        .stops("Done.")
        .then(move |_| Message::new().says(format!("The user says: {}", person())));
    let model = Model::new(script).serve().unwrap();
    let run = place.claude(&model, "Build a parser").with_tasks();
    let ended = run.args(&["--allowedTools", "Bash"]).ends().well();
    assert_eq!(model.left(), 0);
    assert_says(ended.answer(), &["gate off", "set for this session"], &[]);
    let requests = model.requests();
    let tried = &requests[2].results()[0];
    assert!(tried.is_error && tried.text.contains("set by people"), "{tried:?}");
    assert_eq!(refusals(&requests).len(), 1);
    assert_eq!(place.plan_of(&ended.session()).list(), "1 pending: Write the parser\n");
}
