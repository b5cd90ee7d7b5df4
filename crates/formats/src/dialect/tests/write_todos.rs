//! Gemini CLI's `write_todos`, beyond what its recordings show.

use punchlist_model::{ItemRef, NewItem, Number, Op};
use serde_json::{Value, json};

use super::Caller;
use crate::dialect::Dialect;

const TOOL: &str = "write_todos";
const UPDATED: &str = "Successfully updated the todo list. The current list is now:\n";

fn list(entries: &[(&str, &str)]) -> Value {
    let todo = |(description, status): &(&str, &str)| json!({"description": description, "status": status});
    json!({"todos": entries.iter().map(todo).collect::<Vec<_>>()})
}

fn number(number: u32) -> ItemRef {
    ItemRef::Number(Number(number))
}

#[test]
fn blocked_is_pending_with_something_to_wait_for() {
    let mut caller = Caller::new(Dialect::WriteTodos);
    let text = caller.ok(TOOL, list(&[("A", "blocked"), ("B", "pending")]));
    assert_eq!(text, format!("{UPDATED}1. [blocked] A\n2. [pending] B"));
    assert_eq!(caller.list(), ["#1 pending A", "#2 pending B"]);
    assert_eq!(caller.item(1).waiting_on.as_deref(), Some("blocked"));
    assert_eq!(caller.item(2).waiting_on, None);
    // Each status that ends the wait.
    for (status, waits) in
        [("blocked", true), ("pending", false), ("in_progress", false), ("cancelled", false)]
    {
        caller.ok(TOOL, list(&[("A", "blocked"), ("B", "pending")]));
        caller.ok(TOOL, list(&[("A", status), ("B", "pending")]));
        assert_eq!(caller.item(1).waiting_on.is_some(), waits, "{status}");
    }
}

#[test]
fn what_somebody_else_wrote_down_to_wait_for_stays() {
    let mut caller = Caller::new(Dialect::WriteTodos);
    caller.ok(TOOL, list(&[("A", "pending"), ("B", "in_progress")]));
    caller.beside(vec![
        Op::Wait { item: number(1), on: "the owner".into() },
        Op::Wait { item: number(2), on: "the build".into() },
    ]);
    let text = caller.ok(TOOL, list(&[("A", "blocked"), ("B", "in_progress")]));
    assert_eq!(text, format!("{UPDATED}1. [blocked] A\n2. [in_progress] B"));
    assert_eq!(caller.item(1).waiting_on.as_deref(), Some("the owner"));
    assert_eq!(caller.item(2).waiting_on.as_deref(), Some("the build"));
}

#[test]
fn what_depends_on_open_items_is_not_called_blocked() {
    let mut caller = Caller::new(Dialect::WriteTodos);
    caller.beside(vec![
        Op::Add(Box::new(NewItem::titled("A"))),
        Op::Add(Box::new(NewItem { depends_on: vec![number(1)], ..NewItem::titled("B") })),
    ]);
    let text = caller.ok(TOOL, list(&[("A", "pending"), ("B", "pending")]));
    assert_eq!(text, format!("{UPDATED}1. [pending] A\n2. [pending] B"));
}

#[test]
fn more_than_one_in_progress_is_an_error_that_names_the_entries() {
    let mut caller = Caller::new(Dialect::WriteTodos);
    let text =
        caller.err(TOOL, list(&[("A", "in_progress"), ("B", "pending"), ("C", "in_progress")]));
    assert_eq!(
        text,
        "Invalid parameters: Only one task can be \"in_progress\" at a time.\n\nEntries that are: \
         1 \"A\", 3 \"C\". Send write_todos again with one of them in_progress."
    );
}

#[test]
fn warnings_follow_the_exact_result_after_a_blank_line_and_never_appear_without_cause() {
    let mut caller = Caller::new(Dialect::WriteTodos);
    caller.ok(TOOL, list(&[("A", "completed"), ("B", "pending"), ("Update docs", "blocked")]));
    let text = caller.ok(TOOL, list(&[("B", "in_progress")]));
    assert_eq!(text, format!("{UPDATED}1. [in_progress] B\n\nDropped while open: #3 Update docs"));
    let text = caller.ok(TOOL, list(&[]));
    assert_eq!(text, "Successfully cleared the todo list.\n\nDropped while open: #2 B");
    assert_eq!(caller.ok(TOOL, list(&[])), "Successfully cleared the todo list.");
}

