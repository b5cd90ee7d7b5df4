//! Tests of Codex: recordings, and cases that are not in them.

use serde_json::{Value, json};

use crate::tests::lines::{agents, check, check_events, check_known, check_warnings, tally};
use crate::tests::{golden, hostile, recordings};
use crate::{Source, recognise};

const CODEX: Source = Source::Codex;

#[test]
fn every_recording_gives_these_events() {
    for (name, bytes) in recordings("codex") {
        golden(CODEX, &name, &bytes);
    }
}

#[test]
fn every_recording_is_recognised_and_nothing_in_it_is_unknown() {
    for (name, bytes) in recordings("codex") {
        assert_eq!(recognise(&bytes), Some(CODEX), "{name}");
    }
    check_known(CODEX);
}

#[test]
fn spoilt_recordings_are_read_as_far_as_they_go() {
    let corpus: Vec<Vec<u8>> = recordings("codex").into_iter().map(|it| it.1).collect();
    hostile(CODEX, &corpus);
}

// The output of `exec --json`.

fn thread(id: &str) -> Value {
    json!({"type": "thread.started", "thread_id": id})
}

fn todo(kind: &str, id: &str, items: &[(&str, bool)]) -> Value {
    let item = |(text, done): &(&str, bool)| json!({"text": text, "completed": done});
    let items: Vec<Value> = items.iter().map(item).collect();
    json!({"type": format!("item.{kind}"), "item": {"id": id, "type": "todo_list", "items": items}})
}

fn item(kind: &str, item: Value) -> Value {
    json!({"type": format!("item.{kind}"), "item": item})
}

#[test]
fn a_completed_list_item_means_that_the_turn_is_over_and_not_that_the_plan_is_done() {
    check(
        CODEX,
        &[
            thread("t"),
            todo("started", "item_0", &[("a", false), ("b", false)]),
            todo("updated", "item_0", &[("a", true), ("b", false)]),
            todo("completed", "item_0", &[("a", true), ("b", false)]),
        ],
        &["t#1.item_0: [ ] a, [ ] b", "t#1.item_0: [x] a, [ ] b"],
    );
}

#[test]
fn the_last_list_of_a_turn_is_told_if_it_is_news() {
    check(
        CODEX,
        &[thread("t"), todo("completed", "item_0", &[("a", true)])],
        &["t#1.item_0: [x] a"],
    );
}

#[test]
fn warnings_before_a_turn_use_up_names_and_a_stopped_process_leaves_its_last_list() {
    let warning = json!({"id": "item_0", "type": "error", "message": "old hook"});
    let lines = [
        thread("t"),
        item("completed", warning),
        json!({"type": "turn.started"}),
        todo("started", "item_1", &[("a", false)]),
        todo("completed", "item_1", &[("a", false)]),
    ];
    check(CODEX, &lines, &["t#1.item_1: [ ] a"]);
    check_events(
        CODEX,
        &lines,
        &[
            "session.started",
            "error message=old hook recoverable=true",
            "turn.started",
            "todo_list todoId=t#1.item_1",
        ],
    );
}

#[test]
fn lists_of_the_same_name_in_two_processes_are_two_lists() {
    let list = todo("started", "item_0", &[("a", false)]);
    let end = todo("completed", "item_0", &[("a", false)]);
    check(
        CODEX,
        &[thread("t"), list.clone(), end, thread("t"), list],
        &["t#1.item_0: [ ] a", "t#2.item_0: [ ] a"],
    );
}

#[test]
fn a_fork_is_another_agent_and_a_resumed_thread_is_the_same() {
    let lines = [thread("t"), thread("t"), thread("fork")];
    assert_eq!(agents(CODEX, &lines), ["t", "fork"]);
}

