//! When a plan tool refuses a call, the model of Codex reads our own message.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Script};

use super::DIRECT;
use super::wired::installed;
use crate::refusals::{begin, check, give_up, list, table};
use crate::shown::shows;

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn the_model_reads_our_sentence_whatever_a_plan_tool_refuses() {
    let _shows = shows(Agent::Codex, Feature::Refusals, "");
    let called = |tool: &str| format!("mcp__punchlist.{tool}");
    let table = table();
    let script = Script::new().calls(called("create_todo"), list());
    let script = script.calls(called("update_todo"), begin());
    let script =
        table.iter().fold(script, |script, it| script.calls(called(it.tool), it.arguments.clone()));
    let script = give_up().fold(script, |script, it| script.calls(called("complete_todo"), it));
    let model = Model::new(script.stops("All is settled.")).serve().unwrap();
    let place = installed(&model, DIRECT);
    place.codex(&["Build it"]).ends().completed();
    assert_eq!(model.left(), 0);
    check(&model.requests(), &table);
}
