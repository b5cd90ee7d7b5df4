//! Tests of Gemini CLI: recordings, and cases that are not in them.

use serde_json::{Value, json};

use crate::event::owned;
use crate::tests::lines::{agents, check, check_events, check_known, check_warnings, tally};
use crate::tests::{golden, hostile, recordings};
use crate::{Source, recognise};

const GEMINI: Source = Source::Gemini;

#[test]
fn every_recording_gives_these_events() {
    for (name, bytes) in recordings("gemini") {
        golden(GEMINI, &name, &bytes);
    }
}

#[test]
fn every_recording_is_recognised_and_nothing_in_it_is_unknown() {
    for (name, bytes) in recordings("gemini") {
        // A program that could not start prints nothing.
        let expected = (!bytes.is_empty()).then_some(GEMINI);
        assert_eq!(recognise(&bytes), expected, "{name}");
    }
    check_known(GEMINI);
}

#[test]
fn spoilt_recordings_are_read_as_far_as_they_go() {
    let corpus: Vec<Vec<u8>> = recordings("gemini").into_iter().map(|it| it.1).collect();
    hostile(GEMINI, &corpus);
}

fn todos(entries: &[(&str, &str)]) -> Value {
    let entry = |(text, status): &(&str, &str)| json!({"description": text, "status": status});
    entries.iter().map(entry).collect()
}

// The output of `stream-json`.

const TIME: &str = "2026-11-15T18:05:05.978Z";

fn init(session: &str) -> Value {
    json!({"type": "init", "timestamp": TIME, "session_id": session, "model": "auto"})
}

fn used(id: &str, tool: &str, parameters: Value) -> Value {
    json!({"type": "tool_use", "timestamp": TIME, "tool_name": tool, "tool_id": id,
           "parameters": parameters})
}

fn write(id: &str, entries: &[(&str, &str)]) -> Value {
    used(id, "write_todos", json!({"todos": todos(entries)}))
}

fn done(id: &str) -> Value {
    json!({"type": "tool_result", "timestamp": TIME, "tool_id": id, "status": "success"})
}

fn said(id: &str, output: &str) -> Value {
    let mut line = done(id);
    line["output"] = json!(output);
    line
}

fn failed(id: &str, kind: &str) -> Value {
    let error = json!({"type": kind, "message": "because"});
    json!({"type": "tool_result", "timestamp": TIME, "tool_id": id, "status": "error",
           "output": "no", "error": error})
}

fn result(status: &str) -> Value {
    json!({"type": "result", "timestamp": TIME, "status": status, "stats": {"input_tokens": 1}})
}

#[test]
fn a_list_is_that_of_the_call_once_the_result_is_a_success() {
    check(
        GEMINI,
        &[
            init("s"),
            write("w1", &[("a", "in_progress"), ("b", "blocked"), ("c", "cancelled")]),
            done("w1"),
            write("w2", &[("x", "in_progress"), ("y", "in_progress")]),
            failed("w2", "invalid_tool_params"),
            write("w3", &[("z", "pending")]),
            failed("w3", "policy_violation"),
            write("w4", &[]),
            done("w4"),
            write("w5", &[("d", "completed")]),
            done("w5"),
        ],
        &["s#1: [>] a, [ ] b (blocked), [-] c", "s#1: ", "s#2: [x] d"],
    );
}

#[test]
fn results_come_together_and_in_an_order_of_their_own() {
    check(
        GEMINI,
        &[
            init("s"),
            used("t", "update_topic", json!({"title": "T"})),
            write("opaque 1", &[("a", "pending")]),
            used("r", "read_file", json!({})),
            write("opaque 2", &[("b", "pending")]),
            said("t", "topic"),
            done("opaque 2"),
            said("r", ""),
            done("opaque 1"),
        ],
        &["s#1: [ ] b", "s#1: [ ] a"],
    );
}

