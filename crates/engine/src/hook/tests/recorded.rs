//! Plays recordings of real agents, and checks the resulting list and the answers.

use punchlist_formats::hook::{What, claude};
use serde_json::Value;

use super::{Desk, lines};

/// Plays a recording. Returns the answers with their events, and the session's list at the end.
fn play(text: &str) -> (Vec<String>, Vec<String>) {
    let desk = Desk::new();
    let events: Vec<Value> = serde_json::from_str(text).unwrap();
    let session = events[0]["session_id"].as_str().unwrap().to_owned();
    let mut answers = Vec::new();
    for event in &events {
        let name = event["hook_event_name"].as_str().unwrap();
        if let Some(answer) = desk.hook(event) {
            let reason = answer["reason"].as_str().unwrap_or_default();
            answers.push(format!("{name}: {}", reason.lines().next().unwrap_or_default()));
        }
    }
    let list = desk.plan_of(&session, "").map(|plan| lines(&plan)).unwrap_or_default();
    (list, answers)
}

#[test]
fn a_run_with_tasks_and_a_sub_agent() {
    let (list, answers) = play(include_str!("../../../../../fixtures/claude/hook-subagent.json"));
    assert_eq!(list, ["[x] 1 Delegate research", "[x] 2 Sub: list files"]);
    assert_eq!(answers, [""; 0]);
}

#[test]
fn a_run_with_whole_lists() {
    let (list, answers) = play(include_str!("../../../../../fixtures/claude/hook-todowrite.json"));
    assert_eq!(list, ["[x] 1 Read the parser", "[x] 2 Fix the off-by-one", "[x] 3 Run the tests"]);
    assert_eq!(answers, [""; 0]);
}

#[test]
fn a_run_in_which_other_hooks_refuse() {
    let (list, answers) = play(include_str!("../../../../../fixtures/claude/hook-task-block.json"));
    assert_eq!(list, ["[ ] 1 A"]);
    assert_eq!(answers, ["Stop: Not finished: 1 of 1 item is open."]);
}

#[test]
fn a_run_in_which_a_call_is_denied_and_another_rewritten() {
    let (list, answers) = play(include_str!("../../../../../fixtures/claude/hook-events.json"));
    assert_eq!(list, ["[x] 1 B (rewritten)"]);
    assert_eq!(answers, [""; 0]);
}

#[test]
fn a_run_in_which_tools_fail() {
    let (list, answers) = play(include_str!("../../../../../fixtures/claude/hook-failure.json"));
    assert_eq!(list, ["[x] 1 Look around"]);
    assert_eq!(answers, [""; 0]);
}

#[test]
fn a_run_that_stops_too_early_once() {
    let (list, answers) = play(include_str!("../../../../../fixtures/claude/hook-stop.json"));
    assert_eq!(list, ["[x] 1 A"]);
    assert_eq!(answers, ["Stop: Not finished: 1 of 1 item is open."]);
}

#[test]
fn every_event_of_the_recordings_is_understood() {
    for text in [
        include_str!("../../../../../fixtures/claude/hook-subagent.json"),
        include_str!("../../../../../fixtures/claude/hook-task-block.json"),
        include_str!("../../../../../fixtures/claude/hook-todowrite.json"),
    ] {
        for event in serde_json::from_str::<Vec<Value>>(text).unwrap() {
            let name = event["hook_event_name"].as_str().unwrap();
            let tool = event["tool_name"].as_str().unwrap_or_default();
            let read = claude::read(event.to_string().as_bytes(), None);
            // Failed updates and other tools give no event; everything else does, under its own
            // name.
            match read {
                Some(event) => assert_eq!(claude::name(&event.what), name),
                None => assert!(name == "PostToolUse" && tool != "TaskCreate", "{event}"),
            }
            let shouted = claude::read(event.to_string().as_bytes(), Some("session-END"));
            assert_eq!(shouted.map(|it| it.what), Some(What::Ends));
        }
    }
}
