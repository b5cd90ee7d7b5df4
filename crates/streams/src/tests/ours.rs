//! Tests of plans made with the tools of our own MCP server, in every agent's stream.

use serde_json::{Value, json};

use super::lines::{check, check_events};
use crate::Source;

const A: &str = "019b0000-0000-7000-8000-00000000000a";
const B: &str = "019b0000-0000-7000-8000-00000000000b";
const C: &str = "019b0000-0000-7000-8000-00000000000c";

/// Calls: a tool's name, its arguments, and its result as the server writes it.
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

/// The lists that follow from the calls.
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
    // The plan belongs to the session, whichever of its agents calls.
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

/// A call in a stream of Claude Code, and its result.
fn called(at: usize, name: &str, input: &Value, said: &str) -> [Value; 2] {
    let id = format!("t{at}");
    let call = json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let answer = json!({"type": "tool_result", "tool_use_id": id, "content": said});
    [
        json!({"type": "assistant", "session_id": "s", "message": {"id": id, "content": [call]}}),
        json!({"type": "user", "session_id": "s", "message": {"content": [answer]}}),
    ]
}

/// Checks the lists that follow from calls of a server named `punchlist`, with their results.
#[track_caller]
fn check_dialect(calls: &[(&str, Value, &str)], expected: &[&str]) {
    let named = |(at, (tool, input, said)): (usize, &(&str, Value, &str))| {
        called(at, &format!("mcp__punchlist__{tool}"), input, said)
    };
    let lines: Vec<Value> = calls.iter().enumerate().flat_map(named).collect();
    let expected: Vec<String> = expected.iter().map(|it| format!("s#punchlist: {it}")).collect();
    check(Source::ClaudeCode, &lines, &expected.iter().map(String::as_str).collect::<Vec<_>>());
    // None of them is reported as a tool call, either.
    let all = super::check(Source::ClaudeCode, &super::lines::bytes(&lines));
    assert!(!all.contains("\"tool."), "{all}");
}

#[test]
fn manager_tells_its_list_in_its_results_and_after_each_change() {
    let one = "<todos><todo id=\"1\" status=\"doing\">Read &lt;a&gt; &amp;amp; b</todo></todos>";
    let listed = json!({"ok": true, "output": one}).to_string();
    let two = "<todos><todo id=\"1\" status=\"done\">Read</todo><todo id=\"2\" \
               status=\"skipped\">Write</todo><todo id=\"3\" status=\"todo\">Say it's done</todo></todos>";
    let changed = json!({"ok": true, "output": "Skipped TODO: 2"}).to_string();
    let after = format!("{changed}\n<browser-state>\nTODO list updated.\n{two}\n</browser-state>");
    let structured =
        json!({"ok": true, "output": "Replaced", "reminder": "now:\n<todos></todos>"}).to_string();
    check_dialect(
        &[
            ("todo_manager", json!({"action": "list"}), &listed),
            ("todo_manager", json!({"action": "skip", "ids": [2]}), &after),
            ("todo_manager", json!({"action": "next"}), &changed),
            ("todo_manager", json!({"action": "replace_all", "todos": []}), &structured),
        ],
        &["[>] Read <a> &amp; b", "[x] Read, [-] Write, [ ] Say it's done", ""],
    );
}

#[test]
fn the_tools_that_take_the_whole_list_tell_it() {
    let text = "[x] Read\n[>] Write <- Writing\n[ ] Say\n[-] Send\n\n(1/3 completed)\n\nDropped while open: #4 X";
    check_dialect(
        &[("TodoWrite", json!({}), text), ("TodoWrite", json!({}), "No todos.")],
        &["[x] Read, [>] Write, [ ] Say, [-] Send", ""],
    );
    let taken = "Successfully updated the todo list. The current list is now:\n1. [completed] Read\n\
                 2. [blocked] Write [it]\n3. [in_progress] Say";
    check_dialect(
        &[
            ("write_todos", json!({}), taken),
            ("write_todos", json!({}), "Successfully cleared the todo list."),
        ],
        &["[x] Read, [ ] Write [it] (blocked), [>] Say", ""],
    );
    let plan = json!({"plan": [{"step": "Read", "status": "completed"},
        {"step": "Write", "status": "in_progress"}]});
    let others =
        "Plan updated\n\nAdded since: #3\n\nThe plan is now:\n1. [pending] Read\n2. [pending] Say";
    check_dialect(
        &[
            ("update_plan", plan.clone(), "Plan updated"),
            ("update_plan", plan, others),
            ("update_plan", json!({"plan": []}), "Plan updated"),
        ],
        &["[x] Read, [>] Write", "[ ] Read, [ ] Say", ""],
    );
}