#[test]
fn a_cancelled_call_is_reported_as_a_success_and_is_none() {
    check(
        GEMINI,
        &[init("s"), write("w", &[("a", "pending")]), said("w", "User denied execution.")],
        &[],
    );
    check_events(
        GEMINI,
        &[
            said("c", "Command cancelled by user."),
            said("d", "exit 3"),
            failed("e", "mcp_tool_error"),
        ],
        &[
            "tool.completed callId=c status=cancelled output=Command cancelled by user.",
            "tool.completed callId=d status=success output=exit 3",
            "tool.completed callId=e status=error output=because",
        ],
    );
}

#[test]
fn a_list_that_the_result_shows_is_believed_before_that_of_the_call() {
    let shown = json!({"todos": todos(&[("taken", "pending")])}).to_string();
    check(
        GEMINI,
        &[init("s"), write("w", &[("asked", "pending")]), said("w", &shown)],
        &["s#1: [ ] taken"],
    );
    let tree = json!({"todos": todos(&[
        ("epic: Ship: it (now) (60dc40)", "pending"),
        ("  task: Code (10e943)", "blocked"),
        ("    bug: Fix (aaaaaa)", "completed"),
        ("  task: Test (2dd24b)", "in_progress"),
        ("no task", "pending"),
    ])});
    let lines =
        [init("s"), used("t", "tracker_list_tasks", json!({})), said("t", &tree.to_string())];
    check(
        GEMINI,
        &lines,
        &["s#1: [ ] #60dc40 Ship: it (now), [ ] #10e943 Code (blocked), [x] #aaaaaa Fix, \
           [>] #2dd24b Test, [ ] no task"],
    );
    let all = crate::tests::events(GEMINI, &crate::tests::lines::bytes(&lines));
    let parents: Vec<&str> = all.matches("\"parent\":\"60dc40\"").collect();
    assert_eq!((parents.len(), all.matches("\"parent\":\"10e943\"").count()), (2, 1));
}

#[test]
fn a_list_that_was_never_answered_is_told_at_the_end_as_a_wish() {
    let asked = [init("s"), write("1", &[("a", "pending")]), write("2", &[("b", "pending")])];
    let with = |end: &[Value]| [&asked[..], end].concat();
    let wish = "s#1 unconfirmed: [ ] b";
    // After a signal, the stream ends without a further line.
    check(GEMINI, &with(&[]), &[wish]);
    check(GEMINI, &with(&[result("error")]), &[wish]);
    check(GEMINI, &with(&[init("s")]), &[wish]);
    check(GEMINI, &with(&[done("2"), result("success")]), &["s#1: [ ] b"]);
}

#[test]
fn the_trackers_tasks_are_known_by_title_alone_and_how_they_stand_is_a_guess() {
    let create = |id: &str, title: &str| used(id, "tracker_create_task", json!({"title": title}));
    let update =
        |id: &str| used(id, "tracker_update_task", json!({"id": "10e943", "status": "closed"}));
    let lines = [
        init("s"),
        create("1", "a"),
        create("2", "refused"),
        done("1"),
        failed("2", "execution_failed"),
        update("3"),
        done("3"),
        update("4"),
        done("4"),
        used("5", "tracker_visualize", json!({})),
        done("5"),
        create("6", "b"),
        done("6"),
    ];
    check(GEMINI, &lines, &["s#1: [ ] a", "s#1: [ ] a", "s#1: [ ] a, [ ] b"]);
    let why = "7: the stream does not say which task was changed; the session's chat file does";
    check_warnings(GEMINI, &lines, &[why]);
    let all = crate::tests::events(GEMINI, &crate::tests::lines::bytes(&lines));
    let assumed: Vec<usize> = all
        .lines()
        .filter(|it| it.contains("todo_list"))
        .map(|it| it.matches("\"assumed\":true").count())
        .collect();
    assert_eq!(assumed, [0, 1, 2]);
}

