//! Tests of one call: the whole transition table, and the texts.

use std::fmt::Write as _;

use punchlist_model::id::IdSource;
use punchlist_model::{Attempt, Timestamp};

use super::{
    ArgumentsVersion, CallError, CancelReason, Ended, Live, Outcome, Output, QuestionId, Retry,
    Step, StopReason,
};

fn question(n: u32) -> QuestionId {
    QuestionId(IdSource::fixed(Timestamp::UNIX_EPOCH, 0).nth(n))
}

fn states() -> Vec<(&'static str, Live)> {
    let (attempt, started_at) = (Attempt(1), Timestamp::UNIX_EPOCH);
    let executing = |stopping| Live::Executing { attempt, started_at, stopping };
    vec![
        ("validating", Live::Validating { version: ArgumentsVersion(0) }),
        (
            "scheduled",
            Live::Scheduled { tried: Attempt(0), allowed: false, again_at: None, said: None },
        ),
        (
            "scheduled, allowed",
            Live::Scheduled { tried: Attempt(0), allowed: true, again_at: None, said: None },
        ),
        (
            "scheduled, again",
            Live::Scheduled {
                tried: attempt,
                allowed: true,
                again_at: Some(started_at),
                said: None,
            },
        ),
        ("awaiting_approval", Live::AwaitingApproval { question: question(1) }),
        ("executing", executing(None)),
        (
            "executing, cancelled",
            executing(Some(Box::new(StopReason::Cancelled(CancelReason::Asked(None))))),
        ),
        ("executing, timed out", executing(Some(Box::new(StopReason::TimedOut)))),
    ]
}

fn steps() -> Vec<(&'static str, Step)> {
    let end = |how, again: bool| Step::End {
        how,
        timeout_ms: 5,
        again_at: again.then_some(Timestamp::UNIX_EPOCH),
    };
    let badly = || Ended::Badly { what: "exit 1".to_owned(), output: Output::default() };
    vec![
        ("valid", Step::Valid { allowed: false }),
        ("valid, allowed", Step::Valid { allowed: true }),
        ("invalid", Step::Invalid(CallError::Invalid("no such tool".to_owned()))),
        ("ask", Step::Ask(question(2))),
        ("allow", Step::Allow),
        ("modify", Step::Modify(ArgumentsVersion(1))),
        ("start", Step::Start(Timestamp::UNIX_EPOCH)),
        ("end well", end(Ended::Well(Output::default()), false)),
        ("end badly", end(badly(), false)),
        ("end badly, again", end(badly(), true)),
        ("panic", end(Ended::Panicked("oh".to_owned()), false)),
        ("cancel", Step::Stop(StopReason::Cancelled(CancelReason::Refused(None)))),
        ("time out", Step::Stop(StopReason::TimedOut)),
    ]
}

#[test]
fn every_state_meets_every_step() {
    let mut table = String::new();
    for (state, live) in states() {
        for (name, step) in steps() {
            let next = match live.clone().step(step) {
                Ok(next) => match next.outcome() {
                    Some(outcome) => format!("{}: {outcome:?}", next.name()),
                    None => format!("{next:?}"),
                },
                Err(illegal) => format!("refused: {illegal}"),
            };
            writeln!(table, "{state:<21} {name:<17} {next}").unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn the_wait_between_attempts_doubles_and_has_an_end() {
    let retry = Retry { times: 3, wait_ms: 100 };
    let waits: Vec<Option<u64>> = (1..=5).map(|n| retry.wait_after(Attempt(n))).collect();
    assert_eq!(waits, [Some(100), Some(200), Some(400), None, None]);
    let stubborn = Retry { times: u32::MAX, wait_ms: u64::MAX };
    assert_eq!(stubborn.wait_after(Attempt(u32::MAX)), Some(Retry::LONGEST_MS));
    assert_eq!(Retry::default().wait_after(Attempt(1)), None);
}

#[test]
fn denied_refused_and_failed_are_three_different_things_to_the_reader() {
    let failed = CallError::Failed { what: "exit code 1".to_owned(), output: Box::default() };
    let denied = CallError::Denied("{ decision = \"deny\", tool = \"shell\" }".to_owned());
    let refused = CancelReason::Refused(Some("not on a Friday".to_owned()));
    insta::assert_snapshot!(
        [failed.to_string(), denied.to_string(), refused.to_string()].join("\n"),
        @r#"
    exit code 1
    denied by policy: { decision = "deny", tool = "shell" }
    refused: not on a Friday
    "#
    );
}

#[test]
fn a_model_reads_how_a_call_ended_and_what_it_printed() {
    let said = |text: &str| Output::text(text);
    let failed = CallError::Failed { what: "exit code 1".into(), output: Box::new(said("oh\n")) };
    let enough = CancelReason::Asked(Some("enough".into()));
    let all = [
        Outcome::Success(said("3 files")),
        Outcome::Success(Output::default().with_data(serde_json::json!({"files": 3}))),
        Outcome::Error(failed),
        Outcome::Error(CallError::Denied("no".into())),
        Outcome::cancelled(enough, said("half of it")),
    ];
    let read: Vec<String> = all.iter().map(Outcome::for_model).collect();
    insta::assert_snapshot!(read.join("\n---\n"));
}
