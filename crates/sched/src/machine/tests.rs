//! Tests of the machine as its driver sees it: inputs and effects.

use std::collections::{BTreeMap, BTreeSet};

use punchlist_model::call::{Answer, Permit};
use punchlist_model::{Attempt, Timestamp};
use serde_json::json;

use super::{Alarm, Attended, Effect, Input, Limits, Options, Scheduler, Target, WakeToken};
use crate::access::Access;
use crate::call::{
    ArgumentsVersion, BatchId, CallError, CallId, CancelReason, Checked, Ended, Kind, Outcome,
    Output, QuestionId, Request, Retry, State,
};
use crate::policy::{Decision, Policy, Rule, Subject};

/// A driver for tests: sends inputs and returns the effects.
struct Desk {
    machine: Scheduler,
    now: Timestamp,
}

impl Desk {
    fn new(limits: Limits) -> Self {
        let policy = Policy::new(vec![Rule::tool(Decision::Allow, "free")], Vec::new());
        let options = Options { limits, policy, attended: Attended::Yes, ..Options::default() };
        Self { machine: Scheduler::new(options), now: Timestamp::UNIX_EPOCH }
    }

    fn with_room(all: u32) -> Self {
        Self::new(Limits { all, of_kind: BTreeMap::new() })
    }

    /// Sends an input; returns the effects without records.
    fn tell(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.machine.handle(self.now, input, &mut effects);
        effects.retain(|it| !matches!(it, Effect::Record(..)));
        effects
    }

    fn schedule(&mut self, requests: Vec<Request>) -> Vec<Effect> {
        self.tell(Input::Schedule(requests))
    }

    fn valid(&mut self, call: u32, access: Access) -> Vec<Effect> {
        self.valid_of(call, access, Kind::OTHER)
    }

    fn valid_of(&mut self, call: u32, access: Access, kind: Kind) -> Vec<Effect> {
        let request = &self.machine.call(CallId(call)).unwrap().request;
        let subject = Subject { tool: request.tool.clone(), ..Subject::default() };
        let found = Ok(Checked { access, kind, subject });
        self.tell(Input::Validated { call: CallId(call), version: ArgumentsVersion(0), found })
    }

    fn well(&mut self, call: u32) -> Vec<Effect> {
        self.ended(call, 1, Ended::Well(Output::default()))
    }

    fn badly(&mut self, call: u32, attempt: u32) -> Vec<Effect> {
        self.ended(call, attempt, Ended::Badly { what: "bad".into(), output: Output::default() })
    }

    fn ended(&mut self, call: u32, attempt: u32, how: Ended) -> Vec<Effect> {
        self.tell(Input::Ended { call: CallId(call), attempt: Attempt(attempt), how })
    }

    fn answer(&mut self, question: u32, answer: Answer) -> Vec<Effect> {
        self.tell(Input::Answered { question: nth(question), answer })
    }

    fn outcome(&self, call: u32) -> &Outcome {
        match &self.machine.call(CallId(call)).unwrap().state {
            State::Done(outcome) => outcome,
            State::Live(live) => panic!("call {call} is {}", live.name()),
        }
    }
}

fn free() -> Request {
    Request { tool: "free".into(), ..Request::default() }
}

fn careful() -> Request {
    Request { tool: "careful".into(), ..Request::default() }
}

fn run(call: u32) -> Effect {
    Effect::Run(CallId(call), Attempt(1))
}

fn ask(call: u32, question: u32) -> Effect {
    Effect::Ask(CallId(call), nth(question))
}

/// The n-th question, from 0.
fn nth(question: u32) -> QuestionId {
    QuestionId(Options::default().ids.nth(question + 1))
}

const DONE: Effect = Effect::BatchDone(BatchId(0));

#[test]
fn an_empty_batch_is_done_at_once() {
    assert_eq!(Desk::with_room(1).schedule(Vec::new()), [DONE]);
}

#[test]
fn the_higher_priority_goes_first_then_the_order() {
    let mut desk = Desk::with_room(1);
    desk.schedule(vec![free(), free(), Request { priority: 5, ..free() }]);
    assert_eq!(desk.valid(0, Access::none()), [run(0)]);
    desk.valid(1, Access::none());
    desk.valid(2, Access::none());
    assert_eq!(desk.well(0), [run(2)]);
    assert_eq!(desk.well(2), [run(1)]);
    assert_eq!(desk.well(1), [DONE]);
}