#[test]
fn turns_end_in_more_ways_than_well() {
    let error = |kind: &str| {
        let mut line = result("error");
        line["error"] = json!({"type": kind, "message": "why"});
        line
    };
    let warning = |severity: &str| json!({"type": "error", "timestamp": TIME, "severity": severity, "message": "oh"});
    let user = json!({"type": "message", "timestamp": TIME, "role": "user", "content": "go"});
    check_events(
        GEMINI,
        &[
            user,
            warning("warning"),
            result("success"),
            warning("error"),
            result("error"),
            error("FatalTurnLimitedError"),
            error("FatalCancellationError"),
        ],
        &[
            "turn.started prompt=go",
            "error message=oh recoverable=true",
            "usage inputTokens=1",
            "turn.completed status=success",
            "error message=oh",
            "usage inputTokens=1",
            "turn.completed status=error",
            "usage inputTokens=1",
            "error message=why code=FatalTurnLimitedError",
            "turn.completed status=error reason=FatalTurnLimitedError",
            "usage inputTokens=1",
            "turn.completed status=cancelled reason=FatalCancellationError",
        ],
    );
}

#[test]
fn a_turn_without_a_result_ends_with_the_process() {
    let user =
        |text: &str| json!({"type": "message", "timestamp": TIME, "role": "user", "content": text});
    let said = json!({"type": "message", "timestamp": TIME, "role": "assistant", "content": "hm"});
    check_events(
        GEMINI,
        &[init("s"), user("go"), said.clone(), init("s"), user("again"), said],
        &[
            "session.started model=auto",
            "turn.started prompt=go",
            "text role=assistant text=hm",
            "turn.completed status=cancelled reason=no result",
            "session.started model=auto",
            "turn.started prompt=again",
            "text role=assistant text=hm",
            "turn.completed status=cancelled reason=no result",
        ],
    );
}

#[test]
fn a_stop_that_a_hook_blocked_is_a_warning_and_the_turn_goes_on() {
    let blocked = json!({"type": "error", "timestamp": TIME, "severity": "warning",
                         "message": "Agent execution blocked: open items"});
    check(
        GEMINI,
        &[
            init("s"),
            write("1", &[("a", "in_progress")]),
            done("1"),
            blocked,
            write("2", &[("a", "completed")]),
            done("2"),
            result("success"),
        ],
        &["s#1: [>] a", "s#1: [x] a"],
    );
}

#[test]
fn a_resumed_session_is_the_same_and_its_list_goes_on() {
    check(
        GEMINI,
        &[
            init("s"),
            write("1", &[("a", "pending")]),
            done("1"),
            result("success"),
            init("s"),
            write("2", &[("a", "completed")]),
            done("2"),
        ],
        &["s#1: [ ] a", "s#1: [x] a"],
    );
}

#[test]
fn a_sub_agent_is_one_call() {
    check_events(
        GEMINI,
        &[used("i", "invoke_agent", json!({"agent_name": "x"})), done("i")],
        &[
            "tool.scheduled callId=i name=invoke_agent input={\"agent_name\":\"x\"}",
            "tool.completed callId=i status=success",
        ],
    );
}

#[test]
fn items_that_cannot_be_shown_are_left_out_with_a_warning() {
    let lines = [
        init("s"),
        used(
            "w",
            "write_todos",
            json!({"todos": [
                {"description": " ", "status": "pending"},
                {"description": "a", "status": "paused"},
                {"description": "b"},
                "c",
                {"description": "d", "status": "pending"},
            ]}),
        ),
        done("w"),
        used("x", "write_todos", json!({"todos": "all"})),
        done("x"),
    ];
    check(GEMINI, &lines, &["s#1: [ ] d"]);
    check_warnings(
        GEMINI,
        &lines,
        &[
            "3: item 1 has no text; it is left out",
            "3: item 2 has the unknown status \"paused\"; it is left out",
            "3: item 3 has no status; it is left out",
            "3: item 4 has no text; it is left out",
            "5: a list was written, but its call has none",
        ],
    );
}

// Chat files.

