//! Servers and models that misbehave: the session goes on or ends, never hangs, and its record is valid.

use std::time::Duration;

use punchlist_agent::provider::{ClientOptions, Kind, RetryOptions};
use punchlist_agent::session::{Entry, Event};
use punchlist_agent::turn::Ending;
use punchlist_model::store::turns::ConversationState;
use punchlist_testkit::model::{Message, Script};
use serde_json::json;

use super::front_end::Front;
use super::{Ran, Stage, complete, each, each_with, next, one, options, read, supervisor, todos};

fn retries(ran: &Ran) -> usize {
    ran.events.iter().filter(|it| matches!(it, Event::Retry { .. })).count()
}

/// A plan with one item that is in progress; then whatever a test wants to happen.
fn begun() -> Script {
    Script::new().calls_all([todos(&["A"]), next()])
}

/// The session has failed with a text, and nothing stays in progress.
fn check_failed(stage: &Stage, ran: &Ran, text: &str) {
    let Ending::Failed(why) = &ran.ended.ending else { panic!("{:?}", ran.ended.ending) };
    assert!(why.contains(text), "{}: {why}", stage.kind);
    assert_eq!((ran.ended.exit(), ran.ended.answer.as_str()), (6, ""), "{}", stage.kind);
    assert_eq!(ran.list(), ["pending A"], "{}", stage.kind);
}

#[test]
fn a_limited_rate_is_waited_out() {
    let script = || begun().tries_later(429, "1").calls_all([complete(1)]).stops("Done.");
    each(script, |stage| async move {
        let ran = stage.run(supervisor()).await;
        assert_eq!((ran.ended.answer.as_str(), retries(&ran)), ("Done.", 1), "{}", stage.kind);
    });
}

#[test]
fn trouble_of_the_server_is_retried_and_then_ends_the_turn() {
    let script = || begun().fails(500, "api_error", 2).calls_all([complete(1)]).stops("Done.");
    each(script, |stage| async move {
        let ran = stage.run(supervisor()).await;
        assert_eq!((ran.ended.answer.as_str(), retries(&ran)), ("Done.", 2), "{}", stage.kind);
    });
    each(
        || begun().fails(500, "api_error", 9),
        |stage| async move {
            let ran = stage.run(supervisor()).await;
            check_failed(&stage, &ran, "has a problem of its own");
        },
    );
}

#[test]
fn a_cut_stream_is_not_recorded() {
    let script = || {
        let cut = Message::new().says("half").calls("read", json!({"path": "note.txt"})).cut();
        begun().turn(cut).calls_all([complete(1)]).stops("Done.")
    };
    each(script, |stage| async move {
        let ran = stage.run(supervisor()).await;
        assert_eq!((ran.ended.answer.as_str(), retries(&ran)), ("Done.", 1), "{}", stage.kind);
        let read = |it: &&Event| matches!(it, Event::CallStarted(call) if call.tool == "read");
        assert_eq!(ran.events.iter().filter(read).count(), 0, "{}", stage.kind);
        for it in stage.entries(&ran).await {
            if let Entry::Answer(answer) = it.entry {
                assert!(!answer.message.text.contains("half"), "{}", stage.kind);
            }
        }
    });
}

#[test]
fn a_stream_without_end_is_given_up() {
    let options = ClientOptions { stall_timeout: Duration::from_secs(1), ..options() };
    let script = || {
        let hangs = Message::new().says("half").hangs();
        begun().turn(hangs).calls_all([complete(1)]).stops("Done.")
    };
    each_with(&options, script, |stage| async move {
        let ran = stage.run(supervisor()).await;
        assert_eq!((ran.ended.answer.as_str(), retries(&ran)), ("Done.", 1), "{}", stage.kind);
    });
}

