//! Plans that are made with the tools of our own MCP server, in every agent's stream.

use serde_json::{Value, json};

use super::lines::{check, check_events};
use crate::Source;

const A: &str = "019b0000-0000-7000-8000-00000000000a";
const B: &str = "019b0000-0000-7000-8000-00000000000b";
const C: &str = "019b0000-0000-7000-8000-00000000000c";

/// A name, arguments and what came of it, as the server writes them.
fn steps() -> Vec<(&'static str, Value, Value)> {
    let made = json!({"created": [{"id": A, "title": "Read", "order": 1},
        {"id": B, "title": "Write", "order": 2}], "totalPending": 2});
    let between = json!({"created": [{"id": C, "title": "Think", "order": 2}], "totalPending": 3});
    let taken = json!({"item": {"id": A, "title": "Read", "status": "in_progress", "outcome": null},
        "remaining": 3});
    let done = json!({"id": A, "title": "Read", "status": "completed", "outcome": "ok",
        "completedAt": "2026-01-01T00:00:00.000Z", "remaining": 2});
    let waits = json!({"id": B, "title": "Write it", "status": "pending", "waitingOn": "legal",
        "remaining": 2});
    vec![
        ("create_todo", json!({"items": []}), made),
        ("create_todo", json!({"items": []}), between),
        ("next_todo", json!({}), taken),
        ("complete_todo", json!({"todoId": A}), done),
        ("update_todo", json!({"todoId": B}), waits),
    ]
}

/// The lists that follow.
fn lists(session: &str) -> Vec<String> {
    let (a, b, c) = (format!("#{A} Read"), format!("#{B} Write"), format!("#{C} Think"));
    [
        format!("[ ] {a}, [ ] {b}"),
        format!("[ ] {a}, [ ] {c}, [ ] {b}"),
        format!("[>] {a}, [ ] {c}, [ ] {b}"),
        format!("[x] {a}, [ ] {c}, [ ] {b}"),
        format!("[x] {a}, [ ] {c}, [ ] {b} it"),
    ]
    .map(|it| format!("{session}#punchlist: {it}"))
    .to_vec()
}

