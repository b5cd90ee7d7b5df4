//! Tests of Claude Code: recordings here, and hand-written lines in one file per topic.
//!
//! The functions here build such lines.

mod lists;
mod sub_agents;
mod tasks;
mod turns;
mod warnings;

use serde_json::{Value, json};

use crate::tests::lines::check_known;
use crate::tests::{golden, hostile, recordings};
use crate::{Source, recognise};

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

/// A line of the stream: its type, message and sub-agent.
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

/// A result of the main agent: the text for the model, and the structured result.
fn result(id: &str, text: &str, structured: Value) -> Value {
    let mut line = text_result(id, text);
    line["tool_use_result"] = structured;
    line
}

/// A result of a sub-agent.
fn text_result(id: &str, text: &str) -> Value {
    stream_line("user", json!({"type": "tool_result", "tool_use_id": id, "content": text}), None)
}

fn refused(id: &str, text: &str) -> Value {
    let mut line = result(id, text, json!(format!("Error: {text}")));
    line["message"]["content"][0]["is_error"] = json!(true);
    line
}

/// The same line, from a sub-agent.
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

/// Checks the lists that follow from lines, one per line.
#[track_caller]
fn check(lines: &[Value], expected: &str) {
    crate::tests::lines::check(CLAUDE, lines, &expected.lines().collect::<Vec<_>>());
}