#[test]
fn odd_lists_are_shown_as_they_are_and_what_cannot_be_is_left_out() {
    let lines = [
        thread("t"),
        todo("started", "item_0", &[("same", false), ("same", true), (" ", false)]),
        item("updated", json!({"id": "item_0", "type": "todo_list", "items": [{"text": "x"}, 7]})),
        todo("updated", "item_0", &[]),
        item("updated", json!({"id": "item_0", "type": "todo_list"})),
    ];
    check(CODEX, &lines, &["t#1.item_0: [ ] same, [x] same", "t#1.item_0: ", "t#1.item_0: "]);
    check_warnings(
        CODEX,
        &lines,
        &[
            "2: item 3 has no text; it is left out",
            "3: item 1 has no status; it is left out",
            "3: item 2 has no text; it is left out",
            "5: a list without items",
        ],
    );
}

#[test]
fn an_error_ends_nothing_and_a_failed_turn_does() {
    check_events(
        CODEX,
        &[
            thread("t"),
            item("completed", json!({"id": "item_0", "type": "error", "message": "careful"})),
            json!({"type": "turn.started"}),
            json!({"type": "error", "message": "Reconnecting... 1/5 (x)"}),
            item("completed", json!({"id": "item_1", "type": "agent_message", "text": "part"})),
            item("completed", json!({"id": "item_2", "type": "agent_message", "text": "part"})),
            json!({"type": "turn.completed", "usage": {"input_tokens": 3}}),
            json!({"type": "turn.started"}),
            json!({"type": "error", "message": "{\"error\":{}}"}),
            json!({"type": "turn.failed", "error": {"message": "{\"error\":{}}"}}),
        ],
        &[
            "session.started",
            "error message=careful recoverable=true",
            "turn.started",
            "error message=Reconnecting... 1/5 (x) recoverable=true",
            "text role=assistant text=part",
            "text role=assistant text=part",
            "usage inputTokens=3 cumulative=true",
            "turn.completed status=success",
            "turn.started",
            "error message={\"error\":{}} recoverable=true",
            "error message={\"error\":{}}",
            "turn.completed status=error",
        ],
    );
}

#[test]
fn tools_end_as_they_say_and_may_never_end() {
    let command = |status: &str| {
        json!({"id": "item_0", "type": "command_execution", "command": "ls",
               "aggregated_output": "out", "exit_code": null, "status": status})
    };
    let mcp = |error: Value, result: Value| {
        json!({"id": "item_1", "type": "mcp_tool_call", "server": "plan", "tool": "add",
               "arguments": {}, "result": result, "error": error, "status": "failed"})
    };
    let spawn = json!({"id": "item_2", "type": "collab_tool_call", "tool": "spawn_agent",
                       "sender_thread_id": "t", "receiver_thread_ids": ["u"], "prompt": "go",
                       "agents_states": {}, "status": "in_progress"});
    check_events(
        CODEX,
        &[
            item("started", command("in_progress")),
            item("completed", command("declined")),
            item("completed", mcp(json!({"message": "refused"}), json!(null))),
            item(
                "completed",
                mcp(json!(null), json!({"content": [{"type": "text", "text": "no"}]})),
            ),
            item("started", spawn),
        ],
        &[
            "tool.started callId=item_0 name=command_execution input={\"command\":\"ls\"}",
            "tool.completed callId=item_0 name=command_execution status=error output=out",
            "tool.completed callId=item_1 name=mcp__plan__add status=error output=refused",
            "tool.completed callId=item_1 name=mcp__plan__add status=error output=no",
            "tool.started callId=item_2 name=spawn_agent input={\"prompt\":\"go\"}",
        ],
    );
}

#[test]
fn words_between_the_lines_are_told_and_the_next_line_is_read() {
    let stream = "Reading additional input from stdin...\n\
                  {\"type\":\"thread.started\",\"thread_id\":\"t\"}\n\
                  {\"type\":\"item.started\",\"item\":{\"id\":\"i\",\"type\":\"todo_list\",\"items\":[]}}\n";
    let all = crate::tests::check(CODEX, stream.as_bytes());
    assert!(all.contains("not JSON at byte 1"), "{all}");
    assert!(all.contains("t#1.i"), "{all}");
}

