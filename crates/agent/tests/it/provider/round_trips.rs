//! What comes from a model goes back to it as it came.

use punchlist_agent::provider::{
    Arguments, CallResult, Message, ModelAnswer, ModelCallId, Provider,
};
use punchlist_testkit::model::{self, Script};
use serde_json::{Value, json};

use super::{Case, Kind, asking, connect, each, options, run};

fn two_calls() -> Script {
    let calls = [("read", json!({"path": "a"})), ("write", json!({"path": "b"}))];
    Script::new().calls_all(calls).stops("done")
}

#[test]
fn parallel_calls_and_their_results() {
    each(two_calls, |case| async move {
        let asked = asking("hello");
        let answer = case.answer(&asked).await;
        let arguments: Vec<&Arguments> = answer.calls.iter().map(|it| &it.arguments).collect();
        let object = |path: &str| Arguments::Object(json!({"path": path}));
        assert_eq!(arguments, [&object("a"), &object("b")], "{}", case.kind);
        assert_eq!(case.answer(&case.going_on(asked, answer)).await.text, "done");
        let sent = &case.server.requests()[1];
        let texts: Vec<String> = sent.results().into_iter().map(|it| it.text).collect();
        if case.kind == Kind::Gemini {
            let shown = texts.join(" ");
            assert!(shown.contains("result of a1-1") && shown.contains("result of a1-2"));
        } else {
            assert_eq!(texts, ["result of a1-1", "result of a1-2"], "{}", case.kind);
        }
        // Ollama's API matches results with calls by their order.
        if case.kind != Kind::Ollama {
            let tools: Vec<String> = sent.results().into_iter().map(|it| it.tool).collect();
            assert_eq!(tools, ["read", "write"], "{}", case.kind);
        }
    });
}

fn thinking() -> Script {
    let message = model::Message::new().thinks("hm").signs();
    Script::new().turn(message.calls("read", json!({"path": "a"}))).stops("done")
}

/// The parts of the second request in which thinking goes back.
fn thinking_sent(case: &Case) -> Vec<Value> {
    let body = case.server.requests()[1].body.clone();
    let (list, key) = match case.kind {
        Kind::Anthropic => (body["messages"][1]["content"].clone(), "signature"),
        Kind::OpenAi => (body["input"].clone(), "encrypted_content"),
        Kind::OpenAiChat => (body["messages"].clone(), "reasoning_content"),
        Kind::Gemini => (body["contents"][1]["parts"].clone(), "thoughtSignature"),
        Kind::Ollama => return Vec::new(),
    };
    let parts = list.as_array().cloned().unwrap_or_default();
    parts.into_iter().filter(|it| it.get(key).is_some()).collect()
}

#[test]
fn thinking_goes_back_as_received() {
    each(thinking, |case| async move {
        let asked = asking("hello");
        let answer = case.answer(&asked).await;
        case.answer(&case.going_on(asked, answer)).await;
        let sent = thinking_sent(&case);
        match case.kind {
            Kind::Anthropic => {
                let block =
                    json!({"type": "thinking", "thinking": "hm", "signature": "c2lnbmF0dXJl"});
                assert_eq!(sent, [block]);
            }
            Kind::OpenAi => assert_eq!(sent[0]["encrypted_content"], "c2VhbGVk"),
            Kind::OpenAiChat => assert_eq!(sent[0]["reasoning_content"], "hm"),
            Kind::Gemini => {
                assert_eq!(sent[0]["thoughtSignature"], "dGhvdWdodA==");
                assert_eq!(sent[0]["functionCall"]["name"], "read");
            }
            // Ollama takes no thinking back.
            Kind::Ollama => return,
        }
        assert_eq!(sent.len(), 1, "{}: {sent:?}", case.kind);
    });
}

#[test]
fn thinking_and_ids_of_another_model_stay_away() {
    each(thinking, |case| async move {
        let asked = asking("hello");
        let answer = case.answer(&asked).await;
        let request = case.going_on(asked, answer);
        let other = connect(case.kind, "model-2", &case.server.url(), options());
        other.call(&request, &mut |_| {}).await.unwrap();
        assert_eq!(thinking_sent(&case), Vec::<Value>::new(), "{}", case.kind);
        let body = case.server.requests()[1].body.to_string();
        if !matches!(case.kind, Kind::Ollama) {
            assert!(body.contains("a1-1"), "{}: {body}", case.kind);
        }
    });
}

