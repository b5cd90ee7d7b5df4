//! Files of older versions, and files that are one object over many lines.

use serde_json::{Value, json};

use crate::Source;
use crate::tests::lines::{bytes, check, check_events, check_warnings};
use crate::tests::{events, lists};

/// A chat in Gemini CLI's older format.
fn session() -> Value {
    let time = |second: u32| format!("2025-12-01T10:00:{second:02}.000Z");
    let todos = json!([{"description": "Read", "status": "in_progress"}]);
    let call = json!({"id": "w1", "name": "write_todos", "args": {"todos": todos}, "status": "success",
        "timestamp": time(3), "resultDisplay": {"todos": todos}});
    json!({"sessionId": "s", "projectHash": "h", "startTime": time(0), "lastUpdated": time(9),
    "messages": [
        {"id": "a", "timestamp": time(1), "type": "user", "content": "Do it"},
        {"id": "b", "timestamp": time(2), "type": "gemini", "content": "", "toolCalls": [call]},
        {"id": "c", "timestamp": time(4), "type": "gemini", "content": "Done."},
    ]})
}

const TOLD: &[&str] = &[
    "session.started",
    "turn.started prompt=Do it",
    "todo_list todoId=s#1",
    "text role=assistant text=Done.",
    "turn.completed status=success",
];

#[test]
fn a_gemini_session_that_is_one_object_is_read_in_one_line_or_many() {
    check_events(Source::Gemini, &[session()], TOLD);
    let one = events(Source::Gemini, &bytes(&[session()]));
    let pretty = serde_json::to_string_pretty(&session()).unwrap();
    for text in [pretty.clone(), pretty.clone() + "\n", pretty.replace('\n', "\r\n")] {
        let many = crate::tests::check(Source::Gemini, text.as_bytes());
        // The last event comes at the end of the file, which counts as a line.
        let but_last = |it: &str| it.lines().take(4).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(but_last(&many), but_last(&one));
        assert_eq!(lists(Source::Gemini, text.as_bytes()), "s#1: [>] Read\n");
    }
}

#[test]
fn events_of_an_object_keep_their_ids_when_it_was_written_anew_and_longer() {
    let mut longer = session();
    let more = json!({"id": "d", "timestamp": "2025-12-01T10:00:08.000Z", "type": "user", "content": "More"});
    longer["messages"].as_array_mut().unwrap().push(more);
    let text = |it: &Value| serde_json::to_string_pretty(it).unwrap();
    let before = events(Source::Gemini, text(&session()).as_bytes());
    let after = events(Source::Gemini, text(&longer).as_bytes());
    for line in before.lines().take(4) {
        assert!(after.contains(line), "{line}");
    }
}

#[test]
fn an_object_that_ends_in_the_middle_is_a_warning() {
    let text = serde_json::to_string_pretty(&session()).unwrap();
    let cut = &text[..text.len() / 2];
    let told = crate::tests::check(Source::Gemini, cut.as_bytes());
    assert!(told.contains("it ends in the middle"), "{told}");
}

fn bare() -> Vec<Value> {
    let said = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let plan = json!({"plan": [{"step": "Look", "status": "completed"},
        {"step": "Leap", "status": "in_progress"}]});
    vec![
        json!({"id": "t", "timestamp": "2025-08-01T10:00:00.000Z", "instructions": null, "git": {}}),
        said(
            "user",
            "input_text",
            "<environment_context>\n  <cwd>/p</cwd>\n</environment_context>",
        ),
        json!({"record_type": "state"}),
        said("user", "input_text", "Leap"),
        json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]}),
        json!({"type": "function_call", "name": "update_plan", "arguments": plan.to_string(),
            "call_id": "c1"}),
        json!({"type": "function_call_output", "call_id": "c1", "output": "Plan updated"}),
        json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}",
            "call_id": "c2"}),
        json!({"type": "function_call_output", "call_id": "c2", "output": "a"}),
        said("assistant", "output_text", "Done."),
        said("user", "input_text", "Again"),
    ]
}

#[test]
fn a_codex_rollout_without_wrappers_is_read() {
    check_events(
        Source::Codex,
        &bare(),
        &[
            "session.started",
            "turn.started prompt=Leap",
            "thinking text=Hm",
            "todo_list todoId=t#1",
            "tool.scheduled callId=c2 name=shell input={\"command\":[\"ls\"]}",
            "tool.completed callId=c2 status=success output=a",
            "text role=assistant text=Done.",
            "turn.completed status=success",
            "turn.started prompt=Again",
        ],
    );
    check(Source::Codex, &bare(), &["t#1: [x] Look, [>] Leap"]);
    let mut items = bare();
    let header = items.remove(0);
    check(
        Source::Codex,
        &[json!({"session": header, "items": items})],
        &["t#1: [x] Look, [>] Leap"],
    );
}

fn todo(id: &str, text: &str) -> [Value; 2] {
    let todos = json!([{"content": text, "status": "pending", "activeForm": text}]);
    let call =
        json!({"type": "tool_use", "id": id, "name": "TodoWrite", "input": {"todos": todos}});
    let answer = json!({"type": "tool_result", "tool_use_id": id, "content": "ok"});
    [
        json!({"type": "assistant", "session_id": "s", "message": {"id": id, "content": [call]}}),
        json!({"type": "user", "session_id": "s", "message": {"content": [answer]},
            "tool_use_result": {"newTodos": todos}}),
    ]
}

#[test]
fn two_objects_on_one_line_are_two() {
    let [call, answer] = todo("a", "A");
    let [next, last] = todo("b", "B");
    for line in [
        format!("{call}{answer}{next}{last}\n"),
        format!("{call} {answer}\n{next}\t{last}"),
        format!("\u{feff}{call}{answer}\r\n{next}{last}\r\n"),
    ] {
        crate::tests::check(Source::ClaudeCode, line.as_bytes());
        assert_eq!(
            lists(Source::ClaudeCode, line.as_bytes()),
            "s#1: [ ] A\ns#1: [ ] B\n",
            "{line}"
        );
    }
}

#[test]
fn what_follows_an_object_and_is_none_is_a_warning() {
    let [call, answer] = todo("a", "A");
    let text = format!("{call}{answer}{{\"type\":\n{{\"a\" {{}}}}\n{{}}[]\n");
    let told = crate::tests::check(Source::ClaudeCode, text.as_bytes());
    assert_eq!(lists(Source::ClaudeCode, text.as_bytes()), "s#1: [ ] A\n");
    assert_eq!(told.matches("\"type\":\"warning\"").count(), 3, "{told}");
    let many = json!({"type": "keep_alive"}).to_string().repeat(100);
    let told = crate::tests::check(Source::ClaudeCode, many.as_bytes());
    assert!(told.contains("more than 64 objects in a line"), "{told}");
    check_warnings(Source::ClaudeCode, &[json!([1])], &["1: not a JSON object"]);
}