// Rollouts.

fn kept(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "2026-11-15T17:47:32.092Z", "ordinal": 7, "type": kind, "payload": payload})
}

fn meta(id: &str) -> Value {
    kept("session_meta", json!({"id": id, "session_id": id, "cwd": "/p", "cli_version": "1"}))
}

fn happened(kind: &str) -> Value {
    kept("event_msg", json!({"type": kind}))
}

fn plan(id: &str, steps: &[(&str, &str)]) -> Value {
    let step = |(step, status): &(&str, &str)| json!({"step": step, "status": status});
    let steps: Vec<Value> = steps.iter().map(step).collect();
    let arguments = json!({"explanation": "because", "plan": steps}).to_string();
    let call = json!({"type": "function_call", "name": "update_plan", "arguments": arguments,
                      "call_id": id});
    kept("response_item", call)
}

fn output(id: &str, output: &str) -> Value {
    kept("response_item", json!({"type": "function_call_output", "call_id": id, "output": output}))
}

fn script(id: &str, source: &str) -> Value {
    let call = json!({"type": "custom_tool_call", "name": "exec", "call_id": id, "input": source});
    kept("response_item", call)
}

fn ran(id: &str, said: &str) -> Value {
    let text = json!([{"type": "input_text", "text": said}, {"type": "input_text", "text": "{}"}]);
    kept("response_item", json!({"type": "custom_tool_call_output", "call_id": id, "output": text}))
}

#[test]
fn a_plan_counts_if_its_own_answer_says_so() {
    check(
        CODEX,
        &[
            meta("t"),
            plan("1", &[("a", "pending")]),
            output("1", "unsupported call: update_plan"),
            plan("2", &[("b", "done")]),
            output("2", "failed to parse function arguments: unknown variant `done`"),
            plan("3", &[("c", "in_progress"), ("d", "in_progress")]),
            plan("4", &[("e", "completed")]),
            output("4", "Plan updated"),
            output("3", "Plan updated"),
            plan("5", &[]),
            output("5", "Plan updated"),
            plan("6", &[("f", "pending")]),
            output("6", "Plan updated"),
        ],
        &["t#1: [x] e", "t#1: [>] c, [>] d", "t#1: ", "t#2: [ ] f"],
    );
}

#[test]
fn an_answer_in_unknown_words_is_never_silence() {
    let lines = [meta("t"), plan("1", &[("a", "pending")]), output("1", "Planned!")];
    check(CODEX, &lines, &[]);
    check_warnings(CODEX, &lines, &["3: unknown answer to a plan: \"Planned!\""]);
    let refused = [meta("t"), plan("1", &[]), output("1", "unsupported call: update_plan")];
    assert_eq!((tally(CODEX, &lines).todo_calls, tally(CODEX, &refused).todo_calls), (1, 0));
}

#[test]
fn a_plan_that_was_never_answered_is_told_at_the_end_of_its_turn_as_a_wish() {
    let asked = [meta("t"), plan("1", &[("a", "pending")]), plan("2", &[("b", "pending")])];
    let with = |end: &[Value]| [&asked[..], end].concat();
    let wish = "t#1 unconfirmed: [ ] b";
    // A killed process writes nothing more.
    check(CODEX, &with(&[]), &[wish]);
    for end in ["task_complete", "turn_aborted", "task_started"] {
        check(CODEX, &with(&[happened(end)]), &[wish]);
    }
    check(CODEX, &with(&[output("2", "Plan updated")]), &["t#1: [ ] b"]);
}

#[test]
fn turns_end_well_or_badly_or_are_stopped() {
    check_events(
        CODEX,
        &[
            happened("task_started"),
            happened("task_complete"),
            kept(
                "event_msg",
                json!({"type": "task_complete", "error":
                 {"message": "too much", "codex_error_info": "overloaded"}}),
            ),
            kept("event_msg", json!({"type": "turn_aborted", "reason": "interrupted"})),
        ],
        &[
            "turn.started",
            "turn.completed status=success",
            "error message=too much code=overloaded",
            "turn.completed status=error",
            "turn.completed status=cancelled reason=interrupted",
        ],
    );
}

