//! Claude Code: recordings, and every trap that they do not show.

use serde_json::{Value, json};

use super::{golden, hostile, lists, parse, read, recordings};
use crate::stream::{Options, Source, owned, recognise};

#[test]
fn every_recording_gives_these_events() {
    for (name, bytes) in recordings("claude") {
        golden(Source::ClaudeCode, &name, &bytes);
    }
}

#[test]
fn every_recording_is_recognised() {
    for (name, bytes) in recordings("claude") {
        assert_eq!(recognise(&bytes), Some(Source::ClaudeCode), "{name}");
    }
}

#[test]
fn spoilt_recordings_are_read_as_far_as_they_go() {
    let corpus: Vec<Vec<u8>> = recordings("claude").into_iter().map(|it| it.1).collect();
    hostile(Source::ClaudeCode, &corpus);
}

/// A line of the stream: its type and message, and whose it is.
fn stream_line(kind: &str, content: Value, parent: Option<&str>) -> Value {
    json!({
        "type": kind,
        "message": {"role": kind, "content": [content]},
        "parent_tool_use_id": parent,
        "session_id": "s",
    })
}

fn call(id: &str, name: &str, input: Value) -> Value {
    let content = json!({"type": "tool_use", "id": id, "name": name, "input": input});
    stream_line("assistant", content, None)
}

/// A result as the main agent gets it: the text for the model, and what the program keeps.
fn result(id: &str, text: &str, structured: Value) -> Value {
    let mut line = text_result(id, text);
    line["tool_use_result"] = structured;
    line
}

/// A result as a sub-agent gets it.
fn text_result(id: &str, text: &str) -> Value {
    stream_line("user", json!({"type": "tool_result", "tool_use_id": id, "content": text}), None)
}

fn refused(id: &str, text: &str) -> Value {
    let mut line = result(id, text, json!(format!("Error: {text}")));
    line["message"]["content"][0]["is_error"] = json!(true);
    line
}

/// The same line, of a sub-agent.
fn of_agent(call: &str, mut line: Value) -> Value {
    line["parent_tool_use_id"] = json!(call);
    line
}

/// The same line, in a transcript.
fn kept(time: &str, mut line: Value) -> Value {
    let fields = line.as_object_mut().expect("an object");
    fields.remove("parent_tool_use_id");
    let session = fields.remove("session_id").expect("a session");
    fields.insert("sessionId".into(), session);
    if let Some(result) = fields.remove("tool_use_result") {
        fields.insert("toolUseResult".into(), result);
    }
    fields.insert("timestamp".into(), json!(format!("2026-11-15T{time}.000Z")));
    line
}

fn create(id: &str, number: &str, subject: &str) -> [Value; 2] {
    [
        call(id, "TaskCreate", json!({"subject": subject, "description": "d"})),
        result(
            id,
            &format!("Task #{number} created successfully: {subject}"),
            json!({"task": {"id": number, "subject": subject}}),
        ),
    ]
}

fn updated(id: &str, number: &str, fields: Value) -> Value {
    let structured = json!({"success": true, "taskId": number, "updatedFields": fields});
    result(id, &format!("Updated task #{number} x"), structured)
}

fn update(id: &str, number: &str, mut input: Value, fields: Value) -> [Value; 2] {
    input["taskId"] = json!(number);
    [call(id, "TaskUpdate", input), updated(id, number, fields)]
}

fn ended() -> Value {
    json!({"type": "result", "subtype": "success", "is_error": false, "session_id": "s"})
}

fn todos(entries: &[(&str, &str)]) -> Value {
    let entry = |(text, status): &(&str, &str)| json!({"content": text, "status": status, "activeForm": "x"});
    entries.iter().map(entry).collect()
}

fn bytes(lines: &[Value]) -> Vec<u8> {
    lines.iter().flat_map(|it| format!("{it}\n").into_bytes()).collect()
}

/// Lines to the lists that follow from them, and any other way to read them to the same.
#[track_caller]
fn check(lines: &[Value], expected: &str) {
    let bytes = bytes(lines);
    super::check(Source::ClaudeCode, &bytes);
    assert_eq!(lists(Source::ClaudeCode, &bytes).trim_end(), expected);
}

