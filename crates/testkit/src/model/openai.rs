//! The OpenAI Responses API as Codex uses it: parses requests and writes messages. Sends nothing.
//!
//! Codex offers tools in `tools` or, to models that write code, in an input item. A call of a tool
//! in a namespace has both names in separate fields; here such a tool is `namespace.tool`. A tool
//! whose input is text, such as the one that runs code, is called with a JSON string.

use serde_json::{Value, json};

use super::api::{Event, members, pieces, string};
use super::request::Entry;
use super::script::{Block, Ending, Message};

/// The namespace of tools that have none of their own, for models that write code.
const PLAIN: &str = "functions";

pub(super) fn entries(body: &Value) -> Vec<Entry> {
    let instructions = body["instructions"].as_str();
    let mut entries: Vec<Entry> =
        instructions.map(|it| Entry::Prompt(it.to_owned())).into_iter().collect();
    for item in members(&body["input"]) {
        let kind = item["type"].as_str().unwrap_or("message");
        if kind == "additional_tools" {
            continue;
        }
        if kind.ends_with("_call") {
            entries.push(Entry::Called { id: string(&item["call_id"]), tool: name(item) });
            continue;
        }
        if kind.ends_with("_output") {
            entries.push(Entry::Result {
                id: string(&item["call_id"]),
                tool: String::new(),
                text: texts(&item["output"]).join(""),
                is_error: false,
            });
            continue;
        }
        // Instructions before the user's first text are not new.
        let begun = entries.iter().any(|it| !matches!(it, Entry::Prompt(_)));
        let texts = match kind {
            "reasoning" => texts(&item["summary"]),
            _ => texts(&item["content"]),
        };
        entries.extend(texts.into_iter().map(|text| match (kind, item["role"].as_str()) {
            ("reasoning", _) | ("message", Some("assistant")) => Entry::Said(text),
            ("message", Some("developer" | "system")) if begun => Entry::Note(text),
            ("message", Some("developer" | "system")) => Entry::Prompt(text),
            // Messages of another agent come as items of their own, in the user's place.
            (_, _) => Entry::User(text),
        }));
    }
    entries
}

/// The texts of a content: a string, or parts, which may be encrypted.
fn texts(content: &Value) -> Vec<String> {
    let text = |part: &Value| {
        let text = ["text", "encrypted_content"].iter().find_map(|key| part[*key].as_str());
        text.map(str::to_owned)
    };
    let whole = content.as_str().map(str::to_owned);
    whole.into_iter().chain(members(content).filter_map(text)).collect()
}

pub(super) fn tools(body: &Value) -> Vec<String> {
    let added = members(&body["input"]).filter(|it| it["type"] == "additional_tools");
    let mut names = Vec::new();
    for tool in members(&body["tools"]).chain(added.flat_map(|it| members(&it["tools"]))) {
        if tool["type"] == "namespace" {
            let space = string(&tool["name"]);
            names.extend(members(&tool["tools"]).map(|it| qualified(&space, &string(&it["name"]))));
        } else {
            // The provider's own tools have a type instead of a name.
            let name = tool["name"].as_str().or(tool["type"].as_str());
            names.extend(name.map(str::to_owned));
        }
    }
    names
}

fn qualified(space: &str, name: &str) -> String {
    if space.is_empty() || space == PLAIN { name.to_owned() } else { format!("{space}.{name}") }
}

/// The tool that an item calls. The provider's own tools are named by their type.
fn name(item: &Value) -> String {
    let kind = string(&item["type"]);
    let own = kind.strip_suffix("_call").unwrap_or(&kind);
    let name = item["name"].as_str().unwrap_or(own);
    qualified(&string(&item["namespace"]), name)
}

pub(super) fn events(message: &Message, model: &str, id: usize) -> Vec<Event> {
    let response = |status: &str| json!({"id": response_id(id), "object": "response", "status": status, "model": model});
    let mut events = vec![event("response.created", json!({"response": response("in_progress")}))];
    for (index, block) in message.blocks.iter().enumerate() {
        let item = item(block, id, index, message.call_index(index));
        let at = |mut data: Value| {
            data["item_id"] = item["id"].clone();
            data["output_index"] = json!(index);
            data
        };
        let mut begun = item.clone();
        if let Some(status) = begun.get_mut("status") {
            *status = json!("in_progress");
        }
        let added = json!({"output_index": index, "item": begun});
        events.push(event("response.output_item.added", added));
        events.extend(deltas(block).into_iter().map(|(name, data)| event(name, at(data))));
        if matches!(block, Block::Text(_)) {
            let cited = message.citations.iter().map(citation);
            events.extend(cited.map(|it| event("response.output_text.annotation.added", at(it))));
        }
        let done = json!({"output_index": index, "item": item});
        events.push(event("response.output_item.done", done));
    }
    match &message.ending {
        Ending::Whole => {
            let mut response = response("completed");
            response["output"] = json!([]);
            response["usage"] = usage(message);
            events.push(event("response.completed", json!({"response": response})));
        }
        Ending::Failed(kind) => {
            let mut response = response("failed");
            response["error"] = json!({"code": kind, "message": "as the script says"});
            events.push(event("response.failed", json!({"response": response})));
        }
        Ending::Cut | Ending::Unfinished | Ending::Hang => {}
    }
    events
}

