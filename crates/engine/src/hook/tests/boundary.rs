//! Boundary reminders, offers, and when reminders are due.

use punchlist_formats::prompt::Tag;
use punchlist_model::remind::{Kind, Policy};
use punchlist_model::session::SessionStore;
use punchlist_model::store::PlanStore;
use punchlist_model::{NewItem, Op, Process};
use serde_json::json;

use super::{Desk, settle};

fn given(desk: &Desk, session: &str, kind: Kind) -> u64 {
    desk.session(session).memory.watch.ledger.kinds.get(&kind).map_or(0, |it| it.given)
}

#[test]
fn a_new_session_hears_nothing() {
    let desk = Desk::new();
    assert_eq!(desk.starts("s1", "startup"), None);
    assert_eq!(desk.prompt(), None);
}

#[test]
fn resume_and_compaction_put_the_open_list_back_and_the_ledger_knows() {
    let desk = Desk::new();
    desk.create("7", "Read ```code``` </reminder>");
    desk.create("8", "Done thing");
    desk.create("9", "Write");
    desk.update("8", json!({"status": "completed"}));
    desk.update("9", json!({"status": "in_progress"}));
    let text = desk.starts("s1", "resume").unwrap();
    insta::assert_snapshot!(text);
    assert_eq!(desk.starts("s1", "compact").unwrap(), text);
    assert_eq!(given(&desk, "s1", Kind::Boundary), 2);
    assert!(desk.session("s1").memory.watch.ledger.total().tokens > 20);
}

#[test]
fn a_cleared_conversation_is_a_new_session_and_the_old_one_is_offered() {
    let mut desk = Desk::new();
    let (host, boot_id) = ("here".to_owned(), "b".to_owned());
    desk.process = Some(Process { host, boot_id, pid_namespace: 1, pid: 7, start_time: 7 });
    desk.create("1", "Left behind");
    desk.create("2", "And this");
    desk.event("SessionEnd", json!({"reason": "clear"}));
    let text = desk.starts("s2", "clear").unwrap();
    insta::assert_snapshot!(text);
    assert!(!text.contains("Left behind"), "another session's texts enter only by adopt");
    assert_eq!(desk.starts("s2", "resume"), None, "once per session");
    assert_eq!(given(&desk, "s2", Kind::Offer), 1);
}

#[test]
fn what_live_sessions_have_open_is_not_offered() {
    let desk = Desk::new();
    desk.create("1", "Mine");
    assert_eq!(desk.starts("s2", "startup"), None);
}

#[test]
fn kinds_that_are_switched_off_are_not_said() {
    let mut desk = Desk::new();
    desk.policy = Policy { off: [Kind::Boundary, Kind::Offer].into(), ..Policy::default() };
    desk.create("1", "A");
    assert_eq!(desk.starts("s1", "resume"), None);
    desk.event("SessionEnd", json!({"reason": "other"}));
    assert_eq!(desk.starts("s2", "startup"), None);
}

#[test]
fn what_became_the_sessions_list_meanwhile_is_told_with_the_next_prompt() {
    let desk = Desk::new();
    desk.create("1", "A");
    let mut session = desk.session("s1");
    session.memory.watch.owe();
    settle(desk.store.keep(session)).unwrap();
    assert!(desk.prompt().unwrap().contains("1. A"));
    assert_eq!(desk.prompt(), None);
}

/// Adopted items are reached with our tools, because the session did not write them with its own.
#[test]
fn what_was_adopted_is_put_back_with_the_tools_that_reach_it() {
    let desk = Desk::new();
    desk.create("1", "Own thing");
    let owing = |desk: &Desk| {
        let mut session = desk.session("s1");
        session.memory.watch.owe();
        settle(desk.store.keep(session)).unwrap();
        desk.prompt().unwrap()
    };
    desk.person(vec![Op::Add(Box::new(NewItem::titled("Taken over")))]);
    let mixed = owing(&desk);
    desk.update("1", json!({"status": "completed"}));
    let others = owing(&desk);
    insta::assert_snapshot!(format!("{mixed}\n\n{others}"));
}

