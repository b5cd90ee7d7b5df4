//! `TodoWrite`: the whole list at each call.

use punchlist_model::event::What;
use punchlist_model::store::PlanStore;
use punchlist_model::{Event, ItemRef, NewItem, Number, Op, Revision, Status};
use serde_json::{Value, json};

use super::{Caller, foreign, now};
use crate::dialect::Dialect;

const TOOL: &str = "TodoWrite";

fn todo(content: &str, status: &str) -> Value {
    json!({"content": content, "status": status, "activeForm": format!("Doing {content}")})
}

fn list(entries: &[(&str, &str)]) -> Value {
    let todos: Vec<Value> = entries.iter().map(|(content, status)| todo(content, status)).collect();
    json!({"todos": todos})
}

#[test]
fn the_result_is_the_list_a_blank_line_and_how_much_is_completed() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    let text = caller.ok(
        TOOL,
        json!({"todos": [
            {"content": "Fix tests", "status": "completed", "activeForm": "Fixing tests"},
            {"content": "Update docs", "status": "in_progress", "activeForm": "Updating docs"},
            {"content": "Run build", "status": "pending", "activeForm": "Running build"},
        ]}),
    );
    assert_eq!(
        text,
        "[x] Fix tests\n[>] Update docs <- Updating docs\n[ ] Run build\n\n(1/3 completed)"
    );
}

#[test]
fn cancelled_is_understood_and_does_not_count() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    let text = caller.ok(TOOL, list(&[("A", "cancelled"), ("B", "completed"), ("C", "pending")]));
    assert_eq!(text, "[-] A\n[x] B\n[ ] C\n\n(1/2 completed)");
}

#[test]
fn no_todos_when_empty() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    assert_eq!(caller.ok(TOOL, json!({"todos": []})), "No todos.");
    caller.ok(TOOL, list(&[("A", "completed")]));
    assert_eq!(caller.ok(TOOL, json!({"todos": []})), "No todos.");
}

#[test]
fn warnings_follow_the_exact_result_after_a_blank_line_and_never_appear_without_cause() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    caller.ok(
        TOOL,
        list(&[("A", "completed"), ("B", "pending"), ("C", "pending"), ("Update docs", "pending")]),
    );
    let text = caller.ok(TOOL, list(&[("B", "in_progress"), ("C", "pending")]));
    assert_eq!(
        text,
        "[>] B <- Doing B\n[ ] C\n\n(0/2 completed)\n\nDropped while open: #4 Update docs"
    );
    let text = caller.ok(TOOL, list(&[("B", "completed"), ("C", "pending")]));
    assert_eq!(text, "[x] B\n[ ] C\n\n(1/2 completed)");
}

#[test]
fn more_than_one_in_progress_is_an_error_that_names_the_entries() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    let text =
        caller.err(TOOL, list(&[("A", "in_progress"), ("B", "pending"), ("C", "in_progress")]));
    assert_eq!(
        text,
        "Only one task can be in_progress at a time: entries 1 \"A\", 3 \"C\" are. Send the list \
         again with one of them in_progress."
    );
}

#[test]
fn as_many_may_be_in_progress_as_max_in_progress_says() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    caller.limits.max_in_progress = Some(2);
    let two = [("A", "in_progress"), ("B", "in_progress"), ("C", "pending")];
    assert_eq!(
        caller.ok(TOOL, list(&two)),
        "[>] A <- Doing A\n[>] B <- Doing B\n[ ] C\n\n(0/3 completed)"
    );
    let three = two.map(|(content, _)| (content, "in_progress"));
    assert_eq!(
        caller.err(TOOL, list(&three)),
        "Only 2 tasks can be in_progress at a time: entries 1 \"A\", 2 \"B\", 3 \"C\" are. Send \
         the list again with 2 of them in_progress."
    );
}

#[test]
fn at_most_20_entries_a_call() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    let todos = |n: u32| -> Value {
        json!({"todos": (0..n).map(|n| todo(&format!("T{n}"), "pending")).collect::<Vec<_>>()})
    };
    let text = caller.err(TOOL, todos(21));
    assert_eq!(text, "todos has 21 entries; at most 20 are allowed in one call");
    caller.ok(TOOL, todos(20));
    assert_eq!(caller.list().len(), 20);
}