#[track_caller]
fn check_lists(source: Source, lines: &[Value], session: &str) {
    let expected = lists(session);
    check(source, lines, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

fn claude(session: Value) -> Vec<Value> {
    let mut lines = Vec::new();
    for (at, (tool, input, result)) in steps().into_iter().enumerate() {
        let id = format!("t{at}");
        let name = format!("mcp__punchlist__{tool}");
        let call = json!({"type": "tool_use", "id": id, "name": name, "input": input});
        let answer = json!({"type": "tool_result", "tool_use_id": id,
            "content": [{"type": "text", "text": result.to_string()}]});
        lines.push(
            json!({"type": "assistant", "message": {"id": format!("m{at}"), "content": [call]}}),
        );
        lines.push(json!({"type": "user", "message": {"role": "user", "content": [answer]}}));
    }
    for line in &mut lines {
        line.as_object_mut().unwrap().extend(session.as_object().unwrap().clone());
    }
    lines
}

#[test]
fn claude_code_tells_the_plan_in_its_stream_and_its_transcript() {
    check_lists(Source::ClaudeCode, &claude(json!({"session_id": "s"})), "s");
    let kept = json!({"sessionId": "s", "timestamp": "2026-01-01T00:00:00Z", "uuid": "u"});
    check_lists(Source::ClaudeCode, &claude(kept), "s");
    // Whichever of its agents calls: the plan is the session's.
    check_lists(
        Source::ClaudeCode,
        &claude(json!({"session_id": "s", "parent_tool_use_id": "toolu_1"})),
        "s",
    );
}

#[test]
fn codex_tells_the_plan_in_each_of_its_forms() {
    let mut exec = vec![json!({"type": "thread.started", "thread_id": "t"})];
    let mut rollout = vec![
        json!({"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "t"}}),
    ];
    let kept = |payload: Value| json!({"type": "response_item", "payload": payload});
    for (at, (tool, input, result)) in steps().into_iter().enumerate() {
        let id = format!("i{at}");
        let content = json!([{"type": "text", "text": result.to_string()}]);
        let item = json!({"id": id, "type": "mcp_tool_call", "server": "punchlist", "tool": tool,
            "arguments": input, "status": "in_progress"});
        exec.push(json!({"type": "item.started", "item": item}));
        let mut item = item;
        item["status"] = json!("completed");
        item["result"] = json!({"content": content, "structured_content": result});
        exec.push(json!({"type": "item.completed", "item": item}));
        rollout.push(kept(json!({"type": "function_call", "name": tool,
            "namespace": "mcp__punchlist", "arguments": input.to_string(), "call_id": id})));
        let output = json!([{"type": "input_text", "text": "Wall time: 0.1 seconds\nOutput:"},
            {"type": "input_text", "text": result.to_string()}]);
        rollout
            .push(kept(json!({"type": "function_call_output", "call_id": id, "output": output})));
    }
    check_lists(Source::Codex, &exec, "t");
    check_lists(Source::Codex, &rollout, "t");
}

#[test]
fn gemini_cli_tells_the_plan_in_its_stream_and_its_chat_file() {
    let time = "2026-01-01T00:00:00Z";
    let mut print =
        vec![json!({"type": "init", "timestamp": time, "session_id": "s", "model": "m"})];
    let mut chat = vec![json!({"sessionId": "s", "projectHash": "h", "startTime": time})];
    for (at, (tool, input, result)) in steps().into_iter().enumerate() {
        let (id, name) = (format!("i{at}"), format!("mcp_punchlist_{tool}"));
        print.push(json!({"type": "tool_use", "timestamp": time, "tool_name": name, "tool_id": id,
            "parameters": input}));
        print.push(json!({"type": "tool_result", "timestamp": time, "tool_id": id,
            "status": "success", "output": result.to_string()}));
        let said = format!("<untrusted_context>\n{result}\n</untrusted_context>");
        let call = json!({"id": id, "name": name, "args": input, "status": "success",
            "result": [{"functionResponse": {"response": {"output": said}}}]});
        chat.push(json!({"id": format!("m{at}"), "timestamp": time, "type": "gemini",
            "content": "", "toolCalls": [call]}));
    }
    check_lists(Source::Gemini, &print, "s");
    check_lists(Source::Gemini, &chat, "s");
}

#[test]
fn an_agent_behind_the_protocol_tells_the_plan() {
    let mut lines = Vec::new();
    for (at, (tool, input, result)) in steps().into_iter().enumerate() {
        let update = |update: Value| {
            json!({"jsonrpc": "2.0", "method": "session/update",
                "params": {"sessionId": "s", "update": update}})
        };
        lines.push(update(json!({"sessionUpdate": "tool_call", "toolCallId": format!("c{at}"),
            "title": format!("mcp__punchlist__{tool}"), "rawInput": input})));
        let content = json!([{"type": "content",
            "content": {"type": "text", "text": result.to_string()}}]);
        lines.push(update(json!({"sessionUpdate": "tool_call_update",
            "toolCallId": format!("c{at}"), "status": "completed", "content": content})));
    }
    check_lists(Source::Acp, &lines, "s");
}

#[test]
fn a_refused_call_changes_nothing_and_no_call_of_ours_is_a_tool_call() {
    let call = json!({"type": "tool_use", "id": "t", "name": "mcp__punchlist__complete_todo",
        "input": {}});
    let refused = json!({"type": "tool_result", "tool_use_id": "t", "is_error": true,
        "content": "{\"error\":\"item is open\"}"});
    let other = json!({"type": "tool_use", "id": "u", "name": "mcp__other__create_todo",
        "input": {}});
    let line = |kind: &str, block: Value| json!({"type": kind, "session_id": "s", "message": {"id": "m", "content": [block]}});
    check_events(
        Source::ClaudeCode,
        &[line("assistant", call), line("user", refused), line("assistant", other)],
        &["tool.scheduled callId=u name=mcp__other__create_todo input={}"],
    );
}

#[test]
fn a_list_that_was_asked_for_tells_all_that_it_has() {
    let item =
        |id: &str, title: &str, status: &str| json!({"id": id, "title": title, "status": status});
    let call = |at: usize, result: Value| {
        let id = format!("t{at}");
        let call = json!({"type": "tool_use", "id": id, "name": "mcp__punchlist__list_todo",
            "input": {}});
        let answer =
            json!({"type": "tool_result", "tool_use_id": id, "content": result.to_string()});
        [
            json!({"type": "assistant", "session_id": "s", "message": {"id": id, "content": [call]}}),
            json!({"type": "user", "session_id": "s", "message": {"content": [answer]}}),
        ]
    };
    let open = json!({"items": [item(B, "b", "pending")], "summary": {"total": 2}});
    let all = json!({"items": [item(A, "a", "completed"), item(B, "b", "pending")],
        "summary": {"total": 2}});
    let (one, two) =
        (format!("s#punchlist: [ ] #{B} b"), format!("s#punchlist: [x] #{A} a, [ ] #{B} b"));
    check(
        Source::ClaudeCode,
        &[call(1, open.clone()), call(2, all), call(3, open)].concat(),
        &[&one, &two, &two],
    );
}

#[test]
fn a_sub_agent_that_begins_meanwhile_takes_nothing_from_a_call() {
    let call =
        json!({"type": "tool_use", "id": "t", "name": "mcp__punchlist__create_todo", "input": {}});
    let made = json!({"created": [{"id": A, "title": "Read", "order": 1}], "totalPending": 1});
    let answer = json!({"type": "tool_result", "tool_use_id": "t", "content": made.to_string()});
    let begins = json!({"type": "system", "subtype": "task_started", "task_id": "a1",
        "tool_use_id": "agent", "task_type": "local_agent", "session_id": "s", "prompt": "go"});
    check(
        Source::ClaudeCode,
        &[
            json!({"type": "assistant", "session_id": "s", "message": {"id": "m", "content": [call]}}),
            begins,
            json!({"type": "user", "session_id": "s", "message": {"content": [answer]}}),
        ],
        &[&format!("s#punchlist: [ ] #{A} Read")],
    );
}