/// Lines to the warnings that follow from them.
#[track_caller]
fn check_warnings(lines: &[Value], expected: &[&str]) {
    let all = super::check(Source::ClaudeCode, &bytes(lines));
    let mut warnings = Vec::new();
    for line in all.lines() {
        if let owned::Kind::Warning { line, why } = parse(line).kind {
            warnings.push(format!("{line}: {why}"));
        }
    }
    assert_eq!(warnings, expected);
}

#[test]
fn what_newer_versions_keep_for_themselves_is_known() {
    let of = |kind: &str, more: Value| {
        let mut line = json!({"type": kind, "sessionId": "s", "version": "2.1.325"});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    let mut lines = Vec::new();
    for kind in ["api-request", "api-request-blob", "api-request-shape", "atis-latch", "cost-state"]
    {
        lines.push(of(kind, json!({"params": {}})));
    }
    lines.push(of("tools-used", json!({"tools": ["TaskCreate"]})));
    for kind in [
        "date",
        "environment",
        "model",
        "prompt_snapshot",
        "remote_session_change",
        "session_context",
        "silent_turn_reminder",
    ] {
        lines.push(of("attachment", json!({"attachment": {"type": kind}})));
    }
    for subtype in ["background_tasks_changed", "permission_denied"] {
        lines.push(of("system", json!({"subtype": subtype})));
    }
    let bytes = bytes(&lines);
    let (_, tally) = read(Source::ClaudeCode, Options::default(), &bytes, bytes.len());
    assert_eq!(tally.unknown, std::collections::BTreeMap::new());
}

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
    let events = super::events(Source::ClaudeCode, &bytes(&lines));
    let events: Vec<&str> = events.lines().collect();
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].contains("\"type\":\"tool.scheduled\""), "background work is no plan");
    assert!(events[0].contains("\"name\":\"TaskOutput\""));
}

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
    let lists = lists(Source::ClaudeCode, &bytes(&lines));
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
    let lists = lists(Source::ClaudeCode, &bytes(&lines));
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
    let lists = lists(Source::ClaudeCode, &bytes(&lines));
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
    check(&lines, "s#1: [ ] #1 a\ns#1: [>] #1 a2\ns#1:");
}

#[test]
fn a_task_from_before_the_stream_is_shown_by_its_number_with_a_warning() {
    let lines = update("1", "3", json!({"status": "in_progress"}), json!(["status"]));
    check(&lines, "s#1: [>] #3 Task #3");
    check_warnings(&lines, &["2: task 3 was created before this stream"]);
}

#[test]
fn a_finished_list_that_the_screen_drops_is_not_cleared_and_the_next_task_begins_a_new_one() {
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend(update("2", "1", json!({"status": "completed"}), json!(["status"])));
    lines.extend([call("3", "TaskList", json!({})), result("3", "", json!({"tasks": []}))]);
    lines.extend(create("4", "2", "b"));
    check(&lines, "s#1: [ ] #1 a\ns#1: [x] #1 a\ns#2: [ ] #2 b");
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
    let events = super::events(Source::ClaudeCode, &bytes(&[asked]));
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
        &lines,
        &["2: a list was written as a text, but it is not JSON: it ends in the middle"],
    );
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
         s#1: [>] #2 sub: with colon",
    );
    let events = super::events(Source::ClaudeCode, &bytes(&lines));
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
fn items_that_cannot_be_shown_are_left_out_with_a_warning() {
    let bad = json!([
        {"content": "good", "status": "pending"},
        {"content": " \n\t", "status": "pending"},
        {"content": "x", "status": "blocked"},
        {"content": "x"},
        {"status": "pending"},
        "text",
    ]);
    let lines = [
        call("1", "TodoWrite", json!({"todos": bad})),
        result("1", "ok", json!({"newTodos": bad})),
    ];
    check(&lines, "s#1: [ ] good");
    check_warnings(
        &lines,
        &[
            "2: item 2 has no text; it is left out",
            "2: item 3 has the unknown status \"blocked\"; it is left out",
            "2: item 4 has no status; it is left out",
            "2: item 5 has no text; it is left out",
            "2: item 6 has no text; it is left out",
        ],
    );
}

