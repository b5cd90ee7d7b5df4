//! Chat completions and Ollama's API, and the faults that all formats share.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Reply, send};
use crate::model::{Api, Message, Model, Script, Server};

const CHAT: &str = "/v1/chat/completions";
const OLLAMA: &str = "/api/chat";

/// Asks for a message after these.
fn ask(server: &Server, path: &str, messages: &Value) -> Reply {
    let tools = json!([{"type": "function", "function": {"name": "create_todo"}}]);
    let body = json!({"model": "m", "stream": true, "messages": messages, "tools": tools});
    send(server, path, &body.to_string())
}

fn hello() -> Value {
    json!([{"role": "system", "content": "be good"}, {"role": "user", "content": "hello"}])
}

/// The objects of a stream, one a line, whatever surrounds them.
fn objects(reply: &Reply) -> Vec<Value> {
    let lines = reply.body.lines().map(|it| it.strip_prefix("data: ").unwrap_or(it));
    lines.filter(|it| it.starts_with('{')).map(|it| serde_json::from_str(it).unwrap()).collect()
}

fn script() -> Script {
    let call = ("create_todo", json!({"items": []}));
    Script::new().thinks("hm").says("I plan.").calls_all([call])
}

#[test]
fn chat_completions_are_streamed_in_deltas() {
    let server = Model::new(script()).serve().unwrap();
    let reply = ask(&server, CHAT, &hello());
    assert_eq!((reply.status, reply.whole), (200, true));
    let deltas: Vec<Value> =
        objects(&reply).iter().map(|it| it["choices"][0]["delta"].clone()).collect();
    assert_eq!(deltas[1]["reasoning_content"], "hm");
    assert_eq!(deltas[2]["content"], "I plan.");
    assert_eq!(deltas[3]["tool_calls"][0]["function"]["name"], "create_todo");
    assert_eq!(deltas[4]["tool_calls"][0]["function"]["arguments"], r#"{"items":[]}"#);
    assert!(reply.body.contains("data: [DONE]"), "{}", reply.body);
}

#[test]
fn ollama_streams_one_object_a_line() {
    let server = Model::new(script()).serve().unwrap();
    let reply = ask(&server, OLLAMA, &hello());
    let objects = objects(&reply);
    let messages: Vec<&Value> = objects.iter().map(|it| &it["message"]).collect();
    assert_eq!(messages[0]["thinking"], "hm");
    assert_eq!(messages[1]["content"], "I plan.");
    assert_eq!(messages[2]["tool_calls"][0]["function"]["arguments"], json!({"items": []}));
    assert_eq!((&objects[3]["done"], &objects[3]["done_reason"]), (&json!(true), &json!("stop")));
}

#[test]
fn both_give_the_message_whole_to_who_asks_for_no_stream() {
    for (path, text) in [(CHAT, "/choices/0/message/content"), (OLLAMA, "/message/content")] {
        let server = Model::new(script()).serve().unwrap();
        let tools = json!([{"type": "function", "function": {"name": "create_todo"}}]);
        let body = json!({"stream": false, "messages": hello(), "tools": tools});
        let reply = send(&server, path, &body.to_string()).json();
        assert_eq!(reply.pointer(text), Some(&json!("I plan.")), "{reply}");
    }
}

#[test]
fn what_the_model_was_sent_is_read_message_by_message() {
    let call = json!({"id": "c1", "function": {"name": "create_todo", "arguments": "{}"}});
    let messages = json!([
        {"role": "system", "content": "be good"},
        {"role": "user", "content": [{"type": "text", "text": "hello"}]},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "made"},
    ]);
    for (path, api) in [(CHAT, Api::OpenAiChat), (OLLAMA, Api::Ollama)] {
        let server = Model::new(Script::new().stops("ok")).serve().unwrap();
        ask(&server, path, &messages);
        let sent = &server.requests()[0];
        assert_eq!((sent.api, sent.key_header), (api, Some("x-api-key")));
        assert_eq!(
            (sent.opening().as_str(), sent.tools()),
            ("hello\n", vec!["create_todo".into()])
        );
        let results = sent.results();
        assert_eq!((results[0].tool.as_str(), results[0].text.as_str()), ("create_todo", "made"));
    }
}

#[test]
fn calls_may_be_garbled_or_share_their_id() {
    let message = || {
        let message = Message::new().one_id().garbles("create_todo", "{");
        message.calls("create_todo", json!({}))
    };
    let server = Model::new(Script::new().turn(message())).serve().unwrap();
    let reply = ask(&server, CHAT, &hello());
    let objects = objects(&reply);
    let calls = objects.iter().map(|it| &it["choices"][0]["delta"]["tool_calls"][0]);
    let ids: Vec<&Value> = calls.clone().map(|it| &it["id"]).filter(|it| it.is_string()).collect();
    assert_eq!((ids.len(), ids[0]), (2, ids[1]));
    let arguments: Vec<&str> =
        calls.filter_map(|it| it["function"]["arguments"].as_str()).collect();
    assert_eq!(arguments, ["", "{", "", "{}"]);
}

#[test]
fn a_server_may_ask_for_patience_end_early_or_say_nothing() {
    let unfinished = Message::new().says("half").unfinished();
    let script = Script::new().tries_later(429, "7").turn(unfinished).stays_silent();
    let server = Model::new(script).serve().unwrap();
    assert_eq!(ask(&server, CHAT, &hello()).status, 429);
    let half = ask(&server, CHAT, &hello());
    assert!(half.whole && half.body.contains("half") && !half.body.contains("[DONE]"));
    assert!(!server.wait_abandoned(1, Duration::ZERO));
    assert_eq!(ask(&server, CHAT, &hello()).status, 0);
    assert!(server.wait_abandoned(1, Duration::from_secs(20)));
}