#[test]
fn whole_list_tools_are_reconciled_never_blindly_replaced() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    caller.ok(TOOL, list(&[("A", "in_progress"), ("B", "pending"), ("C", "pending")]));
    let before = (caller.item(1), caller.item(2));
    caller.ok(TOOL, list(&[("B", "in_progress"), ("D", "pending"), ("A", "completed")]));
    // A matched entry keeps its id, number and history; only its status changes.
    assert_eq!(caller.list(), ["#2 in_progress B", "#4 pending D", "#1 completed A"]);
    let after = (caller.item(1), caller.item(2));
    assert_eq!((after.0.id, after.0.created_at), (before.0.id, before.0.created_at));
    assert_eq!(after.0.started_at, before.0.started_at);
    assert_eq!(after.1.id, before.1.id);
    // A missing item is superseded: it keeps its number and loses its position.
    let gone = caller.item(3);
    assert!(gone.is_superseded() && gone.position.is_none());
}

#[test]
fn the_journal_says_what_really_happened() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    caller.ok(TOOL, list(&[("A", "in_progress"), ("B", "pending")]));
    caller.ok(TOOL, list(&[("A", "completed"), ("B", "pending")]));
    let journal = now(caller.store.journal(caller.plan, Revision(1), 10)).unwrap();
    assert_eq!(journal.len(), 1);
    let whats: Vec<_> = journal[0]
        .events
        .iter()
        .filter_map(|event| {
            let Event::Changed { number, what, .. } = event else { return None };
            Some((number.0, *what))
        })
        .collect();
    assert_eq!(whats, [(1, What::Completed)]);
}

#[test]
fn the_same_list_again_changes_nothing() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    let same = list(&[("A", "completed"), ("B", "pending")]);
    assert!(caller.call(TOOL, same.clone()).changed);
    let revision = caller.whole().revision;
    assert!(!caller.call(TOOL, same).changed);
    assert_eq!(caller.whole().revision, revision);
}

#[test]
fn an_entry_is_matched_by_id_else_by_equal_title() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    caller.ok(TOOL, list(&[("A", "pending"), ("B", "pending"), ("C", "pending")]));
    let with = |id: &str, content: &str| -> Value {
        let mut entry = todo(content, "pending");
        entry["id"] = id.into();
        entry
    };
    let todos = json!({"todos": [with(&caller.id(1), "A reworded"), with("#2", "B reworded"), with("1", "C")]});
    let text = caller.ok(TOOL, todos);
    assert_eq!(text, "[ ] A reworded\n[ ] B reworded\n[ ] C\n\n(0/3 completed)");
    assert_eq!(caller.list(), ["#1 pending A reworded", "#2 pending B reworded", "#3 pending C"]);
    // A foreign id is the caller's own label. A list with new labels renames nothing.
    let todos = json!({"todos": [with(&foreign(), "C"), with("2", "D")]});
    caller.ok(TOOL, todos);
    assert_eq!(caller.list(), ["#3 pending C", "#4 pending D"]);
}

#[test]
fn the_same_item_twice_is_refused() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    caller.ok(TOOL, list(&[("A", "pending")]));
    let mut entry = todo("X", "pending");
    entry["id"] = "#1".into();
    let text = caller.err(TOOL, json!({"todos": [entry, entry]}));
    assert_eq!(
        text,
        "entry 1: entries 1 and 2 are the same item. Send TodoWrite again with one of them."
    );
}

#[test]
fn completed_and_cancelled_may_be_opened_again_by_a_whole_list_write() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    caller.ok(TOOL, list(&[("A", "completed"), ("B", "cancelled")]));
    caller.ok(TOOL, list(&[("A", "in_progress"), ("B", "pending")]));
    assert_eq!(caller.list(), ["#1 in_progress A", "#2 pending B"]);
}

#[test]
fn an_item_of_another_dialect_without_active_form_shows_its_title_alone() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    caller.beside(vec![
        Op::Add(Box::new(NewItem::titled("A\u{1b}[31m\nB"))),
        Op::Start(ItemRef::Batch(1)),
    ]);
    let mut entry = todo("A\u{1b}[31m\nB", "in_progress");
    let text = caller.ok(TOOL, json!({"todos": [entry.take()]}));
    // Escape sequences are removed, and a title stays on one line.
    assert_eq!(text, "[>] A B <- Doing A B\n\n(0/1 completed)");
    assert_eq!(caller.item(1).title, "A\u{1b}[31m\nB");
    caller.dialect = Dialect::Manager;
    caller.ok("todo_manager", json!({"action": "add_multiple", "todos": ["C"]}));
    assert_eq!(caller.item(2).active_form, None);
}

