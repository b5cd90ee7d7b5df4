//! Only a person can answer questions: the refusals that Gemini CLI's shell gets.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script};
use serde_json::json;

use super::WITH_TODOS;
use crate::place::Place;
use crate::shown::shows;

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn the_agents_shell_cannot_answer() {
    let _shows = shows(Agent::Gemini, Feature::Answers, "");
    let place = Place::new();
    place.asks();
    place.gemini_settings(&json!({}));
    let input = json!({"command": place.tries_to_answer(), "description": "Answer myself"});
    let script = Script::new().calls("run_shell_command", input).stops("I tried.");
    let model = Model::new(script).serve().unwrap();
    place.gemini(&model, "Publish it").args(&["-m", WITH_TODOS]).ends().succeeded();
    assert_eq!(model.left(), 0);
    place.refused("gemini", &model.requests()[1].results()[0].text);
}
