//! Every kind of provider against aimock, a mock server that others wrote: a second opinion on each API.
//! It has all five. It has no citations and no signatures of thinking: those are tested only with our own
//! server.

use std::path::Path;

use punchlist_agent::provider::{Arguments, Failure, Stop, TokenUsage};
use punchlist_testkit::aimock::Aimock;
use serde_json::{Value, json};

use super::{CANARY, Called, KINDS, Kind, Provider, asking, connect, going_on, now, options, run};

const TEXT: &str = "A text of several pieces, with é, … and ✓, longer than one event.";

fn serve(directory: &Path, fixtures: &[Value], key: Option<&str>) -> Aimock {
    let place =
        std::env::var("PUNCHLIST_TEST_AIMOCK").expect("run by `cargo xtask test providers`");
    Aimock::start(Path::new(&place), directory, fixtures, key).unwrap()
}

async fn ask(kind: Kind, server: &Aimock) -> Called {
    let provider = connect(kind, "model-1", server.url(), options());
    let mut deltas = Vec::new();
    let answer = provider.call(&asking("hello"), &mut |it| deltas.push(it)).await;
    Called { deltas, answer }
}

/// One fixture for all kinds, and what must come of a call.
fn check(fixture: Value, expect: impl Fn(Kind, Called)) {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(directory.path(), &[fixture], Some(CANARY));
    run(async {
        for kind in KINDS {
            let called = ask(kind, &server).await;
            expect(kind, called);
        }
    });
}

#[test]
#[ignore = "needs aimock: cargo xtask test providers"]
fn a_text_is_streamed_and_its_tokens_are_counted() {
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 25});
    check(json!({"match": {}, "response": {"content": TEXT, "usage": usage}}), |kind, called| {
        assert_eq!(called.text(), TEXT, "{kind}");
        let pieces = called.deltas.len();
        let answer = called.answer.unwrap_or_else(|why| panic!("{kind}: {why}"));
        assert_eq!((answer.text.as_str(), answer.stop), (TEXT, Stop::Finished), "{kind}");
        assert!(pieces > 1, "{kind}: {pieces}");
        let usage = TokenUsage { input: 100, output: 25, ..TokenUsage::default() };
        // aimock always counts nothing for Ollama.
        let usage = if kind == Kind::Ollama { TokenUsage::default() } else { usage };
        assert_eq!(answer.usage, usage, "{kind}");
    });
}

#[test]
#[ignore = "needs aimock: cargo xtask test providers"]
fn parallel_calls_and_their_results_are_understood_on_both_sides() {
    let call = |path: &str| json!({"name": "read", "arguments": {"path": path}});
    let fixtures = [
        json!({"match": {"toolResultContains": "result of a1-2"},
            "response": {"content": "Both are read."}}),
        json!({"match": {"hasToolResult": false},
            "response": {"content": "I read both.", "toolCalls": [call("a"), call("b")]}}),
    ];
    run(async {
        for kind in KINDS {
            let directory = tempfile::tempdir().unwrap();
            let server = serve(directory.path(), &fixtures, None);
            let provider = connect(kind, "model-1", server.url(), options());
            let request = asking("hello");
            let first = provider.call(&request, &mut |_| {}).await;
            let first = first.unwrap_or_else(|why| panic!("{kind}: {why}"));
            assert_eq!(first.text, "I read both.", "{kind}");
            let calls: Vec<(&str, &Arguments)> =
                first.calls.iter().map(|it| (it.tool.as_str(), &it.arguments)).collect();
            let (a, b) = (json!({"path": "a"}), json!({"path": "b"}));
            let (a, b) = (Arguments::Object(a), Arguments::Object(b));
            assert_eq!(calls, [("read", &a), ("read", &b)], "{kind}");
            let request = going_on(&provider, request, first);
            let second = provider.call(&request, &mut |_| {}).await;
            let second = second.unwrap_or_else(|why| panic!("{kind}: {why}"));
            assert_eq!(second.text, "Both are read.", "{kind}");
            assert_eq!(read_by(&server).await, conversation(kind), "{kind}");
        }
    });
}

