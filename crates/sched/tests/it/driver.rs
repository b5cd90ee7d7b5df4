//! Tests of the driver: inputs first, then the ledger, then effects; and one event per finished
//! batch.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::panic;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use punchlist_model::Actor;
use punchlist_model::call::Permit;
use punchlist_sched::call::{CallError, QuestionId, State};
use punchlist_sched::machine::Target;
use punchlist_sched::output;
use punchlist_sched::run::{AnswerResult, Error, RunOver};
use punchlist_sched::{
    Answer, Batch, BatchId, CallId, CancelReason, Event, Events, Limits, Offer, Options, Outcome,
    Output, PlannedCall, Request, Retry, Run,
};
use serde_json::json;

use crate::stage::{Doors, Log, Stage, act, ask, options, tools};

fn well(text: &str) -> Outcome {
    Outcome::Success(Output::text(text))
}

fn cancelled(reason: CancelReason, text: &str) -> Outcome {
    Outcome::cancelled(reason, Output::text(text))
}

fn nobody() -> CancelReason {
    CancelReason::Asked(None)
}

impl Stage {
    /// Schedules calls and waits until all have ended.
    async fn outcomes(&self, requests: Vec<Request>) -> Vec<Outcome> {
        self.run.schedule(requests).await.unwrap().outcomes().await.unwrap()
    }
}

/// The events until the batch is done.
async fn until_done(events: &mut Events) -> Vec<Event> {
    let mut all = Vec::new();
    loop {
        let event = events.next().await.unwrap();
        let is_last = matches!(event, Event::BatchDone(_));
        all.push(event);
        if is_last {
            return all;
        }
    }
}

#[tokio::test]
async fn calls_run_and_their_batch_is_told_of_once() {
    let stage = Stage::new();
    let mut events = stage.run.subscribe();
    let outcomes = stage.outcomes(vec![act("well"), act("badly")]).await;
    let output = Box::new(Output::text("so far"));
    let failed = CallError::Failed { what: "it went wrong".into(), output };
    assert_eq!(outcomes, [well("well"), Outcome::Error(failed)]);
    let ended = stage.run.ended();
    drop(stage.run);
    ended.await.unwrap();
    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        told.push(match event {
            Event::Moved { call, state } => format!("{call} is {}", state.name()),
            Event::BatchDone(BatchId(batch)) => format!("batch {batch} is done"),
            Event::Asked(_) | Event::Output { .. } | Event::Lost { .. } => panic!("{event:?}"),
        });
    }
    insta::assert_snapshot!(told.join("\n"), @"
    call 0 is validating
    call 1 is validating
    call 0 is scheduled
    call 0 is executing
    call 1 is scheduled
    call 1 is executing
    call 0 is success
    call 1 is error
    batch 0 is done
    ");
}

