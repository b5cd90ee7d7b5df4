//! Whole lists (`TodoWrite` and reminders), and which call a result answers.

use serde_json::{Value, json};

use super::{CLAUDE, call, check, create, ended, kept, refused, result, stream_line, todos};
use crate::tests::lines::{bytes, check_warnings};
use crate::tests::{events, lists};

#[test]
fn a_refused_call_changes_nothing() {
    check(
        &[
            call("1", "TodoWrite", json!({"todos": todos(&[("a", "pending")])})),
            refused("1", "No such tool available: TodoWrite"),
            call("2", "TaskCreate", json!({"subject": "a"})),
            refused("2", "TaskCreated hook feedback:\nno"),
            ended(),
        ],
        "",
    );
}

#[test]
fn a_todo_tool_gives_no_events_of_tools_whatever_becomes_of_it() {
    let lines = [
        call("1", "TodoWrite", json!({"todos": todos(&[("a", "pending")])})),
        refused("1", "no"),
        call("2", "TaskList", json!({})),
        result("2", "No tasks found", json!({"tasks": []})),
        call("3", "TaskOutput", json!({"task_id": "b"})),
    ];
    let events = events(CLAUDE, &bytes(&lines));
    let events: Vec<&str> = events.lines().collect();
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].contains("\"type\":\"tool.scheduled\""), "background work is no plan");
    assert!(events[0].contains("\"name\":\"TaskOutput\""));
}

#[test]
fn an_empty_list_means_cleared_and_the_next_has_a_new_name() {
    let write = |id: &str, todos: Value| {
        [
            call(id, "TodoWrite", json!({"todos": todos})),
            result(id, "ok", json!({"oldTodos": [], "newTodos": todos})),
        ]
    };
    let mut lines = write("1", todos(&[("a", "completed")])).to_vec();
    lines.extend(write("2", todos(&[("b", "in_progress"), ("b", "in_progress")])));
    lines.extend(write("3", json!([])));
    lines.extend(write("4", todos(&[("c", "pending")])));
    check(&lines, "s#1: [x] a\ns#1: [>] b, [>] b\ns#1: \ns#2: [ ] c");
}

#[test]
fn a_list_that_was_never_answered_is_told_at_the_end_of_its_turn_as_a_wish() {
    let asked = call("1", "TodoWrite", json!({"todos": todos(&[("a", "in_progress")])}));
    let task = call("2", "TaskCreate", json!({"subject": "b"}));
    check(&[asked.clone(), task.clone(), ended()], "s#1 unconfirmed: [>] a");
    check(&[asked.clone(), task], "s#1 unconfirmed: [>] a");
    let again = json!({"type": "system", "subtype": "init", "session_id": "s"});
    check(&[asked.clone(), again], "s#1 unconfirmed: [>] a");
    let events = events(CLAUDE, &bytes(&[asked]));
    assert_eq!(
        events.matches("\"unconfirmed\":true").count(),
        2,
        "the list and its item: {events}"
    );
}

#[test]
fn a_list_given_as_a_text_is_read() {
    let text = todos(&[("a", "pending")]).to_string();
    check(&[call("1", "TodoWrite", json!({"todos": text}))], "s#1 unconfirmed: [ ] a");
    let lines = [call("1", "TodoWrite", json!({"todos": "[{"}))];
    check_warnings(
        CLAUDE,
        &lines,
        &[
            "2: a list was written as a text, but it is not JSON at byte 2: EOF while parsing an object",
        ],
    );
}

#[test]
fn reminders_in_transcripts_are_snapshots() {
    let reminder = |kind: &str, content: Value| {
        kept(
            "12:00:00",
            json!({"type": "attachment", "session_id": "s",
                   "attachment": {"type": kind, "content": content, "itemCount": 1}}),
        )
    };
    let task = json!([{"id": "2", "subject": "b", "description": "", "activeForm": "b-ing",
                       "status": "in_progress", "blocks": [], "blockedBy": []}]);
    check(
        &[
            reminder("task_reminder", json!([])),
            reminder("task_reminder", task.clone()),
            reminder("task_reminder", task),
            reminder("todo_reminder", json!([])),
            reminder("todo_reminder", todos(&[("t", "pending")])),
        ],
        "s#1: [>] #2 b\ns#1: [ ] t",
    );
}