#[test]
fn malformed_lines_are_told_and_the_next_is_read() {
    let good = call("1", "TodoWrite", json!({"todos": todos(&[("a", "pending")])}));
    let mut all = b"stray text\n\n[1]\n{\"type\":\n".to_vec();
    all.extend(bytes(&[good]));
    let lines = super::check(Source::ClaudeCode, &all);
    let whys: Vec<String> = lines.lines().map(|it| super::in_short(&parse(it))).collect();
    assert_eq!(
        whys,
        [
            "Warning { line: 1, why: \"not JSON at byte 1\" }",
            "Warning { line: 3, why: \"not a JSON object\" }",
            "Warning { line: 4, why: \"not JSON: it ends in the middle\" }",
            "s#1 unconfirmed: [ ] a",
        ]
    );
}

#[test]
fn unknown_kinds_are_counted_by_name() {
    let lines = [
        json!({"type": "moon", "session_id": "s"}),
        json!({"type": "moon", "session_id": "s"}),
        json!({"type": "system", "subtype": "tide", "session_id": "s"}),
        stream_line("assistant", json!({"type": "poem"}), None),
    ];
    let (events, tally) = read(Source::ClaudeCode, Options::default(), &bytes(&lines), 100);
    assert_eq!(events, "");
    let unknown: Vec<String> =
        tally.unknown.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
    assert_eq!(unknown, ["assistant/poem 1", "moon 2", "system/tide 1"]);
}

#[test]
fn an_answer_that_broke_off_is_told_as_far_as_it_came() {
    let delta = |text: &str| {
        json!({"type": "stream_event", "session_id": "s", "event": {"type": "content_block_delta",
               "delta": {"type": "text_delta", "text": text}}})
    };
    let whole = stream_line("assistant", json!({"type": "text", "text": "one two"}), None);
    let said = |lines: &[Value]| {
        let events = super::events(Source::ClaudeCode, &bytes(lines));
        events.lines().map(|it| super::in_short(&parse(it))).collect::<Vec<_>>()
    };
    assert_eq!(
        said(&[delta("one "), delta("two"), whole]),
        ["Text { role: Assistant, text: \"one two\", delta: false }"]
    );
    assert_eq!(
        said(&[delta("one "), delta("two")]),
        ["Text { role: Assistant, text: \"one two\", delta: true }"]
    );
}

#[test]
fn turns_end_as_the_source_says_and_not_as_it_calls_itself() {
    #[track_caller]
    fn check(mut line: Value, expected: &str) {
        line["type"] = json!("result");
        line["session_id"] = json!("s");
        let events = super::events(Source::ClaudeCode, &bytes(&[line]));
        let last = events.lines().last().map(|it| super::in_short(&parse(it)));
        assert_eq!(last.as_deref(), Some(expected));
    }
    check(
        json!({"subtype": "success", "is_error": false, "terminal_reason": "completed"}),
        "TurnCompleted { status: Success, reason: Some(\"completed\") }",
    );
    check(
        json!({"subtype": "success", "is_error": true, "api_error_status": null}),
        "TurnCompleted { status: Error, reason: Some(\"api_error\") }",
    );
    check(
        json!({"subtype": "error_max_budget_usd", "is_error": true}),
        "TurnCompleted { status: Error, reason: Some(\"error_max_budget_usd\") }",
    );
    check(
        json!({"subtype": "error_during_execution", "is_error": true,
               "terminal_reason": "aborted_tools", "errors": ["[diagnostic]"]}),
        "TurnCompleted { status: Cancelled, reason: Some(\"aborted_tools\") }",
    );
}

#[test]
fn state_is_bounded_whatever_comes() {
    let mut lines = Vec::new();
    for session in 0..2_000 {
        for mut line in create("1", "1", "a") {
            line["session_id"] = json!(format!("session {session}"));
            lines.push(line);
        }
        lines.push(json!({"type": "system", "subtype": "task_started", "session_id": "s",
                          "task_id": format!("a{session}"), "tool_use_id": format!("t{session}")}));
        lines.push(call(&format!("open {session}"), "TaskList", json!({})));
    }
    let (_, tally) = read(Source::ClaudeCode, Options::default(), &bytes(&lines), 1 << 16);
    assert_eq!(tally.lists, 2_000);
    let mut long = create("1", "1", "a").to_vec();
    let text = "x".repeat(3 << 20);
    long.extend(create("2", "2", &text));
    long.extend(create("3", "3", &text));
    let (events, _) = read(Source::ClaudeCode, Options::default(), &bytes(&long), 1 << 16);
    let why = "\"line\":6,\"why\":\"the list is too long; it is not complete\"";
    assert!(events.contains(why), "the third is not kept");
}
