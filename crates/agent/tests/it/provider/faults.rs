//! Servers that fail, stall, cut off or never stop.

use std::time::{Duration, Instant};

use punchlist_agent::provider::{ClientOptions, Failure};
use punchlist_testkit::model::{Message, Script};

use serde_json::json;

use super::{asking, each, each_with, now, options};

#[test]
fn a_limited_rate_is_retried_when_the_server_says() {
    let script = || Script::new().tries_later(429, "1").stops("ok");
    each(script, |case| async move {
        let begun = Instant::now();
        let called = case.call(&asking("hello")).await;
        assert_eq!(called.answer.as_ref().unwrap().text, "ok", "{}", case.kind);
        assert_eq!(called.waits().len(), 1, "{}", case.kind);
        assert!(called.waits()[0] >= Duration::from_secs(1), "{}", case.kind);
        assert!(begun.elapsed() >= Duration::from_secs(1), "{}", case.kind);
    });
}

#[test]
fn a_long_wait_is_a_usage_limit_with_its_end() {
    for after in ["3600", "Sun, 01 Mar 2026 13:00:00 GMT"] {
        let script = || Script::new().tries_later(429, after);
        each(script, |case| async move {
            let failure = case.failure().await;
            let Failure::UsageLimit { until, .. } = &failure else { panic!("{failure:?}") };
            assert_eq!(until.duration_since(now()).as_secs(), 3600, "{}", case.kind);
            assert!(failure.message().contains("2026-03-01T13:00:00Z"), "{failure}");
            assert_eq!(case.server.requests().len(), 1, "{}", case.kind);
        });
    }
}

#[test]
fn trouble_of_the_server_is_retried_so_many_times() {
    each(
        || Script::new().fails(500, "api_error", 2).stops("ok"),
        |case| async move {
            let called = case.call(&asking("hello")).await;
            assert_eq!(called.answer.as_ref().unwrap().text, "ok", "{}", case.kind);
            assert_eq!(called.waits().len(), 2, "{}", case.kind);
        },
    );
    each(
        || Script::new().fails(529, "overloaded_error", 9),
        |case| async move {
            let failure = case.failure().await;
            assert!(matches!(failure, Failure::ServerError { .. }), "{}: {failure:?}", case.kind);
            assert_eq!(case.server.requests().len(), 3, "{}", case.kind);
        },
    );
}

#[test]
fn a_failure_in_the_middle_of_an_answer_is_retried() {
    let script = || Script::new().turn(Message::new().says("half").fails("overloaded")).stops("ok");
    each(script, |case| async move {
        let called = case.call(&asking("hello")).await;
        assert_eq!(called.answer.as_ref().unwrap().text, "ok", "{}", case.kind);
        // The screen is told that the first half is void.
        assert_eq!((called.text().as_str(), called.waits().len()), ("halfok", 1), "{}", case.kind);
    });
}

#[test]
fn a_cut_stream_is_no_answer() {
    let script = || Script::new().turn(Message::new().says("half").cut()).stops("ok");
    each(script, |case| async move {
        assert_eq!(case.answer(&asking("hello")).await.text, "ok", "{}", case.kind);
    });
    each(
        || Script::new().always(|_| Message::new().says("half").cut()),
        |case| async move {
            let failure = case.failure().await;
            assert!(matches!(failure, Failure::Truncated { .. }), "{}: {failure:?}", case.kind);
        },
    );
}

#[test]
fn a_stream_without_its_end_is_no_answer() {
    each(
        || Script::new().always(|_| Message::new().says("half").unfinished()),
        |case| async move {
            let failure = case.failure().await;
            assert!(matches!(failure, Failure::Truncated { .. }), "{}: {failure:?}", case.kind);
            assert_eq!(case.server.requests().len(), 3, "{}", case.kind);
        },
    );
}

#[test]
fn ten_megabytes_of_text_are_too_many() {
    let limit = 1024 * 1024;
    let options = ClientOptions { max_answer: limit, ..options() };
    let text = || "0123456789".repeat(1024 * 1024);
    let script = || Script::new().turn(Message::new().says(text()).hangs());
    each_with(&options, script, |case| async move {
        let failure = case.failure().await;
        let expected = Failure::TooMuchText { provider: "test".to_owned(), limit };
        assert_eq!(failure, expected, "{}", case.kind);
        assert!(case.is_abandoned().await, "{}", case.kind);
    });
}

#[test]
fn arguments_without_end_are_too_many() {
    let limit = 100_000;
    let options = ClientOptions { max_arguments: limit, ..options() };
    let path = || json!({"path": "0123456789".repeat(20_000)});
    let script = || Script::new().turn(Message::new().calls("write", path()).hangs());
    each_with(&options, script, |case| async move {
        let failure = case.failure().await;
        let expected = Failure::TooMuchText { provider: "test".to_owned(), limit };
        assert_eq!(failure, expected, "{}", case.kind);
        assert!(case.is_abandoned().await, "{}", case.kind);
    });
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let options = ClientOptions { answer_timeout: Duration::from_millis(200), ..options() };
    each_with(
        &options,
        || Script::new().stays_silent(),
        |case| async move {
            let failure = case.failure().await;
            assert!(matches!(failure, Failure::NoAnswer { .. }), "{}: {failure:?}", case.kind);
            assert!(case.is_abandoned().await, "{}", case.kind);
            assert_eq!(case.server.requests().len(), 1, "{}", case.kind);
        },
    );
}

#[test]
fn a_stream_that_stalls_is_given_up_and_retried() {
    let options = ClientOptions { stall_timeout: Duration::from_millis(300), ..options() };
    let script = || Script::new().turn(Message::new().says("half").hangs()).stops("ok");
    each_with(&options, script, |case| async move {
        assert_eq!(case.answer(&asking("hello")).await.text, "ok", "{}", case.kind);
        assert!(case.is_abandoned().await, "{}", case.kind);
    });
    each_with(
        &options,
        || Script::new().always(|_| Message::new().hangs()),
        |case| async move {
            let failure = case.failure().await;
            assert!(matches!(failure, Failure::Stalled { .. }), "{}: {failure:?}", case.kind);
        },
    );
}