#[test]
fn a_fork_begins_with_an_empty_list_though_it_begins_with_the_old_conversation() {
    let queued = json!({"type": "queue-operation", "operation": "enqueue", "session_id": "s"});
    let mut lines = vec![kept("12:00:00", queued)];
    lines.extend(create("1", "1", "old").map(|it| kept("11:59:00", it)));
    lines.extend(create("2", "1", "new").map(|it| kept("12:00:01", it)));
    check(&lines, "s#1: [ ] #1 new");
}

#[test]
fn results_are_found_wherever_they_come() {
    let asked = |id: &str| call(id, "TodoWrite", json!({"todos": todos(&[(id, "pending")])}));
    let told = |id: &str| result(id, "ok", json!({"newTodos": todos(&[(id, "pending")])}));
    check(
        &[asked("1"), asked("2"), told("2"), ended(), asked("3"), told("1"), told("3")],
        "s#1: [ ] 2\ns#1: [ ] 3",
    );
}

#[test]
fn a_list_that_was_never_answered_is_not_told_after_a_later_one() {
    let asked = |id: &str| {
        let mut line = call(id, "TodoWrite", json!({"todos": todos(&[(id, "pending")])}));
        line["message"]["id"] = json!(format!("message {id}"));
        line
    };
    let told = |id: &str| result(id, "ok", json!({"newTodos": todos(&[(id, "pending")])}));
    check(&[asked("1"), asked("2"), told("2"), ended()], "s#1: [ ] 2");
    check(&[asked("1"), asked("2"), ended()], "s#1 unconfirmed: [ ] 2");
    check(&[asked("1"), told("1"), asked("2"), ended()], "s#1: [ ] 1\ns#1 unconfirmed: [ ] 2");
}

#[test]
fn a_list_is_the_same_event_whatever_else_is_wanted() {
    let asked = call("1", "TodoWrite", json!({"todos": todos(&[("a", "pending")])}));
    let known = |time: &str, session: &str, mut line: Value| {
        line["session_id"] = json!(session);
        let mut line = kept(time, line);
        line["version"] = json!("2");
        line
    };
    let text = stream_line("assistant", json!({"type": "text", "text": "x"}), None);
    let prompt = stream_line("user", json!({"type": "text", "text": "x"}), None);
    // Lines about sessions, usage and turns are not parsed if only lists are wanted.
    let mut counted = text.clone();
    counted["message"]["id"] = json!("m");
    counted["message"]["usage"] = json!({"output_tokens": 1});
    let mut last = counted.clone();
    last["message"]["stop_reason"] = json!("end_turn");
    let duration = json!({"type": "system", "subtype": "turn_duration", "session_id": "t"});
    let feedback = json!({"type": "text", "text": "Stop hook feedback:\nno"});
    let mut feedback = stream_line("user", feedback, None);
    feedback["isMeta"] = json!(true);
    for end in [last.clone(), duration, feedback, prompt.clone(), last] {
        for before in [vec![], vec![prompt.clone()], vec![prompt.clone(), counted.clone()]] {
            let mut lines = vec![known("12:00:00", "s", text.clone())];
            lines.extend(before.into_iter().map(|it| known("12:00:01", "t", it)));
            lines.push(known("12:00:02", "t", asked.clone()));
            lines.push(known("12:00:03", "t", end.clone()));
            check(&lines, "t#1 unconfirmed: [ ] a");
        }
    }
}

#[test]
fn a_name_that_is_written_with_escapes_is_no_todo_tool_whatever_is_wanted() {
    let asked = call("1", "TodoWrite", json!({"todos": todos(&[("a", "pending")])}));
    let lines = [asked, result("1", "ok", json!({"newTodos": []}))];
    let escaped = String::from_utf8(bytes(&lines)).expect("UTF-8");
    let escaped = escaped.replace("TodoWrite", "TodoWri\\u0074e");
    let head = json!({"type": "mode", "session_id": "s"});
    let first = bytes(&[kept("12:00:00", head)]);
    crate::tests::check(CLAUDE, &[&first[..], escaped.as_bytes()].concat());
    assert_eq!(lists(CLAUDE, escaped.as_bytes()), "");
}