fn header(session: &str) -> Value {
    json!({"sessionId": session, "projectHash": "h", "startTime": TIME, "lastUpdated": TIME,
           "kind": "main"})
}

fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "timestamp": TIME, "type": "user", "content": [{"text": text}]})
}

fn gemini(id: &str, text: &str, calls: &[Value]) -> Value {
    let mut line = json!({"id": id, "timestamp": TIME, "type": "gemini", "content": text,
                          "tokens": {"input": 1, "output": 2}});
    if !calls.is_empty() {
        line["toolCalls"] = json!(calls);
    }
    line
}

/// A successful call of `write_todos`.
fn wrote(id: &str, entries: &[(&str, &str)]) -> Value {
    json!({"id": id, "name": "write_todos", "args": {"todos": todos(entries)}, "status": "success",
           "timestamp": TIME, "resultDisplay": {"todos": todos(entries)}})
}

fn answer(id: &str, text: &str) -> Value {
    let part = json!({"functionResponse": {"id": id, "name": "x", "response": {"output": text}}});
    json!({"id": format!("answer to {id}"), "timestamp": TIME, "type": "user", "content": [part]})
}

#[test]
fn a_message_that_comes_again_is_told_once_and_its_calls_as_they_end() {
    let one = wrote("1", &[("a", "pending")]);
    let two = wrote("2", &[("a", "completed")]);
    check_events(
        GEMINI,
        &[
            header("s"),
            user("u", "go"),
            gemini("m", "hi", &[]),
            gemini("m", "hi", std::slice::from_ref(&one)),
            answer("1", "Successfully updated"),
            gemini("m", "hi", &[one, two]),
        ],
        &[
            "session.started",
            "turn.started prompt=go",
            "text role=assistant text=hi",
            "usage inputTokens=1 outputTokens=2",
            "todo_list todoId=s#1",
            "todo_list todoId=s#1",
        ],
    );
}

/// Checks the turns of a chat file.
#[track_caller]
fn check_turns(lines: &[Value], expected: &[&str]) {
    let all = crate::tests::check(GEMINI, &crate::tests::lines::bytes(lines));
    let mut turns = Vec::new();
    for line in all.lines() {
        let kind = crate::tests::parse(line).kind;
        if let owned::Kind::TurnStarted { prompt, .. } = kind {
            turns.push(format!("started {}", prompt.unwrap_or_default()));
        } else if let owned::Kind::TurnCompleted { status, .. } = kind {
            turns.push(format!("{status:?}"));
        }
    }
    assert_eq!(turns, expected);
}

#[test]
fn a_chat_files_turn_is_over_when_the_next_begins_or_the_file_ends_after_an_answer() {
    let call = wrote("1", &[("a", "pending")]);
    check_turns(
        &[
            header("s"),
            user("u1", "one"),
            gemini("m1", "I will", &[]),
            gemini("m1", "I will", std::slice::from_ref(&call)),
            answer("1", "Successfully updated"),
            gemini("m2", "Done.", &[]),
            user("u2", "two"),
            user("u3", "three"),
            gemini("m3", "Done too.", &[]),
        ],
        &["started one", "Success", "started two", "Cancelled", "started three", "Success"],
    );
    // It is unknown whether the turn continues.
    let last = [header("s"), user("u", "one"), gemini("m", "I will", &[call])];
    check_turns(&last, &["started one"]);
    check_turns(&last[..2], &["started one"]);
}

#[test]
fn a_chat_files_turn_that_failed_or_was_cancelled_is_over() {
    let told = |kind: &str, text: &str| json!({"id": text, "timestamp": TIME, "type": kind, "content": text});
    let mut cancelled = wrote("1", &[("a", "pending")]);
    cancelled["status"] = json!("cancelled");
    check_turns(
        &[
            header("s"),
            user("u1", "one"),
            told("error", "[API Error: quota]"),
            user("u2", "two"),
            gemini("m2", "half an ans", &[]),
            told("info", "Request cancelled."),
            user("u3", "three"),
            gemini("m3", "I will", &[cancelled]),
            user("u4", "four"),
            told("warning", "slow"),
            gemini("m4", "Done.", &[]),
        ],
        &[
            "started one",
            "Error",
            "started two",
            "Cancelled",
            "started three",
            "Cancelled",
            "started four",
            "Success",
        ],
    );
}

