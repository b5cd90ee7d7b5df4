//! The task tools (`TaskCreate`, `TaskUpdate`, `TaskList`, `TaskGet`).

use serde_json::json;

use super::{CLAUDE, call, check, create, of_agent, result, text_result, todos, update, updated};
use crate::tests::lines::{bytes, check_warnings};
use crate::tests::lists;

#[test]
fn success_that_is_none_changes_nothing() {
    let failed = |id: &str, error: &str| {
        let structured =
            json!({"success": false, "taskId": "1", "updatedFields": [], "error": error});
        result(id, error, structured)
    };
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend([
        call("2", "TaskUpdate", json!({"taskId": "99", "status": "completed"})),
        failed("2", "Task not found"),
        call("3", "TaskUpdate", json!({"taskId": "1", "status": "completed"})),
        failed("3", "TaskCompleted hook feedback:\nnot yet"),
    ]);
    check(&lines, "s#1: [ ] #1 a");
}

#[test]
fn what_a_hook_rewrote_is_taken_from_the_result() {
    check(
        &[
            call("1", "TodoWrite", json!({"todos": todos(&[("asked", "pending")])})),
            result(
                "1",
                "ok",
                json!({"oldTodos": [], "newTodos": todos(&[("taken", "completed")])}),
            ),
            call("2", "TaskCreate", json!({"subject": "asked"})),
            result("2", "Task #1 created", json!({"task": {"id": "1", "subject": "taken"}})),
            call("3", "TaskUpdate", json!({"taskId": "1", "status": "completed"})),
            result(
                "3",
                "Updated task #1 status",
                json!({"success": true, "taskId": "1", "updatedFields": ["status"],
                       "statusChange": {"from": "pending", "to": "in_progress"}}),
            ),
        ],
        "s#1: [x] taken\ns#1: [ ] #1 taken\ns#1: [>] #1 taken",
    );
}

#[test]
fn ids_are_those_of_results_and_may_leave_gaps() {
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend(create("2", "3", "b"));
    check(&lines, "s#1: [ ] #1 a\ns#1: [ ] #1 a, [ ] #3 b");
}

#[test]
fn ids_are_ordered_as_numbers() {
    let mut lines = create("1", "10", "ten").to_vec();
    lines.extend(create("2", "9", "nine"));
    check(&lines, "s#1: [ ] #10 ten\ns#1: [ ] #9 nine, [ ] #10 ten");
}

#[test]
fn a_change_to_the_same_value_is_no_change() {
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend(update("2", "1", json!({"status": "pending"}), json!([])));
    check(&lines, "s#1: [ ] #1 a");
}

#[test]
fn a_success_that_names_no_field_confirms_what_was_asked_for() {
    // Changed outside the stream: by the user, or by another program.
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend(update("2", "1", json!({"status": "completed"}), json!([])));
    check(&lines, "s#1: [ ] #1 a\ns#1: [x] #1 a");
    let mut lines = create("1", "1", "a").to_vec();
    lines.push(of_agent(
        "t",
        call("2", "TaskUpdate", json!({"taskId": "1", "status": "in_progress"})),
    ));
    lines.push(of_agent("t", text_result("2", "Updated task #1 ")));
    check(&lines, "s#1: [ ] #1 a\ns#1: [>] #1 a");
}

#[test]
fn values_are_those_of_the_call_for_fields_that_the_result_names() {
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend(update(
        "2",
        "1",
        json!({"status": "in_progress", "subject": "b"}),
        json!(["subject"]),
    ));
    check(&lines, "s#1: [ ] #1 a\ns#1: [ ] #1 b");
}

#[test]
fn what_was_done_can_be_opened_again() {
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend(update("2", "1", json!({"status": "completed"}), json!(["status"])));
    lines.extend(update("3", "1", json!({"status": "pending"}), json!(["status"])));
    check(&lines, "s#1: [ ] #1 a\ns#1: [x] #1 a\ns#1: [ ] #1 a");
}

#[test]
fn a_deleted_task_leaves_the_list_and_blocks_nobody() {
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend(create("2", "2", "b"));
    lines.extend(update("3", "2", json!({"addBlockedBy": ["1"]}), json!(["blockedBy"])));
    lines.extend(update("4", "1", json!({"status": "deleted"}), json!(["deleted"])));
    check(
        &lines,
        "s#1: [ ] #1 a\ns#1: [ ] #1 a, [ ] #2 b\ns#1: [ ] #1 a, [ ] #2 b (blocked)\ns#1: [ ] #2 b",
    );
}

#[test]
fn edges_go_both_ways_cycles_are_taken_and_unknown_ids_are_dropped() {
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend(create("2", "2", "b"));
    lines.extend(update("3", "1", json!({"addBlocks": ["2"]}), json!(["blocks"])));
    lines.extend(update("4", "1", json!({"addBlockedBy": ["2", "7"]}), json!(["blockedBy"])));
    lines.extend(create("5", "7", "c"));
    lines.extend(update("6", "2", json!({"status": "completed"}), json!(["status"])));
    check(
        &lines,
        "s#1: [ ] #1 a\n\
         s#1: [ ] #1 a, [ ] #2 b\n\
         s#1: [ ] #1 a, [ ] #2 b (blocked)\n\
         s#1: [ ] #1 a (blocked), [ ] #2 b (blocked)\n\
         s#1: [ ] #1 a (blocked), [ ] #2 b (blocked), [ ] #7 c\n\
         s#1: [ ] #1 a, [x] #2 b, [ ] #7 c",
    );
}

