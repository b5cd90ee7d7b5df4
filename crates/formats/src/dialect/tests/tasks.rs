//! Claude Code's task tools, beyond what their recordings show.

use punchlist_model::{ItemRef, NewItem, Number, Op, Patch};
use serde_json::{Value, json};

use super::Caller;
use crate::dialect::Dialect;

/// A plan with tasks of these subjects.
fn caller(subjects: &[&str]) -> Caller {
    let mut caller = Caller::new(Dialect::Tasks);
    for subject in subjects {
        caller.ok("TaskCreate", json!({"subject": subject, "description": "d"}));
    }
    caller
}

fn update(caller: &mut Caller, arguments: Value) -> String {
    caller.ok("TaskUpdate", arguments)
}

fn list(caller: &mut Caller) -> String {
    caller.ok("TaskList", json!({}))
}

fn number(number: u32) -> ItemRef {
    ItemRef::Number(Number(number))
}

#[test]
fn every_field_of_a_new_task_is_kept() {
    let mut caller = Caller::new(Dialect::Tasks);
    let metadata = json!({"area": "db", "points": 3, "nothing": null});
    let text = caller.ok(
        "TaskCreate",
        json!({"subject": "A", "description": "What", "activeForm": "Doing A", "metadata": metadata}),
    );
    assert_eq!(text, "Task #1 created successfully: A");
    let item = caller.item(1);
    assert_eq!((item.title.as_str(), item.context.as_str()), ("A", "What"));
    assert_eq!(item.active_form.as_deref(), Some("Doing A"));
    assert_eq!(item.metadata.map(Value::Object), Some(metadata));
}

#[test]
fn ids_are_numbers_and_never_used_again() {
    let mut caller = caller(&["A", "B"]);
    assert_eq!(
        update(&mut caller, json!({"taskId": "2", "status": "deleted"})),
        "Updated task #2 deleted"
    );
    let text = caller.ok("TaskCreate", json!({"subject": "C", "description": "d"}));
    assert_eq!(text, "Task #3 created successfully: C");
    assert_eq!(
        update(&mut caller, json!({"taskId": " #3 ", "owner": "me"})),
        "Updated task #3 owner"
    );
}

#[test]
fn what_is_deleted_is_superseded_and_gone_for_the_tools() {
    let mut caller = caller(&["A", "B"]);
    update(&mut caller, json!({"taskId": "2", "addBlockedBy": ["1"]}));
    update(&mut caller, json!({"taskId": "1", "status": "deleted", "subject": "never mind"}));
    let item = caller.item(1);
    assert!(item.is_superseded() && item.title == "A");
    assert_eq!(list(&mut caller), "#2 [pending] B");
    assert_eq!(caller.ok("TaskGet", json!({"taskId": "1"})), "Task not found");
    assert_eq!(
        caller.ok("TaskGet", json!({"taskId": "2"})),
        "Task #2: B\nStatus: pending\nDescription: d"
    );
    for status in ["deleted", "pending", "completed"] {
        let text = caller.err("TaskUpdate", json!({"taskId": "1", "status": status}));
        assert_eq!(text, "Task not found");
    }
}

#[test]
fn a_foreign_id_is_not_found() {
    let mut caller = caller(&["A"]);
    for id in ["2", "0", "99999999999", "-1", "abc", "", "1.0", super::foreign().as_str()] {
        assert_eq!(caller.ok("TaskGet", json!({"taskId": id})), "Task not found", "{id}");
        let text = caller.err("TaskUpdate", json!({"taskId": id, "status": "completed"}));
        assert_eq!(text, "Task not found", "{id}");
        let text = caller.err("TaskUpdate", json!({"taskId": id}));
        assert_eq!(text, "Task not found", "{id}");
    }
}

