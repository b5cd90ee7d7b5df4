//! The Anthropic Messages API, and what all APIs have in common.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Reply, send};
use crate::model::{Message, Model, Script, Server, Turn};

impl Reply {
    /// The text of one block, from its deltas.
    fn block(&self, index: usize) -> String {
        let events = self.events();
        let deltas = events.iter().filter(|it| it["index"] == index).map(|it| &it["delta"]);
        let parts = deltas.filter_map(|it| {
            ["text", "thinking", "partial_json"].iter().find_map(|key| it[*key].as_str())
        });
        parts.collect()
    }
}

/// Requests a message after these messages.
fn ask(server: &Server, messages: &Value) -> Reply {
    let body = json!({"model": "m", "stream": true, "messages": messages,
        "system": [{"type": "text", "text": "be good"}], "tools": [{"name": "Bash"}]});
    send(server, "/v1/messages?beta=true", &body.to_string())
}

fn says(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

#[test]
fn a_message_is_streamed_block_by_block() {
    let long = "a text of more than one piece, with characters of several bytes: é…✓";
    let script = Script::new().thinks("hm").says(long).calls("Bash", json!({"command": "ls"}));
    let server = Model::new(script).serve().unwrap();
    let reply = ask(&server, &says("hello"));
    assert_eq!((reply.status, reply.whole), (200, true));
    assert_eq!(reply.block(0), "hm");
    assert_eq!(reply.block(1), long);
    assert_eq!(reply.block(2), r#"{"command":"ls"}"#);
    let (start, delta, stop) = ("content_block_start", "content_block_delta", "content_block_stop");
    let thinking = [start, delta, delta, stop];
    let (text, call) = ([start, delta, delta, stop], [start, delta, stop]);
    let names = [&["message_start", "ping"], &thinking[..], &text, &call].concat();
    assert_eq!(reply.names(), [&names[..], &["message_delta", "message_stop"]].concat());
    let events = reply.events();
    assert_eq!(events[0]["message"]["model"], "m");
    assert_eq!(events[events.len() - 2]["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[10]["content_block"]["name"], "Bash");
}

#[test]
fn who_asks_for_no_stream_gets_the_message_whole() {
    let script = Script::new().says("Look:").calls("Bash", json!({"command": "ls"})).stops("Done.");
    let server = Model::new(script).serve().unwrap();
    let body = json!({"messages": says("hello"), "tools": [{"name": "Bash"}]}).to_string();
    let message = send(&server, "/v1/messages", &body).json();
    assert_eq!(message["content"][0], json!({"type": "text", "text": "Look:"}));
    assert_eq!(message["content"][1]["input"], json!({"command": "ls"}));
    assert_eq!(message["stop_reason"], "tool_use");
    let message = send(&server, "/v1/messages", &body).json();
    assert_eq!(message["content"], json!([{"type": "text", "text": "Done."}]));
    assert_eq!(message["stop_reason"], "end_turn");
}

#[test]
fn a_script_goes_on_with_each_request_and_says_when_it_is_over() {
    let server = Model::new(Script::new().stops("one").stops("two")).serve().unwrap();
    assert_eq!(server.left(), 2);
    let texts: Vec<String> = (0..3).map(|_| ask(&server, &says("go")).block(0)).collect();
    assert_eq!(texts, ["one", "two", "(the script is over)"]);
    assert_eq!(server.left(), 0);
}

#[test]
fn conversations_are_told_apart_by_what_the_user_said_first() {
    let model = Model::new(Script::new().stops("I am the main one"))
        .conversation("HELPER A", Script::new().stops("I am A"))
        .conversation("HELPER B", Script::new().stops("I am B"));
    let server = model.serve().unwrap();
    assert_eq!(ask(&server, &says("you are HELPER B")).block(0), "I am B");
    assert_eq!(ask(&server, &says("hello")).block(0), "I am the main one");
    let blocks = json!([
        {"role": "user", "content": [{"type": "text", "text": "HELPER A"}]},
        {"role": "assistant", "content": "HELPER B?"},
        {"role": "user", "content": "no"},
    ]);
    assert_eq!(ask(&server, &blocks).block(0), "I am A");
    let names: Vec<String> = server.requests().into_iter().map(|it| it.conversation).collect();
    assert_eq!(names, ["HELPER B", "", "HELPER A"]);
    assert_eq!(server.requests_of("HELPER A")[0].news(), "no\n");
}

#[test]
fn an_answer_may_follow_from_what_the_model_was_sent() {
    let script = Script::new()
        .then(|request| {
            let result = &request.results()[0];
            Message::new().calls("Done", json!({"id": result.text.trim(), "of": result.tool}))
        })
        .always(|request| Message::new().says(format!("{} messages", request.text().len())));
    let server = Model::new(script).serve().unwrap();
    let messages = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Add", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1",
            "content": [{"type": "text", "text": "42"}]}]},
    ]);
    assert_eq!(ask(&server, &messages).block(0), r#"{"id":"42","of":"Add"}"#);
    for _ in 0..3 {
        assert_eq!(ask(&server, &says("again")).block(0), "14 messages");
    }
    assert_eq!(server.left(), 0);
    let first = &server.requests()[0];
    assert_eq!(first.text(), "be good\ngo\n42\n");
    assert_eq!((first.news().as_str(), first.opening().as_str()), ("42\n", "go\n"));
    assert!(!first.results()[0].is_error);
}