#[test]
fn tasks_are_told_by_their_numbers() {
    check_dialect(
        &[
            ("TaskCreate", json!({"subject": "Read"}), "Task #1 created successfully: Read"),
            ("TaskCreate", json!({"subject": "Go (on)"}), "Task #2 created successfully: Go (on)"),
            (
                "TaskUpdate",
                json!({"taskId": "2", "status": "in_progress"}),
                "Updated task #2 status",
            ),
            ("TaskUpdate", json!({"taskId": "9", "status": "completed"}), "Task not found"),
            ("TaskUpdate", json!({"taskId": "1", "status": "deleted"}), "Updated task #1 deleted"),
            ("TaskGet", json!({}), "Task #3: Say\nStatus: pending\nDescription: x"),
            ("TaskGet", json!({}), "Task not found"),
            (
                "TaskList",
                json!({}),
                "#2 [completed] Go (on) (me)\n#3 [pending] Say [blocked by #4]\n#4 [pending] Ask",
            ),
            ("TaskList", json!({}), "No tasks found"),
        ],
        &[
            "[ ] #1 Read",
            "[ ] #1 Read, [ ] #2 Go (on)",
            "[ ] #1 Read, [>] #2 Go (on)",
            "[>] #2 Go (on)",
            "[>] #2 Go (on), [ ] #3 Say",
            "[x] #2 Go (on), [ ] #3 Say (blocked), [ ] #4 Ask",
            "",
        ],
    );
}

#[test]
fn codex_tells_a_plan_that_was_sent_to_our_server_and_not_to_its_own_tool() {
    let plan = json!({"plan": [{"step": "Read", "status": "in_progress"}]});
    let item = json!({"id": "i", "type": "mcp_tool_call", "server": "punchlist",
        "tool": "update_plan", "arguments": plan, "status": "in_progress"});
    let mut ended = item.clone();
    ended["status"] = json!("completed");
    ended["result"] = json!({"content": [{"type": "text", "text": "Plan updated"}]});
    let exec = [
        json!({"type": "thread.started", "thread_id": "t"}),
        json!({"type": "item.started", "item": item}),
        json!({"type": "item.completed", "item": ended}),
    ];
    check(Source::Codex, &exec, &["t#punchlist: [>] Read"]);
    let kept = |payload: Value| json!({"type": "response_item", "payload": payload});
    let rollout = [
        json!({"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "t"}}),
        kept(json!({"type": "function_call", "name": "update_plan", "namespace": "mcp__punchlist",
            "arguments": plan.to_string(), "call_id": "i"})),
        kept(json!({"type": "function_call_output", "call_id": "i",
            "output": "Wall time: 0.1 seconds\nOutput:\nPlan updated"})),
    ];
    check(Source::Codex, &rollout, &["t#punchlist: [>] Read"]);
}

#[test]
fn a_server_of_another_name_is_known_by_its_first_result() {
    let made = |id: &str| {
        json!({"created": [{"id": id, "title": "Read", "order": 1}], "totalPending": 1}).to_string()
    };
    let done = json!({"id": A, "title": "Read", "status": "completed", "remaining": 0}).to_string();
    let lines = [
        called(1, "mcp__todo__create_todo", &json!({}), &made(A)),
        called(2, "mcp__todo__complete_todo", &json!({}), &done),
    ]
    .concat();
    let list = |status: &str| format!("s#punchlist: [{status}] #{A} Read");
    check(Source::ClaudeCode, &lines, &[&list(" "), &list("x")]);
    let all = super::check(Source::ClaudeCode, &super::lines::bytes(&lines));
    assert!(all.contains("mcp__todo__create_todo"), "it was told before that was known: {all}");
    assert!(!all.contains("mcp__todo__complete_todo"), "{all}");
    // Other programs have tools of these names, with other ids, keys or texts.
    let other = "{\"created\":[{\"id\":\"7\",\"title\":\"Read\"}],\"totalPending\":1}";
    for (name, said) in [
        ("mcp__todo__create_todo", other),
        ("mcp__todo__create_todo", "created"),
        ("mcp__todo__TodoWrite", "[x] Read\n\n(1/1 completed)"),
        ("mcp__todo__todo_manager", "{\"ok\":true,\"output\":\"<todos></todos>\"}"),
        ("mcp__todo__update_plan", "Plan updated"),
        ("mcp__todo__TaskCreate", "Task #1 created successfully: Read"),
    ] {
        check(Source::ClaudeCode, &called(1, name, &json!({}), said), &[]);
    }
    let gemini = [
        json!({"type": "init", "timestamp": "2026-01-01T00:00:00Z", "session_id": "s"}),
        json!({"type": "tool_use", "tool_name": "mcp_my_todo_create_todo", "tool_id": "i",
            "parameters": {}}),
        json!({"type": "tool_result", "tool_id": "i", "status": "success", "output": made(A)}),
    ];
    check(Source::Gemini, &gemini, &[&list(" ")]);
}