#[test]
fn both_ways_of_blocking_make_the_same_dependency() {
    let mut caller = caller(&["A", "B", "C"]);
    let text = update(&mut caller, json!({"taskId": "1", "addBlocks": ["2", "3"]}));
    assert_eq!(text, "Updated task #1 blocks");
    let text = update(&mut caller, json!({"taskId": "3", "addBlockedBy": ["2", "1"]}));
    assert_eq!(text, "Updated task #3 blockedBy");
    assert_eq!(
        list(&mut caller),
        "#1 [pending] A\n#2 [pending] B [blocked by #1]\n#3 [pending] C [blocked by #1, #2]"
    );
    let text = caller.ok("TaskGet", json!({"taskId": "2"}));
    assert_eq!(text, "Task #2: B\nStatus: pending\nDescription: d\nBlocked by: #1\nBlocks: #3");
    // A dependency that already exists is no change.
    assert_eq!(update(&mut caller, json!({"taskId": "1", "addBlocks": ["2"]})), "Updated task #1 ");
}

#[test]
fn dependencies_are_known_and_never_in_a_circle() {
    let mut caller = caller(&["A", "B", "C"]);
    update(&mut caller, json!({"taskId": "2", "addBlockedBy": ["1"]}));
    update(&mut caller, json!({"taskId": "3", "addBlockedBy": ["2"]}));
    let hint = "Leave it out of addBlocks and addBlockedBy, or use TaskUpdate with status deleted \
                on one of them and TaskCreate anew.";
    for (arguments, error) in [
        (
            json!({"taskId": "1", "addBlockedBy": ["3"]}),
            format!("Task #1 \"A\" would depend on itself: #1 → #3 → #2 → #1. {hint}"),
        ),
        (
            json!({"taskId": "3", "addBlocks": ["1"]}),
            format!("Task #1 \"A\" would depend on itself: #1 → #3 → #2 → #1. {hint}"),
        ),
        (
            json!({"taskId": "1", "addBlocks": ["1"]}),
            format!("Task #1 \"A\" would depend on itself: #1 → #1. {hint}"),
        ),
        (
            json!({"taskId": "1", "addBlockedBy": ["77"], "owner": "me"}),
            "Task #1 \"A\": task 77 not found. Use TaskList to see the ids.".to_owned(),
        ),
        (
            json!({"taskId": "1", "addBlocks": ["77"]}),
            "Task 77 not found. Use TaskList to see the ids.".to_owned(),
        ),
        (
            json!({"taskId": "1", "addBlocks": ["x", "2"]}),
            "Task not found: \"x\" in addBlocks. Use TaskList to see the ids.".to_owned(),
        ),
    ] {
        assert_eq!(caller.err("TaskUpdate", arguments.clone()), error, "{arguments}");
    }
}

#[test]
fn metadata_is_merged_and_null_takes_a_key_away() {
    let mut caller = Caller::new(Dialect::Tasks);
    let metadata = json!({"area": "db", "points": 3});
    caller.ok("TaskCreate", json!({"subject": "A", "description": "d", "metadata": metadata}));
    let text = update(&mut caller, json!({"taskId": "1", "metadata": {"points": null, "pr": 17}}));
    assert_eq!(text, "Updated task #1 metadata");
    assert_eq!(caller.item(1).metadata.map(Value::Object), Some(json!({"area": "db", "pr": 17})));
    assert_eq!(
        update(&mut caller, json!({"taskId": "1", "metadata": {"pr": 17}})),
        "Updated task #1 "
    );
}

#[test]
fn an_update_names_what_really_changed() {
    let mut caller = caller(&["A", "B"]);
    let all = json!({
        "taskId": "1",
        "addBlocks": ["2"],
        "status": "in_progress",
        "metadata": {"a": 1},
        "owner": "main",
        "activeForm": "Doing",
        "description": "e",
        "subject": "A2",
    });
    assert_eq!(
        update(&mut caller, all.clone()),
        "Updated task #1 subject, description, activeForm, owner, metadata, status, blocks"
    );
    assert!(!caller.call("TaskUpdate", all.clone()).changed);
    assert_eq!(update(&mut caller, all), "Updated task #1 ");
    assert_eq!(update(&mut caller, json!({"taskId": "1"})), "Updated task #1 ");
    assert_eq!(list(&mut caller), "#1 [in_progress] A2 (main)\n#2 [pending] B [blocked by #1]");
    assert_eq!(update(&mut caller, json!({"taskId": "1", "owner": ""})), "Updated task #1 owner");
}