#[test]
fn a_kind_at_its_limit_does_not_hold_others_up() {
    let mut desk = Desk::new(Limits { all: 3, of_kind: BTreeMap::from([(Kind(1), 1)]) });
    desk.schedule(vec![free(), free(), free()]);
    assert_eq!(desk.valid_of(0, Access::none(), Kind(1)), [run(0)]);
    assert_eq!(desk.valid_of(1, Access::none(), Kind(1)), []);
    assert_eq!(desk.valid_of(2, Access::none(), Kind(7)), [run(2)]);
    assert_eq!(desk.well(0), [run(1)]);
}

#[test]
fn writers_of_one_thing_go_in_the_order_in_which_they_were_scheduled() {
    let mut desk = Desk::with_room(9);
    desk.schedule(vec![free(), free(), free()]);
    // The first call is validated last, and still runs first.
    assert_eq!(desk.valid(1, Access::writes(["src"])), []);
    assert_eq!(desk.valid(2, Access::writes(["docs"])), []);
    assert_eq!(desk.valid(0, Access::writes(["src/a"])), [run(0), run(2)]);
    assert_eq!(desk.well(0), [run(1)]);
}

#[test]
fn who_must_be_alone_waits_for_all_ahead_and_holds_up_all_behind() {
    let mut desk = Desk::with_room(9);
    desk.schedule(vec![free(), free(), free(), free()]);
    assert_eq!(desk.valid(0, Access::none()), [run(0)]);
    assert_eq!(desk.valid(1, Access::exclusive()), []);
    assert_eq!(desk.valid(2, Access::none()), []);
    assert_eq!(desk.valid(3, Access::none()), []);
    assert_eq!(desk.well(0), [run(1)]);
    assert_eq!(desk.well(1), [run(2), run(3)]);
}

#[test]
fn a_call_whose_dependency_fails_says_which() {
    let mut desk = Desk::with_room(9);
    let after = |call| Request { after: vec![CallId(call)], ..free() };
    desk.schedule(vec![free(), after(0), after(1)]);
    (0..3).for_each(|call| drop(desk.valid(call, Access::none())));
    assert_eq!(desk.badly(0, 1), [DONE]);
    let waited_for =
        |call| Outcome::Cancelled { reason: CancelReason::Dependency(CallId(call)), output: None };
    assert_eq!(*desk.outcome(1), waited_for(0));
    assert_eq!(*desk.outcome(2), waited_for(1));
    // A call that is scheduled later gets the same outcome.
    desk.schedule(vec![after(2)]);
    assert_eq!(*desk.outcome(3), waited_for(2));
}

