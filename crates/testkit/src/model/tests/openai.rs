//! The OpenAI Responses API, as Codex uses it.

use serde_json::{Value, json};

use super::{Reply, send};
use crate::model::{Api, Message, Model, Script, Server};

/// Requests a message after these items.
fn ask(server: &Server, input: &Value) -> Reply {
    let tools = json!([{"type": "function", "name": "update_plan"}, {"type": "web_search"}]);
    let body = json!({"model": "gpt", "stream": true, "input": input, "tools": tools});
    send(server, "/v1/responses", &body.to_string())
}

fn says(role: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
}

impl Reply {
    /// The complete items.
    fn items(&self) -> Vec<Value> {
        let events = self.events();
        let done = events.iter().filter(|it| it["type"] == "response.output_item.done");
        done.map(|it| it["item"].clone()).collect()
    }

    /// The deltas of one item, joined.
    fn delta(&self, index: usize) -> String {
        let events = self.events();
        let own = events.iter().filter(|it| it["output_index"] == index);
        own.filter_map(|it| it["delta"].as_str()).collect()
    }

    fn last(&self) -> Value {
        self.events().pop().unwrap()
    }
}

#[test]
fn a_message_is_streamed_item_by_item() {
    let long = "a text of more than one piece, with characters of several bytes: é…✓";
    let script = Script::new().thinks("hm").says(long).calls_all([
        ("update_plan", json!({"plan": []})),
        ("exec", json!("await tools.update_plan({plan: []});")),
        ("mcp__punchlist.create_todo", json!({"todos": [{"title": "Build"}]})),
    ]);
    let server = Model::new(script).serve().unwrap();
    let reply = ask(&server, &json!([says("user", "hello")]));
    assert_eq!((reply.status, reply.whole), (200, true));
    let items = reply.items();
    let kinds: Vec<&str> = items.iter().map(|it| it["type"].as_str().unwrap()).collect();
    let call = "function_call";
    assert_eq!(kinds, ["reasoning", "message", call, "custom_tool_call", call]);
    assert_eq!(items[0]["summary"][0]["text"], "hm");
    assert_eq!(items[1]["content"][0]["text"], long);
    assert_eq!(items[2]["arguments"], r#"{"plan":[]}"#);
    assert_eq!(items[3]["input"], "await tools.update_plan({plan: []});");
    assert_eq!([&items[4]["namespace"], &items[4]["name"]], ["mcp__punchlist", "create_todo"]);
    let streamed: Vec<String> = (0..4).map(|it| reply.delta(it)).collect();
    let input = items[3]["input"].as_str().unwrap();
    assert_eq!(streamed, ["hm", long, r#"{"plan":[]}"#, input]);
    let mut ids: Vec<&str> = items[2..].iter().map(|it| it["call_id"].as_str().unwrap()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    for (name, event) in reply.names().iter().zip(reply.events()) {
        assert_eq!(event["type"], **name);
    }
    assert_eq!(reply.names()[0], "response.created");
    assert_eq!(reply.last()["type"], "response.completed");
    assert_eq!(reply.last()["response"]["usage"]["input_tokens"], 100);
}

#[test]
fn what_the_model_was_sent_is_read_whatever_kind_of_item_it_came_in() {
    let model = Model::new(Script::new()).conversation("HELPER", Script::new().stops("I help"));
    let server = model.serve().unwrap();
    let input = json!([
        {"type": "additional_tools", "role": "developer", "tools": [
            {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec",
                "description": "```ts\ndeclare const tools: { update_plan(args: {"}]},
            {"type": "namespace", "name": "clock", "tools": [{"type": "function", "name": "sleep"}]},
        ]},
        says("developer", "be good"),
        says("user", "<environment_context>"),
        {"type": "agent_message", "content": [{"type": "input_text", "text": "NEW_TASK"},
            {"type": "encrypted_content", "encrypted_content": "HELPER: look"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "namespace": "clock", "name": "sleep", "call_id": "c1"},
        {"type": "custom_tool_call", "name": "exec", "input": "1", "call_id": "c2"},
        {"type": "function_call_output", "call_id": "c1", "output": "slept"},
        {"type": "custom_tool_call_output", "call_id": "c2",
            "output": [{"type": "input_text", "text": "Script "}, {"type": "input_text", "text": "completed"}]},
        says("developer", "a hint"),
    ]);
    let body = json!({"model": "gpt-6", "stream": true, "input": input}).to_string();
    let reply = send(&server, "/v1/responses", &body);
    assert_eq!(reply.items()[0]["content"][0]["text"], "I help");
    let request = &server.requests_of("HELPER")[0];
    assert_eq!((request.api, request.model.as_str()), (Api::OpenAi, "gpt-6"));
    assert_eq!(request.tools(), ["exec", "clock.sleep"]);
    let declared = ["exec", "update_plan", "sleep"].map(|it| request.declares(it));
    assert_eq!(declared, [true, true, false]);
    assert_eq!(request.opening(), "<environment_context>\nNEW_TASK\nHELPER: look\n");
    assert_eq!(request.news(), "slept\nScript completed\na hint\n");
    assert!(request.text().starts_with("be good\n<environment_context>\n"), "{}", request.text());
    let results = request.results();
    let results: Vec<_> = results.iter().map(|it| (it.tool.as_str(), it.text.as_str())).collect();
    assert_eq!(results, [("clock.sleep", "slept"), ("exec", "Script completed")]);
}

#[test]
fn what_stands_before_the_users_words_is_no_news() {
    let server = Model::new(Script::new()).serve().unwrap();
    let input = json!([says("developer", "be good"), says("user", "go"), says("developer", "now")]);
    assert_eq!(ask(&server, &input).status, 200);
    assert_eq!(server.requests()[0].news(), "go\nnow\n");
    assert_eq!(server.requests()[0].tools(), ["update_plan", "web_search"]);
}

#[test]
fn an_answer_may_be_an_error_or_break_off() {
    let script = Script::new()
        .fails(429, "rate_limit_exceeded", 1)
        .turn(Message::new().says("half").cut())
        .turn(Message::new().says("half").hangs())
        .turn(Message::new().says("half").fails("server_error"));
    let server = Model::new(script).serve().unwrap();
    let go = json!([says("user", "go")]);
    let reply = ask(&server, &go);
    let kind = &reply.json()["error"]["type"];
    assert_eq!((reply.status, kind), (429, &json!("rate_limit_exceeded")));
    for how in ["cut", "hang"] {
        let reply = ask(&server, &go);
        assert_eq!((reply.delta(0).as_str(), reply.whole), ("half", false), "{how}");
        assert!(!reply.names().contains(&"response.completed"), "{how}");
    }
    let last = ask(&server, &go).last();
    assert_eq!(
        [&last["type"], &last["response"]["error"]["code"]],
        ["response.failed", "server_error"]
    );
}

#[test]
fn who_asks_for_a_summary_gets_one_and_the_script_waits() {
    let script = Script::new().turn(Message::new().says("much").counting(90_000));
    let server = Model::new(script).aside("What was said.").serve().unwrap();
    let words = json!({"model": "gpt", "input": [says("user", "sum it up")]}).to_string();
    let whole = send(&server, "/v1/responses", &words).json();
    assert_eq!(whole["output"][0]["content"][0]["text"], "What was said.");
    let compact = send(&server, "/v1/responses/compact", &words).json();
    assert_eq!(compact["output"][0]["encrypted_content"], "What was said.");
    let sealed = ask(&server, &json!([says("user", "go"), {"type": "compaction_trigger"}]));
    assert_eq!(sealed.items()[0]["encrypted_content"], "What was said.");
    assert_eq!((server.requests().len(), server.asides().len(), server.left()), (0, 3, 1));
    let used = ask(&server, &json!([says("user", "go")])).last();
    assert_eq!(used["response"]["usage"]["input_tokens"], 90_000);
    assert_eq!(send(&server, "/v1/responses", "no json").status, 400);
}
