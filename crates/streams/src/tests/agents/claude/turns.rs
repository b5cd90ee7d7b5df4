//! Sessions, turns, prompts, token usage and errors.

use serde_json::{Value, json};

use super::{CLAUDE, check, create, ended, kept, stream_line};
use crate::event::owned;
use crate::tests::lines::{bytes, check_events};
use crate::tests::{events, in_short, parse};

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
fn a_last_message_of_several_texts_ends_its_turn_once() {
    let says = |text: &str| {
        let mut line =
            kept("12:00:00", stream_line("assistant", json!({"type": "text", "text": text}), None));
        line["message"]["id"] = json!("m");
        line["message"]["stop_reason"] = json!("end_turn");
        line
    };
    let events = events(CLAUDE, &bytes(&[says("one"), says("two")]));
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

/// A line of a message in a transcript, with its usage.
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
            "usage inputTokens=7 outputTokens=300 cachedTokens=2 contextTokens=307",
            "text role=assistant text=three",
            "usage inputTokens=7 outputTokens=8 cachedTokens=2 contextTokens=15",
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
            "usage inputTokens=7 outputTokens=5 cachedTokens=2 contextTokens=12",
            "turn.completed status=success reason=end_turn",
            "text role=assistant text=two",
            "usage outputTokens=25 contextTokens=37",
        ],
    );
}

#[test]
fn what_a_printed_turn_used_is_told_as_its_messages_come_and_the_rest_with_its_result() {
    let says = |message: &str, output: u64| {
        let block = json!({"type": "text", "text": message});
        let mut line = stream_line("assistant", block, None);
        line["message"]["id"] = json!(message);
        line["message"]["usage"] = json!({"input_tokens": 10, "output_tokens": output});
        line
    };
    let result = |input: u64, output: u64, cost: f64| {
        let mut line = ended();
        line["usage"] = json!({"input_tokens": input, "output_tokens": output});
        line["total_cost_usd"] = json!(cost);
        line
    };
    let one = "usage inputTokens=10 outputTokens=1 contextTokens=11";
    check_events(
        CLAUDE,
        &[says("a", 1), says("b", 1), result(20, 50, 0.5)],
        &[
            "text role=assistant text=a",
            one,
            "text role=assistant text=b",
            one,
            "usage outputTokens=48 costUsd=0.5",
            "turn.completed status=success reason=success",
        ],
    );
    // A result may come while the next turn has begun; what is told of both is what they used.
    check_events(
        CLAUDE,
        &[says("a", 1), says("b", 1), result(10, 1, 0.5), result(10, 5, 0.75)],
        &[
            "text role=assistant text=a",
            one,
            "text role=assistant text=b",
            one,
            "usage costUsd=0.5",
            "turn.completed status=success reason=success",
            "usage outputTokens=4 costUsd=0.25",
            "turn.completed status=success reason=success",
        ],
    );
    // One that is killed has no result.
    check_events(
        CLAUDE,
        &[says("a", 1), says("b", 1)],
        &["text role=assistant text=a", one, "text role=assistant text=b", one],
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
    let events = events(CLAUDE, &bytes(&lines));
    let told = |agent: &str, output: u64| {
        let of = events.lines().map(parse).filter(|it| it.agent_id == agent);
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
    let events = events(CLAUDE, &bytes(&lines));
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
fn an_answer_that_broke_off_is_told_as_far_as_it_came() {
    let delta = |text: &str| {
        json!({"type": "stream_event", "session_id": "s", "event": {"type": "content_block_delta",
               "delta": {"type": "text_delta", "text": text}}})
    };
    let whole = stream_line("assistant", json!({"type": "text", "text": "one two"}), None);
    let said = |lines: &[Value]| {
        let events = events(CLAUDE, &bytes(lines));
        events.lines().map(|it| in_short(&parse(it))).collect::<Vec<_>>()
    };
    assert_eq!(
        said(&[delta("one "), delta("two"), whole]),
        ["Text { role: Assistant, text: \"one two\", delta: false, citations: [] }"]
    );
    assert_eq!(
        said(&[delta("one "), delta("two")]),
        ["Text { role: Assistant, text: \"one two\", delta: true, citations: [] }"]
    );
}

#[test]
fn turns_end_as_the_source_says_and_not_as_it_calls_itself() {
    #[track_caller]
    fn check(mut line: Value, expected: &str) {
        line["type"] = json!("result");
        line["session_id"] = json!("s");
        let events = events(CLAUDE, &bytes(&[line]));
        let last = events.lines().last().map(|it| in_short(&parse(it)));
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