#[test]
fn a_refusal_names_the_entry_and_says_to_send_the_list_again() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    caller.ok(TOOL, list(&[("Held", "in_progress"), ("B", "pending")]));
    caller.who = "another";
    let text = caller.err(TOOL, list(&[("Held", "completed"), ("B", "pending")]));
    assert_eq!(
        text,
        "entry 1: task #1 \"Held\" is held by model until 2027-01-15T08:15:01Z. Send TodoWrite \
         again with its status as it was."
    );
    let parent = NewItem { parent: Some(ItemRef::Number(Number(2))), ..NewItem::titled("Child") };
    caller.beside(vec![Op::Add(Box::new(parent))]);
    let entries = [("Held", "in_progress"), ("B", "completed"), ("Child", "pending")];
    let text = caller.err(TOOL, list(&entries));
    assert_eq!(
        text,
        "entry 2: task #2 \"B\" cannot be completed: task #3 \"Child\" under it is open. Send \
         TodoWrite again with #3 completed or cancelled."
    );
    assert_eq!(caller.item(2).status, Status::Pending);
}

#[test]
fn bad_arguments_are_named_with_what_is_legal() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    caller.ok(TOOL, list(&[("A", "pending")]));
    let statuses = "\"pending\" or \"in_progress\" or \"completed\" or \"cancelled\"";
    for (arguments, error) in [
        (json!({}), "todos is required: the whole list, an array".to_owned()),
        (json!({"todos": {}}), "todos must be an array, not an object".to_owned()),
        (json!({"todos": null}), "todos is required: the whole list, an array".to_owned()),
        (json!({"todos": ["A"]}), "entry 1: must be an object, not a string".to_owned()),
        (
            json!({"todos": [{}, {"content": "", "status": "done", "activeForm": 1}]}),
            format!(
                "entry 1: content is required: a string that is not empty\nentry 1: status is \
                 required: {statuses}\nentry 1: activeForm is required: a string that is not \
                 empty\nentry 2: content must not be empty\nentry 2: status must be {statuses}, \
                 not \"done\"\nentry 2: activeForm must be a string, not a number"
            ),
        ),
        (
            json!({"todos": [todo(" ", "pending"), todo("A", "pending"), todo(&"x".repeat(501), "pending")]}),
            "entry 1: content must not be empty\nentry 3: the title has 501 characters; at most 500 are \
             allowed. Send TodoWrite again with shorter texts."
                .to_owned(),
        ),
        (
            json!({"todos": [todo(&"x".repeat(501), "pending")]}),
            "entry 1: the title has 501 characters; at most 500 are allowed. Send TodoWrite again \
             with shorter texts."
                .to_owned(),
        ),
    ] {
        assert_eq!(caller.err(TOOL, arguments.clone()), error, "{arguments}");
    }
}

#[test]
fn a_task_of_several_steps_is_worked_off_and_every_result_shows_the_plan_again() {
    let mut caller = Caller::new(Dialect::TodoWrite);
    let steps = ["Fix failing tests", "Update documentation", "Run final build verification"];
    // At each call the steps before `done` are completed and the next one is in progress.
    for done in 0..=steps.len() {
        let status = |at: usize| match at {
            _ if at < done => ("completed", "[x] "),
            _ if at == done => ("in_progress", "[>] "),
            _ => ("pending", "[ ] "),
        };
        let entries: Vec<(&str, &str)> =
            steps.iter().enumerate().map(|(at, step)| (*step, status(at).0)).collect();
        let line = |(at, step): (usize, &&str)| {
            let active = if at == done { format!(" <- Doing {step}") } else { String::new() };
            format!("{}{step}{active}\n", status(at).1)
        };
        let lines: String = steps.iter().enumerate().map(line).collect();
        assert_eq!(caller.ok(TOOL, list(&entries)), format!("{lines}\n({done}/3 completed)"));
    }
    assert_eq!(caller.item(3).status, Status::Completed);
}