#[test]
fn calls_that_wait_for_themselves_or_for_nobody_are_errors_of_their_own() {
    let mut desk = Desk::with_room(9);
    let after =
        |calls: &[u32]| Request { after: calls.iter().copied().map(CallId).collect(), ..free() };
    let effects = desk.schedule(vec![after(&[1]), after(&[0]), after(&[2]), after(&[99]), free()]);
    assert_eq!(effects, [Effect::Validate(CallId(4), ArgumentsVersion(0))]);
    let error = |call: u32| {
        let Outcome::Error(error) = desk.outcome(call) else { panic!("{:?}", desk.outcome(call)) };
        error.to_string()
    };
    insta::assert_snapshot!((0..4).map(error).collect::<Vec<_>>().join("\n"), @r"
    it depends on itself: call 0 → call 1
    it depends on itself: call 0 → call 1
    it depends on itself: call 2
    it depends on call 99, which does not exist
    ");
}

#[test]
fn a_chain_of_a_hundred_thousand_calls_fails_without_a_deep_stack() {
    let mut desk = Desk::with_room(1);
    let chain = (0..100_000_u32)
        .map(|n| Request { after: n.checked_sub(1).map(CallId).into_iter().collect(), ..free() });
    desk.schedule(chain.collect());
    let found = Err("no such tool".to_owned());
    assert_eq!(
        desk.tell(Input::Validated { call: CallId(0), version: ArgumentsVersion(0), found }),
        [DONE]
    );
}

#[test]
fn a_question_is_asked_when_the_turn_comes_and_its_answer_starts_the_call() {
    let mut desk = Desk::with_room(9);
    desk.schedule(vec![free(), careful()]);
    assert_eq!(desk.valid(0, Access::writes(["a"])), [run(0)]);
    // The preview may depend on what is written before.
    assert_eq!(desk.valid(1, Access::writes(["a"])), []);
    assert_eq!(desk.well(0), [ask(1, 0)]);
    assert_eq!(desk.answer(0, Answer::Once), [run(1)]);
    // A second answer comes too late.
    assert_eq!(desk.answer(0, Answer::Refuse(None)), []);
}

#[test]
fn always_settles_what_else_is_waiting_and_fits() {
    let mut desk = Desk::with_room(9);
    let other = Request { tool: "other".into(), ..Request::default() };
    desk.schedule(vec![careful(), other, careful(), careful()]);
    assert_eq!(desk.valid(0, Access::none()), [ask(0, 0)]);
    assert_eq!(desk.valid(1, Access::none()), [ask(1, 1)]);
    assert_eq!(desk.valid(2, Access::none()), [ask(2, 2)]);
    let careful = Permit { tool: Some("careful".into()), ..Permit::default() };
    let always = Answer::Session(vec![careful]);
    assert_eq!(desk.answer(0, always), [run(0), run(2)]);
    // The rule holds for later calls.
    assert_eq!(desk.valid(3, Access::none()), [run(3)]);
    let refused = desk.answer(1, Answer::Refuse(Some("no".into())));
    assert_eq!(refused, []);
    let reason = CancelReason::Refused(Some("no".into()));
    assert_eq!(*desk.outcome(1), Outcome::Cancelled { reason, output: None });
}

#[test]
fn what_is_modified_is_looked_at_again_and_an_older_look_does_not_count() {
    let mut desk = Desk::with_room(9);
    desk.schedule(vec![careful(), free()]);
    desk.valid(0, Access::writes(["a"]));
    assert_eq!(desk.valid(1, Access::writes(["a"])), []);
    // The call leaves the line: what it writes now is not known yet.
    let arguments = json!({"path": "b"});
    let effects = desk.answer(0, Answer::Modify(arguments.clone()));
    assert_eq!(effects, [Effect::Validate(CallId(0), ArgumentsVersion(1)), run(1)]);
    assert_eq!(desk.machine.call(CallId(0)).unwrap().request.arguments, arguments);
    assert_eq!(desk.valid(0, Access::writes(["a"])), [], "the look at what it was before");
    let subject = Subject { tool: "careful".into(), ..Subject::default() };
    let checked = Checked { access: Access::writes(["b"]), subject, kind: Kind::OTHER };
    let validated =
        Input::Validated { call: CallId(0), version: ArgumentsVersion(1), found: Ok(checked) };
    // A person wrote the arguments, so there is no second question.
    assert_eq!(desk.tell(validated), [run(0)]);
}

#[test]
fn a_refusal_without_a_reason_ends_what_has_not_begun_and_one_with_a_reason_does_not() {
    let ways: [(Answer, &[(u32, bool)]); 3] = [
        (Answer::Refuse(Some("no".into())), &[(0, false), (2, false), (3, false)]),
        (Answer::Refuse(None), &[(0, false), (2, true), (3, true)]),
        (Answer::RefuseAndStop(None), &[(0, true), (2, true), (3, true)]),
    ];
    for (answer, expected) in ways {
        let mut desk = Desk::with_room(9);
        desk.schedule(vec![free(), careful(), careful(), free()]);
        assert_eq!(desk.valid(0, Access::none()), [run(0)]);
        desk.valid(1, Access::none());
        desk.valid(2, Access::none());
        let effects = desk.answer(0, answer.clone());
        let is_killed = effects.contains(&Effect::Kill(CallId(0), Attempt(1)));
        assert_eq!(is_killed, expected[0].1, "{answer:?}");
        for (call, is_ended) in &expected[1..] {
            let state = desk.machine.call(CallId(*call)).unwrap().state.clone();
            let beside = CancelReason::Beside(CallId(1));
            let is_beside = matches!(state.outcome(), Some(Outcome::Cancelled { reason, .. }) if *reason == beside);
            assert_eq!(is_beside, *is_ended, "{answer:?}: {call} is {state:?}");
        }
    }
}

#[test]
fn what_changed_while_the_question_waited_is_looked_at_and_asked_again() {
    let mut desk = Desk::with_room(9);
    desk.schedule(vec![careful()]);
    assert_eq!(desk.valid(0, Access::writes(["a"])), [ask(0, 0)]);
    let again = desk.tell(Input::Changed(nth(0)));
    assert_eq!(again, [Effect::Validate(CallId(0), ArgumentsVersion(1))]);
    let subject = Subject { tool: "careful".into(), ..Subject::default() };
    let checked = Checked { access: Access::writes(["a"]), subject, kind: Kind::OTHER };
    let validated =
        Input::Validated { call: CallId(0), version: ArgumentsVersion(1), found: Ok(checked) };
    assert_eq!(desk.tell(validated), [ask(0, 1)]);
    assert_eq!(desk.answer(0, Answer::Once), [], "the old question counts no more");
    assert_eq!(desk.answer(1, Answer::Once), [run(0)]);
}

#[test]
fn where_nobody_can_be_asked_the_refusal_names_the_rule_to_add() {
    let limits = Limits { all: 1, of_kind: BTreeMap::new() };
    let options = Options { limits, ..Options::default() };
    let mut desk = Desk { machine: Scheduler::new(options), now: Timestamp::UNIX_EPOCH };
    desk.schedule(vec![careful()]);
    assert_eq!(desk.valid(0, Access::none()), [DONE]);
    let Outcome::Error(error) = desk.outcome(0) else { panic!("{:?}", desk.outcome(0)) };
    insta::assert_snapshot!(error, @r#"
    nobody can be asked; no rule allows it. To allow it, add to your config.toml:

    [[policy]]
    decision = "allow"
    tool = "careful"
    "#);
}

#[test]
fn where_nobody_is_there_only_those_calls_ask_that_a_person_has_spoken_about() {
    let limits = Limits { all: 1, of_kind: BTreeMap::new() };
    let attended = Attended::Only(BTreeSet::from([CallId(1)]));
    let options = Options { limits, attended, ..Options::default() };
    let mut desk = Desk { machine: Scheduler::new(options), now: Timestamp::UNIX_EPOCH };
    desk.schedule(vec![careful(), careful()]);
    assert_eq!(desk.valid(0, Access::none()), []);
    let outcome = desk.outcome(0);
    assert!(matches!(outcome, Outcome::Error(CallError::NobodyToAsk(_))), "{outcome:?}");
    assert_eq!(desk.valid(1, Access::none()), [ask(1, 0)]);
}

#[test]
fn a_call_that_failed_is_tried_again_after_a_while_and_keeps_its_place() {
    let mut desk = Desk::with_room(9);
    let retry = Retry { times: 1, wait_ms: 50 };
    desk.schedule(vec![Request { retry, ..free() }, free()]);
    assert_eq!(desk.valid(0, Access::writes(["a"])), [run(0)]);
    assert_eq!(desk.valid(1, Access::writes(["a"])), []);
    let token = WakeToken { call: CallId(0), attempt: Attempt(1), what: Alarm::Retry };
    let at = Timestamp::from_millisecond(50).unwrap();
    assert_eq!(desk.badly(0, 1), [Effect::Wake { at, token }]);
    assert_eq!(desk.tell(Input::Woke(token)), [Effect::Run(CallId(0), Attempt(2))]);
    // A repeated timer and a late end of the first attempt are ignored.
    assert_eq!(desk.tell(Input::Woke(token)), []);
    assert_eq!(desk.well(0), []);
    assert_eq!(desk.badly(0, 2), [run(1)]);
    let failed = CallError::Failed { what: "bad".into(), output: Box::default() };
    assert_eq!(*desk.outcome(0), Outcome::Error(failed));
}

#[test]
fn a_call_that_takes_too_long_is_ended_and_others_wait_until_it_has() {
    let mut desk = Desk::with_room(1);
    desk.schedule(vec![Request { timeout_ms: Some(20), ..free() }, free()]);
    let token = WakeToken { call: CallId(0), attempt: Attempt(1), what: Alarm::Timeout };
    let at = Timestamp::from_millisecond(20).unwrap();
    assert_eq!(desk.valid(0, Access::none()), [run(0), Effect::Wake { at, token }]);
    desk.valid(1, Access::none());
    assert_eq!(desk.tell(Input::Woke(token)), [Effect::Kill(CallId(0), Attempt(1))]);
    assert_eq!(desk.badly(0, 1), [run(1)]);
    let timed_out = CallError::TimedOut { after_ms: 20, output: Box::default() };
    assert_eq!(*desk.outcome(0), Outcome::Error(timed_out));
}

#[test]
fn a_cancel_that_crosses_a_completion_changes_nothing() {
    let mut desk = Desk::with_room(9);
    desk.schedule(vec![free(), free()]);
    desk.valid(0, Access::none());
    desk.valid(1, Access::none());
    let cancel = |target| Input::Cancel(target, CancelReason::Asked(None));
    let kill = |call| Effect::Kill(CallId(call), Attempt(1));
    assert_eq!(desk.tell(cancel(Target::Batch(BatchId(0)))), [kill(1), kill(0)]);
    assert_eq!(desk.tell(cancel(Target::All)), [], "said once");
    assert_eq!(desk.well(0), [], "it was done before it could be stopped");
    assert_eq!(desk.badly(1, 1), [DONE]);
    assert_eq!(*desk.outcome(0), Outcome::Success(Output::default()));
    assert_eq!(
        *desk.outcome(1),
        Outcome::Cancelled { reason: CancelReason::Asked(None), output: None }
    );
    assert_eq!(desk.badly(1, 1), [], "told twice");
}

#[test]
fn one_call_is_cancelled_and_the_others_go_on() {
    let mut desk = Desk::with_room(9);
    desk.schedule(vec![free(), free(), free()]);
    let cancel = Input::Cancel(Target::Call(CallId(0)), CancelReason::Asked(Some("no".into())));
    assert_eq!(desk.valid(1, Access::writes(["a"])), []);
    assert_eq!(desk.tell(cancel), [run(1)], "nobody waits for a look that is not needed");
    assert_eq!(desk.valid(0, Access::none()), [], "late");
    assert_eq!(desk.valid(2, Access::none()), [run(2)]);
}

#[test]
fn a_tool_that_broke_is_not_asked_again() {
    let mut desk = Desk::with_room(9);
    desk.schedule(vec![Request { retry: Retry { times: 3, wait_ms: 1 }, ..free() }]);
    desk.valid(0, Access::none());
    assert_eq!(desk.ended(0, 1, Ended::Panicked("index out of bounds".into())), [DONE]);
    let broke = CallError::Panicked("index out of bounds".into());
    assert_eq!(*desk.outcome(0), Outcome::Error(broke));
}

#[test]
fn after_a_vital_call_failed_nothing_new_begins() {
    let mut desk = Desk::with_room(2);
    let vital = || Request { vital: true, ..free() };
    let after = |on: u32| Request { after: vec![CallId(on)], ..vital() };
    desk.schedule(vec![vital(), vital(), vital(), after(0)]);
    for call in 0..4 {
        desk.valid(call, Access::none());
    }
    // The second call already runs and goes on; the third has not started.
    assert_eq!(desk.badly(0, 1), []);
    assert_eq!(
        *desk.outcome(2),
        Outcome::Cancelled { reason: CancelReason::Halted(CallId(0)), output: None }
    );
    assert_eq!(
        *desk.outcome(3),
        Outcome::Cancelled { reason: CancelReason::Dependency(CallId(0)), output: None }
    );
    assert_eq!(desk.well(1), [DONE]);
    assert!(desk.outcome(1).is_success());
}

#[test]
fn a_vital_call_that_is_tried_again_holds_nobody_up() {
    let mut desk = Desk::with_room(1);
    let retry = Retry { times: 1, wait_ms: 10 };
    desk.schedule(vec![Request { vital: true, retry, ..free() }, free()]);
    desk.valid(0, Access::none());
    desk.valid(1, Access::none());
    assert!(desk.badly(0, 1).contains(&run(1)));
}

#[test]
fn what_a_tool_declines_is_cancelled_and_not_tried_again() {
    let mut desk = Desk::with_room(1);
    let retry = Retry { times: 3, wait_ms: 10 };
    desk.schedule(vec![Request { vital: true, retry, ..free() }, free()]);
    desk.valid(0, Access::none());
    desk.valid(1, Access::none());
    assert_eq!(desk.ended(0, 1, Ended::Declined("somebody else has it".into())), [run(1)]);
    let declined = CancelReason::Declined("somebody else has it".into());
    assert_eq!(*desk.outcome(0), Outcome::Cancelled { reason: declined, output: None });
}

#[test]
fn a_batch_that_is_forgotten_leaves_nothing_and_nobody_can_wait_for_it() {
    let mut desk = Desk::with_room(2);
    for first in (0..3_000).step_by(3) {
        desk.schedule(vec![free(), free(), Request { after: vec![CallId(first)], ..careful() }]);
        desk.machine.forget(desk.machine.call(CallId(first)).unwrap().batch);
        assert!(desk.machine.call(CallId(first)).is_some(), "it has not ended");
        for call in first..first + 3 {
            desk.valid(call, Access::writes(["a"]));
        }
        desk.well(first);
        let all = Target::All;
        desk.tell(Input::Cancel(all, CancelReason::Asked(None)));
        desk.badly(first + 1, 1);
        desk.machine.forget(BatchId(first / 3));
        assert_eq!(desk.machine.kept(), 0);
    }
    desk.schedule(vec![Request { after: vec![CallId(7)], ..free() }]);
    let forgotten = Outcome::Error(CallError::Forgotten(CallId(7)));
    assert_eq!(*desk.outcome(3_000), forgotten);
}
