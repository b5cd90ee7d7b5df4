//! When a plan tool refuses a call, the model reads our own message in its next request: with
//! Claude Code here, with the others in their modules.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Model, Request, Script};
use serde_json::{Value, json};

use crate::place::Place;
use crate::run::assert_says;
use crate::shown::shows;

/// A call that is refused.
pub(crate) struct Refused {
    /// The tool's name, without the client's prefix.
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    /// The message for the model, without quotes, which some clients escape.
    says: &'static str,
    /// Whether the arguments match the tool's schema: otherwise a client may refuse the call
    /// itself.
    pub(crate) fits: bool,
}

fn refused(tool: &'static str, arguments: Value, says: &'static str) -> Refused {
    Refused { tool, arguments, says, fits: true }
}

/// The list that the calls are about: the second item depends on the first, the fourth is under the
/// third.
pub(crate) fn list() -> Value {
    json!({"items": [{"title": "Write it"}, {"title": "Test it", "dependsOn": [1]},
        {"title": "Release it"}, {"title": "Tag it", "parent": 3}]})
}

/// Starts the first item.
pub(crate) fn begin() -> Value {
    json!({"todoId": "1", "status": "in_progress"})
}

/// Cancels all items.
pub(crate) fn give_up() -> impl Iterator<Item = Value> {
    ["2", "1", "4", "3"]
        .into_iter()
        .map(|it| json!({"todoId": it, "outcome": "given up", "status": "cancelled"}))
}

/// Every refusal of every plan tool.
pub(crate) fn table() -> Vec<Refused> {
    let many: Vec<Value> = (1..=101).map(|it| json!({"title": format!("Item {it}")})).collect();
    let create = |item: Value| json!({"items": [item]});
    let no_item = "item 99 not found. list_todo shows the ids of this list.";
    vec![
        refused("create_todo", create(json!({"title": " "})), "entry 1: title must not be empty"),
        refused(
            "create_todo",
            create(json!({"title": "x".repeat(501)})),
            "entry 1: the title has 501 characters; at most 500 are allowed. Shorten it.",
        ),
        refused(
            "create_todo",
            create(json!({"title": "X", "dependsOn": ["99"]})),
            "entry 1: dependsOn must be an id from list_todo",
        ),
        refused("create_todo", json!({"items": many}), "at most 100 may be open at once"),
        refused("complete_todo", json!({"todoId": "99", "outcome": "done"}), no_item),
        refused(
            "complete_todo",
            json!({"todoId": "1", "outcome": " "}),
            "outcome must not be empty",
        ),
        refused("complete_todo", json!({"todoId": "3", "outcome": "done"}), "under it is open."),
        refused("update_todo", json!({"todoId": "99", "waitingOn": "legal"}), no_item),
        refused(
            "update_todo",
            json!({"todoId": "3", "status": "in_progress"}),
            "is in_progress. First use complete_todo on",
        ),
        refused("update_todo", json!({"todoId": "1"}), "nothing to change: give at least one of"),
        Refused {
            fits: false,
            ..refused("complete_todo", json!({"todoId": "1"}), "outcome is required")
        },
        Refused {
            fits: false,
            ..refused("list_todo", json!({"status": "lost"}), "status must be")
        },
        Refused { fits: false, ..refused("create_todo", json!({"items": 3}), "items must be") },
    ]
}

/// Checks that the request after each of these calls has our message. The first call is the second
/// after the beginning.
#[track_caller]
pub(crate) fn check(requests: &[Request], table: &[Refused]) {
    for (request, refused) in requests.iter().skip(3).zip(table) {
        let told = request.results();
        let [told] = told.as_slice() else { panic!("{}: {told:?}", refused.tool) };
        assert_says(&told.text, &[refused.says], &["Structured content does not match"]);
    }
}

#[test]
#[ignore = "needs Claude Code: cargo xtask test agents"]
fn the_model_reads_our_sentence_whatever_a_plan_tool_refuses() {
    let _shows = shows(Agent::Claude, Feature::Refusals, "");
    let called = |tool: &str| format!("mcp__punchlist__{tool}");
    let table = table();
    let script = Script::new().calls(called("create_todo"), list());
    let script = script.calls(called("update_todo"), begin());
    let script =
        table.iter().fold(script, |script, it| script.calls(called(it.tool), it.arguments.clone()));
    let script = give_up().fold(script, |script, it| script.calls(called("complete_todo"), it));
    let model = Model::new(script.stops("All is settled.")).serve().unwrap();
    let place = Place::installed();
    place.claude(&model, "Build it").ends().well();
    assert_eq!(model.left(), 0);
    check(&model.requests(), &table);
}