#[test]
fn what_others_added_stays_and_is_named() {
    let mut caller = Caller::new(Dialect::WriteTodos);
    caller.ok(TOOL, list(&[("A", "pending")]));
    caller.see();
    caller.other(vec![Op::Add(Box::new(NewItem::titled("Theirs")))]);
    let text = caller.ok(TOOL, list(&[("A", "in_progress"), ("B", "pending")]));
    assert_eq!(
        text,
        format!(
            "{UPDATED}1. [in_progress] A\n2. [pending] B\n3. [pending] Theirs\n\nAdded since by \
             other: #2 Theirs"
        )
    );
}

#[test]
fn a_conflict_shows_the_list_as_it_is() {
    let mut caller = Caller::new(Dialect::WriteTodos);
    caller.ok(TOOL, list(&[("A", "pending"), ("B", "pending")]));
    caller.see();
    caller.other(vec![Op::Cancel { item: number(1), reason: None }]);
    let reply = caller.call(TOOL, list(&[("A", "completed"), ("B", "pending")]));
    assert!(reply.is_error && reply.shows && !reply.changed);
    assert_eq!(
        reply.text,
        "entry 1: task \"A\": the status was changed by other since you last saw it (revision 2): \
         you have \"completed\", now it is \"cancelled\". Look at the list as it is now, and send \
         write_todos again.\n\nThe current list is:\n1. [cancelled] A\n2. [pending] B"
    );
}

#[test]
fn a_reworded_entry_keeps_its_number_and_the_same_list_again_changes_nothing() {
    let mut caller = Caller::new(Dialect::WriteTodos);
    caller.ok(TOOL, list(&[("Fix failing tests", "blocked"), ("Update docs", "pending")]));
    let again = list(&[("Fix the failing tests", "blocked"), ("Update docs", "cancelled")]);
    assert!(caller.call(TOOL, again.clone()).changed);
    assert_eq!(caller.list(), ["#1 pending Fix the failing tests", "#2 cancelled Update docs"]);
    assert!(!caller.call(TOOL, again).changed);
    // A whole list may reopen closed items and let them wait in the same call.
    caller.ok(TOOL, list(&[("Fix the failing tests", "blocked"), ("Update docs", "blocked")]));
    assert_eq!(caller.item(2).waiting_on.as_deref(), Some("blocked"));
}

#[test]
fn bad_arguments_are_told_as_the_schema_validator_tells_them() {
    let mut caller = Caller::new(Dialect::WriteTodos);
    caller.ok(TOOL, list(&[("A", "pending")]));
    let legal = "(pending, in_progress, completed, cancelled, blocked)";
    let blank = "Each todo must have a non-empty description string\n\nEntries without one: ";
    for (arguments, error) in [
        (json!({}), "params must have required property 'todos'".to_owned()),
        (json!({"todos": null}), "params/todos must be array".to_owned()),
        (json!({"todos": {}}), "params/todos must be array".to_owned()),
        (json!({"todos": ["A"]}), "params/todos/0 must be object".to_owned()),
        (
            json!({"todos": [{}, {"description": 1, "status": "done"}]}),
            format!(
                "params/todos/0 must have required property 'description', params/todos/0 must \
                 have required property 'status', params/todos/1/description must be string, \
                 params/todos/1/status must be equal to one of the allowed values {legal}"
            ),
        ),
        (
            json!({"todos": [{"description": "A", "status": 1}]}),
            "params/todos/0/status must be string".to_owned(),
        ),
        (
            list(&[("A", "pending"), (" ", "pending"), ("", "blocked")]),
            format!("{blank}2 \" \", 3 \"\". Fix it and send write_todos again."),
        ),
        (
            list(&[(&"x".repeat(501), "pending")]),
            "entry 1: the title has 501 characters; at most 500 are allowed. Send write_todos \
             again with shorter texts."
                .to_owned(),
        ),
    ] {
        assert_eq!(caller.err(TOOL, arguments.clone()), error, "{arguments}");
    }
}

#[test]
fn a_hundred_may_be_open() {
    let mut caller = Caller::new(Dialect::WriteTodos);
    let todos = |n: u32| {
        let todo = |n| json!({"description": format!("T{n}"), "status": "pending"});
        json!({"todos": (0..n).map(todo).collect::<Vec<_>>()})
    };
    let text = caller.err(TOOL, todos(101));
    assert_eq!(
        text,
        "That would make 101 open tasks; at most 100 may be open at once. Send write_todos again \
         with fewer open tasks."
    );
    caller.ok(TOOL, todos(100));
}