#[test]
fn a_task_goes_from_any_status_to_any_other() {
    let mut caller = caller(&["A"]);
    let words = ["pending", "in_progress", "completed"];
    for from in words {
        for to in words {
            update(&mut caller, json!({"taskId": "1", "status": from}));
            let text = update(&mut caller, json!({"taskId": "1", "status": to}));
            let fields = if from == to { "" } else { "status" };
            assert_eq!(text, format!("Updated task #1 {fields}"), "{from} to {to}");
            assert_eq!(caller.item(1).status.as_str(), to);
        }
    }
}

#[test]
fn rules_that_claude_code_does_not_have_are_refused_in_its_style() {
    let mut caller = caller(&["A", "B", "Parent", "Child"]);
    let patch = Box::new(Patch { parent: Some(Some(number(3))), ..Patch::default() });
    caller.beside(vec![Op::Edit { item: number(4), patch }]);
    update(&mut caller, json!({"taskId": "1", "status": "in_progress"}));
    for (arguments, error) in [
        (
            json!({"taskId": "2", "status": "in_progress", "owner": "me"}),
            "Task #2 \"B\" cannot be started: task #1 \"A\" is in_progress. Use TaskUpdate on #1 \
             first, with status completed or pending.",
        ),
        (
            json!({"taskId": "3", "status": "completed"}),
            "Task #3 \"Parent\" cannot be completed: task #4 \"Child\" under it is open. Use \
             TaskUpdate on #4 first, with status completed or deleted.",
        ),
        (
            json!({"taskId": "2", "subject": " "}),
            "Task #2 \"B\": the title is empty. Fix it and make the call again.",
        ),
    ] {
        assert_eq!(caller.err("TaskUpdate", arguments.clone()), error, "{arguments}");
    }
    caller.who = "another";
    for status in ["in_progress", "completed", "pending"] {
        assert_eq!(
            caller.err("TaskUpdate", json!({"taskId": "1", "status": status})),
            "Task #1 \"A\" is held by model until 2027-01-15T08:15:06Z. Use TaskList to find \
             another task."
        );
    }
}

#[test]
fn warnings_follow_the_exact_result_after_a_blank_line() {
    let mut caller = caller(&["A", "B"]);
    update(&mut caller, json!({"taskId": "2", "addBlockedBy": ["1"]}));
    caller.mode = punchlist_model::Mode::Recorded;
    let text = update(&mut caller, json!({"taskId": "2", "status": "in_progress"}));
    assert_eq!(text, "Updated task #2 status\n\nTask #2 \"B\" is blocked by task #1 \"A\"");
}

#[test]
fn what_is_blocked_is_neither_started_nor_completed() {
    let mut caller = caller(&["A", "B"]);
    update(&mut caller, json!({"taskId": "2", "addBlockedBy": ["1"]}));
    for (status, act) in [("in_progress", "started"), ("completed", "completed")] {
        let text = caller.err("TaskUpdate", json!({"taskId": "2", "status": status}));
        assert_eq!(
            text,
            format!(
                "Task #2 \"B\" cannot be {act}: it depends on task #1 \"A\", which is pending. Use \
                 TaskUpdate on #1 first, with status completed or deleted."
            )
        );
    }
}

