//! Codex's `update_plan`, beyond what its recordings show.

use punchlist_model::{ItemRef, NewItem, Number, Op, PlanPatch, Rules};
use serde_json::{Value, json};

use super::Caller;
use crate::dialect::Dialect;

const TOOL: &str = "update_plan";

fn plan(steps: &[(&str, &str)]) -> Value {
    let step = |(step, status): &(&str, &str)| json!({"step": step, "status": status});
    json!({"plan": steps.iter().map(step).collect::<Vec<_>>()})
}

#[test]
fn the_result_is_two_words_whatever_was_sent() {
    let mut caller = Caller::new(Dialect::UpdatePlan);
    let mut arguments = plan(&[("A", "in_progress"), ("B", "pending")]);
    arguments["explanation"] = "Because".into();
    let reply = caller.call(TOOL, arguments);
    assert_eq!((reply.text.as_str(), reply.structured, reply.shows), ("Plan updated", None, true));
    assert_eq!(caller.list(), ["#1 in_progress A", "#2 pending B"]);
    assert_eq!(caller.ok(TOOL, plan(&[("A", "completed"), ("B", "completed")])), "Plan updated");
    assert_eq!(caller.ok(TOOL, plan(&[])), "Plan updated");
    assert!(caller.list().is_empty());
}

#[test]
fn an_explanation_is_passed_over_but_must_be_a_text() {
    let mut caller = Caller::new(Dialect::UpdatePlan);
    for explanation in [json!("x"), json!(null)] {
        caller.ok(TOOL, json!({"explanation": explanation, "plan": []}));
    }
    assert_eq!(
        caller.err(TOOL, json!({"explanation": 1, "plan": []})),
        "failed to parse function arguments: invalid type: integer `1`, expected a string at line \
         1 column 16"
    );
}

#[test]
fn warnings_follow_the_exact_result_after_a_blank_line_and_never_appear_without_cause() {
    let mut caller = Caller::new(Dialect::UpdatePlan);
    caller.ok(TOOL, plan(&[("A", "completed"), ("Update docs", "pending"), ("C", "pending")]));
    let text = caller.ok(TOOL, plan(&[("C", "in_progress")]));
    assert_eq!(text, "Plan updated\n\nDropped while open: #2 Update docs");
    assert_eq!(caller.ok(TOOL, plan(&[("C", "completed")])), "Plan updated");
}

#[test]
fn one_step_in_progress_unless_the_plan_allows_more() {
    let mut caller = Caller::new(Dialect::UpdatePlan);
    caller.ok(TOOL, plan(&[("A", "pending")]));
    let two = plan(&[("A", "pending"), ("B", "in_progress"), ("C", "in_progress")]);
    let text = caller.err(TOOL, two.clone());
    assert_eq!(
        text,
        "entry 3: step \"C\" cannot be started: step \"B\" is in_progress. Send update_plan again \
         with \"B\" completed or pending, or this one pending."
    );
    let rules = Some(Rules { max_in_progress: Some(2), ..Rules::default() });
    caller.beside(vec![Op::Plan(Box::new(PlanPatch { rules, ..PlanPatch::default() }))]);
    assert_eq!(caller.ok(TOOL, two), "Plan updated");
}

#[test]
fn what_others_did_is_named_and_then_the_plan_is_shown() {
    let mut caller = Caller::new(Dialect::UpdatePlan);
    caller.ok(TOOL, plan(&[("A", "pending")]));
    caller.see();
    caller.other(vec![Op::Add(Box::new(NewItem::titled("Theirs")))]);
    let text = caller.ok(TOOL, plan(&[("A", "completed")]));
    assert_eq!(
        text,
        "Plan updated\n\nAdded since by other: #2 Theirs\n\nThe plan is now:\n1. [completed] A\n\
         2. [pending] Theirs"
    );
}

#[test]
fn a_conflict_shows_the_plan_as_it_is() {
    let mut caller = Caller::new(Dialect::UpdatePlan);
    caller.ok(TOOL, plan(&[("A", "pending"), ("B", "pending")]));
    caller.see();
    caller.other(vec![Op::Cancel { item: ItemRef::Number(Number(1)), reason: None }]);
    let reply = caller.call(TOOL, plan(&[("A", "completed"), ("B", "pending")]));
    assert!(reply.is_error && reply.shows && !reply.changed);
    assert_eq!(
        reply.text,
        "entry 1: step \"A\": the status was changed by other since you last saw it (revision 2): \
         you have \"completed\", now it is \"cancelled\". Look at the list as it is now, and send \
         update_plan again.\n\nThe plan is now:\n1. [cancelled] A\n2. [pending] B"
    );
}

#[test]
fn a_step_keeps_its_number_and_the_same_plan_again_changes_nothing() {
    let mut caller = Caller::new(Dialect::UpdatePlan);
    caller.ok(TOOL, plan(&[("Fix failing tests", "pending"), ("B", "pending")]));
    let again = plan(&[("B", "in_progress"), ("Fix the failing tests", "pending")]);
    assert!(caller.call(TOOL, again.clone()).changed);
    assert_eq!(caller.list(), ["#2 in_progress B", "#1 pending Fix the failing tests"]);
    assert!(!caller.call(TOOL, again).changed);
}

#[test]
fn bad_arguments_are_told_as_codex_tells_them() {
    let mut caller = Caller::new(Dialect::UpdatePlan);
    caller.ok(TOOL, plan(&[("A", "pending")]));
    for (arguments, error) in [
        ("", "missing field `plan` at line 1 column 2"),
        ("{}", "missing field `plan` at line 1 column 2"),
        ("[1]", "invalid type: integer `1`, expected a string at line 1 column 2"),
        ("7", "invalid type: integer `7`, expected struct UpdatePlanArgs at line 1 column 1"),
        ("{\"plan\": {}}", "invalid type: map, expected a sequence at line 1 column 9"),
        (
            "{\"plan\": [7]}",
            "invalid type: integer `7`, expected struct PlanItemArg at line 1 column 11",
        ),
        ("{\"plan\": [{\"status\": \"pending\"}]}", "missing field `step` at line 1 column 31"),
        (
            "{\"plan\": [{\"step\": \"A\", \"status\": \"cancelled\"}]}",
            "unknown variant `cancelled`, expected one of `pending`, `in_progress`, `completed` at \
             line 1 column 45",
        ),
        (
            "{\"plan\": [{\"step\": \"A\"}, {\"step\": \"B\", \"status\": \"pending\"}, {}]}",
            "missing field `status` at line 1 column 23\nplan[0]: missing field `status`\nplan[2]: \
             missing field `step`",
        ),
    ] {
        let reply = caller.raw(TOOL, arguments.as_bytes());
        let error = format!("failed to parse function arguments: {error}");
        assert_eq!((reply.text, reply.is_error), (error, true), "{arguments}");
    }
    assert_eq!(
        caller.err(TOOL, plan(&[("A", "pending"), (" ", "pending")])),
        "entry 2: the title is empty. Fix it and send update_plan again."
    );
    assert_eq!(caller.list(), ["#1 pending A"]);
}
