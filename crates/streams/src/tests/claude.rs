//! Claude Code: recordings, and every trap that they do not show.

use serde_json::{Value, json};

use super::lines::{bytes, check_events, check_known, check_warnings};
use super::{golden, hostile, lists, parse, read, recordings};
use crate::event::owned;
use crate::{Options, Source, recognise};

const CLAUDE: Source = Source::ClaudeCode;

#[test]
fn every_recording_gives_these_events() {
    for (name, bytes) in recordings("claude") {
        golden(CLAUDE, &name, &bytes);
    }
}

#[test]
fn every_recording_is_recognised_and_nothing_in_it_is_unknown() {
    for (name, bytes) in recordings("claude") {
        assert_eq!(recognise(&bytes), Some(CLAUDE), "{name}");
    }
    check_known(CLAUDE);
}

#[test]
fn spoilt_recordings_are_read_as_far_as_they_go() {
    let corpus: Vec<Vec<u8>> = recordings("claude").into_iter().map(|it| it.1).collect();
    hostile(CLAUDE, &corpus);
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

/// Lines to the lists that follow from them, one a line.
#[track_caller]
fn check(lines: &[Value], expected: &str) {
    super::lines::check(CLAUDE, lines, &expected.lines().collect::<Vec<_>>());
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
    let events = super::events(CLAUDE, &bytes(&lines));
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
fn a_success_that_names_no_field_confirms_what_was_asked_for() {
    // It was changed where the stream does not show it: by the user, or by another program.
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

/// A line of a sub-agent inside a line of progress.
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
    assert_eq!(super::lines::tally(CLAUDE, lines).unknown.len(), 0);
}

#[test]
fn a_prompt_that_the_stream_repeats_begins_its_turn() {
    let init = json!({"type": "system", "subtype": "init", "session_id": "s", "model": "m"});
    let said = |text: &str| stream_line("user", json!({"type": "text", "text": text}), None);
    check_events(
        CLAUDE,
        &[init.clone(), said("one"), said("and this"), ended(), init, ended()],
        &[
            "session.started model=m",
            "turn.started prompt=one",
            "text role=user text=and this",
            "turn.completed status=success reason=success",
            "turn.started",
            "turn.completed status=success reason=success",
        ],
    );
}

#[test]
fn a_prompt_of_several_texts_begins_one_turn() {
    let block = |text: &str| json!({"type": "text", "text": text});
    let mut line = kept("12:00:00", stream_line("user", block("<ide_opened_file>a.rs"), None));
    let content = line["message"]["content"].as_array_mut().expect("blocks");
    content.extend([block("Fix it"), block("and test it")]);
    check_events(
        CLAUDE,
        &[line],
        &[
            "text role=system text=<ide_opened_file>a.rs",
            "turn.started prompt=Fix it",
            "text role=user text=and test it",
        ],
    );
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
    let events = super::events(CLAUDE, &bytes(&[asked]));
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
    let events = super::events(CLAUDE, &bytes(&lines));
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
    // Which session began, which message was counted and whether a turn is open is told by lines that
    // are not read if only lists are wanted.
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
    super::check(CLAUDE, &[&first[..], escaped.as_bytes()].concat());
    assert_eq!(lists(CLAUDE, escaped.as_bytes()), "");
}

#[test]
fn a_last_message_of_several_texts_ends_its_turn_once() {
    let says = |text: &str| {
        let mut line =
            kept("12:00:00", stream_line("assistant", json!({"type": "text", "text": text}), None));
        line["message"]["id"] = json!("m");
        line["message"]["stop_reason"] = json!("end_turn");
        line
    };
    let events = super::events(CLAUDE, &bytes(&[says("one"), says("two")]));
    assert_eq!(events.matches("\"turn.completed\"").count(), 1, "{events}");
    assert_eq!(events.matches("\"text\":").count(), 2, "{events}");
}

#[test]
fn a_session_starts_once_and_every_init_begins_a_turn() {
    let hook = json!({"type": "system", "subtype": "hook_started", "session_id": "s"});
    let init = json!({"type": "system", "subtype": "init", "session_id": "s", "model": "m"});
    check_events(
        CLAUDE,
        &[hook, init.clone(), ended(), init, ended()],
        &[
            "session.started model=m",
            "turn.started",
            "turn.completed status=success reason=success",
            "turn.started",
            "turn.completed status=success reason=success",
        ],
    );
}

/// A line of a message in a transcript that has used so many tokens.
fn uses(message: &str, text: &str, output: u64) -> Value {
    let block = json!({"type": "text", "text": text});
    let mut line = kept("12:00:00", stream_line("assistant", block, None));
    line["message"]["id"] = json!(message);
    line["message"]["usage"] = json!({"input_tokens": 1, "cache_read_input_tokens": 2,
        "cache_creation_input_tokens": 4, "output_tokens": output});
    line
}

#[test]
fn what_a_message_used_is_told_once_and_is_what_its_last_line_says() {
    check_events(
        CLAUDE,
        &[uses("m", "one", 1), uses("m", "two", 300), uses("n", "three", 8)],
        &[
            "text role=assistant text=one",
            "text role=assistant text=two",
            "usage inputTokens=7 outputTokens=300 cachedTokens=2",
            "text role=assistant text=three",
            "usage inputTokens=7 outputTokens=8 cachedTokens=2",
        ],
    );
}

#[test]
fn what_a_last_message_used_is_told_before_its_turn_ends_and_what_came_later_is_added() {
    let last = |text: &str, output: u64| {
        let mut line = uses("m", text, output);
        line["message"]["stop_reason"] = json!("end_turn");
        line
    };
    check_events(
        CLAUDE,
        &[last("one", 5), last("two", 30)],
        &[
            "text role=assistant text=one",
            "usage inputTokens=7 outputTokens=5 cachedTokens=2",
            "turn.completed status=success reason=end_turn",
            "text role=assistant text=two",
            "usage outputTokens=25",
        ],
    );
}

#[test]
fn what_agents_use_side_by_side_in_one_file_is_told_of_each() {
    let of_sub = |mut line: Value| {
        line["isSidechain"] = json!(true);
        line["agentId"] = json!("x");
        line
    };
    let lines = [
        uses("m", "a", 1),
        of_sub(uses("n", "b", 2)),
        uses("m", "c", 30),
        of_sub(uses("n", "d", 40)),
    ];
    let events = super::events(CLAUDE, &bytes(&lines));
    let told = |agent: &str, output: u64| {
        let of = events.lines().map(super::parse).filter(|it| it.agent_id == agent);
        let used = of.filter(|it| matches!(&it.kind, owned::Kind::Usage { .. }));
        assert_eq!(used.count(), 1, "{agent}: {events}");
        assert!(events.contains(&format!("\"outputTokens\":{output}")), "{events}");
    };
    told("s", 30);
    told("s/x", 40);
}

#[test]
fn what_a_hook_says_is_not_the_users_word_and_a_stop_that_it_blocked_goes_on() {
    let says = |text: &str| stream_line("user", json!({"type": "text", "text": text}), None);
    let mut synthetic = says("Stop hook feedback:\nnot yet");
    synthetic["isSynthetic"] = json!(true);
    check_events(
        CLAUDE,
        &[synthetic, ended()],
        &[
            "text role=system text=Stop hook feedback:\nnot yet",
            "turn.completed status=success reason=success",
        ],
    );
    let mut meta = says("Stop hook feedback:\nnot yet");
    meta["isMeta"] = json!(true);
    let mut last = stream_line("assistant", json!({"type": "text", "text": "done"}), None);
    last["message"]["stop_reason"] = json!("end_turn");
    let lines = [says("go"), last, meta].map(|it| kept("12:00:00", it));
    check_events(
        CLAUDE,
        &lines,
        &[
            "turn.started prompt=go",
            "text role=assistant text=done",
            "turn.completed status=success reason=end_turn",
            "turn.started",
            "text role=system text=Stop hook feedback:\nnot yet",
        ],
    );
}

#[test]
fn compaction_keeps_the_list_and_its_summary_is_not_the_users_word() {
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "session_id": "s"});
    let status =
        json!({"type": "system", "subtype": "status", "status": "compacting", "session_id": "s"});
    let summary = json!({"type": "text", "text": "This session is being continued"});
    let mut summary = stream_line("user", summary, None);
    summary["isSynthetic"] = json!(true);
    let mut lines = create("1", "1", "a").to_vec();
    lines.extend([status, boundary, summary]);
    lines.extend(create("2", "2", "b"));
    check(&lines, "s#1: [ ] #1 a\ns#1: [ ] #1 a, [ ] #2 b");
    let events = super::events(CLAUDE, &bytes(&lines));
    assert!(events.contains("\"role\":\"system\",\"text\":\"This session"), "{events}");
}