#[test]
fn what_the_user_said_first_is_the_turns_prompt() {
    let said = |text: &str| {
        let item =
            json!({"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": text}]});
        kept("event_msg", json!({"type": "item_completed", "item": item}))
    };
    let older = kept("event_msg", json!({"type": "user_message", "message": "go"}));
    check_events(
        CODEX,
        &[
            happened("task_started"),
            kept("turn_context", json!({})),
            said("go"),
            said("and this"),
            happened("task_complete"),
            happened("task_started"),
            older,
            happened("task_complete"),
            happened("task_started"),
        ],
        &[
            "turn.started prompt=go",
            "text role=user text=and this",
            "turn.completed status=success",
            "turn.started prompt=go",
            "turn.completed status=success",
            "turn.started",
        ],
    );
    let notified = |method: &str, params: Value| json!({"method": method, "params": params});
    let item =
        json!({"type": "userMessage", "id": "u", "content": [{"type": "text", "text": "go"}]});
    check_events(
        CODEX,
        &[
            notified("turn/started", json!({"threadId": "t", "turn": {"id": "1"}})),
            notified("item/started", json!({"threadId": "t", "item": item})),
            notified("item/completed", json!({"threadId": "t", "item": item})),
        ],
        &["turn.started prompt=go"],
    );
}

#[test]
fn a_fork_keeps_its_own_name_whatever_it_was_copied_from() {
    let lines = [
        meta("fork"),
        meta("old"),
        plan("1", &[("a", "pending")]),
        output("1", "Plan updated"),
        meta("fork"),
        plan("2", &[("a", "completed")]),
        output("2", "Plan updated"),
    ];
    check(CODEX, &lines, &["fork#1: [ ] a", "fork#1: [x] a"]);
}

#[test]
fn a_sub_agents_file_names_the_root_and_the_sub_agent() {
    let source = json!({"subagent": {"thread_spawn": {"parent_thread_id": "root", "depth": 1}}});
    let child = json!({"id": "child", "session_id": "root", "parent_thread_id": "root",
                       "source": source});
    let lines =
        [kept("session_meta", child), plan("1", &[("a", "pending")]), output("1", "Plan updated")];
    check(CODEX, &lines, &["root/child#1: [ ] a"]);
    assert_eq!(agents(CODEX, &lines), ["root/child"]);
}

#[test]
fn a_plan_that_stands_in_a_script_is_told_as_unconfirmed() {
    let literal = "await tools.update_plan({plan: [{step: 'a', status: 'in_progress'}]});";
    let lines = |said: &str| [meta("t"), script("1", literal), ran("1", said)];
    let list = "t#1 unconfirmed: [>] a";
    check(CODEX, &lines("Script completed\nWall time 0.0 seconds\nOutput:\n"), &[list]);
    check(CODEX, &lines("Script failed\nError: no"), &[]);
    // Without a result.
    check(CODEX, &[meta("t"), script("1", literal)], &[list]);
}

#[test]
fn a_plan_that_a_script_computes_is_never_silence() {
    let lines = [
        meta("t"),
        script("1", "await tools.update_plan({plan: steps})"),
        ran("1", "Script completed"),
    ];
    check_warnings(
        CODEX,
        &lines,
        &["3: a script computed its plan, so the file does not contain it"],
    );
    assert_eq!(tally(CODEX, &lines).todo_calls, 1);
}

