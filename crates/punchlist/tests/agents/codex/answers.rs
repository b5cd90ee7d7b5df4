//! Only a person can answer questions: the refusals that Codex's shell gets.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script};
use serde_json::json;

use super::DIRECT;
use crate::place::Place;
use crate::shown::shows;

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn the_agents_shell_cannot_answer() {
    let _shows = shows(Agent::Codex, Feature::Answers, "");
    let place = Place::new();
    place.asks();
    // Its shell can have a terminal, so try with and without one.
    for tty in [false, true] {
        let input = json!({"cmd": place.tries_to_answer(), "tty": tty, "yield_time_ms": 20_000});
        let script = Script::new().calls("exec_command", input).stops("I tried.");
        let model = Model::new(script).serve().unwrap();
        place.codex_settings(&model, DIRECT);
        place.codex(&["Publish it"]).ends().completed();
        assert_eq!(model.left(), 0);
        place.refused("codex", &model.requests()[1].results()[0].text);
    }
}