#[test]
fn what_waits_is_said_only_where_something_does() {
    let mut caller = caller(&["A", "B"]);
    caller.beside(vec![Op::Wait { item: number(2), on: "the owner".into() }]);
    assert_eq!(list(&mut caller), "#1 [pending] A\n#2 [pending] B [waiting for the owner]");
    assert_eq!(
        caller.ok("TaskGet", json!({"taskId": "2"})),
        "Task #2: B\nStatus: pending\nDescription: d\nWaiting for: the owner"
    );
}

#[test]
fn only_the_list_shows_the_list() {
    let mut caller = caller(&["A"]);
    assert!(caller.call("TaskList", json!({})).shows);
    assert!(!caller.call("TaskGet", json!({"taskId": "1"})).shows);
    assert!(!caller.call("TaskUpdate", json!({"taskId": "1", "status": "completed"})).shows);
}

#[test]
fn a_task_is_read_without_the_rest_of_the_plan() {
    let mut caller = caller(&["A", "B", "C", "D"]);
    update(&mut caller, json!({"taskId": "2", "addBlockedBy": ["1"], "addBlocks": ["3"]}));
    let call = caller.dialect.call("TaskGet", br#"{"taskId": "2"}"#).unwrap();
    let plan = caller.whole();
    let slice = plan.slice(&call.needs());
    assert_eq!(slice.items.keys().map(|it| it.0).collect::<Vec<_>>(), [1, 2, 3]);
    let reply = |plan| call.reply(crate::dialect::Answer::Read(plan));
    assert_eq!(reply(slice), reply(plan.into()));
}

#[test]
fn bad_arguments_are_told_as_claude_code_tells_them() {
    let mut caller = caller(&["A"]);
    let statuses = "`pending`, `in_progress`, `completed`, `deleted`";
    for (tool, arguments, error) in [
        ("TaskCreate", json!({}), "The required parameter `subject` is missing".to_owned()),
        (
            "TaskCreate",
            json!({"subject": ["x"], "description": null, "metadata": "m"}),
            "The parameter `metadata` type is expected as `object` but provided as `string`\nThe \
             parameter `subject` type is expected as `string` but provided as `array`"
                .to_owned(),
        ),
        ("TaskGet", json!({}), "The required parameter `taskId` is missing".to_owned()),
        (
            "TaskGet",
            json!({"taskId": 1}),
            "The parameter `taskId` type is expected as `string` but provided as `number`"
                .to_owned(),
        ),
        (
            "TaskUpdate",
            json!({"taskId": "1", "status": "done</tool_use_error>\u{1b}"}),
            format!(
                "The parameter `status` is expected as one of {statuses} but provided as \
                 `done&lt;/tool_use_error>\\u{{1b}}`"
            ),
        ),
        (
            "TaskUpdate",
            json!({"taskId": "1", "addBlocks": "2", "addBlockedBy": ["1", 2, {}]}),
            "The parameter `addBlocks` type is expected as `array` but provided as `string`\nThe \
             parameter `addBlockedBy[1]` type is expected as `string` but provided as \
             `number`\nThe parameter `addBlockedBy[2]` type is expected as `string` but provided \
             as `object`"
                .to_owned(),
        ),
    ] {
        let issues = if error.contains('\n') { "issues" } else { "issue" };
        let error = format!(
            "<tool_use_error>InputValidationError: {tool} failed due to the following \
             {issues}:\n{error}</tool_use_error>"
        );
        assert_eq!(caller.err(tool, arguments.clone()), error, "{arguments}");
    }
    assert_eq!(
        caller.err("TaskCreate", json!({"subject": " ", "description": "d"})),
        "The title is empty. Fix it and make the call again."
    );
}

#[test]
fn what_others_put_on_the_list_is_there_too() {
    let mut caller = caller(&["A"]);
    caller.beside(vec![
        Op::Add(Box::new(NewItem { owner: Some("anna".into()), ..NewItem::titled("B\nb") })),
        Op::Cancel { item: number(1), reason: None },
    ]);
    assert_eq!(list(&mut caller), "#1 [cancelled] A\n#2 [pending] B b (anna)");
}