#[tokio::test]
async fn every_transition_is_written_down_before_anything_follows_from_it() {
    let stage = Stage::new();
    let mut batch = Batch::new();
    let first = batch.add(act("well"));
    batch.add(act("badly")).after([first]);
    stage.run.schedule(batch).await.unwrap().outcomes().await.unwrap();
    insta::assert_snapshot!(stage.log.all().join("\n"), @"
    call 0 is validating
    call 1 is validating
    call 0 is scheduled
    call 0 is executing
    call 1 is scheduled
    call 0 runs
    call 0 is success
    call 1 is executing
    call 1 runs
    call 1 is error
    ");
}

#[tokio::test]
async fn a_question_is_written_down_with_what_it_shows_and_answered_once() {
    let stage = Stage::new();
    let mut events = stage.run.subscribe();
    let batch = stage.run.schedule(vec![ask("well")]).await.unwrap();
    let asked = loop {
        if let Event::Asked(asked) = events.next().await.unwrap() {
            break asked;
        }
    };
    assert_eq!(asked.what, "do \"well\"");
    assert_eq!(asked.arguments, json!({"do": "well"}));
    assert_eq!(asked.why, "no rule allows it");
    let always = asked.offers.iter().filter(|it| matches!(it, Offer::Always(_)));
    assert_eq!(always.count(), 1);
    stage.log.position("call 0 asks");
    let answer = |answer| stage.run.answer(asked.id, answer, None);
    let another = Permit { tool: Some("act".into()), ..Permit::default() };
    assert_eq!(answer(Answer::Session(vec![another])).await, Ok(AnswerResult::NotOffered));
    assert_eq!(answer(Answer::Modify(json!({"do": "badly"}))).await, Ok(AnswerResult::Taken));
    // A person chose the other arguments, so the call runs with them without another question.
    assert_eq!(answer(Answer::Refuse(Some("too late".into()))).await, Ok(AnswerResult::Late));
    let nobody_asked = QuestionId(options().machine.ids.nth(99));
    assert_eq!(stage.run.answer(nobody_asked, Answer::Once, None).await, Ok(AnswerResult::Late));
    let outcomes = batch.outcomes().await.unwrap();
    assert!(matches!(outcomes[..], [Outcome::Error(CallError::Failed { .. })]), "{outcomes:?}");
}

#[tokio::test]
async fn a_tool_that_breaks_harms_its_own_call_only() {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let stage = Stage::new();
    let requests = ["panic", "panic later", "panic dropped", "well"].map(act).to_vec();
    let outcomes = stage.outcomes(requests).await;
    panic::set_hook(hook);
    let broke = |what: &str| Outcome::Error(CallError::Panicked(what.to_owned()));
    let expected = [
        broke("broke at once"),
        broke("broke later"),
        broke("broke when it was dropped"),
        well("well"),
    ];
    assert_eq!(outcomes, expected);
}

#[tokio::test]
async fn a_ledger_that_fails_ends_the_run_and_nothing_more_is_done() {
    let stage = Stage::failing("call 1 is executing");
    let mut events = stage.run.subscribe();
    stage.run.schedule(vec![act("never")]).await.unwrap();
    stage.until("call 0 waits").await;
    // The state may be recorded later than the reply, but the execution never starts before it.
    drop(stage.run.schedule(vec![act("well")]).await);
    let error = stage.run.ended().await.unwrap_err();
    assert!(matches!(error, Error::Ledger(_)), "{error:?}");
    assert_eq!(error.to_string(), "the ledger cannot be written: the disk is full");
    assert!(!stage.log.all().contains(&"call 1 runs".to_owned()), "{:?}", stage.log.all());
    while let Some(event) = events.next().await {
        assert!(!matches!(event, Event::BatchDone(_)), "{event:?}");
    }
    assert_eq!(stage.run.call(CallId(0)).await, Err(RunOver));
}

#[tokio::test]
async fn a_call_that_the_ledger_declines_is_never_run() {
    let stage = Stage::declining(CallId(0));
    let outcomes = stage.outcomes(vec![act("well"), act("well")]).await;
    let declined = CancelReason::Declined("somebody else has done it".to_owned());
    assert_eq!(outcomes, [cancelled(declined, ""), well("well")]);
    assert!(!stage.log.all().contains(&"call 0 runs".to_owned()), "{:?}", stage.log.all());
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_it_began_never_begins() {
    let stage = Stage::new();
    let mut events = stage.run.subscribe();
    let mut scheduled = pin!(stage.run.schedule(vec![act("well")]));
    let mut cancelled = pin!(stage.run.cancel(Target::All, nobody()));
    // Both requests arrive before the loop reads either.
    poll_fn(|context| {
        assert!(scheduled.as_mut().poll(context).is_pending());
        assert!(cancelled.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
    let (scheduled, cancelled) = tokio::join!(scheduled, cancelled);
    scheduled.unwrap();
    cancelled.unwrap();
    until_done(&mut events).await;
    assert_eq!(stage.log.all(), ["call 0 is validating", "call 0 is cancelled"]);
}

#[tokio::test]
async fn questions_can_be_listed_and_each_is_handed_out_once_also_to_who_comes_late() {
    let stage = Stage::new();
    let batch = stage.run.schedule(vec![ask("well"), ask("badly"), ask("who")]).await.unwrap();
    for call in 0..3 {
        stage.until(&format!("call {call} asks")).await;
    }
    let first = stage.run.question().await.unwrap();
    let second = stage.run.clone().question().await.unwrap();
    assert_eq!((first.call, second.call), (0, 1));
    let listed = stage.run.questions();
    assert_eq!(listed.iter().map(|it| it.call).collect::<Vec<_>>(), [0, 1, 2], "all that wait");
    assert_eq!(first.answer(Answer::Once).await, Ok(AnswerResult::Taken));
    assert_eq!(listed[0].answer(Answer::Once).await, Ok(AnswerResult::Late));
    assert_eq!(second.answer(Answer::Refuse(Some("no".into()))).await, Ok(AnswerResult::Taken));
    let third = stage.run.question().await.unwrap();
    assert_eq!(third.answer_as(Actor::person("ann"), Answer::Once).await, Ok(AnswerResult::Taken));
    assert!(stage.run.questions().is_empty());
    let refused = cancelled(CancelReason::Refused(Some("no".into())), "");
    assert_eq!(batch.outcomes().await.unwrap(), [well("well"), refused, well("ann")]);
    let (run, ended) = (stage.run.clone(), stage.run.ended());
    run.shut_down(nobody());
    assert!(run.question().await.is_none(), "nobody will ask any more");
    ended.await.unwrap();
}

#[tokio::test]
async fn what_was_printed_before_anybody_listened_is_heard_too() {
    let stage = Stage::new();
    let batch = stage.run.schedule(vec![act("say"), act("well")]).await.unwrap();
    batch.outcomes().await.unwrap();
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let hears = Arc::clone(&heard);
    batch.on_output(move |call, line| hears.lock().unwrap().push(format!("{call}: {line}")));
    let heard = heard.lock().unwrap();
    assert_eq!((heard.len(), heard.last().unwrap().as_str()), (256, "call 0: 9999"));
}

#[tokio::test]
async fn a_call_can_wait_for_one_of_another_batch_as_long_as_that_is_held() {
    let stage = Stage::new();
    let (mut first, mut second, mut third) = (Batch::new(), Batch::new(), Batch::new());
    let opened = first.add(act("door"));
    second.add(act("well")).after([&opened]);
    third.add(act("well")).after([&opened]);
    let first = stage.run.schedule(first).await.unwrap();
    let second = stage.run.schedule(second).await.unwrap();
    stage.until("call 0 waits").await;
    stage.doors.open("door");
    assert_eq!(second.outcomes().await.unwrap(), [well("well")]);
    first.outcomes().await.unwrap();
    drop(first);
    let outcomes = stage.run.schedule(third).await.unwrap().outcomes().await.unwrap();
    assert_eq!(outcomes, [Outcome::Error(CallError::Forgotten(opened.id().unwrap()))]);
}

#[tokio::test]
async fn a_cancelled_call_says_what_it_has_and_others_go_on() {
    let stage = Stage::new();
    let batch = stage.run.schedule(vec![act("stop"), act("door")]).await.unwrap();
    stage.until("call 0 waits").await;
    stage.until("call 1 waits").await;
    let reason = CancelReason::Asked(Some("not today".into()));
    stage.run.cancel(Target::Call(CallId(0)), reason.clone()).await.unwrap();
    stage.until("call 0 is cancelled").await;
    stage.doors.open("door");
    let outcomes = batch.outcomes().await.unwrap();
    assert_eq!(outcomes, [cancelled(reason, "partial"), well("door")]);
}

#[tokio::test]
async fn whoever_takes_too_long_is_stopped_and_its_words_are_kept() {
    let stage = Stage::new();
    let request = Request { timeout_ms: Some(20), ..act("stop") };
    let outcomes = stage.outcomes(vec![request]).await;
    let output = Box::new(Output::text("partial"));
    assert_eq!(outcomes, [Outcome::Error(CallError::TimedOut { after_ms: 20, output })]);
}

#[tokio::test]
async fn whoever_does_not_stop_is_dropped_after_a_while() {
    let stage = Stage::patient(Duration::from_millis(20));
    let batch = stage.run.schedule(vec![act("never")]).await.unwrap();
    stage.until("call 0 waits").await;
    stage.run.cancel(Target::Batch(batch.id()), nobody()).await.unwrap();
    assert_eq!(batch.outcomes().await.unwrap(), [cancelled(nobody(), "")]);
    let request = Request { timeout_ms: Some(20), ..act("never") };
    let outcomes = stage.outcomes(vec![request]).await;
    assert!(matches!(outcomes[..], [Outcome::Error(CallError::TimedOut { .. })]), "{outcomes:?}");
}

#[tokio::test]
async fn whoever_is_dropped_keeps_what_it_has_said() {
    let dir = tempfile::tempdir().unwrap();
    let directory = Some(dir.path().join("run"));
    let output = output::Options { directory, ..output::Options::default() };
    let patience = Duration::from_millis(20);
    let stage = Stage::with(Options { patience, output, ..options() });
    let batch = stage.run.schedule(vec![act("says, never stops")]).await.unwrap();
    stage.until("call 0 waits").await;
    stage.run.cancel(Target::Batch(batch.id()), nobody()).await.unwrap();
    let outcomes = batch.outcomes().await.unwrap();
    let [Outcome::Cancelled { output: Some(output), .. }] = &outcomes[..] else {
        panic!("{outcomes:?}")
    };
    assert_eq!(output.text, "half of it");
    assert!(std::path::Path::new(output.whole.as_ref().unwrap()).exists());
}

#[tokio::test]
async fn what_failed_is_tried_again_after_a_while() {
    let stage = Stage::new();
    let retry = Retry { times: 1, wait_ms: 20 };
    let outcomes = stage.outcomes(vec![Request { retry, ..act("badly first") }]).await;
    assert_eq!(outcomes, [well("at last")]);
}

#[tokio::test]
async fn whoever_is_cancelled_between_two_attempts_keeps_what_the_first_one_said() {
    let stage = Stage::new();
    let retry = Retry { times: 1, wait_ms: 60_000 };
    let batch = stage.run.schedule(vec![Request { retry, ..act("badly") }]).await.unwrap();
    stage.until("call 0 is executing").await;
    // First as scheduled, then for the next attempt.
    while stage.log.all().iter().filter(|it| *it == "call 0 is scheduled").count() < 2 {
        tokio::task::yield_now().await;
    }
    stage.run.cancel(Target::Batch(batch.id()), nobody()).await.unwrap();
    assert_eq!(batch.outcomes().await.unwrap(), [cancelled(nobody(), "so far")]);
}

#[tokio::test]
async fn calls_that_end_together_or_cross_a_cancel_are_told_of_once() {
    for how_many_opened in 0..=3 {
        // A call that waits at a closed door ignores the request to stop.
        let stage = Stage::patient(Duration::from_millis(10));
        let mut events = stage.run.subscribe();
        let batch = stage.run.schedule(vec![act("door"); 3]).await.unwrap();
        for call in 0..3 {
            stage.until(&format!("call {call} waits")).await;
        }
        // All of this has arrived when the loop reads next, in whatever order it reads.
        (0..how_many_opened).for_each(|_| stage.doors.open("door"));
        stage.run.shut_down(nobody());
        let mut done = 0;
        let mut ended = BTreeMap::new();
        while let Some(event) = events.next().await {
            match event {
                Event::BatchDone(it) => {
                    assert_eq!(it, batch.id());
                    done += 1;
                }
                Event::Moved { call, state: State::Done(outcome) } => {
                    assert_eq!(ended.insert(call, outcome), None, "{call} ended twice");
                    assert_eq!(done, 0, "told too soon");
                }
                Event::Moved { .. } => {}
                Event::Asked(_) | Event::Output { .. } | Event::Lost { .. } => panic!("{event:?}"),
            }
        }
        stage.run.ended().await.unwrap();
        assert_eq!((done, ended.len()), (1, 3));
    }
}

#[tokio::test]
async fn a_slow_watcher_loses_lines_and_never_a_state() {
    let stage = Stage::new();
    let mut events = stage.run.subscribe();
    stage.outcomes(vec![act("say"), act("well")]).await;
    let told = until_done(&mut events).await;
    let (mut lines, mut lost, mut ended) = (0, 0, 0);
    for event in told {
        match event {
            Event::Output { call, line, .. } => {
                assert_eq!((call, line.text), (CallId(0), lines.to_string()));
                lines += 1;
            }
            Event::Lost { lines } => lost += lines,
            Event::Moved { state: State::Done(_), .. } => ended += 1,
            Event::Moved { .. } | Event::BatchDone(_) => {}
            Event::Asked(_) => panic!("{event:?}"),
        }
    }
    assert!(lost > 0, "{lines} lines came");
    assert_eq!((lines + lost, ended), (10_000, 2));
}

#[tokio::test]
async fn a_driver_without_handles_finishes_what_it_has_and_one_that_is_shut_down_does_not() {
    let stage = Stage::new();
    stage.run.schedule(vec![act("door")]).await.unwrap();
    stage.until("call 0 waits").await;
    let ended = stage.run.ended();
    drop(stage.run);
    stage.doors.open("door");
    ended.await.unwrap();
    stage.log.position("call 0 is success");

    let stage = Stage::new();
    let batch = stage.run.schedule(vec![act("stop"), ask("well")]).await.unwrap();
    stage.until("call 0 waits").await;
    stage.run.shut_down(nobody());
    let (outcomes, refused) = tokio::join!(batch.outcomes(), stage.run.schedule(vec![act("well")]));
    assert_eq!(outcomes.unwrap(), [cancelled(nobody(), "partial"), cancelled(nobody(), "")]);
    assert_eq!(refused.err(), Some(RunOver));
    stage.run.ended().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_callers_at_once_get_what_they_asked_for() {
    let stage = Stage::new();
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..8 {
        let run = stage.run.clone();
        callers.spawn(async move {
            for _ in 0..50 {
                let what = if caller % 2 == 0 { "well" } else { "badly" };
                let batch = run.schedule(vec![act(what); 3]).await.unwrap();
                assert_eq!(batch.calls().count(), 3);
                let outcomes = batch.outcomes().await.unwrap();
                assert_eq!(outcomes.len(), 3);
                let is_well = |it: &Outcome| matches!(it, Outcome::Success(_));
                assert!(outcomes.iter().all(|it| is_well(it) == (caller % 2 == 0)), "{outcomes:?}");
            }
        });
    }
    callers.join_all().await;
    let batch = stage.run.schedule(vec![act("well")]).await.unwrap();
    batch.outcomes().await.unwrap();
    let last = 8 * 50 * 3;
    assert_eq!(batch.calls().collect::<Vec<_>>(), [CallId(last)]);
    let call = stage.run.call(CallId(last)).await.unwrap().unwrap();
    assert!(call.state.outcome().is_some());
    assert_eq!(stage.run.call(CallId(last - 1)).await, Ok(None), "its batch is forgotten");
    assert_eq!(stage.run.call(CallId(last + 1)).await, Ok(None));
}

#[tokio::test]
async fn a_large_batch_with_little_room_comes_to_its_end() {
    let mut options: Options = options();
    options.machine.limits = Limits { all: 3, of_kind: BTreeMap::new() };
    let (log, doors) = (Log::default(), Doors::default());
    let run = Run::builder(tools(&log, &doors)).options(options).start();
    let mut batch = Batch::new();
    let mut calls: Vec<PlannedCall> = Vec::new();
    for n in 0..20_000_usize {
        // Each call depends on two earlier ones.
        let before = [n / 2, n / 3].into_iter().filter_map(|it| calls.get(it));
        calls.push(batch.add(act("well")).after(before));
    }
    let outcomes = run.schedule(batch).await.unwrap().outcomes().await.unwrap();
    assert_eq!(outcomes.len(), 20_000);
    assert!(outcomes.iter().all(|it| *it == well("well")));
    let ended = run.ended();
    drop(run);
    ended.await.unwrap();
}