/// The last request, as aimock should read it.
fn conversation(kind: Kind) -> String {
    let result = |call: &str| match kind {
        // A result for Gemini is an object, and the model reads all of it.
        Kind::Gemini => format!(r#"{{"name":"read","content":"result of {call}"}}"#),
        Kind::Anthropic | Kind::OpenAi | Kind::OpenAiChat | Kind::Ollama => {
            format!("result of {call}")
        }
    };
    let (first, second) = (result("a1-1"), result("a1-2"));
    format!(
        "system: You are tested.\nuser: hello\nassistant: I read both.\n\
         calls read {{\"path\":\"a\"}}\ncalls read {{\"path\":\"b\"}}\n\
         tool: {first}\ntool: {second}\noffered: read, write"
    )
}

/// The conversation of the last request, which aimock converts into one form for all APIs.
async fn read_by(server: &Aimock) -> String {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let journal = client.get(format!("{}/__aimock/journal", server.url())).send().await.unwrap();
    let journal: Vec<Value> = journal.json().await.unwrap();
    let body = &journal.last().unwrap()["body"];
    let mut lines = Vec::new();
    for message in body["messages"].as_array().unwrap() {
        let role = message["role"].as_str().unwrap();
        let text = text(&message["content"]);
        if !text.is_empty() {
            lines.push(format!("{role}: {text}"));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            let name = function["name"].as_str().unwrap();
            lines.push(format!("calls {name} {}", function["arguments"].as_str().unwrap()));
        }
    }
    let tools = body["tools"].as_array().unwrap().iter();
    let tools: Vec<&str> = tools.map(|it| it["function"]["name"].as_str().unwrap()).collect();
    lines.push(format!("offered: {}", tools.join(", ")));
    lines.join("\n")
}

/// The text of a content: a string, or parts.
fn text(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten();
    let texts = content.as_str().into_iter().chain(parts.filter_map(|it| it["text"].as_str()));
    texts.collect()
}

#[test]
#[ignore = "needs aimock: cargo xtask test providers"]
fn a_usage_limit_says_until_when() {
    let error = json!({"message": "Slow down", "type": "rate_limit_error"});
    let response = json!({"error": error, "status": 429, "retryAfter": 7});
    check(json!({"match": {}, "response": response}), |kind, called| {
        let failure = called.answer.unwrap_err();
        let Failure::UsageLimit { until, says, .. } = &failure else {
            panic!("{kind}: {failure:?}")
        };
        assert_eq!(until.as_second() - now().as_second(), 7, "{kind}");
        assert!(says.contains("Slow down"), "{kind}: {says}");
    });
}

#[test]
#[ignore = "needs aimock: cargo xtask test providers"]
fn trouble_of_the_provider_is_waited_out_and_then_told() {
    let error = json!({"message": "It broke", "type": "server_error"});
    check(json!({"match": {}, "response": {"error": error, "status": 500}}), |kind, called| {
        assert_eq!(called.waits().len(), 2, "{kind}");
        let failure = called.answer.unwrap_err();
        assert!(matches!(failure, Failure::ServerError { .. }), "{kind}: {failure:?}");
        assert!(failure.message().contains("It broke"), "{kind}: {failure}");
    });
}

#[test]
#[ignore = "needs aimock: cargo xtask test providers"]
fn an_answer_that_breaks_off_is_no_answer() {
    let response = json!({"content": TEXT});
    let fixture = json!({"match": {}, "response": response, "truncateAfterChunks": 3});
    check(fixture, |kind, called| {
        assert_eq!(called.waits().len(), 2, "{kind}");
        let failure = called.answer.unwrap_err();
        assert!(failure.is_retryable(), "{kind}: {failure:?}");
    });
}

#[test]
#[ignore = "needs aimock: cargo xtask test providers"]
fn a_wrong_key_is_told_and_not_shown() {
    let directory = tempfile::tempdir().unwrap();
    let fixture = json!({"match": {}, "response": {"content": TEXT}});
    let server = serve(directory.path(), &[fixture], Some("another-key"));
    run(async {
        for kind in KINDS {
            let called = ask(kind, &server).await;
            let failure = called.answer.unwrap_err();
            assert!(matches!(failure, Failure::WrongKey { .. }), "{kind}: {failure:?}");
            assert!(!failure.message().contains(CANARY), "{kind}: {failure}");
        }
    });
}
