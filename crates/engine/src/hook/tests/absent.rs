//! Tasks that have an item but do not exist in the agent's list.

use punchlist_formats::hook::Task;
use punchlist_model::{ItemRef, Number, Op, Patch, Status};
use serde_json::json;

use super::Desk;

/// The agent's own tool reports that the task does not exist.
fn not_found(desk: &Desk, id: &str) {
    let result =
        json!({"success": false, "taskId": id, "updatedFields": [], "error": "Task not found"});
    desk.used("TaskUpdate", json!({"taskId": id, "status": "completed"}), result);
}

fn announce(desk: &Desk, id: &str, subject: &str) {
    let task = json!({"task_id": id, "task_subject": subject, "task_description": "d"});
    assert_eq!(desk.event("TaskCreated", task), None);
}

fn file(id: &str, subject: &str) -> (String, Task) {
    let task = Task { id: id.to_owned(), subject: Some(subject.to_owned()), ..Task::default() };
    (id.to_owned(), task)
}

#[test]
fn what_its_own_tool_does_not_find_is_named_with_tools_that_do() {
    let desk = Desk::new();
    desk.create("7", "Deleted by another session");
    let before = desk.stop("done").unwrap();
    assert!(before.contains("TaskUpdate"), "{before}");
    not_found(&desk, "7");
    // Nobody has cancelled the item.
    desk.check(&["[ ] 1 Deleted by another session"]);
    let after = desk.stop("done").unwrap();
    assert!(after.contains("mcp__punchlist__update_todo"), "{after}");
    assert!(!after.contains("TaskUpdate"), "{after}");
}

#[test]
fn the_same_where_it_was_only_asked_for() {
    let desk = Desk::new();
    desk.create("7", "A");
    desk.create("8", "B");
    desk.used("TaskGet", json!({"taskId": "7"}), json!({"task": null}));
    let refusal = desk.stop("done").unwrap();
    assert!(refusal.contains("mcp__punchlist__update_todo"), "{refusal}");
    assert!(refusal.contains("TaskUpdate"), "the other one is there: {refusal}");
}

#[test]
fn one_that_is_found_again_has_its_name_back() {
    let desk = Desk::new();
    announce(&desk, "1", "A");
    // The task's creation runs in parallel and has not answered yet.
    not_found(&desk, "1");
    desk.create("1", "A");
    desk.check(&["[ ] 1 A"]);
    let refusal = desk.stop("done").unwrap();
    assert!(refusal.contains("TaskUpdate"), "{refusal}");
    desk.update("1", json!({"status": "completed"}));
    desk.check(&["[x] 1 A"]);
}

#[test]
fn what_was_completed_stays_so_when_the_agent_has_forgotten_it() {
    let desk = Desk::new();
    desk.create("1", "A");
    desk.update("1", json!({"status": "completed"}));
    not_found(&desk, "1");
    desk.check(&["[x] 1 A"]);
}

#[test]
fn a_creation_that_a_kill_cut_off_is_gone_when_the_session_is_resumed() {
    let mut desk = Desk::new();
    desk.create("1", "A");
    announce(&desk, "2", "Never made");
    announce(&desk, "3", "Made, and its answer was lost");
    desk.files.extend([file("1", "A"), file("3", "Made, and its answer was lost")]);
    // A compaction does not end running calls.
    desk.starts("s1", "compact");
    desk.check(&["[ ] 1 A", "[ ] 2 Never made", "[ ] 3 Made, and its answer was lost"]);
    let told = desk.starts("s1", "resume").unwrap();
    desk.check(&["[ ] 1 A", "[ ] 3 Made, and its answer was lost"]);
    assert!(!told.contains("Never made"), "{told}");
    let memory = desk.session("s1").memory;
    assert!(memory.unconfirmed.is_empty());
    assert_eq!(memory.mirrored.into_keys().collect::<Vec<_>>(), ["1", "3"]);
}

#[test]
fn one_that_was_completed_all_the_same_is_left_alone() {
    let desk = Desk::new();
    announce(&desk, "1", "A");
    let done = Patch { status: Some(Status::Completed), ..Patch::default() };
    let item = ItemRef::Number(Number(1));
    desk.person(vec![Op::Edit { item, patch: Box::new(done) }]);
    desk.starts("s1", "resume");
    desk.check(&["[x] 1 A"]);
}

#[test]
fn a_task_of_an_older_list_waits_for_what_its_file_says() {
    let mut desk = Desk::new();
    let (id, second) = file("6", "Second");
    let second = Task { blocked_by: vec!["5".to_owned(), "99".to_owned()], ..second };
    desk.files.extend([file("5", "First"), (id, second)]);
    desk.update("6", json!({"owner": "me"}));
    desk.check(&["[ ] 1 Second after 2", "[ ] 2 First"]);
}

#[test]
fn a_task_that_another_session_completed_is_completed_by_saying_so_again() {
    let desk = Desk::new();
    desk.create("1", "A");
    let result = json!({"success": true, "taskId": "1", "updatedFields": []});
    desk.used("TaskUpdate", json!({"taskId": "1", "status": "completed"}), result);
    desk.check(&["[x] 1 A"]);
}
