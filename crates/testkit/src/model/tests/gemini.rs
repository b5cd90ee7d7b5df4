//! The Gemini API, as Gemini CLI uses it.

use serde_json::{Value, json};

use super::{Reply, send};
use crate::model::{Api, Message, Model, Script, Server};

const STREAM: &str = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse";
const WHOLE: &str = "/v1beta/models/gemini-2.5-flash-lite:generateContent";

/// Requests a message after these contents.
fn ask(server: &Server, contents: &Value) -> Reply {
    let tools = json!([{"functionDeclarations": [{"name": "write_todos"}, {"name": "glob"}]}]);
    let prompt = json!({"parts": [{"text": "be good"}]});
    let body = json!({"contents": contents, "systemInstruction": prompt, "tools": tools});
    send(server, STREAM, &body.to_string())
}

fn says(text: &str) -> Value {
    json!([{"role": "user", "parts": [{"text": text}]}])
}

impl Reply {
    /// The parts of all chunks, in order.
    fn parts(&self) -> Vec<Value> {
        let parts = |it: &Value| it["candidates"][0]["content"]["parts"].as_array().cloned();
        self.events().iter().filter_map(parts).flatten().collect()
    }

    /// The text of the parts, without thoughts.
    fn text(&self) -> String {
        let parts = self.parts();
        let spoken = parts.iter().filter(|it| it["thought"] != true);
        spoken.filter_map(|it| it["text"].as_str()).collect()
    }
}

#[test]
fn texts_come_in_pieces_and_calls_together() {
    let long = "a text of more than one piece, with characters of several bytes: é…✓";
    let script = Script::new()
        .thinks("hm")
        .says(long)
        .calls_all([("write_todos", json!({"todos": []})), ("glob", json!({"pattern": "*"}))]);
    let server = Model::new(script).serve().unwrap();
    let reply = ask(&server, &says("hello"));
    assert_eq!((reply.status, reply.whole, reply.text().as_str()), (200, true, long));
    assert_eq!(reply.names(), [] as [&str; 0]);
    assert_eq!(reply.parts()[0], json!({"text": "hm", "thought": true}));
    let events = reply.events();
    assert_eq!(events.len(), 4);
    let calls = &events[3]["candidates"][0];
    assert_eq!(calls["content"]["parts"][0]["functionCall"]["name"], "write_todos");
    assert_eq!(calls["content"]["parts"][1]["functionCall"]["args"], json!({"pattern": "*"}));
    let reasons = events.iter().map(|it| &it["candidates"][0]["finishReason"]);
    assert_eq!(
        reasons.collect::<Vec<_>>(),
        [&Value::Null, &Value::Null, &Value::Null, &json!("STOP")]
    );
    assert_eq!(events[3]["modelVersion"], "gemini-2.5-flash");
    assert_eq!(events[3]["usageMetadata"]["promptTokenCount"], 100);
}

#[test]
fn what_the_model_was_sent_is_read_part_by_part() {
    let model = Model::new(Script::new()).conversation("HELPER", Script::new().stops("I help"));
    let server = model.serve().unwrap();
    let answer = |name: &str, response: Value| json!({"functionResponse": {"name": name, "id": "x", "response": response}});
    let contents = json!([
        {"role": "user", "parts": [{"text": "<session_context>"}]},
        {"role": "user", "parts": [{"text": "HELPER: look"}]},
        {"role": "model", "parts": [{"text": "Looking."}, {"functionCall": {"name": "glob", "args": {}}}]},
        {"role": "user", "parts": [answer("glob", json!({"output": "README.md"})),
            answer("write_todos", json!({"error": "no such tool"})), {"text": "a hint"}]},
    ]);
    assert_eq!(ask(&server, &contents).text(), "I help");
    let request = &server.requests_of("HELPER")[0];
    assert_eq!((request.api, request.model.as_str()), (Api::Gemini, "gemini-2.5-flash"));
    assert_eq!(request.tools(), ["write_todos", "glob"]);
    assert_eq!(request.opening(), "<session_context>\nHELPER: look\n");
    assert_eq!(request.news(), "README.md\nno such tool\na hint\n");
    assert!(request.text().starts_with("be good\n<session_context>\n"), "{}", request.text());
    let results = request.results();
    let errors: Vec<_> = results.iter().map(|it| (it.tool.as_str(), it.is_error)).collect();
    assert_eq!(errors, [("glob", false), ("write_todos", true)]);
}

#[test]
fn an_answer_may_be_an_error_or_empty_or_break_off() {
    let script = Script::new()
        .fails(503, "UNAVAILABLE", 1)
        .turn(Message::new())
        .turn(Message::new().says("half").cut())
        .turn(Message::new().says("half").hangs())
        .turn(Message::new().says("half").fails("INTERNAL"));
    let server = Model::new(script).serve().unwrap();
    let reply = ask(&server, &says("go"));
    let error = &reply.json()["error"];
    assert_eq!(
        (reply.status, &error["code"], &error["status"]),
        (503, &json!(503), &json!("UNAVAILABLE"))
    );
    assert_eq!(ask(&server, &says("go")).parts(), [json!({"text": ""})]);
    for how in ["cut", "hang"] {
        let reply = ask(&server, &says("go"));
        assert_eq!((reply.text().as_str(), reply.whole), ("half", false), "{how}");
        assert!(!reply.body.contains("finishReason"), "{how}");
    }
    let reply = ask(&server, &says("go"));
    assert_eq!(reply.events().pop().unwrap()["error"]["status"], "INTERNAL");
}

#[test]
fn questions_beside_the_conversation_are_answered_so_that_it_goes_on() {
    let server = Model::new(Script::new().stops("one")).aside("A summary").serve().unwrap();
    let ask = |config: Value| {
        let body = json!({"contents": says("which?"), "generationConfig": config}).to_string();
        let reply = send(&server, WHOLE, &body).json();
        reply["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(ask(json!({})), "A summary");
    let string = json!({"type": "STRING"});
    let properties = json!({"reasoning": string, "next_speaker": {"type": "string", "enum": ["model", "user"]},
        "model_choice": string, "complexity_score": {"type": "INTEGER"}, "confidence": {"type": "NUMBER"},
        "least": {"type": "integer", "minimum": 1}, "is_stuck": {"type": "BOOLEAN"}, "files": {"type": "ARRAY"},
        "inner": {"type": "object", "properties": {"which": {"enum": ["b", "a"]}}}});
    let schema = json!({"responseJsonSchema": {"type": "OBJECT", "properties": properties}});
    let answer: Value = serde_json::from_str(&ask(schema)).unwrap();
    let expected = json!({"reasoning": "as the script says", "next_speaker": "user",
        "model_choice": "flash", "complexity_score": 5, "confidence": 0, "least": 1,
        "is_stuck": false, "files": [], "inner": {"which": "b"}});
    assert_eq!(answer, expected);
    assert_eq!((server.requests().len(), server.asides().len(), server.left()), (0, 2, 1));
    let count = send(&server, "/v1beta/models/m:countTokens", "{}").json();
    assert_eq!(count["totalTokens"], 100);
    assert_eq!(send(&server, "/v1beta/models/m:embedContent", "{}").status, 200);
    assert_eq!(send(&server, "/v1beta/models/m:dance", "{}").status, 404);
    assert_eq!(send(&server, STREAM, "no json").status, 400);
}
