//! What a person reads who has no key, a wrong one, the wrong model or no network. No key is ever shown.

use std::fmt::Write as _;

use punchlist_agent::provider::{Failure, KeySource, ProviderConfig, Secret};
use punchlist_testkit::model::{Model, Script, Turn};

use super::{CANARY, KINDS, Kind, asking, connect, each, options, run};
use punchlist_agent::provider::Provider;

fn check(failure: &Failure) {
    let shown = format!("{failure} {failure:?} {}", failure.message());
    assert!(!shown.contains(CANARY), "{shown}");
    assert!(!failure.is_retryable(), "{shown}");
}

/// A script that answers with an error whose text has the key in it.
fn error(status: u16, kind: &str) -> Script {
    Script::new().turn(Turn::Error { status, kind: format!("{kind} {CANARY}") })
}

#[test]
fn a_wrong_key() {
    each(
        || error(401, "authentication_error"),
        |case| async move {
            let failure = case.failure().await;
            check(&failure);
            assert!(matches!(failure, Failure::WrongKey { .. }), "{}: {failure:?}", case.kind);
            assert!(failure.message().contains("set the variable TEST_KEY"), "{failure}");
            assert!(failure.message().contains("[key]"), "{failure}");
        },
    );
}

#[test]
fn an_unknown_model() {
    each(
        || error(404, "not_found_error"),
        |case| async move {
            let failure = case.failure().await;
            check(&failure);
            assert!(matches!(failure, Failure::UnknownModel { .. }), "{}: {failure:?}", case.kind);
            assert!(failure.message().contains("no model \"model-1\""), "{failure}");
        },
    );
}

#[test]
fn a_conversation_that_is_too_long() {
    each(
        || Script::new().finds_it_too_long(),
        |case| async move {
            let failure = case.failure().await;
            check(&failure);
            assert!(
                matches!(failure, Failure::ContextTooLong { .. }),
                "{}: {failure:?}",
                case.kind
            );
        },
    );
}

#[test]
fn an_account_without_quota() {
    each(
        || error(429, "insufficient_quota"),
        |case| async move {
            let failure = case.failure().await;
            check(&failure);
            assert!(matches!(failure, Failure::NoQuota { .. }), "{}: {failure:?}", case.kind);
        },
    );
}

#[test]
fn a_request_that_is_refused() {
    each(
        || error(400, "unsupported_parameter: reasoning.summary"),
        |case| async move {
            let failure = case.failure().await;
            check(&failure);
            assert!(matches!(failure, Failure::BadRequest { .. }), "{}: {failure:?}", case.kind);
            assert!(failure.message().contains("thinking = false"), "{failure}");
        },
    );
}

#[test]
fn the_key_does_not_follow_a_redirect() {
    let elsewhere = Model::new(Script::new().stops("ok")).serve().unwrap();
    let paths = ["messages", "responses", "chat/completions"];
    for path in paths.map(|it| format!("{}/v1/{it}", elsewhere.url())) {
        each(
            || Script::new().turn(Turn::Redirect { to: path.clone() }),
            |case| async move {
                let failure = case.failure().await;
                check(&failure);
                assert!(failure.message().contains("it redirects"), "{}: {failure}", case.kind);
            },
        );
    }
    assert_eq!(elsewhere.requests(), []);
}

#[test]
fn nobody_listens() {
    run(async {
        for kind in KINDS {
            // Nothing listens on the port of a service that no machine has had for decades.
            let provider = connect(kind, "model-1", "http://127.0.0.1:1", options());
            let mut retries = 0;
            let failure = provider.call(&asking("hello"), &mut |_| retries += 1).await.unwrap_err();
            assert!(matches!(failure, Failure::NoNetwork { .. }), "{kind}: {failure:?}");
            assert!(failure.message().contains("Is the server running on this machine?"));
            assert_eq!(retries, 2, "{kind}");
        }
    });
}

#[test]
fn the_key_is_in_no_body_and_in_no_debug_output() {
    each(
        || Script::new().stops("ok"),
        |case| async move {
            case.answer(&asking("hello")).await;
            let mut shown = format!("{:?} {:?}", Secret::new(CANARY), case.server.requests());
            let key = KeySource::Variable("TEST_KEY".to_owned());
            let config = ProviderConfig::new("test", Kind::Ollama, None, key).unwrap();
            write!(shown, "{config:?}").unwrap();
            assert!(!shown.contains(CANARY), "{}: {shown}", case.kind);
        },
    );
}