#[test]
fn both_edges_of_two_updates_in_one_message_are_kept_though_the_program_loses_one() {
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend(create("2", "2", "b"));
    lines.extend(create("3", "3", "c"));
    lines.push(call("4", "TaskUpdate", json!({"taskId": "2", "addBlockedBy": ["1"]})));
    lines.push(call("5", "TaskUpdate", json!({"taskId": "1", "addBlocks": ["3"]})));
    lines.push(updated("4", "2", json!(["blockedBy"])));
    lines.push(updated("5", "1", json!(["blocks"])));
    let lists = lists(CLAUDE, &bytes(&lines));
    assert!(lists.ends_with("s#1: [ ] #1 a, [ ] #2 b (blocked), [ ] #3 c (blocked)\n"), "{lists}");
}

#[test]
fn a_list_that_was_asked_for_before_a_change_does_not_undo_it() {
    let old = json!({"tasks": [{"id": "1", "subject": "a", "status": "pending", "blockedBy": []},
                               {"id": "2", "subject": "b", "status": "pending", "blockedBy": []}]});
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend(create("2", "2", "b"));
    lines.extend([
        call("3", "TaskUpdate", json!({"taskId": "1", "status": "completed"})),
        call("4", "TaskUpdate", json!({"taskId": "2", "status": "deleted"})),
        call("5", "TaskList", json!({})),
        call("6", "TaskCreate", json!({"subject": "c"})),
        updated("3", "1", json!(["status"])),
        updated("4", "2", json!(["deleted"])),
        result("6", "", json!({"task": {"id": "3", "subject": "c"}})),
        result("5", "", old),
    ]);
    let lists = lists(CLAUDE, &bytes(&lines));
    assert!(lists.ends_with("s#1: [x] #1 a, [ ] #3 c\n"), "{lists}");
}

#[test]
fn a_list_that_was_asked_for_afterwards_is_believed() {
    let now = json!({"tasks": [{"id": "2", "subject": "b", "status": "completed", "blockedBy": []},
                               {"id": "5", "subject": "from elsewhere", "status": "pending",
                                "blockedBy": ["2", "9"]}]});
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend(create("2", "2", "b"));
    lines.extend([call("3", "TaskList", json!({})), result("3", "", now)]);
    check(&lines, "s#1: [ ] #1 a\ns#1: [ ] #1 a, [ ] #2 b\ns#1: [x] #2 b, [ ] #5 from elsewhere");
}

#[test]
fn a_blocker_that_snapshots_leave_out_because_it_is_done_blocks_again_when_it_is_opened() {
    let now = json!({"tasks": [{"id": "1", "subject": "a", "status": "completed", "blockedBy": []},
                               {"id": "2", "subject": "b", "status": "pending", "blockedBy": []}]});
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend(create("2", "2", "b"));
    lines.extend(update("3", "2", json!({"addBlockedBy": ["1"]}), json!(["blockedBy"])));
    lines.extend(update("4", "1", json!({"status": "completed"}), json!(["status"])));
    lines.extend([call("5", "TaskList", json!({})), result("5", "", now)]);
    lines.extend(update("6", "1", json!({"status": "in_progress"}), json!(["status"])));
    let lists = lists(CLAUDE, &bytes(&lines));
    assert!(
        lists.ends_with("s#1: [x] #1 a, [ ] #2 b\ns#1: [>] #1 a, [ ] #2 b (blocked)\n"),
        "{lists}"
    );
}

#[test]
fn one_task_that_is_looked_at_is_brought_up_to_date_or_found_gone() {
    let task = json!({"task": {"id": "1", "subject": "a2", "description": "d", "status": "in_progress",
                               "blocks": [], "blockedBy": []}});
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend([call("2", "TaskGet", json!({"taskId": "1"})), result("2", "", task)]);
    lines.extend([
        call("3", "TaskGet", json!({"taskId": "1"})),
        result("3", "Task not found", json!({"task": null})),
    ]);
    check(&lines, "s#1: [ ] #1 a\ns#1: [>] #1 a2\ns#1: ");
}

#[test]
fn a_task_from_before_the_stream_is_shown_by_its_number_with_a_warning() {
    let lines = update("1", "3", json!({"status": "in_progress"}), json!(["status"]));
    check(&lines, "s#1: [>] #3 Task #3");
    check_warnings(CLAUDE, &lines, &["2: task 3 was created before this stream"]);
}

#[test]
fn a_finished_list_that_the_screen_drops_is_not_cleared_and_the_next_task_begins_a_new_one() {
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend(update("2", "1", json!({"status": "completed"}), json!(["status"])));
    lines.extend([call("3", "TaskList", json!({})), result("3", "", json!({"tasks": []}))]);
    lines.extend(create("4", "2", "b"));
    check(&lines, "s#1: [ ] #1 a\ns#1: [x] #1 a\ns#2: [ ] #2 b");
}