#[test]
fn errors_come_as_often_as_the_script_says() {
    let script = Script::new().fails(529, "overloaded_error", 2).fails(401, "x", 1).stops("fine");
    let server = Model::new(script).serve().unwrap();
    let statuses: Vec<u16> = (0..4).map(|_| ask(&server, &says("go")).status).collect();
    assert_eq!(statuses, [529, 529, 401, 200]);
    let odd = Model::new(Script::new().turn(Turn::Error { status: 1, kind: "odd".to_owned() }));
    let reply = ask(&odd.serve().unwrap(), &says("go"));
    assert_eq!((reply.status, &reply.json()["error"]["type"]), (500, &json!("odd")));
}

#[test]
fn a_stream_may_be_slow_break_off_fail_or_never_end() {
    let message = || Message::new().says("half");
    let script = Script::new()
        .turn(message().paced(Duration::from_millis(1)))
        .turn(message().cut())
        .turn(message().hangs())
        .turn(message().fails("overloaded_error"));
    let server = Model::new(script).serve().unwrap();
    let reply = ask(&server, &says("slow"));
    assert!(reply.whole && reply.names().contains(&"message_stop"), "{}", reply.body);
    for how in ["cut", "hang"] {
        let reply = ask(&server, &says(how));
        assert_eq!((reply.block(0).as_str(), reply.whole), ("half", false), "{how}");
        assert!(!reply.names().contains(&"message_stop"), "{how}");
    }
    let reply = ask(&server, &says("fail"));
    assert_eq!((reply.whole, reply.names().last()), (true, Some(&"error")));
    assert_eq!(reply.events().last().unwrap()["error"]["type"], "overloaded_error");
    // A hanging stream does not delay the end; otherwise this test would never end.
    drop(server);
}

#[test]
fn what_is_no_part_of_a_conversation_is_answered_plainly() {
    let server = Model::new(Script::new().stops("one")).aside("A title").serve().unwrap();
    let reply = send(&server, "/v1/messages", &json!({"messages": says("name it")}).to_string());
    assert_eq!(reply.json()["content"][0]["text"], "A title");
    assert_eq!((server.requests().len(), server.asides().len(), server.left()), (0, 1, 1));
    assert_eq!(send(&server, "/v1/messages/count_tokens", "{}").json()["input_tokens"], 100);
    assert_eq!(send(&server, "/v1/nothing", "{}").status, 404);
    assert_eq!(send(&server, "/v1/messages", "no json").status, 400);
}

#[test]
fn keys_are_kept_nowhere() {
    let server = Model::new(Script::new().stops("one")).serve().unwrap();
    assert_eq!(ask(&server, &says("hello")).status, 200);
    assert!(format!("{server:?}").contains("hello"));
    assert!(!format!("{server:?}").contains("sk-secret"));
}

#[test]
fn a_test_can_wait_for_a_request() {
    let server = Model::new(Script::new().stops("one")).serve().unwrap();
    assert!(!server.wait_for("", 1, Duration::ZERO));
    std::thread::scope(|scope| {
        scope.spawn(|| ask(&server, &says("hello")));
        assert!(server.wait_for("", 1, Duration::from_secs(60)));
    });
}