#[test]
fn a_server_that_never_answers_ends_the_turn() {
    let options = ClientOptions { answer_timeout: Duration::from_secs(2), ..options() };
    each_with(
        &options,
        || begun().stays_silent(),
        |stage| async move {
            let ran = stage.run(supervisor()).await;
            check_failed(&stage, &ran, "did not answer within 2 s");
        },
    );
}

#[test]
fn ten_megabytes_of_text_end_the_turn() {
    let options = ClientOptions { max_answer: 1024 * 1024, ..options() };
    let text = || "0123456789".repeat(1024 * 1024);
    each_with(
        &options,
        || begun().turn(Message::new().says(text())),
        |stage| async move {
            let ran = stage.run(supervisor()).await;
            check_failed(&stage, &ran, "is longer than 1048576 bytes");
        },
    );
}

#[test]
fn a_conversation_that_is_too_long_ends_the_turn() {
    each(
        || begun().finds_it_too_long(),
        |stage| async move {
            let ran = stage.run(supervisor()).await;
            check_failed(&stage, &ran, "longer than the model can read");
        },
    );
}

#[test]
fn arguments_that_are_no_json_are_handed_back() {
    let script = || {
        let bad = Message::new().garbles("read", r#"{"path": "note"#);
        Script::new().turn(bad).calls_all([read("note.txt")]).stops("Done.")
    };
    each(script, |stage| async move {
        let ran = stage.run(supervisor()).await;
        assert_eq!(ran.ended.answer, "Done.", "{}", stage.kind);
        let results = stage.sent()[1].results();
        let text = &results[0].text;
        assert!(text.contains("the arguments are not a JSON object"), "{}: {text}", stage.kind);
        assert!(text.contains("```data"), "{}: {text}", stage.kind);
        assert!(stage.sent()[2].news().contains("Remember the milk."), "{}", stage.kind);
    });
}

#[test]
fn arguments_that_do_not_fit_and_tools_that_do_not_exist_are_handed_back() {
    let script = || {
        let calls = [("read", json!({"path": 7})), ("fly", json!({})), ("read", json!({}))];
        Script::new().calls_all(calls).stops("Done.")
    };
    each(script, |stage| async move {
        let ran = stage.run(supervisor()).await;
        assert_eq!(ran.ended.answer, "Done.", "{}", stage.kind);
        let results = stage.sent()[1].results();
        assert_eq!(results.len(), 3, "{}", stage.kind);
        assert!(results[0].text.contains("path"), "{}: {}", stage.kind, results[0].text);
        assert!(results[1].text.contains("fly"), "{}: {}", stage.kind, results[1].text);
        assert!(results[2].text.contains("path"), "{}: {}", stage.kind, results[2].text);
        let is_started = |it: &&Event| matches!(it, Event::CallStarted(_));
        assert_eq!(ran.events.iter().filter(is_started).count(), 0, "{}", stage.kind);
    });
}

#[test]
fn two_calls_with_one_id_have_a_result_each() {
    let script = || {
        let both = Message::new().one_id().calls("read", json!({"path": "note.txt"}));
        Script::new().turn(both.calls("list", json!({"path": "."}))).stops("Done.")
    };
    each(script, |stage| async move {
        let ran = stage.run(supervisor()).await;
        assert_eq!(ran.ended.answer, "Done.", "{}", stage.kind);
        let results = stage.sent()[1].results();
        assert_eq!(results.len(), 2, "{}", stage.kind);
        assert!(results[0].text.contains("Remember the milk."), "{}", stage.kind);
        assert!(results[1].text.contains("note.txt"), "{}", stage.kind);
        if stage.kind != Kind::Ollama {
            let tools: Vec<&str> = results.iter().map(|it| it.tool.as_str()).collect();
            assert_eq!(tools, ["read", "list"], "{}", stage.kind);
        }
    });
}

/// A wait of seconds counts as a usage limit.
fn impatient() -> ClientOptions {
    let retry = RetryOptions { longest_wait: Duration::from_millis(50), ..options().retry };
    ClientOptions { retry, ..options() }
}

#[test]
fn a_usage_limit_is_waited_for_and_others_see_that() {
    let script = || begun().tries_later(429, "3").calls_all([complete(1)]).stops("Done.");
    each_with(&impatient(), script, |stage| async move {
        let mut session = stage.session(supervisor()).await;
        let id = session.id();
        let sees = async {
            for _ in 0..2000 {
                let state = stage.world.place.engine.store().conversation(id).await.unwrap().state;
                if let ConversationState::Waiting { until, on } = state {
                    let plan =
                        stage.world.place.engine.store().turns(id).await.unwrap()[0].plan.unwrap();
                    let plan = stage.world.place.engine.store().whole(plan).await.unwrap();
                    // The item is marked right after the session.
                    if let Some(waits) = plan.listed()[0].waiting_on.clone() {
                        return Some((until, on, Some(waits)));
                    }
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            None
        };
        let turn = stage.turn(&mut session, super::REQUEST, Front::default());
        let (ran, seen) = futures_util::join!(turn, sees);
        assert_eq!((ran.ended.answer.as_str(), ran.ended.exit()), ("Done.", 0), "{}", stage.kind);
        let (until, on, waits) = seen.unwrap();
        assert_eq!(waits.as_deref(), Some("the usage limit of test"), "{}", stage.kind);
        assert_eq!(ran.list(), ["completed A"], "{}", stage.kind);
        assert!(until.is_some() && on == "the usage limit of test", "{}: {on}", stage.kind);
        let waits = |it: &&Event| matches!(it, Event::Waiting { until: Some(_), .. });
        assert_eq!(ran.events.iter().filter(waits).count(), 1, "{}", stage.kind);
        let state = stage.world.place.engine.store().conversation(id).await.unwrap().state;
        assert_eq!(state, ConversationState::Idle, "{}", stage.kind);
    });
}

#[test]
fn a_session_that_may_not_wait_ends_at_a_usage_limit() {
    each_with(
        &impatient(),
        || begun().tries_later(429, "3600"),
        |stage| async move {
            let mut settings = supervisor();
            settings.wait_for_quota = false;
            let ran = stage.run(settings).await;
            check_failed(&stage, &ran, "the usage limit of test is reached");
        },
    );
}

#[test]
fn a_wait_for_a_usage_limit_can_be_aborted() {
    let script = begun().tries_later(429, "3600");
    one(script, |stage| async move {
        let waits = |it: &Event| matches!(it, Event::Waiting { .. });
        let front = Front::default().when(waits, punchlist_agent::session::Input::Abort);
        let ran = stage.run_with(supervisor(), front).await;
        assert_eq!((ran.ended.exit(), ran.list()), (130, vec!["pending A".to_owned()]));
        assert_eq!(ran.ended.plan.unwrap().listed()[0].waiting_on, None);
    });
}

#[test]
fn a_command_that_takes_too_long_is_ended_and_its_output_is_kept() {
    let slow = |timeout: u32| {
        let command = "echo $$ > pid; echo begun; sleep 100";
        ("shell", json!({"command": command, "timeout": timeout}))
    };
    let script =
        Script::new().calls_all([slow(1)]).calls_all([slow(100_000)]).stops("It takes too long.");
    one(script, |stage| async move {
        stage.run(supervisor()).await;
        let sent = stage.sent();
        let told = &super::results(&sent[1])[0];
        assert!(told.contains("begun") && told.contains("timed out after 1 s"), "{told}");
        let pid = std::fs::read_to_string(stage.path("pid")).unwrap();
        assert!(!std::path::Path::new("/proc").join(pid.trim()).exists(), "it still runs");
        let refused = &super::results(&sent[2])[0];
        assert!(refused.contains("100000") && refused.contains("1800"), "{refused}");
        let schema = sent[0].body.to_string();
        assert!(schema.contains("120 if left out, at most 1800"), "{schema}");
    });
}