#[test]
fn a_script_that_only_plans_is_no_tool_and_one_that_does_more_is() {
    let only = "await tools.update_plan({plan: []})";
    let more = "await tools.update_plan({plan: []}); await tools.exec_command({cmd: 'ls'})";
    check_events(
        CODEX,
        &[script("1", only), ran("1", "Script completed")],
        &["todo_list todoId=openai-codex#1 unconfirmed=true"],
    );
    check_events(
        CODEX,
        &[script("1", more), ran("1", "Script completed")],
        &[
            &format!("tool.scheduled callId=1 name=exec input={more}"),
            "todo_list todoId=openai-codex#1 unconfirmed=true",
            "tool.completed callId=1 status=success output=Script completed\n{}",
        ],
    );
}

#[test]
fn how_a_call_ended_is_said_elsewhere_and_late_words_about_it_are_not_told_twice() {
    let call = json!({"type": "function_call", "name": "exec_command", "call_id": "1",
                      "arguments": "{\"cmd\":\"ls\"}"});
    let ended = json!({"type": "item_completed", "item": {"type": "CommandExecution", "id": "1",
                       "status": "failed", "aggregated_output": "x"}});
    let call = kept("response_item", call);
    let ended = kept("event_msg", ended);
    let scheduled = "tool.scheduled callId=1 name=exec_command input={\"cmd\":\"ls\"}";
    check_events(
        CODEX,
        &[call.clone(), ended.clone(), output("1", "no")],
        &[scheduled, "tool.completed callId=1 status=error output=no"],
    );
    check_events(
        CODEX,
        &[call, output("1", "Wall time: 1\naborted by user"), ended],
        &[
            scheduled,
            "tool.completed callId=1 status=cancelled output=Wall time: 1\naborted by user",
        ],
    );
}

#[test]
fn what_stands_twice_is_told_once_and_what_the_program_says_for_the_user_is_not_the_user() {
    let message = |role: &str, text: &str| {
        let content = json!([{"type": "input_text", "text": text}]);
        kept("response_item", json!({"type": "message", "role": role, "content": content}))
    };
    let told = |kind: &str, text: &str| {
        let content = json!([{"type": "text", "text": text}]);
        kept(
            "event_msg",
            json!({"type": "item_completed", "item": {"type": kind, "id": "1", "content": content}}),
        )
    };
    check_events(
        CODEX,
        &[
            message("developer", "rules"),
            message("user", "<environment_context>"),
            message("user", "do it"),
            told("UserMessage", "do it"),
            told("AgentMessage", "yes"),
            message("assistant", "yes"),
            kept("event_msg", json!({"type": "agent_message", "message": "yes"})),
        ],
        &["text role=user text=do it", "text role=assistant text=yes"],
    );
}

#[test]
fn that_a_thread_was_summed_up_is_known_and_changes_no_list() {
    let done = json!({"type": "item_completed", "item": {"type": "ContextCompaction", "id": "1"}});
    let lines = [
        meta("t"),
        plan("1", &[("a", "in_progress")]),
        output("1", "Plan updated"),
        kept("compacted", json!({"message": "a was begun", "replacement_history": []})),
        kept("event_msg", done),
    ];
    check(CODEX, &lines, &["t#1: [>] a"]);
    assert!(tally(CODEX, &lines).unknown.is_empty(), "{:?}", tally(CODEX, &lines).unknown);
}

#[test]
fn what_was_spent_is_told_when_it_changes() {
    let count = |input: u64| {
        let total = json!({"input_tokens": input, "output_tokens": 1});
        kept("event_msg", json!({"type": "token_count", "info": {"total_token_usage": total}}))
    };
    let none = kept("event_msg", json!({"type": "token_count", "info": null}));
    check_events(
        CODEX,
        &[none, count(1), count(1), count(2)],
        &[
            "usage inputTokens=1 outputTokens=1 cumulative=true",
            "usage inputTokens=2 outputTokens=1 cumulative=true",
        ],
    );
}

// The app server.

fn says(method: &str, params: Value) -> Value {
    json!({"method": method, "params": params, "emittedAtMs": 5})
}

fn planned(thread: &str, status: &str) -> Value {
    let plan = json!([{"step": "a", "status": status}]);
    says(
        "turn/plan/updated",
        json!({"threadId": thread, "turnId": "u", "explanation": null, "plan": plan}),
    )
}