#[test]
fn a_retry_is_no_end_and_what_is_shown_last_of_an_api_error_is() {
    let retry = json!({"type": "system", "subtype": "api_retry", "attempt": 1, "error": "overloaded",
                       "error_status": 529, "session_id": "s"});
    let mut said = stream_line("assistant", json!({"type": "text", "text": "API Error"}), None);
    said["error"] = json!("server_error");
    said["message"]["model"] = json!("<synthetic>");
    let over = json!({"type": "result", "subtype": "success", "is_error": true,
                      "api_error_status": null, "session_id": "s"});
    check_events(
        CLAUDE,
        &[retry, said, over],
        &[
            "error message=overloaded code=529 recoverable=true",
            "error message=API Error code=server_error",
            "turn.completed status=error reason=api_error",
        ],
    );
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
        CLAUDE,
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
    let lines = super::check(CLAUDE, &all);
    let whys: Vec<String> = lines.lines().map(|it| super::in_short(&parse(it))).collect();
    assert_eq!(
        whys,
        [
            "Warning { line: 1, why: \"not JSON at byte 1: expected value\" }",
            "Warning { line: 3, why: \"not a JSON object\" }",
            "Warning { line: 4, why: \"not JSON at byte 8: EOF while parsing a value\" }",
            "s#1 unconfirmed: [ ] a",
        ]
    );
}