#[test]
fn what_a_hook_rewrote_is_taken_from_what_the_chat_file_shows() {
    let mut call = wrote("1", &[("taken", "completed")]);
    call["args"] = json!({"todos": todos(&[("asked", "pending")])});
    check(GEMINI, &[header("s"), gemini("m", "", &[call])], &["s#1: [x] taken"]);
}

#[test]
fn calls_that_failed_or_were_cancelled_change_nothing_and_unfinished_ones_are_awaited() {
    let with = |status: &str| {
        let mut call = wrote("1", &[("a", "pending")]);
        call["status"] = json!(status);
        call
    };
    for status in ["error", "cancelled"] {
        check(GEMINI, &[header("s"), gemini("m", "", &[with(status)])], &[]);
    }
    check(
        GEMINI,
        &[header("s"), gemini("m", "", &[with("executing")]), gemini("m", "", &[with("success")])],
        &["s#1: [ ] a"],
    );
    let mut stopped = with("cancelled");
    stopped["name"] = json!("run_shell_command");
    stopped["args"] = json!({});
    stopped["resultDisplay"] = json!("stopped");
    check_events(
        GEMINI,
        &[json!({"id": "m", "type": "gemini", "content": "", "toolCalls": [stopped]})],
        &[
            "tool.scheduled callId=1 name=run_shell_command input={}",
            "tool.completed callId=1 name=run_shell_command status=cancelled output=stopped",
        ],
    );
}

fn checkpoint(messages: &[Value]) -> Value {
    json!({"$set": {"messages": messages, "lastUpdated": TIME}})
}

/// A message of a checkpoint, with the call as a part of it.
fn restated(id: &str, call: &str, entries: &[(&str, &str)]) -> Value {
    let part = json!({"functionCall": {"id": call, "name": "write_todos",
                      "args": {"todos": todos(entries)}}});
    json!({"id": id, "type": "gemini", "content": [{"text": "hi"}, part]})
}

#[test]
fn a_checkpoint_tells_nothing_that_was_told() {
    let lines = [
        header("s"),
        user("u", "go"),
        gemini("m", "hi", &[wrote("1", &[("a", "pending")])]),
        gemini("n", "", &[wrote("2", &[("a", "completed")])]),
        header("s"),
        checkpoint(&[
            user("other u", "go"),
            restated("other m", "1", &[("a", "pending")]),
            answer("1", "Successfully updated"),
            restated("other n", "2", &[("a", "completed")]),
            answer("2", "Successfully updated"),
        ]),
    ];
    check(GEMINI, &lines, &["s#1: [ ] a", "s#1: [x] a"]);
    let turns = crate::tests::events(GEMINI, &crate::tests::lines::bytes(&lines));
    assert_eq!(turns.matches("turn.started").count(), 1);
}

#[test]
fn a_file_that_begins_with_anothers_history_tells_how_its_list_stands() {
    let refused = json!({"functionResponse": {"id": "3", "response": {"error": "no"}}});
    let lines = [
        header("s"),
        checkpoint(&[
            restated("m", "1", &[("a", "pending")]),
            answer("1", "Successfully updated"),
            restated("n", "2", &[("a", "completed")]),
            answer("2", "Successfully updated"),
            restated("o", "3", &[("never", "pending")]),
            json!({"id": "p", "type": "user", "content": [refused]}),
        ]),
    ];
    check(GEMINI, &lines, &["s#1: [x] a"]);
    // The same with calls in their stored form.
    let kept = checkpoint(&[gemini("m", "hi", &[wrote("1", &[("a", "pending")])])]);
    check(GEMINI, &[header("s"), kept.clone(), kept], &["s#1: [ ] a"]);
}

