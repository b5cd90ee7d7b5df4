//! When a plan tool refuses a call, the model of Gemini CLI reads our own message.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script};
use serde_json::json;

use super::wired::installed;
use crate::refusals::{Refused, begin, check, give_up, list, table};
use crate::shown::shows;

#[test]
#[ignore = "needs Gemini CLI: cargo xtask test agents"]
fn the_model_reads_our_sentence_whatever_a_plan_tool_refuses() {
    let _shows = shows(Agent::Gemini, Feature::Refusals, "");
    let called = |tool: &str| format!("mcp_punchlist_{tool}");
    // Gemini CLI validates arguments against the schema itself.
    let table: Vec<Refused> = table().into_iter().filter(|it| it.fits).collect();
    let script = Script::new().calls(called("create_todo"), list());
    let script = script.calls(called("update_todo"), begin());
    let script =
        table.iter().fold(script, |script, it| script.calls(called(it.tool), it.arguments.clone()));
    let script = give_up().fold(script, |script, it| script.calls(called("complete_todo"), it));
    let model = Model::new(script.stops("All is settled.")).serve().unwrap();
    let place = installed(&json!({}));
    place.gemini(&model, "Build it").ends().succeeded();
    assert_eq!(model.left(), 0);
    check(&model.requests(), &table);
}
