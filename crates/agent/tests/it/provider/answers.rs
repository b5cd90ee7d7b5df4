//! What is made of an answer.

use punchlist_agent::provider::{Citation, Stop, ThinkingBlock, TokenUsage};
use punchlist_testkit::model::{Message, Script};
use serde_json::json;

use super::{Kind, asking, each};

#[test]
fn text_and_thinking_are_streamed_and_tokens_are_counted() {
    let text = "A text of several pieces, with é, … and ✓, longer than one event.";
    let script = || Script::new().thinks("first I think about all of this").stops(text);
    each(script, |case| async move {
        let called = case.call(&asking("hello")).await;
        assert_eq!(called.text(), text, "{}", case.kind);
        assert_eq!(called.thinking(), "first I think about all of this", "{}", case.kind);
        let answer = called.answer.unwrap();
        assert_eq!((answer.text.as_str(), answer.stop), (text, Stop::Finished), "{}", case.kind);
        let usage = TokenUsage { input: 100, output: 25, ..TokenUsage::default() };
        assert_eq!(answer.usage, usage, "{}", case.kind);
        let thought = answer.thinking.iter().any(|it| match it {
            ThinkingBlock::Text(text) | ThinkingBlock::Signed { text, .. } => {
                text == "first I think about all of this"
            }
            ThinkingBlock::Opaque(_) => false,
        });
        assert!(thought, "{}: {:?}", case.kind, answer.thinking);
    });
}

#[test]
fn calls_are_announced_and_have_our_ids() {
    let calls = || {
        [
            ("read", json!({"path": "a long enough path to come in several pieces"})),
            ("read", json!({"path": "b"})),
            ("write", json!({})),
        ]
    };
    each(
        move || Script::new().says("I read.").calls_all(calls()),
        |case| async move {
            let called = case.call(&asking("hello")).await;
            assert_eq!(called.calls(), ["read", "read", "write"], "{}", case.kind);
            let answer = called.answer.unwrap();
            let ids: Vec<&str> = answer.calls.iter().map(|it| it.id.0.as_str()).collect();
            assert_eq!(ids, ["a1-1", "a1-2", "a1-3"], "{}", case.kind);
            assert_eq!(answer.text, "I read.", "{}", case.kind);
        },
    );
}

#[test]
fn citations_are_passed_through() {
    let message = || Message::new().says("It is so.").cites("Why", "https://example.org/why");
    each(
        move || Script::new().turn(message()),
        |case| async move {
            let answer = case.answer(&asking("hello")).await;
            assert_eq!(answer.text, "It is so.", "{}", case.kind);
            if case.kind == Kind::Ollama {
                return assert_eq!(answer.citations, []);
            }
            let quote = if case.kind == Kind::Anthropic { "as the script says" } else { "" };
            let (title, url) = ("Why".to_owned(), "https://example.org/why".to_owned());
            let cited = Citation { title, url, quote: quote.to_owned() };
            assert_eq!(answer.citations, [cited], "{}", case.kind);
        },
    );
}

#[test]
fn the_key_goes_into_the_header_of_the_provider() {
    each(
        || Script::new().stops("ok"),
        |case| async move {
            case.answer(&asking("hello")).await;
            let header = match case.kind {
                Kind::Anthropic => "x-api-key",
                Kind::Gemini => "x-goog-api-key",
                Kind::OpenAi | Kind::OpenAiChat | Kind::Ollama => "authorization",
            };
            assert_eq!(case.server.requests()[0].key_header, Some(header), "{}", case.kind);
        },
    );
}
