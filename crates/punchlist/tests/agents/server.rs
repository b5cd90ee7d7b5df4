//! Our MCP server in the real program: what the model is told about it, and the texts of refusals,
//! by us or by the program.

use punchlist_testkit::model::{Message, Model, Script};
use serde_json::{Value, json};

use crate::claude::{refusal, refusals};
use crate::place::Place;
use crate::run::{Ended, assert_says};

const CREATE: &str = "mcp__punchlist__create_todo";
const COMPLETE: &str = "mcp__punchlist__complete_todo";

/// The program's result of the run.
fn result(ended: &Ended) -> Value {
    let result = ended.lines.iter().rev().find(|it| it["type"] == "result");
    result.unwrap_or_else(|| panic!("no result: {}", ended.errors)).clone()
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn the_model_reads_how_to_plan_with_our_tools() {
    let place = Place::installed();
    let model = Model::new(Script::new().stops("Hello.")).serve().unwrap();
    place.claude(&model, "Hello").ends().well();
    let told = model.requests()[0].text();
    let own = ["## punchlist", "## Task planning", "call `create_todo` once with the full list"];
    assert_says(&told, &own, &[]);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn the_model_reads_why_a_call_of_our_tools_was_refused() {
    let place = Place::installed();
    let script = Script::new()
        .calls(CREATE, json!({"items": [{"title": "Write the parser"}]}))
        .calls(COMPLETE, json!({"todoId": "99", "outcome": "it parses"}))
        .calls(COMPLETE, json!({"todoId": "1"}))
        .calls(COMPLETE, json!({"todoId": "1", "outcome": "it parses"}))
        .stops("Done.");
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").ends().well();
    assert_eq!((ended.answer(), model.left()), ("Done.", 0));
    let requests = model.requests();
    for (at, words) in [
        (2, "item 99 not found. list_todo shows the ids of this list."),
        (3, "outcome is required: a string that is not empty"),
    ] {
        let told = requests[at].results();
        assert_eq!((told.len(), told[0].is_error), (1, true), "{told:?}");
        assert_says(&told[0].text, &[words], &[]);
    }
    let plan = place.plan_of(&ended.session());
    assert_eq!(plan.list(), "1 completed: Write the parser\n");
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn without_the_permission_our_tools_are_denied_and_the_run_comes_to_its_end() {
    let place = Place::new();
    place.punchlist(&["install", "claude", "--yes", "--without-permission"]);
    let script = Script::new()
        .calls(CREATE, json!({"items": [{"title": "Write the parser"}]}))
        .calls("TaskCreate", json!({"subject": "Write the parser", "description": "of TOML"}))
        // After each refusal it repeats a call that is not allowed.
        .always(|request| {
            if refusal(&request.news()).is_some() {
                let input = json!({"todoId": "1", "outcome": "it parses"});
                return Message::new().calls(COMPLETE, input);
            }
            Message::new().says("Done.")
        });
    let model = Model::new(script).serve().unwrap();
    let ended = place.claude(&model, "Build a parser").with_tasks().ends();
    let result = result(&ended);
    assert_eq!((result["is_error"].as_bool(), ended.answer()), (Some(false), "Done."));
    let denied = result["permission_denials"].as_array().unwrap();
    let denied: Vec<&str> = denied.iter().filter_map(|it| it["tool_name"].as_str()).collect();
    assert_eq!(denied, [CREATE, COMPLETE, COMPLETE, COMPLETE]);
    let requests = model.requests();
    let told = requests[1].results();
    assert!(told[0].is_error, "{told:?}");
    assert_says(&told[0].text, &[CREATE], &[]);
    // As many refusals as for a model that closes nothing, then the turn ends.
    assert_eq!(refusals(&requests).len(), 3);
    let plan = place.plan_of(&ended.session());
    let list = "1 pending: Write the parser\n";
    assert_eq!((plan.end.as_str(), plan.list().as_str()), ("stopped", list));
}
