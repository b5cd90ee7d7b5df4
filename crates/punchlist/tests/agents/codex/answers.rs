//! Only a person answers: what Codex's own shell is told when it tries.

use punchlist_testkit::model::{Model, Script};
use serde_json::json;

use super::DIRECT;
use crate::place::Place;

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn the_agents_shell_cannot_answer() {
    let place = Place::new();
    place.asks();
    // With a terminal, which its shell can have, and without.
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
