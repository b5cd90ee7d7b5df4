//! The Gemini API: parses requests and writes messages. Sends nothing.
//!
//! Calls have no ids here, as those of the real API mostly have none, unless all are to have the same.
//! Gemini CLI asks a second model which one is to answer, whose turn it is, whether it runs in circles,
//! each time with a schema for the answer; such a question is answered so that the conversation goes on.

use serde_json::{Map, Value, json};

use super::api::{Event, members, pieces, string};
use super::request::Entry;
use super::script::{Block, Ending, Message};

/// A signature that nobody checks.
const SIGNATURE: &str = "dGhvdWdodA==";

/// How the answer to a question with a schema is chosen, where the smallest value would not do.
const ANSWERS: &[(&str, &str)] =
    &[("next_speaker", r#""user""#), ("model_choice", r#""flash""#), ("complexity_score", "5")];

pub(super) fn entries(body: &Value) -> Vec<Entry> {
    let prompt = members(&body["systemInstruction"]["parts"]).map(|it| string(&it["text"]));
    let mut entries: Vec<Entry> = prompt.map(Entry::Prompt).collect();
    for content in members(&body["contents"]) {
        let is_model = content["role"] == "model";
        for part in members(&content["parts"]) {
            let (call, answer) = (&part["functionCall"], &part["functionResponse"]);
            if call.is_object() {
                entries
                    .push(Entry::Called { id: string(&call["id"]), tool: string(&call["name"]) });
            } else if answer.is_object() {
                let response = &answer["response"];
                let is_error = response.get("error").is_some();
                let output = response.get("error").or(response.get("output")).unwrap_or(response);
                let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
                let (id, tool) = (string(&answer["id"]), string(&answer["name"]));
                entries.push(Entry::Result { id, tool, text, is_error });
            } else if let Some(text) = part["text"].as_str().map(str::to_owned) {
                entries.push(if is_model { Entry::Said(text) } else { Entry::User(text) });
            }
        }
    }
    entries
}

pub(super) fn tools(body: &Value) -> Vec<String> {
    let declared = members(&body["tools"]).flat_map(|it| members(&it["functionDeclarations"]));
    declared.filter_map(|it| it["name"].as_str()).map(str::to_owned).collect()
}

/// What the model says comes in pieces; what it calls comes together.
pub(super) fn events(message: &Message, model: &str, id: usize) -> Vec<Event> {
    let mut groups: Vec<Vec<Value>> = Vec::new();
    let mut calls = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Thinking(text) => {
                groups.extend(pieces(text).map(|it| vec![json!({"text": it, "thought": true})]));
            }
            Block::Text(text) => groups.extend(pieces(text).map(|it| vec![json!({"text": it})])),
            Block::Call { .. } | Block::Garbled { .. } | Block::Raw(_) => {
                calls.push(part(message, block, id));
            }
        }
    }
    sign(message, &mut calls);
    groups.extend(Some(calls).filter(|it| !it.is_empty()));
    if groups.is_empty() {
        groups.push(vec![json!({"text": ""})]);
    }
    let last = groups.len() - 1;
    let chunk = |(index, parts)| {
        let mut data = json!({"candidates": [{"content": {"role": "model", "parts": parts},
            "index": 0}], "modelVersion": model});
        if index == last && message.ending == Ending::Whole {
            data["candidates"][0]["finishReason"] = json!("STOP");
            data["usageMetadata"] = usage(message);
            if !message.citations.is_empty() {
                let chunks = message.citations.iter();
                let chunks =
                    chunks.map(|(title, uri)| json!({"web": {"title": title, "uri": uri}}));
                let chunks: Vec<Value> = chunks.collect();
                data["candidates"][0]["groundingMetadata"] = json!({"groundingChunks": chunks});
            }
        }
        Event { name: None, data }
    };
    let mut events: Vec<Event> = groups.into_iter().enumerate().map(chunk).collect();
    if let Ending::Failed(kind) = &message.ending {
        events.push(Event { name: None, data: error(500, kind) });
    }
    events
}

/// Puts the signature of a thought on the first call.
fn sign(message: &Message, parts: &mut [Value]) {
    let call = parts.iter_mut().find(|it| it.get("functionCall").is_some());
    if let Some(call) = call.filter(|_| message.is_signed) {
        call["thoughtSignature"] = json!(SIGNATURE);
    }
}

pub(super) fn whole(message: &Message, model: &str, id: usize) -> Value {
    let mut parts: Vec<Value> = message.blocks.iter().map(|it| part(message, it, id)).collect();
    sign(message, &mut parts);
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0,
        "finishReason": "STOP"}], "usageMetadata": usage(message), "modelVersion": model})
}

pub(super) fn error(status: u16, kind: &str) -> Value {
    json!({"error": {"code": status, "message": "as the script says", "status": kind}})
}

pub(super) fn aside(body: &Value, text: &str) -> Message {
    let config = &body["generationConfig"];
    let schema = ["responseJsonSchema", "responseSchema"].iter().find_map(|it| config.get(*it));
    Message::new().says(schema.map_or_else(|| text.to_owned(), |it| filled(it).to_string()))
}

/// The smallest value that a schema allows, except for the known questions.
fn filled(schema: &Value) -> Value {
    if let Some(first) = members(&schema["enum"]).next() {
        return first.clone();
    }
    match schema["type"].as_str().unwrap_or_default().to_lowercase().as_str() {
        "object" => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            let filled = properties.map(|(name, schema)| {
                let known = ANSWERS.iter().find(|it| it.0 == name);
                let value = known.and_then(|it| serde_json::from_str(it.1).ok());
                (name.clone(), value.unwrap_or_else(|| filled(schema)))
            });
            Value::Object(filled.collect::<Map<String, Value>>())
        }
        "array" => json!([]),
        "boolean" => json!(false),
        "number" | "integer" => schema.get("minimum").cloned().unwrap_or_else(|| json!(0)),
        _ => json!("as the script says"),
    }
}

fn usage(message: &Message) -> Value {
    json!({"promptTokenCount": message.tokens(), "candidatesTokenCount": 25,
        "totalTokenCount": message.tokens() + 25})
}

fn part(message: &Message, block: &Block, id: usize) -> Value {
    let call = |tool: &String, args: Value| {
        let mut call = json!({"name": tool, "args": args});
        if message.has_one_id {
            call["id"] = json!(format!("call_{id}"));
        }
        json!({"functionCall": call})
    };
    match block {
        Block::Thinking(text) => json!({"text": text, "thought": true}),
        Block::Text(text) => json!({"text": text}),
        Block::Call { tool, input } => call(tool, input.clone()),
        Block::Garbled { tool, arguments } => call(tool, json!(arguments)),
        Block::Raw(value) => value.clone(),
    }
}