#[test]
fn results_that_are_not_understood_or_never_come_are_never_silence() {
    let calls = |lines: &[Value]| {
        let tally = super::lines::tally(CLAUDE, lines);
        (tally.todo_calls, tally.lists)
    };
    let asked = |id: &str, tool: &str| {
        let mut line = call(id, tool, json!({"taskId": "1", "subject": "a"}));
        line["message"]["id"] = json!(id);
        line
    };
    let odd = json!({"state": "fine"});
    let lines = [
        asked("1", "TaskCreate"),
        result("1", "Made it", odd.clone()),
        asked("2", "TaskUpdate"),
        result("2", "Changed it", odd),
    ];
    check_warnings(
        CLAUDE,
        &lines,
        &[
            "2: a task was created, but its result does not say which",
            "4: a task was changed, but its result does not say how",
        ],
    );
    assert_eq!(calls(&lines), (2, 0));
    let lost = [asked("1", "TaskCreate"), asked("2", "TaskUpdate"), asked("3", "TaskList")];
    assert_eq!(calls(&lost), (2, 0), "the results were called otherwise");
    let no = json!({"success": false, "taskId": "1", "updatedFields": [], "error": "no"});
    let refused = [asked("1", "TaskUpdate"), result("1", "no", no)];
    assert_eq!(calls(&refused), (0, 0), "a refusal is no drift");
}

#[test]
fn unknown_kinds_are_counted_by_name() {
    let lines = [
        json!({"type": "moon", "session_id": "s"}),
        json!({"type": "moon", "session_id": "s"}),
        json!({"type": "system", "subtype": "tide", "session_id": "s"}),
        stream_line("assistant", json!({"type": "poem"}), None),
    ];
    let (events, tally) = read(CLAUDE, Options::default(), &bytes(&lines), 100);
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
        let events = super::events(CLAUDE, &bytes(lines));
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
        let events = super::events(CLAUDE, &bytes(&[line]));
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
    let (_, tally) = read(CLAUDE, Options::default(), &bytes(&lines), 1 << 16);
    assert_eq!(tally.lists, 2_000);
    let mut long = create("1", "1", "a").to_vec();
    let text = "x".repeat(3 << 20);
    long.extend(create("2", "2", &text));
    long.extend(create("3", "3", &text));
    let (events, _) = read(CLAUDE, Options::default(), &bytes(&long), 1 << 16);
    let why = "\"line\":6,\"why\":\"the list is too long; it is not complete\"";
    assert!(events.contains(why), "the third is not kept");
}
