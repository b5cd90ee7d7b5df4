//! Sub-agents: shared tasks, their own lists, and the agent of a line.

use serde_json::{Value, json};

use super::{
    CLAUDE, call, check, create, ended, kept, of_agent, result, stream_line, text_result, todos,
};
use crate::tests::events;
use crate::tests::lines::{bytes, check_events, tally};

/// A sub-agent's line inside a progress line.
fn in_progress(agent: &str, line: Value) -> Value {
    let told = json!({"type": line["type"], "message": line["message"], "uuid": "u"});
    json!({"type": "progress", "sessionId": "s", "timestamp": "2026-11-15T12:00:00.000Z",
        "toolUseID": "agent_msg_1", "parentToolUseID": "toolu_1",
        "data": {"type": "agent_progress", "message": told, "prompt": "p", "agentId": agent}})
}

#[test]
fn lines_of_progress_carry_the_tasks_of_sub_agents_and_nothing_else() {
    let asks = call("1", "TaskCreate", json!({"subject": "a", "description": "d"}));
    let begins = call("2", "TaskUpdate", json!({"taskId": "1", "status": "in_progress"}));
    let list = call("3", "TodoWrite", json!({"todos": todos(&[("own", "pending")])}));
    let said = stream_line("assistant", json!({"type": "text", "text": "hm"}), None);
    let lines = [
        in_progress("x", asks),
        in_progress("x", said),
        in_progress("x", text_result("1", "Task #1 created successfully: a")),
        in_progress("x", call("9", "Bash", json!({}))),
        in_progress("x", begins),
        in_progress("x", text_result("2", "Updated task #1 status")),
        in_progress("x", list),
        in_progress("x", text_result("3", "Todos have been modified")),
        json!({"type": "progress", "sessionId": "s", "data": {"type": "hook_progress"}}),
    ];
    check(&lines, "s#1: [ ] #1 a\ns#1: [>] #1 a\ns/x#1: [ ] own");
    check_events(
        CLAUDE,
        &lines,
        &["todo_list todoId=s#1", "todo_list todoId=s#1", "todo_list todoId=s/x#1"],
    );
    check_known_kinds(&lines);
}

#[track_caller]
fn check_known_kinds(lines: &[Value]) {
    assert_eq!(tally(CLAUDE, lines).unknown.len(), 0);
}

#[test]
fn sub_agents_share_the_tasks_and_get_results_as_text() {
    let sub = |line: Value| of_agent("agent", line);
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend([
        sub(call("2", "TaskCreate", json!({"subject": "asked", "activeForm": "doing"}))),
        sub(text_result("2", "Task #2 created successfully: sub: with colon")),
        sub(call(
            "3",
            "TaskUpdate",
            json!({"taskId": "2", "status": "in_progress", "owner": "me"}),
        )),
        sub(text_result("3", "Updated task #2 owner, status")),
        sub(call("4", "TaskUpdate", json!({"taskId": "2", "status": "completed"}))),
        sub(text_result("4", "Task not found")),
        sub(call("5", "TaskUpdate", json!({"taskId": "2", "status": "completed"}))),
        sub(text_result("5", "Updated task #2 ")),
        sub(call("6", "TaskUpdate", json!({"taskId": "1", "status": "deleted"}))),
        sub(text_result("6", "Updated task #1 deleted")),
    ]);
    check(
        &lines,
        "s#1: [ ] #1 a\n\
         s#1: [ ] #1 a, [ ] #2 sub: with colon\n\
         s#1: [ ] #1 a, [>] #2 sub: with colon\n\
         s#1: [ ] #1 a, [x] #2 sub: with colon\n\
         s#1: [x] #2 sub: with colon",
    );
    let events = events(CLAUDE, &bytes(&lines));
    assert!(!events.contains("\"agentId\":\"s/agent\""), "the list is the session's: {events}");
}

#[test]
fn each_sub_agent_has_a_todo_list_of_its_own() {
    let started = json!({"type": "system", "subtype": "task_started", "task_id": "a1f",
                         "tool_use_id": "agent", "task_type": "local_agent", "session_id": "s"});
    let asked = json!({"todos": todos(&[("sub", "pending")])});
    let ended = json!({"type": "system", "subtype": "task_notification", "task_id": "a1f",
                       "status": "completed", "session_id": "s"});
    check(
        &[
            call("1", "TodoWrite", json!({"todos": todos(&[("main", "pending")])})),
            started,
            of_agent("agent", call("2", "TodoWrite", asked.clone())),
            of_agent("agent", text_result("2", "Todos have been modified successfully.")),
            of_agent("other", call("3", "TodoWrite", asked.clone())),
            of_agent("agent", call("4", "TodoWrite", asked)),
            result("1", "ok", json!({"newTodos": todos(&[("main", "in_progress")])})),
            ended,
        ],
        "s/a1f#1: [ ] sub\n\
         s#1: [>] main\n\
         s/a1f#1 unconfirmed: [ ] sub\n\
         s/other#1 unconfirmed: [ ] sub",
    );
}

#[test]
fn a_turns_end_does_not_give_up_what_a_sub_agent_in_the_background_awaits() {
    let asked = json!({"todos": todos(&[("sub", "pending")])});
    check(
        &[
            of_agent("agent", call("2", "TodoWrite", asked)),
            ended(),
            of_agent("agent", text_result("2", "Todos have been modified successfully.")),
        ],
        "s/agent#1: [ ] sub",
    );
}

#[test]
fn transcripts_of_sub_agents_name_them() {
    let mut lines = create("1", "1", "a").map(|it| kept("12:00:00", it));
    let asked = json!({"todos": todos(&[("sub", "pending")])});
    let sub = [call("2", "TodoWrite", asked), text_result("2", "ok")];
    let sub = sub.map(|it| {
        let mut line = kept("12:00:01", it);
        line["isSidechain"] = json!(true);
        line["agentId"] = json!("a685");
        line
    });
    lines[0]["isSidechain"] = json!(false);
    check(&[lines.to_vec(), sub.to_vec()].concat(), "s#1: [ ] #1 a\ns/a685#1: [ ] sub");
}
