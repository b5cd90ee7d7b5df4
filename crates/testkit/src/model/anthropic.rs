//! The Anthropic Messages API: parses requests and writes messages. Sends nothing.

use serde_json::{Value, json};

use super::api::{Event, members, pieces, string};
use super::request::Entry;
use super::script::{Block, Ending, Message};

/// A signature; no client checks it.
const SIGNATURE: &str = "c2lnbmF0dXJl";

pub(super) fn entries(body: &Value) -> Vec<Entry> {
    let mut entries: Vec<Entry> = texts(&body["system"]).into_iter().map(Entry::Prompt).collect();
    for message in members(&body["messages"]) {
        let entry = |text| match message["role"].as_str() {
            Some("assistant") => Entry::Said(text),
            Some("user") => Entry::User(text),
            Some(_) | None => Entry::Note(text),
        };
        let content = &message["content"];
        entries.extend(content.as_str().map(|it| entry(it.to_owned())));
        for block in members(content) {
            match block["type"].as_str() {
                Some("tool_use") => {
                    let (id, tool) = (string(&block["id"]), string(&block["name"]));
                    entries.push(Entry::Called { id, tool });
                }
                Some("tool_result") => entries.push(Entry::Result {
                    id: string(&block["tool_use_id"]),
                    tool: String::new(),
                    text: texts(&block["content"]).join("\n"),
                    is_error: block["is_error"] == true,
                }),
                Some(_) | None => entries.extend(block["text"].as_str().map(|it| entry(it.into()))),
            }
        }
    }
    entries
}

/// The texts of a content: a string, or blocks.
fn texts(content: &Value) -> Vec<String> {
    let blocks = members(content).filter_map(|it| it["text"].as_str());
    content.as_str().into_iter().chain(blocks).map(str::to_owned).collect()
}

pub(super) fn tools(body: &Value) -> Vec<String> {
    members(&body["tools"]).filter_map(|it| it["name"].as_str()).map(str::to_owned).collect()
}

pub(super) fn events(message: &Message, model: &str, id: usize) -> Vec<Event> {
    let usage = json!({"input_tokens": message.tokens(), "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0, "output_tokens": 1, "service_tier": "standard"});
    let start = json!({"type": "message_start", "message": {
        "id": format!("msg_{id:020}"), "type": "message", "role": "assistant", "model": model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage}});
    let mut events = vec![event("message_start", start), event("ping", json!({"type": "ping"}))];
    for (index, block) in message.blocks.iter().enumerate() {
        let (start, mut deltas) = parts(block, id, message.call_index(index));
        if matches!(block, Block::Text(_)) {
            deltas.extend(message.citations.iter().map(citation));
        }
        events.push(event(
            "content_block_start",
            json!({"type": "content_block_start", "index": index, "content_block": start}),
        ));
        events.extend(deltas.into_iter().map(|delta| {
            let data = json!({"type": "content_block_delta", "index": index, "delta": delta});
            event("content_block_delta", data)
        }));
        let stop = json!({"type": "content_block_stop", "index": index});
        events.push(event("content_block_stop", stop));
    }
    match &message.ending {
        Ending::Whole => {
            let delta = json!({"stop_reason": stop_reason(message), "stop_sequence": null});
            let usage = json!({"output_tokens": 25});
            let data = json!({"type": "message_delta", "delta": delta, "usage": usage});
            events.push(event("message_delta", data));
            events.push(event("message_stop", json!({"type": "message_stop"})));
        }
        Ending::Failed(kind) => events.push(event("error", error(kind, id))),
        Ending::Cut | Ending::Unfinished | Ending::Hang => {}
    }
    events
}

fn event(name: &'static str, data: Value) -> Event {
    Event { name: Some(name), data }
}

pub(super) fn whole(message: &Message, model: &str, id: usize) -> Value {
    let content = message.blocks.iter().enumerate().map(|(index, block)| match block {
        Block::Thinking(text) => {
            json!({"type": "thinking", "thinking": text, "signature": SIGNATURE})
        }
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Call { tool, input } => {
            let id = call_id(id, message.call_index(index));
            json!({"type": "tool_use", "id": id, "name": tool, "input": input})
        }
        Block::Garbled { tool, arguments } => {
            let id = call_id(id, message.call_index(index));
            json!({"type": "tool_use", "id": id, "name": tool, "input": arguments})
        }
        Block::Raw(value) => value.clone(),
    });
    let content: Vec<Value> = content.collect();
    json!({"id": format!("msg_{id:020}"), "type": "message", "role": "assistant", "model": model,
        "content": content, "stop_reason": stop_reason(message), "stop_sequence": null,
        "usage": {"input_tokens": message.tokens(), "output_tokens": 25}})
}

pub(super) fn error(kind: &str, id: usize) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": "as the script says"},
        "request_id": format!("req_{id:06}")})
}

/// The start of a block, and the deltas that fill it.
fn parts(block: &Block, id: usize, index: usize) -> (Value, Vec<Value>) {
    match block {
        Block::Thinking(text) => {
            let start = json!({"type": "thinking", "thinking": "", "signature": ""});
            let delta = |it| json!({"type": "thinking_delta", "thinking": it});
            let signed = json!({"type": "signature_delta", "signature": SIGNATURE});
            (start, pieces(text).map(delta).chain([signed]).collect())
        }
        Block::Text(text) => {
            let delta = |it| json!({"type": "text_delta", "text": it});
            (json!({"type": "text", "text": ""}), pieces(text).map(delta).collect())
        }
        Block::Call { tool, input } => {
            let id = call_id(id, index);
            let start = json!({"type": "tool_use", "id": id, "name": tool, "input": {}});
            let delta = |it| json!({"type": "input_json_delta", "partial_json": it});
            (start, pieces(&input.to_string()).map(delta).collect())
        }
        Block::Garbled { tool, arguments } => {
            let id = call_id(id, index);
            let start = json!({"type": "tool_use", "id": id, "name": tool, "input": {}});
            let delta = |it| json!({"type": "input_json_delta", "partial_json": it});
            (start, pieces(arguments).map(delta).collect())
        }
        Block::Raw(value) => (value.clone(), Vec::new()),
    }
}

fn citation((title, url): &(String, String)) -> Value {
    json!({"type": "citations_delta", "citation": {"type": "web_search_result_location",
        "title": title, "url": url, "cited_text": "as the script says", "encrypted_index": "aW5kZXg="}})
}

fn call_id(id: usize, index: usize) -> String {
    format!("toolu_{id:018}{index:02}")
}

fn stop_reason(message: &Message) -> &'static str {
    if message.has_calls() { "tool_use" } else { "end_turn" }
}