#[test]
fn arguments_that_are_no_json_are_kept_as_text_and_go_back_as_an_object() {
    let bad = r#"{"path": "a"#;
    let message = || model::Message::new().garbles("read", bad);
    each(
        move || Script::new().turn(message()).stops("done"),
        |case| async move {
            let asked = asking("hello");
            let answer = case.answer(&asked).await;
            assert_eq!(
                answer.calls[0].arguments,
                Arguments::Invalid(bad.to_owned()),
                "{}",
                case.kind
            );
            case.answer(&case.going_on(asked, answer)).await;
            let body = case.server.requests()[1].body.to_string();
            assert!(body.contains("invalid_json"), "{}: {body}", case.kind);
        },
    );
}

#[test]
fn two_calls_with_one_id_are_told_apart() {
    let calls = || {
        let message = model::Message::new().one_id().calls("read", json!({"path": "a"}));
        message.calls("write", json!({"path": "b"}))
    };
    each(
        move || Script::new().turn(calls()).stops("done"),
        |case| async move {
            let asked = asking("hello");
            let answer = case.answer(&asked).await;
            let ids: Vec<&str> = answer.calls.iter().map(|it| it.id.0.as_str()).collect();
            assert_eq!(ids, ["a1-1", "a1-2"], "{}", case.kind);
            assert_eq!(answer.calls[0].provider_id, answer.calls[1].provider_id, "{}", case.kind);
            case.answer(&case.going_on(asked, answer)).await;
            if case.kind != Kind::Ollama {
                let results = case.server.requests()[1].results();
                let tools: Vec<&str> = results.iter().map(|it| it.tool.as_str()).collect();
                assert_eq!(tools, ["read", "write"], "{}", case.kind);
            }
        },
    );
}

#[test]
fn only_anthropic_is_told_that_a_call_failed() {
    each(two_calls, |case| async move {
        let asked = asking("hello");
        let answer = case.answer(&asked).await;
        let mut request = case.going_on(asked, answer);
        if let Some(Message::Results(results)) = request.messages.last_mut() {
            results[1].is_error = true;
        }
        case.answer(&request).await;
        let results = case.server.requests()[1].results();
        let errors: Vec<bool> = results.iter().map(|it| it.is_error).collect();
        assert_eq!(errors, [false, case.kind == Kind::Anthropic], "{}", case.kind);
    });
}

#[test]
fn what_stays_the_same_is_marked_for_the_cache() {
    each(two_calls, |case| async move {
        let mut asked = asking("hello");
        asked.options.cache_key = Some("conversation-7".to_owned());
        let answer = case.answer(&asked).await;
        let mut request = case.going_on(asked, answer);
        request.messages.push(Message::User("the list as of now".to_owned()));
        request.uncached = 1;
        case.answer(&request).await;
        let body = &case.server.requests()[1].body;
        let marks = body.to_string().matches("cache_control").count();
        let key = body.get("prompt_cache_key").and_then(Value::as_str);
        match case.kind {
            Kind::Anthropic => {
                let mark = json!({"type": "ephemeral"});
                assert_eq!(body["system"][0]["cache_control"], mark);
                let results = body["messages"][2]["content"].as_array().unwrap();
                assert_eq!(results.last().unwrap()["cache_control"], mark);
                assert_eq!(marks, 2, "{body}");
            }
            Kind::OpenAi => assert_eq!((marks, key), (0, Some("conversation-7"))),
            Kind::OpenAiChat | Kind::Gemini | Kind::Ollama => assert_eq!((marks, key), (0, None)),
        }
    });
}

#[test]
fn the_name_of_a_model_is_sent_whole() {
    run(async {
        for kind in [Kind::Anthropic, Kind::OpenAi, Kind::OpenAiChat, Kind::Ollama] {
            let case = Case::new(kind, Script::new().stops("ok"), options());
            let provider = connect(kind, "vendor/some-max", &case.server.url(), options());
            provider.call(&asking("hello"), &mut |_| {}).await.unwrap();
            let sent = &case.server.requests()[0];
            assert_eq!(sent.model, "vendor/some-max", "{kind}");
            assert!(!sent.body.to_string().contains("\"max\""), "{kind}: {}", sent.body);
        }
    });
}

#[test]
fn an_answer_becomes_a_message_that_can_be_stored() {
    each(two_calls, |case| async move {
        let answer: ModelAnswer = case.answer(&asking("hello")).await;
        let message = answer.into_message(case.provider.model().clone());
        let stored = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&stored).unwrap(), message, "{}", case.kind);
        let result =
            CallResult { call: ModelCallId::new("a1", 1), text: "ok".to_owned(), is_error: false };
        let results = Message::Results(vec![result]);
        let stored = serde_json::to_string(&results).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&stored).unwrap(), results);
    });
}
