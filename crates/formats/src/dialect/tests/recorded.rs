//! The dialects of other programs compared with recordings of these programs: the recorded
//! arguments give the recorded results, and the schemas require the same fields.

use serde_json::Value;

use super::{Caller, json};
use crate::dialect::{Dialect, Surface};

/// A recorded call and the result that the model got.
struct Recorded {
    tool: String,
    arguments: String,
    result: String,
    is_error: bool,
}

/// The tool calls in a Claude Code stream or session file with their results, in the order of the
/// results.
fn claude(text: &str) -> Vec<Recorded> {
    let mut calls: Vec<(String, String, String)> = Vec::new();
    let mut recorded = Vec::new();
    for line in text.lines().map(json) {
        for block in line["message"]["content"].as_array().unwrap_or(&Vec::new()) {
            let word = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
            if block["type"] == "tool_use" {
                calls.push((word("id"), word("name"), block["input"].to_string()));
            }
            let answered = calls.iter().position(|(id, ..)| *id == word("tool_use_id"));
            if let Some(at) = answered {
                let (_, tool, arguments) = calls.remove(at);
                let is_error = block["is_error"] == true;
                recorded.push(Recorded { tool, arguments, result: word("content"), is_error });
            }
        }
    }
    recorded
}

/// The function calls of a Codex rollout file with their outputs.
fn codex(text: &str) -> Vec<Recorded> {
    let lines: Vec<Value> = text.lines().map(|line| json(line)["payload"].take()).collect();
    let word = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let calls = lines.iter().filter(|line| line["type"] == "function_call");
    calls
        .map(|call| {
            let is_output = |line: &&Value| {
                line["type"] == "function_call_output" && line["call_id"] == call["call_id"]
            };
            let output = lines.iter().find(is_output).unwrap();
            let (tool, arguments) = (word(call, "name"), word(call, "arguments"));
            Recorded { tool, arguments, result: word(output, "output"), is_error: false }
        })
        .collect()
}

/// The function calls that Gemini CLI sent back to its model with their responses.
fn gemini(text: &str) -> Vec<Recorded> {
    let messages = json(text);
    let parts: Vec<&Value> = messages
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|it| it["parts"].as_array().unwrap())
        .collect();
    let calls = parts.iter().map(|part| &part["functionCall"]).filter(|call| call.is_object());
    calls
        .map(|call| {
            let responses = parts.iter().map(|part| &part["functionResponse"]);
            let mut own = responses.filter(|response| response["id"] == call["id"]);
            let response = &own.next().unwrap()["response"];
            let is_error = response["error"].is_string();
            let result = &response[if is_error { "error" } else { "output" }];
            Recorded {
                tool: call["name"].as_str().unwrap().to_owned(),
                arguments: call["args"].to_string(),
                result: result.as_str().unwrap().to_owned(),
                is_error,
            }
        })
        .collect()
}

/// Replays a recording. An error may have additional text after a blank line.
fn check(dialect: Dialect, recording: &[Recorded]) {
    assert!(!recording.is_empty());
    let mut caller = Caller::new(dialect);
    for Recorded { tool, arguments, result, is_error } in recording {
        let reply = caller.raw(tool, arguments.as_bytes());
        let said = match is_error {
            true => reply.text.split("\n\n").next().unwrap_or_default(),
            false => &reply.text,
        };
        assert_eq!(said, result, "{tool} {arguments}");
        // Claude Code does not mark the update of a missing task as an error. Punchlist does,
        // because the call failed.
        let missing = tool == "TaskUpdate" && result == "Task not found";
        assert_eq!(reply.is_error, *is_error || missing, "{tool} {arguments}");
    }
}

#[test]
fn tasks_answer_as_claude_code_does() {
    let recording = claude(include_str!("../../../../../fixtures/claude/stream-tasks.jsonl"));
    assert_eq!(recording.len(), 16);
    check(Dialect::Tasks, &recording);
}

#[test]
fn tasks_answer_as_claude_code_does_when_there_are_none() {
    let text = include_str!("../../../../../fixtures/claude/transcript-session-fork.jsonl");
    check(Dialect::Tasks, &claude(text));
}

#[test]
fn tasks_refuse_bad_arguments_as_claude_code_does() {
    let text = include_str!("../../../../../fixtures/claude/stream-invalid-tasks.jsonl");
    let mut recording = claude(text);
    // Tools that the dialect does not offer are left out.
    recording.retain(|it| it.tool.starts_with("Task"));
    assert!(recording.iter().any(|it| it.is_error));
    check(Dialect::Tasks, &recording);
}

#[test]
fn update_plan_answers_as_codex_does() {
    let recording = codex(include_str!("../../../../../fixtures/codex/rollout-a-plan.jsonl"));
    assert_eq!(recording.len(), 4);
    check(Dialect::UpdatePlan, &recording);
}

#[test]
fn write_todos_answers_as_gemini_cli_does() {
    let text = include_str!("../../../../../fixtures/gemini/model-view-a-todos.json");
    let recording = gemini(text);
    assert_eq!((recording.len(), recording.iter().filter(|it| it.is_error).count()), (6, 1));
    check(Dialect::WriteTodos, &recording);
}

/// A schema without keywords that only narrow it. Punchlist accepts more fields than those
/// programs, and one list of words is equivalent to a choice between a list and one more word.
fn essence(mut schema: Value) -> Value {
    let words = |of: &Value| -> Vec<Value> {
        let one = of.get("const").cloned().into_iter();
        one.chain(of["enum"].as_array().cloned().unwrap_or_default()).collect()
    };
    if let Some(any) = schema.get("anyOf").and_then(Value::as_array) {
        let words: Vec<Value> = any.iter().flat_map(words).collect();
        return serde_json::json!({"type": "string", "enum": words});
    }
    if let Some(fields) = schema.as_object_mut() {
        for name in ["$schema", "additionalProperties", "propertyNames"] {
            fields.remove(name);
        }
        for value in fields.values_mut() {
            *value = essence(value.take());
        }
    }
    schema
}

fn check_schema(dialect: Dialect, tool: &str, recorded: &Value) {
    assert!(recorded.is_object(), "{tool}");
    for surface in [Surface::Thin, Surface::Full] {
        let ours = dialect.tools(surface).into_iter().find(|it| it.name == tool).unwrap();
        assert_eq!(ours.input_schema, essence(recorded.clone()), "{tool}");
    }
}

#[test]
fn the_schemas_are_those_of_the_programs() {
    let claude = json(include_str!("../../../../../fixtures/claude/tools-schemas.json"));
    for tool in ["TaskCreate", "TaskGet", "TaskUpdate", "TaskList"] {
        check_schema(Dialect::Tasks, tool, &claude["schemas"][tool]["input_schema"]);
    }
    let codex = json(include_str!("../../../../../fixtures/codex/tools-schemas.json"));
    let tool = &codex["function_tools"]["update_plan"];
    check_schema(Dialect::UpdatePlan, "update_plan", &tool["parameters"]);
    let gemini = json(include_str!("../../../../../fixtures/gemini/tools-schemas.json"));
    let tool = &gemini["sets"]["tools-gemini-2.5-flash"]["tools"][0];
    check_schema(Dialect::WriteTodos, "write_todos", &tool["parametersJsonSchema"]);
}
