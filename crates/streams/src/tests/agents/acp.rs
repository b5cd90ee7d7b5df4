//! Tests of agents that speak ACP: recordings, and cases that are not in them.

use serde_json::{Value, json};

use crate::event::{KindName, KindSet};
use crate::tests::lines::{agents, bytes, check, check_events, check_known, check_warnings, tally};
use crate::tests::{golden, hostile, read, recordings};
use crate::{Options, Source, recognise};

const ACP: Source = Source::Acp;

#[test]
fn every_recording_gives_these_events() {
    for (name, bytes) in recordings("acp") {
        golden(ACP, &name, &bytes);
    }
}

#[test]
fn every_recording_is_recognised_and_nothing_in_it_is_unknown() {
    for (name, bytes) in recordings("acp") {
        assert_eq!(recognise(&bytes), Some(ACP), "{name}");
    }
    check_known(ACP);
}

#[test]
fn spoilt_recordings_are_read_as_far_as_they_go() {
    let corpus: Vec<Vec<u8>> = recordings("acp").into_iter().map(|it| it.1).collect();
    hostile(ACP, &corpus);
}

fn says(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

fn asks(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn answers(id: u64, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn update(session: &str, update: Value) -> Value {
    says("session/update", json!({"sessionId": session, "update": update}))
}

fn entries(entries: &[(&str, &str)]) -> Value {
    let entry = |(text, status): &(&str, &str)| json!({"content": text, "status": status, "priority": "medium"});
    entries.iter().map(entry).collect()
}

fn plan(session: &str, of: &[(&str, &str)]) -> Value {
    update(session, json!({"sessionUpdate": "plan", "entries": entries(of)}))
}

fn named(session: &str, id: &str, of: &[(&str, &str)]) -> Value {
    let plan = json!({"type": "items", "planId": id, "entries": entries(of)});
    update(session, json!({"sessionUpdate": "plan_update", "plan": plan}))
}

#[test]
fn no_entry_is_dropped_whatever_its_status_or_priority() {
    let plan = json!([
        {"content": "a", "status": "completed", "priority": "low"},
        {"content": "b", "status": "cancelled", "priority": "medium"},
        {"content": "c", "status": "blocked", "priority": "medium"},
        {"content": "d", "status": "_paused", "priority": "urgent"},
        {"content": "e", "status": "pending"},
        {"content": "f", "priority": 7},
    ]);
    let lines = [update("s", json!({"sessionUpdate": "plan", "entries": plan}))];
    check(ACP, &lines, &["s#1: [x] a, [-] b, [ ] c (blocked), [ ] d, [ ] e, [ ] f"]);
    let all = crate::tests::events(ACP, &bytes(&lines));
    for part in [
        r#"{"text":"c","status":"pending","blocked":true,"sourceStatus":"blocked"}"#,
        r#"{"text":"d","status":"pending","sourceStatus":"_paused"}"#,
        r#"{"text":"e","status":"pending"}"#,
        r#"{"text":"f","status":"pending","assumed":true}"#,
    ] {
        assert!(all.contains(part), "{part} in {all}");
    }
}

#[test]
fn what_has_no_text_cannot_be_shown_and_what_has_no_entries_is_no_plan() {
    let plan = |entries: Value| update("s", json!({"sessionUpdate": "plan", "entries": entries}));
    let lines = [
        plan(json!([{"content": " ", "status": "pending"}, {"status": "pending"}, "c"])),
        plan(json!("all")),
        update("s", json!({"sessionUpdate": "plan"})),
        update("s", json!({"sessionUpdate": "plan_update"})),
        update("s", json!({"sessionUpdate": "plan_removed"})),
        says("session/update", json!({"sessionId": "s"})),
    ];
    check_warnings(
        ACP,
        &lines,
        &[
            "1: item 1 has no text; it is left out",
            "1: item 2 has no text; it is left out",
            "1: item 3 has no text; it is left out",
            "2: a plan without entries",
            "3: a plan without entries",
            "4: a plan without content",
            "5: a plan was removed, but its id is missing",
            "6: an update without content",
        ],
    );
}

#[test]
fn a_plan_that_comes_twice_is_told_once() {
    let a = plan("s", &[("a", "pending")]);
    let b = plan("s", &[("a", "completed")]);
    let other = plan("t", &[("a", "pending")]);
    check(
        ACP,
        &[a.clone(), a.clone(), other, a.clone(), b, a],
        &["s#1: [ ] a", "t#1: [ ] a", "s#1: [x] a", "s#1: [ ] a"],
    );
}

#[test]
fn an_empty_plan_clears_and_the_next_has_a_new_name() {
    check(
        ACP,
        &[plan("s", &[("a", "pending")]), plan("s", &[]), plan("s", &[("b", "pending")])],
        &["s#1: [ ] a", "s#1: ", "s#2: [ ] b"],
    );
}

#[test]
fn an_empty_plan_while_the_past_is_told_again_clears_nothing() {
    let load = asks(1, "session/load", json!({"sessionId": "s", "cwd": "/p"}));
    let prompt = asks(2, "session/prompt", json!({"sessionId": "s", "prompt": []}));
    let told = plan("s", &[("a", "pending")]);
    check(
        ACP,
        // A part of the history comes after the answer.
        &[told.clone(), load, plan("s", &[]), answers(1, json!({})), plan("s", &[])],
        &["s#1: [ ] a"],
    );
    check(ACP, &[plan("s", &[]), told.clone()], &["s#1: [ ] a"]);
    let load = asks(1, "session/load", json!({"sessionId": "s"}));
    check(ACP, &[load, told, prompt, plan("s", &[])], &["s#1: [ ] a", "s#1: "]);
}

#[test]
fn plans_with_names_are_lists_of_their_own_until_they_are_removed() {
    check(
        ACP,
        &[
            named("s", "p1", &[("a", "pending")]),
            named("s", "p2", &[("b", "pending")]),
            named("s", "p1", &[("a", "completed")]),
            update("s", json!({"sessionUpdate": "plan_removed", "planId": "p2"})),
            named("s", "p2", &[("b", "pending")]),
        ],
        &["s#p1: [ ] a", "s#p2: [ ] b", "s#p1: [x] a", "s#p2: ", "s#p2: [ ] b"],
    );
}

#[test]
fn a_plan_that_is_a_text_is_passed_on_and_one_in_a_file_is_counted() {
    let text = json!({"type": "markdown", "planId": "p", "content": "- [ ] a"});
    let file = json!({"type": "file", "planId": "p", "uri": "file:///p"});
    let lines =
        [text, file].map(|it| update("s", json!({"sessionUpdate": "plan_update", "plan": it})));
    check_events(ACP, &lines, &["text role=assistant text=- [ ] a"]);
    assert_eq!(tally(ACP, &lines).unknown.keys().collect::<Vec<_>>(), ["plan_update/file"]);
}

#[test]
fn codexs_plans_come_again_as_calls_and_only_those_that_it_took_count() {
    let call = |status: &str, said: &str| {
        let plan = json!([{"step": "a", "status": status}]);
        update(
            "s",
            json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "update_plan",
                           "status": "completed", "rawInput": {"plan": plan}, "rawOutput": said}),
        )
    };
    let lines = [
        asks(1, "session/load", json!({"sessionId": "s"})),
        call("pending", "Plan updated"),
        call("cancelled", "failed to parse function arguments: unknown variant"),
        call("in_progress", "Plan updated"),
    ];
    check(ACP, &lines, &["s#1: [ ] a", "s#1: [>] a"]);
    assert!(
        !crate::tests::events(ACP, &bytes(&lines)).contains("\"tool."),
        "a todo tool is no tool"
    );
}

#[test]
fn a_list_that_the_protocol_does_not_show_is_never_silence() {
    let call = |kind: &str, id: &str| {
        update(
            "s",
            json!({"sessionUpdate": kind, "toolCallId": id, "title": "Set 3 todo(s)",
                           "status": "completed", "content": []}),
        )
    };
    let lines = [
        call("tool_call", "write_todos__1"),
        call("tool_call_update", "write_todos__1"),
        call("tool_call_update", "tracker_create_task__2"),
    ];
    check_events(
        ACP,
        &lines,
        &["warning line=1 why=the agent's list is not shown by its protocol; its chat file has it"],
    );
    // Nor if only lists are wanted.
    let only = KindSet::of([KindName::TodoList]);
    for only in [KindSet::ALL, only] {
        let (_, tally) = read(ACP, Options { only, ..Options::default() }, &bytes(&lines), 1 << 16);
        assert_eq!((tally.todo_calls, tally.lists, tally.warnings), (3, 0, 1));
    }
}

#[test]
fn turns_begin_and_end_as_client_and_agent_say() {
    let prompt = |id, session: &str| {
        let text = json!([{"type": "text", "text": "go"}]);
        asks(id, "session/prompt", json!({"sessionId": session, "prompt": text}))
    };
    let lines = [
        asks(0, "session/new", json!({"cwd": "/p", "mcpServers": []})),
        answers(0, json!({"sessionId": "s"})),
        prompt(1, "s"),
        prompt(2, "t"),
        answers(1, json!({"stopReason": "end_turn", "usage": {"inputTokens": 1}})),
        answers(2, json!({"stopReason": "cancelled"})),
        prompt(3, "s"),
        json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -32603, "message": "bad"}}),
        prompt(4, "s"),
        answers(4, json!({"stopReason": "max_tokens"})),
    ];
    check_events(
        ACP,
        &lines,
        &[
            "session.started cwd=/p",
            "turn.started prompt=go",
            "turn.started prompt=go",
            "usage inputTokens=1",
            "turn.completed status=success reason=end_turn",
            "turn.completed status=cancelled reason=cancelled",
            "turn.started prompt=go",
            "error message=bad code=-32603",
            "turn.completed status=error",
            "turn.started prompt=go",
            "turn.completed status=error reason=max_tokens",
        ],
    );
    assert_eq!(agents(ACP, &lines[..6]), ["s", "t", "s", "t"]);
}