#[test]
fn a_chat_that_is_taken_back_has_the_list_that_it_had() {
    let lines = [
        header("s"),
        user("u1", "go"),
        gemini("m1", "", &[wrote("1", &[("a", "pending")])]),
        user("u2", "on"),
        gemini("m2", "", &[wrote("2", &[("a", "completed")])]),
        json!({"$rewindTo": "u2"}),
        user("u3", "other"),
        json!({"$rewindTo": "u3"}),
        json!({"$rewindTo": "u1"}),
        json!({"$rewindTo": "u1"}),
        gemini("m3", "", &[wrote("3", &[("b", "pending")])]),
    ];
    check(GEMINI, &lines, &["s#1: [ ] a", "s#1: [x] a", "s#1: [ ] a", "s#1: ", "s#2: [ ] b"]);
    let why = "10: the chat was rewound to an unknown message";
    check_warnings(GEMINI, &lines, &[why]);
}

#[test]
fn the_tracker_shows_its_list_with_every_call_and_it_is_told_when_it_changes() {
    let call = |id: &str, name: &str, text: &str| {
        json!({"id": id, "name": name, "args": {}, "status": "success",
               "resultDisplay": {"todos": todos(&[(text, "pending")])}})
    };
    check(
        GEMINI,
        &[
            header("s"),
            gemini("m", "", &[call("1", "tracker_create_task", "task: a (aaaaaa)")]),
            gemini("n", "", &[call("2", "tracker_list_tasks", "task: a (aaaaaa)")]),
            gemini("o", "", &[call("3", "tracker_update_task", "task: b (aaaaaa)")]),
        ],
        &["s#1: [ ] #aaaaaa a", "s#1: [ ] #aaaaaa b"],
    );
}

#[test]
fn a_file_can_have_several_headers_and_a_patch_can_rename_the_session() {
    let lines = [
        header("one"),
        user("u", "go"),
        header("two"),
        json!({"$set": {"sessionId": "three"}}),
        user("v", "on"),
    ];
    assert_eq!(agents(GEMINI, &lines), ["one", "two", "three"]);
}

#[test]
fn what_the_program_says_is_not_what_the_user_says() {
    let other = |kind: &str| json!({"id": kind, "timestamp": TIME, "type": kind, "content": "oh"});
    check_events(
        GEMINI,
        &[
            user("c", "<session_context>\nThis is the Gemini CLI."),
            other("info"),
            other("warning"),
            other("error"),
            answer("1", "ok"),
        ],
        &["text role=system text=oh", "error message=oh recoverable=true", "error message=oh"],
    );
}

// Both forms.

#[test]
fn unknown_kinds_are_counted_by_name() {
    let lines = [init("s"), json!({"type": "dream"}), header("another form")];
    let unknown = tally(GEMINI, &lines).unknown;
    assert_eq!(unknown.keys().map(String::as_str).collect::<Vec<_>>(), ["", "dream"]);
}

#[test]
fn state_is_bounded_whatever_comes() {
    let mut lines = vec![init("s")];
    for number in 0..1_500 {
        lines.push(write(&format!("{number}"), &[("a", "pending")]));
    }
    let tally_of = tally(GEMINI, &lines);
    assert_eq!((tally_of.lists, tally_of.warnings), (1, 1_500 - 1_024));
    let title = "x".repeat(3 << 20);
    let create = |id: &str| used(id, "tracker_create_task", json!({"title": title}));
    let lines = [init("s"), create("1"), done("1"), create("2"), done("2")];
    let tally_of = tally(GEMINI, &lines);
    assert_eq!((tally_of.lists, tally_of.warnings), (2, 1), "the second is not kept");
    let sessions: Vec<Value> = (0..3_000)
        .flat_map(|it| [header(&format!("{it}")), gemini("m", "", &[wrote(&format!("{it}"), &[])])])
        .collect();
    assert_eq!(tally(GEMINI, &sessions).lists, 3_000);
}
