//! Ollama's own API: how a message looks. Its requests are read in `chat`. Sends nothing.
//!
//! A stream is one JSON object a line. Calls have no ids, unless all are to have the same.

use serde_json::{Value, json};

use super::api::{Event, pieces};
use super::script::{Block, Ending, Message};

pub(super) fn events(message: &Message, model: &str, id: usize) -> Vec<Event> {
    let line = |message: Value| Event { name: None, data: reply(model, message, false) };
    let mut events = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Thinking(text) => {
                let pieces = pieces(text).map(|it| json!({"content": "", "thinking": it}));
                events.extend(pieces.map(line));
            }
            Block::Text(text) => {
                events.extend(pieces(text).map(|it| json!({"content": it})).map(line));
            }
            Block::Call { tool, input } => {
                let call = call(message, tool, input, id);
                events.push(line(json!({"content": "", "tool_calls": [call]})));
            }
            Block::Garbled { tool, arguments } => {
                let call = call(message, tool, &json!(arguments), id);
                events.push(line(json!({"content": "", "tool_calls": [call]})));
            }
            Block::Raw(value) => events.push(line(value.clone())),
        }
    }
    match &message.ending {
        Ending::Whole => {
            let mut data = reply(model, json!({"content": ""}), true);
            count(message, &mut data);
            events.push(Event { name: None, data });
        }
        Ending::Failed(kind) => events.push(Event { name: None, data: error(kind) }),
        Ending::Cut | Ending::Unfinished | Ending::Hang => {}
    }
    events
}

pub(super) fn whole(message: &Message, model: &str, id: usize) -> Value {
    let mut said = String::new();
    let mut calls = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Text(text) => said.push_str(text),
            Block::Call { tool, input } => calls.push(call(message, tool, input, id)),
            Block::Garbled { tool, arguments } => {
                calls.push(call(message, tool, &json!(arguments), id));
            }
            Block::Thinking(_) | Block::Raw(_) => {}
        }
    }
    let mut data = reply(model, json!({"content": said, "tool_calls": calls}), true);
    count(message, &mut data);
    data
}

pub(super) fn error(kind: &str) -> Value {
    json!({"error": kind})
}

fn reply(model: &str, mut message: Value, is_done: bool) -> Value {
    message["role"] = json!("assistant");
    json!({"model": model, "created_at": "2026-01-01T00:00:00Z", "message": message,
        "done": is_done})
}

fn count(message: &Message, data: &mut Value) {
    data["done_reason"] = json!("stop");
    data["prompt_eval_count"] = json!(message.tokens());
    data["eval_count"] = json!(25);
}

fn call(message: &Message, tool: &str, arguments: &Value, id: usize) -> Value {
    let mut call = json!({"function": {"name": tool, "arguments": arguments}});
    if message.has_one_id {
        call["id"] = json!(format!("call_{id}"));
    }
    call
}