#[test]
fn a_question_waits_until_the_client_answers_whatever_the_agents_numbers_are() {
    let call = json!({"toolCallId": "c", "title": "sleep 20", "status": "pending"});
    let lines = [
        asks(6, "session/prompt", json!({"sessionId": "s", "prompt": []})),
        asks(6, "session/request_permission", json!({"sessionId": "s", "toolCall": call})),
        answers(6, json!({"outcome": {"outcome": "selected", "optionId": "proceed_once"}})),
        // The call was never announced.
        update(
            "s",
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c",
            "status": "completed", "content": [{"type": "content", "content":
            {"type": "text", "text": "Command cancelled by user."}}]}),
        ),
        answers(6, json!({"stopReason": "end_turn"})),
    ];
    check_events(
        ACP,
        &lines,
        &[
            "turn.started",
            "tool.waiting callId=c question=sleep 20",
            "tool.answered callId=c answer=proceed_once",
            "tool.completed callId=c status=cancelled output=Command cancelled by user.",
            "turn.completed status=success reason=end_turn",
        ],
    );
}

#[test]
fn what_only_the_agent_said_is_enough() {
    let text =
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}});
    let lines = [
        answers(1, json!({"sessionId": "s"})),
        update("s", text),
        plan("s", &[("a", "pending")]),
        answers(2, json!({"stopReason": "end_turn"})),
    ];
    check_events(
        ACP,
        &lines,
        &[
            "session.started",
            "text role=assistant text=hi delta=true",
            "todo_list todoId=s#1",
            "turn.completed status=success reason=end_turn",
        ],
    );
    assert_eq!(agents(ACP, &lines), ["s"]);
}

#[test]
fn unknown_kinds_are_counted_by_name() {
    let lines = [update("s", json!({"sessionUpdate": "dream"})), says("session/dream", json!({}))];
    let unknown = tally(ACP, &lines).unknown;
    let names: Vec<&str> = unknown.keys().map(String::as_str).collect();
    assert_eq!(names, ["session/dream", "session/update/dream"]);
}

#[test]
fn thousands_of_sessions_at_once_are_kept_apart_within_bounds() {
    let mut lines = Vec::new();
    for round in ["pending", "completed"] {
        for session in 0..1_000 {
            lines.push(plan(&format!("s{session}"), &[("a", round)]));
            lines.push(asks(session, "session/prompt", json!({"sessionId": "x", "prompt": []})));
        }
    }
    assert_eq!(tally(ACP, &lines).lists, 2_000);
    let more: Vec<Value> =
        (0..5_000).map(|it| plan(&format!("s{it}"), &[("a", "pending")])).collect();
    assert_eq!(tally(ACP, &more).lists, 5_000);
}