fn turns(desk: &Desk, n: usize, tool: &str) -> Vec<String> {
    let batch =
        json!({"tool_calls": [{"tool_name": tool, "tool_input": {}, "tool_response": "x"}]});
    let answers = (0..n).filter_map(|_| desk.event("PostToolBatch", batch.clone()));
    answers
        .map(|it| it["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn drift_is_told_after_ten_turns_where_the_list_is_written_with_our_tools() {
    let desk = Desk::new();
    desk.create("1", "A");
    assert_eq!(turns(&desk, 25, "Bash"), [""; 0], "the agent reminds itself of its own tools");
    let mut session = desk.session("s1");
    session.memory.written_with = Some("turn".to_owned());
    settle(desk.store.keep(session)).unwrap();
    let said = turns(&desk, 10, "Bash");
    insta::assert_snapshot!(said.join("\n"));
    // Writing the list resets the count of turns; reading it does not.
    assert_eq!(turns(&desk, 5, "Bash"), [""; 0]);
    assert_eq!(turns(&desk, 1, "mcp__punchlist__complete_todo"), [""; 0]);
    assert_eq!(turns(&desk, 9, "Bash"), [""; 0]);
    assert_eq!(turns(&desk, 1, "mcp__punchlist__list_todo").len(), 1);
    assert_eq!(given(&desk, "s1", Kind::Nag), 2);
    // Turns of sub-agents do not count as the agent's.
    let sub = json!({"agent_id": "x", "tool_calls": [{"tool_name": "Bash"}]});
    assert!((0..30).all(|_| desk.event("PostToolBatch", sub.clone()).is_none()));
}

#[test]
fn a_nag_says_what_others_changed_and_not_what_the_agent_did_itself() {
    let desk = Desk::new();
    desk.create("1", "A");
    desk.create("2", "B");
    let mut session = desk.session("s1");
    session.memory.written_with = Some("turn".to_owned());
    let key = session.attachment();
    settle(desk.store.keep(session)).unwrap();
    settle(desk.store.shown(key, desk.plan().revision)).unwrap();
    assert!(!turns(&desk, 10, "Bash")[0].contains("Changed by others"));
    desk.person(vec![Op::Add(Box::new(NewItem::titled("Ask legal")))]);
    let said = turns(&desk, 10, "Bash");
    assert!(said[0].contains("Changed by others since: 3."), "{said:?}");
}

/// How many reminders of a kind were acted on, and how many were ignored.
fn came_of(desk: &Desk, session: &str, kind: Kind) -> (u64, u64) {
    let tally = desk.session(session).memory.watch.ledger.kinds[&kind];
    (tally.acted, tally.ignored)
}

#[test]
fn a_write_turns_later_is_not_the_merit_of_the_list_that_was_put_back() {
    let desk = Desk { interactive: Some(true), ..Desk::new() };
    desk.create("1", "A");
    assert!(desk.starts("s1", "compact").is_some());
    desk.prompt();
    assert!(desk.stop("Done.").is_some(), "a refused stop ends no turn");
    assert_eq!(came_of(&desk, "s1", Kind::Boundary), (0, 0));
    desk.stop("Done.");
    assert_eq!(came_of(&desk, "s1", Kind::Boundary), (0, 1));
    for _ in 0..2 {
        desk.prompt();
        desk.stop("Done.");
    }
    desk.update("1", json!({"status": "in_progress"}));
    assert_eq!(came_of(&desk, "s1", Kind::Boundary), (0, 1));
    desk.starts("s1", "compact");
    desk.prompt();
    desk.update("1", json!({"status": "completed"}));
    desk.stop("Done.");
    assert_eq!(came_of(&desk, "s1", Kind::Boundary), (1, 1));
}

#[test]
fn what_a_sub_agent_writes_is_no_reminders_merit() {
    let desk = Desk::new();
    desk.create("1", "A");
    (0..4).for_each(|_| drop(desk.starts("s1", "compact")));
    desk.update_by(Some("sub1"), "1", json!({"status": "in_progress"}));
    assert_eq!(came_of(&desk, "s1", Kind::Boundary), (0, 3), "said again before anything was done");
    desk.update("1", json!({"status": "completed"}));
    assert_eq!(came_of(&desk, "s1", Kind::Boundary), (1, 3));
}

#[test]
fn ones_own_task_is_no_answer_to_an_offer() {
    let mut desk = Desk::new();
    let (host, boot_id) = ("here".to_owned(), "b".to_owned());
    desk.process = Some(Process { host, boot_id, pid_namespace: 1, pid: 7, start_time: 7 });
    desk.create("1", "Left behind");
    desk.event("SessionEnd", json!({"reason": "clear"}));
    assert!(desk.starts("s2", "clear").is_some());
    desk.of("s2", "UserPromptSubmit", json!({"prompt": "go on"}));
    let created = json!({
        "tool_name": "TaskCreate", "tool_input": {"subject": "Own", "description": "x"},
        "tool_response": {"task": {"id": "1", "subject": "Own"}},
    });
    desk.of("s2", "PostToolUse", created);
    assert_eq!(came_of(&desk, "s2", Kind::Offer), (0, 0));
    desk.of("s2", "Stop", json!({"permission_mode": "plan"}));
    assert_eq!(came_of(&desk, "s2", Kind::Offer), (0, 1));
    // A turn also ends if there is no list at all.
    let offered = desk.starts("s3", "startup");
    assert!(offered.is_some());
    desk.of("s3", "UserPromptSubmit", json!({"prompt": "go on"}));
    desk.of("s3", "Stop", json!({}));
    assert_eq!(came_of(&desk, "s3", Kind::Offer), (0, 1));
}

#[test]
fn whoever_installed_us_is_told_the_version() {
    let desk = Desk::new();
    let answer = desk.hook(&json!({"hook_event_name": "PunchlistDoctor"}));
    assert_eq!(answer, Some(json!({"systemMessage": "punchlist 1.2.3"})));
}

#[test]
fn what_the_model_is_told_stands_in_the_tag_that_the_user_chose() {
    let mut desk = Desk::new();
    desk.tag = Tag::new("system-note").unwrap();
    desk.create("1", "A");
    let told = desk.starts("s1", "resume").unwrap();
    assert!(told.starts_with("<system-note>") && told.ends_with("</system-note>"), "{told}");
}
