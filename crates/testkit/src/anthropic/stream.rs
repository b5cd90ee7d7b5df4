//! How a message of the model looks on the wire, streamed and whole. Sends nothing by itself.

use serde_json::{Value, json};

use super::script::{Block, Ending, Message};

/// Most characters of a text in one event, so that texts come in several.
const CHUNK: usize = 40;

/// One event of a stream: its name and its data.
pub(super) type Event = (&'static str, Value);

/// The events of a message. `id` makes the ids in it different from those of other messages.
pub(super) fn events(message: &Message, model: &str, id: usize) -> Vec<Event> {
    let usage = json!({"input_tokens": 100, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0, "output_tokens": 1, "service_tier": "standard"});
    let start = json!({"type": "message_start", "message": {
        "id": format!("msg_{id:020}"), "type": "message", "role": "assistant", "model": model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage}});
    let mut events = vec![("message_start", start), ("ping", json!({"type": "ping"}))];
    for (index, block) in message.blocks.iter().enumerate() {
        let (start, deltas) = parts(block, id, index);
        events.push((
            "content_block_start",
            json!({"type": "content_block_start", "index": index, "content_block": start}),
        ));
        events.extend(deltas.into_iter().map(|delta| {
            let data = json!({"type": "content_block_delta", "index": index, "delta": delta});
            ("content_block_delta", data)
        }));
        let stop = json!({"type": "content_block_stop", "index": index});
        events.push(("content_block_stop", stop));
    }
    if message.ending == Ending::Whole {
        let delta = json!({"stop_reason": stop_reason(message), "stop_sequence": null});
        let usage = json!({"output_tokens": 25});
        let data = json!({"type": "message_delta", "delta": delta, "usage": usage});
        events.push(("message_delta", data));
        events.push(("message_stop", json!({"type": "message_stop"})));
    }
    events
}

/// The same message for a client that asked for no stream.
pub(super) fn whole(message: &Message, model: &str, id: usize) -> Value {
    let content: Vec<Value> = message
        .blocks
        .iter()
        .enumerate()
        .map(|(index, block)| match block {
            Block::Thinking(text) => {
                json!({"type": "thinking", "thinking": text, "signature": SIGNATURE})
            }
            Block::Text(text) => json!({"type": "text", "text": text}),
            Block::ToolUse { name, input } => {
                json!({"type": "tool_use", "id": call_id(id, index), "name": name, "input": input})
            }
        })
        .collect();
    json!({"id": format!("msg_{id:020}"), "type": "message", "role": "assistant", "model": model,
        "content": content, "stop_reason": stop_reason(message), "stop_sequence": null,
        "usage": {"input_tokens": 100, "output_tokens": 25}})
}

/// A signature that nobody checks.
const SIGNATURE: &str = "c2lnbmF0dXJl";

/// How a block begins, and the deltas that fill it.
fn parts(block: &Block, id: usize, index: usize) -> (Value, Vec<Value>) {
    match block {
        Block::Thinking(text) => {
            let start = json!({"type": "thinking", "thinking": "", "signature": ""});
            let delta = |it| json!({"type": "thinking_delta", "thinking": it});
            let signed = json!({"type": "signature_delta", "signature": SIGNATURE});
            (start, chunks(text).map(delta).chain([signed]).collect())
        }
        Block::Text(text) => {
            let delta = |it| json!({"type": "text_delta", "text": it});
            (json!({"type": "text", "text": ""}), chunks(text).map(delta).collect())
        }
        Block::ToolUse { name, input } => {
            let id = call_id(id, index);
            let start = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
            let delta = |it| json!({"type": "input_json_delta", "partial_json": it});
            (start, chunks(&input.to_string()).map(delta).collect())
        }
    }
}

fn call_id(id: usize, index: usize) -> String {
    format!("toolu_{id:018}{index:02}")
}

fn stop_reason(message: &Message) -> &'static str {
    let calls = message.blocks.iter().any(|it| matches!(it, Block::ToolUse { .. }));
    if calls { "tool_use" } else { "end_turn" }
}

/// A text in pieces, none of which ends within a character.
fn chunks(text: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = characters.chunks(CHUNK).map(|it| it.iter().collect()).collect();
    pieces.into_iter()
}