/// An event; its name is also in its data.
fn event(name: &'static str, mut data: Value) -> Event {
    data["type"] = json!(name);
    Event { name: Some(name), data }
}

pub(super) fn whole(message: &Message, model: &str, id: usize) -> Value {
    let blocks = message.blocks.iter().enumerate();
    let output = blocks.map(|(index, block)| item(block, id, index, message.call_index(index)));
    let output: Vec<Value> = output.collect();
    json!({"id": response_id(id), "object": "response", "status": "completed", "model": model,
        "output": output, "usage": usage(message)})
}

pub(super) fn error(kind: &str) -> Value {
    json!({"error": {"message": "as the script says", "type": kind, "code": kind, "param": null}})
}

/// Codex asks for no titles. Its requests beside the conversation ask for a summary: as text, or as
/// an encrypted item.
pub(super) fn aside(body: &Value, text: &str) -> Message {
    if is_compaction(body) {
        return Message::new().raw(json!({"type": "compaction", "encrypted_content": text}));
    }
    Message::new().says(text)
}

/// Whether the request asks for a summary of the conversation.
pub(super) fn is_compaction(body: &Value) -> bool {
    members(&body["input"]).any(|it| it["type"] == "compaction_trigger")
}

fn response_id(id: usize) -> String {
    format!("resp_{id:020}")
}

fn usage(message: &Message) -> Value {
    json!({"input_tokens": message.tokens(), "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 25, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": message.tokens() + 25})
}

fn citation((title, url): &(String, String)) -> Value {
    json!({"content_index": 0, "annotation_index": 0, "annotation": {"type": "url_citation",
        "title": title, "url": url, "start_index": 0, "end_index": 1}})
}

/// An item of the output, finished.
fn item(block: &Block, id: usize, index: usize, call: usize) -> Value {
    let number = format!("{id:018}{index:02}");
    let call = format!("call_{id:018}{call:02}");
    match block {
        Block::Thinking(text) => json!({"id": format!("rs_{number}"), "type": "reasoning",
            "summary": [{"type": "summary_text", "text": text}], "encrypted_content": "c2VhbGVk"}),
        Block::Text(text) => json!({"id": format!("msg_{number}"), "type": "message",
            "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}]}),
        Block::Call { tool, input } => {
            let (space, name) = tool.split_once('.').unwrap_or(("", tool));
            let mut item = match input {
                Value::String(input) => json!({"id": format!("ctc_{number}"),
                    "type": "custom_tool_call", "status": "completed", "call_id": call,
                    "name": name, "input": input}),
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_) => json!({"id": format!("fc_{number}"),
                    "type": "function_call", "status": "completed", "call_id": call,
                    "name": name, "arguments": input.to_string()}),
            };
            if !space.is_empty() {
                item["namespace"] = json!(space);
            }
            item
        }
        Block::Garbled { tool, arguments } => json!({"id": format!("fc_{number}"),
            "type": "function_call", "status": "completed", "call_id": call, "name": tool,
            "arguments": arguments}),
        Block::Raw(value) => {
            let mut item = value.clone();
            for (key, prefix) in [("id", "it"), ("call_id", "call")] {
                if item.is_object() && item.get(key).is_none() {
                    item[key] = json!(format!("{prefix}_{number}"));
                }
            }
            item
        }
    }
}

/// The deltas between the start and the end of an item.
fn deltas(block: &Block) -> Vec<(&'static str, Value)> {
    let mut deltas = Vec::new();
    match block {
        Block::Thinking(text) => {
            let part = json!({"summary_index": 0, "part": {"type": "summary_text", "text": ""}});
            deltas.push(("response.reasoning_summary_part.added", part));
            deltas.extend(pieces(text).map(|it| {
                let delta = json!({"summary_index": 0, "delta": it});
                ("response.reasoning_summary_text.delta", delta)
            }));
            let done = json!({"summary_index": 0, "text": text});
            deltas.push(("response.reasoning_summary_text.done", done));
        }
        Block::Text(text) => {
            let part = json!({"type": "output_text", "text": "", "annotations": []});
            let part = json!({"content_index": 0, "part": part});
            deltas.push(("response.content_part.added", part));
            deltas.extend(pieces(text).map(|it| {
                ("response.output_text.delta", json!({"content_index": 0, "delta": it}))
            }));
            let done = json!({"content_index": 0, "text": text});
            deltas.push(("response.output_text.done", done));
        }
        Block::Call { input, .. } => {
            let (name, text) = match input.as_str() {
                Some(text) => ("response.custom_tool_call_input.delta", text.to_owned()),
                None => ("response.function_call_arguments.delta", input.to_string()),
            };
            deltas.extend(pieces(&text).map(|it| (name, json!({"delta": it}))));
        }
        Block::Garbled { arguments, .. } => {
            let name = "response.function_call_arguments.delta";
            deltas.extend(pieces(arguments).map(|it| (name, json!({"delta": it}))));
        }
        Block::Raw(_) => {}
    }
    deltas
}
