//! OpenAI's chat completions: what requests say, and how a message looks. Sends nothing.
//!
//! Ollama's requests look the same but for ids, so they are read here too.

use serde_json::{Value, json};

use super::api::{Event, members, pieces, string};
use super::request::Entry;
use super::script::{Block, Ending, Message};

pub(super) fn entries(body: &Value) -> Vec<Entry> {
    let mut entries = Vec::new();
    for message in members(&body["messages"]) {
        let texts = texts(&message["content"]);
        match message["role"].as_str() {
            Some("system" | "developer") => entries.extend(texts.into_iter().map(Entry::Prompt)),
            Some("assistant") => {
                let texts = texts.into_iter().filter(|it| !it.is_empty());
                entries.extend(texts.map(Entry::Said));
                entries.extend(members(&message["tool_calls"]).map(|call| Entry::Called {
                    id: string(&call["id"]),
                    tool: string(&call["function"]["name"]),
                }));
            }
            Some("tool") => entries.push(Entry::Result {
                id: string(&message["tool_call_id"]),
                tool: string(&message["tool_name"]),
                text: texts.join("\n"),
                is_error: false,
            }),
            Some(_) | None => entries.extend(texts.into_iter().map(Entry::User)),
        }
    }
    entries
}

/// The texts of a content: a string, or parts.
fn texts(content: &Value) -> Vec<String> {
    let parts = members(content).filter_map(|it| it["text"].as_str());
    content.as_str().into_iter().chain(parts).map(str::to_owned).collect()
}

pub(super) fn tools(body: &Value) -> Vec<String> {
    let names = members(&body["tools"]).filter_map(|it| it["function"]["name"].as_str());
    names.map(str::to_owned).collect()
}

pub(super) fn events(message: &Message, model: &str, id: usize) -> Vec<Event> {
    let chunk = |delta: Value, finish: Value| {
        let data = json!({"id": completion_id(id), "object": "chat.completion.chunk",
            "model": model, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        Event { name: None, data }
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    let mut calls = 0;
    for (index, block) in message.blocks.iter().enumerate() {
        match block {
            Block::Thinking(text) => {
                let pieces = pieces(text).map(|it| json!({"reasoning_content": it}));
                events.extend(pieces.map(|it| chunk(it, Value::Null)));
            }
            Block::Text(text) => {
                let pieces = pieces(text).map(|it| json!({"content": it}));
                events.extend(pieces.map(|it| chunk(it, Value::Null)));
            }
            Block::Call { .. } | Block::Garbled { .. } => {
                let (tool, arguments) = call(block);
                let begun = json!({"index": calls, "id": call_id(id, message.call_index(index)),
                    "type": "function", "function": {"name": tool, "arguments": ""}});
                events.push(chunk(json!({"tool_calls": [begun]}), Value::Null));
                events.extend(pieces(&arguments).map(|it| {
                    let more = json!({"index": calls, "function": {"arguments": it}});
                    chunk(json!({"tool_calls": [more]}), Value::Null)
                }));
                calls += 1;
            }
            Block::Raw(value) => events.push(chunk(value.clone(), Value::Null)),
        }
    }
    if !message.citations.is_empty() {
        let cited: Vec<Value> = message.citations.iter().map(citation).collect();
        events.push(chunk(json!({"annotations": cited}), Value::Null));
    }
    match &message.ending {
        Ending::Whole => {
            events.push(chunk(json!({}), json!(finish_reason(message))));
            let data = json!({"id": completion_id(id), "object": "chat.completion.chunk",
                "model": model, "choices": [], "usage": usage(message)});
            events.push(Event { name: None, data });
            events.push(Event { name: None, data: Value::Null });
        }
        Ending::Failed(kind) => {
            events.push(Event { name: None, data: super::openai::error(kind) });
        }
        Ending::Cut | Ending::Unfinished | Ending::Hang => {}
    }
    events
}

pub(super) fn whole(message: &Message, model: &str, id: usize) -> Value {
    let mut said = String::new();
    let mut calls = Vec::new();
    for (index, block) in message.blocks.iter().enumerate() {
        match block {
            Block::Text(text) => said.push_str(text),
            Block::Call { .. } | Block::Garbled { .. } => {
                let (tool, arguments) = call(block);
                calls.push(json!({"id": call_id(id, message.call_index(index)),
                    "type": "function", "function": {"name": tool, "arguments": arguments}}));
            }
            Block::Thinking(_) | Block::Raw(_) => {}
        }
    }
    let mut own = json!({"role": "assistant", "content": said});
    if !calls.is_empty() {
        own["tool_calls"] = Value::Array(calls);
    }
    json!({"id": completion_id(id), "object": "chat.completion", "model": model,
        "choices": [{"index": 0, "message": own, "finish_reason": finish_reason(message)}],
        "usage": usage(message)})
}

/// The tool and the arguments of a call, as text.
fn call(block: &Block) -> (&str, String) {
    match block {
        Block::Call { tool, input } => (tool, input.to_string()),
        Block::Garbled { tool, arguments } => (tool, arguments.clone()),
        Block::Thinking(_) | Block::Text(_) | Block::Raw(_) => ("", String::new()),
    }
}

fn citation((title, url): &(String, String)) -> Value {
    json!({"type": "url_citation", "url_citation": {"title": title, "url": url, "start_index": 0,
        "end_index": 1}})
}

fn finish_reason(message: &Message) -> &'static str {
    if message.has_calls() { "tool_calls" } else { "stop" }
}

fn completion_id(id: usize) -> String {
    format!("chatcmpl-{id:020}")
}

fn call_id(id: usize, index: usize) -> String {
    format!("call_{id:018}{index:02}")
}

fn usage(message: &Message) -> Value {
    json!({"prompt_tokens": message.tokens(), "completion_tokens": 25,
        "total_tokens": message.tokens() + 25})
}