#[test]
fn the_app_server_has_many_threads_and_writes_statuses_its_own_way() {
    let started = |id: &str, parent: Value, root: &str| {
        let thread = json!({"id": id, "parentThreadId": parent, "sessionId": root});
        says("thread/started", json!({"thread": thread}))
    };
    check(
        CODEX,
        &[
            started("one", json!(null), "one"),
            started("sub", json!("one"), "one"),
            planned("one", "inProgress"),
            planned("two", "pending"),
            planned("sub", "completed"),
            planned("one", "completed"),
        ],
        &["one#1: [>] a", "two#1: [ ] a", "one/sub#1: [x] a", "one#1: [x] a"],
    );
}

#[test]
fn what_the_client_says_to_the_app_server_is_not_what_happened() {
    let wrapped = |dir: &str| json!({"dir": dir, "msg": planned("t", "pending")});
    check(CODEX, &[wrapped("send"), wrapped("recv")], &["t#1: [ ] a"]);
}

#[test]
fn the_app_server_ends_turns_asks_and_warns() {
    let ended = |status: &str, error: Value| {
        says("turn/completed", json!({"threadId": "t", "turn": {"status": status, "error": error}}))
    };
    let text = |kind: &str| {
        says(
            kind,
            json!({"threadId": "t", "item": {"type": "agentMessage", "id": "m", "text": "hi"}}),
        )
    };
    check_events(
        CODEX,
        &[
            text("item/started"),
            says("item/agentMessage/delta", json!({"threadId": "t", "itemId": "m", "delta": "hi"})),
            text("item/completed"),
            says(
                "item/commandExecution/requestApproval",
                json!({"threadId": "t", "itemId": "c", "reason": "may I?"}),
            ),
            says("error", json!({"threadId": "t", "error": {"message": "oh"}, "willRetry": true})),
            says("configWarning", json!({"summary": "hm", "details": null})),
            ended("interrupted", json!(null)),
            ended("failed", json!({"message": "bad"})),
        ],
        &[
            "text role=assistant text=hi",
            "tool.waiting callId=c question=may I?",
            "error message=oh recoverable=true",
            "error message=hm recoverable=true",
            "turn.completed status=cancelled reason=interrupted",
            "error message=bad",
            "turn.completed status=error reason=failed",
        ],
    );
}

// All forms.

#[test]
fn unknown_kinds_are_counted_by_name() {
    let lines = [
        thread("t"),
        json!({"type": "turn.imagined"}),
        item("completed", json!({"id": "1", "type": "dream"})),
        meta("another form"),
    ];
    let unknown = tally(CODEX, &lines).unknown;
    let names: Vec<&str> = unknown.keys().map(String::as_str).collect();
    assert_eq!(names, ["item/dream", "session_meta", "turn.imagined"]);
    let lines = [
        kept("event_msg", json!({"type": "dream"})),
        kept("response_item", json!({"type": "dream"})),
        kept("dream", json!({})),
    ];
    let unknown = tally(CODEX, &lines).unknown;
    let names: Vec<&str> = unknown.keys().map(String::as_str).collect();
    assert_eq!(names, ["dream", "event_msg/dream", "response_item/dream"]);
}

#[test]
fn state_is_bounded_whatever_comes() {
    let mut lines = vec![meta("t")];
    for number in 0..1_500 {
        lines.push(plan(&format!("open {number}"), &[("a", "pending")]));
        lines.push(output(&format!("other {number}"), "x"));
    }
    let tally_of = tally(CODEX, &lines);
    assert_eq!(tally_of.lists, 1, "only the newest is told");
    assert_eq!(tally_of.warnings, 1_500 - 1_024);
    let threads: Vec<Value> = (0..3_000).map(|it| planned(&format!("{it}"), "pending")).collect();
    assert_eq!(tally(CODEX, &threads).lists, 3_000);
}
