//! Only a person answers: what Gemini CLI's own shell is told when it tries.

use punchlist_testkit::model::{Model, Script};
use serde_json::json;

use super::WITH_TODOS;
use crate::place::Place;

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn the_agents_shell_cannot_answer() {
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
