//! The scheduler's state machine: decides what happens next, for all calls together.
//!
//! Inputs are facts ("the person said yes", "the process ended"). Outputs are [`Effect`]s, which
//! the driver performs. The machine does not wait, start anything or read a clock.
//!
//! The stages of a call: it is validated; it waits for its dependencies; it enters the `line`, in
//! the order in which calls were scheduled, and waits for conflicting calls ahead of it; a person
//! is asked, if the policy says so; it waits in the `queue` for a free place; it runs. Late inputs
//! do no harm: each names the version of the arguments, the question or the attempt that it belongs
//! to, and is ignored if that is not the present one.

mod calls;
mod cycles;
mod line;
mod queue;
#[cfg(test)]
mod search;
#[cfg(test)]
mod tests;
mod transitions;

use std::collections::{BTreeMap, BTreeSet};

use punchlist_model::call::Answer;
use punchlist_model::id::IdSource;
use punchlist_model::{Attempt, Timestamp};

use crate::call::{
    ArgumentsVersion, BatchId, Call, CallError, CallId, CancelReason, Checked, Ended, IllegalStep,
    Kind, Live, Outcome, QuestionId, Request, State, Step, StopReason,
};
use crate::policy::{Policy, Reader, Subject, Verdict};
use calls::{Calls, Entry};
use line::WaitingLine;
use queue::Queue;

/// How many calls may run at the same time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The limit for all calls together.
    pub all: u32,
    /// The limits per kind.
    pub of_kind: BTreeMap<Kind, u32>,
}

impl Default for Limits {
    /// Eight calls of any kind.
    fn default() -> Self {
        Self { all: 8, of_kind: BTreeMap::new() }
    }
}

/// The options of the machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// How many calls may run at the same time.
    pub limits: Limits,
    /// The policy.
    pub policy: Policy,
    /// Whether a person can be asked.
    pub attended: Attended,
    /// Who reads why a call did not run.
    pub reader: Reader,
    /// The source of question ids. If the questions of several runs are stored together, each run
    /// needs its own source.
    pub ids: IdSource,
}

impl Default for Options {
    /// No rules, nobody to ask, eight calls at a time: only harmless calls run.
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            policy: Policy::default(),
            attended: Attended::default(),
            reader: Reader::default(),
            ids: IdSource::fixed(Timestamp::UNIX_EPOCH, 0),
        }
    }
}

/// Whether a person can be asked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Attended {
    /// Always.
    Yes,
    /// Nobody can be asked: a call that needs a person fails.
    #[default]
    No,
    /// Nobody can be asked, but these calls have an answer from an earlier run.
    Only(BTreeSet<CallId>),
}

impl Attended {
    fn is_about(&self, call: CallId) -> bool {
        match self {
            Self::Yes => true,
            Self::No => false,
            Self::Only(calls) => calls.contains(&call),
        }
    }
}

/// An input of the machine.
#[derive(Clone, PartialEq, Debug)]
pub enum Input {
    /// Schedules a batch of calls. A call may depend on others of its batch: see
    /// [`Scheduler::next_call`].
    Schedule(Vec<Request>),
    /// The result of validating a call.
    Validated {
        /// The call.
        call: CallId,
        /// The version of the arguments that was validated.
        version: ArgumentsVersion,
        /// What the validation found, or the error message.
        found: Result<Checked, String>,
    },
    /// A person's answer.
    Answered {
        /// The question.
        question: QuestionId,
        /// The answer.
        answer: Answer,
    },
    /// What the question showed has changed: the call is validated again, and a new question is
    /// asked.
    Changed(QuestionId),
    /// An attempt ended.
    Ended {
        /// The call.
        call: CallId,
        /// The attempt.
        attempt: Attempt,
        /// How it ended.
        how: Ended,
    },
    /// A timer has expired.
    Woke(WakeToken),
    /// Cancels calls.
    Cancel(Target, CancelReason),
}

/// The calls to cancel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// One call.
    Call(CallId),
    /// All calls of a batch.
    Batch(BatchId),
    /// All calls.
    All,
}

/// Identifies a timer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WakeToken {
    /// The call.
    pub call: CallId,
    /// The attempt: the running one, or the last one.
    pub attempt: Attempt,
    /// The purpose.
    pub what: Alarm,
}

/// The purpose of a timer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Alarm {
    /// The timeout of the attempt.
    Timeout,
    /// The start of the next attempt.
    Retry,
}

/// An output of the machine: what the driver must do. A transition is recorded before its
/// consequences.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// Record the new state of a call. A new call is recorded as [`State::NEW`] first.
    Record(CallId, State),
    /// Validate the call's tool and arguments, then send [`Input::Validated`].
    Validate(CallId, ArgumentsVersion),
    /// Ask a person, then send [`Input::Answered`].
    Ask(CallId, QuestionId),
    /// Start the attempt; send [`Input::Ended`] when it has ended.
    Run(CallId, Attempt),
    /// Stop the attempt; [`Input::Ended`] still follows.
    Kill(CallId, Attempt),
    /// Send [`Input::Woke`] at a time.
    Wake {
        /// The time.
        at: Timestamp,
        /// The timer.
        token: WakeToken,
    },
    /// All calls of the batch have ended. Emitted once per batch.
    BatchDone(BatchId),
    /// A step that is not allowed: a bug in the driver or the machine.
    Illegal(CallId, IllegalStep),
}

/// The state machine.
#[derive(Clone, Debug)]
pub struct Scheduler {
    options: Options,
    calls: Calls,
    /// The calls that are being validated. A call enters the line after all earlier ones are
    /// validated.
    validating: BTreeSet<CallId>,
    /// The calls that wait only for entering the line.
    coming: BTreeSet<CallId>,
    line: WaitingLine,
    queue: Queue,
    questions: BTreeMap<QuestionId, CallId>,
    next_question: u32,
}

impl Scheduler {
    /// A machine without calls.
    pub fn new(options: Options) -> Self {
        let queue = Queue::new(&options.limits);
        Self {
            options,
            calls: Calls::default(),
            validating: BTreeSet::new(),
            coming: BTreeSet::new(),
            line: WaitingLine::default(),
            queue,
            questions: BTreeMap::new(),
            next_question: 0,
        }
    }

    /// The id of the next call; further calls get consecutive ids.
    pub fn next_call(&self) -> CallId {
        self.calls.next_call()
    }

    /// The id of the next batch.
    pub fn next_batch(&self) -> BatchId {
        self.calls.next_batch()
    }

    /// A call, unless it was forgotten.
    pub fn call(&self, id: CallId) -> Option<&Call> {
        self.calls.get(id).map(|it| &it.call)
    }

    /// All calls that are not forgotten, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().map(|it| &it.call)
    }

    /// Whether this version of a call's arguments is being validated.
    pub fn is_validating(&self, id: CallId, version: ArgumentsVersion) -> bool {
        matches!(self.live(id), Some(Live::Validating { version: present }) if *present == version)
    }

    /// What the policy rules are matched against, for a call with an open question.
    pub fn subject(&self, id: CallId) -> Option<&Subject> {
        self.calls.get(id)?.checked.as_ref().map(|it| &it.subject)
    }

    /// The present policy, including the rules that answers have added.
    pub fn policy(&self) -> &Policy {
        &self.options.policy
    }

    /// Whether every call has ended.
    pub fn is_idle(&self) -> bool {
        !self.calls.is_any_open()
    }

    /// Whether a call runs and is being stopped.
    pub fn is_stopping(&self, id: CallId) -> bool {
        matches!(self.live(id), Some(Live::Executing { stopping: Some(_), .. }))
    }

    /// The call of an open question.
    pub fn asker(&self, question: QuestionId) -> Option<CallId> {
        self.questions.get(&question).copied()
    }

    /// Whether a person has written the arguments of a call.
    pub fn is_given(&self, id: CallId) -> bool {
        self.calls.get(id).is_some_and(|it| it.is_given)
    }

    /// Whether all calls of a batch have ended. An unknown batch has no calls.
    pub fn is_done(&self, batch: BatchId) -> bool {
        !self.calls.is_open(batch)
    }

    /// The outcomes of a batch, once all its calls have ended. An unknown batch has no calls.
    pub fn outcomes(&self, batch: BatchId) -> Option<Vec<Outcome>> {
        let outcome = |it: &Entry| it.call.state.outcome().cloned();
        self.calls.of(batch).iter().map(outcome).collect()
    }

    /// Forgets a batch if all its calls have ended. Later calls cannot depend on forgotten ones.
    pub fn forget(&mut self, batch: BatchId) {
        self.calls.forget(batch);
    }

    /// The number of stored entries of all kinds, for tests.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        let Self { options: _, calls, validating, coming, line, queue, questions, .. } = self;
        let waiting = validating.len() + coming.len() + line.len() + queue.len();
        calls.iter().count() + waiting + questions.len()
    }

    /// Handles an input, and adds the effects in the order in which they must be performed.
    pub fn handle(&mut self, now: Timestamp, input: Input, effects: &mut Vec<Effect>) {
        match input {
            Input::Schedule(requests) => self.schedule(requests, effects),
            Input::Validated { call, version, found } => {
                self.validated(call, version, found, effects);
            }
            Input::Answered { question, answer } => self.answered(question, answer, effects),
            Input::Changed(question) => {
                if let Some(id) = self.questions.get(&question).copied() {
                    self.validate_again(id, effects);
                }
            }
            Input::Ended { call, attempt, how } => self.ended(now, call, attempt, how, effects),
            Input::Woke(token) => self.woke(token, effects),
            Input::Cancel(target, reason) => self.cancel(target, &reason, effects),
        }
        self.get_in_line(effects);
        self.start(now, effects);
    }

    fn schedule(&mut self, requests: Vec<Request>, effects: &mut Vec<Effect>) {
        let batch = self.next_batch();
        let calls = self.calls.add(requests);
        if calls.is_empty() {
            return effects.push(Effect::BatchDone(batch));
        }
        let ids = || calls.clone().map(CallId);
        effects.reserve(2 * calls.len());
        effects.extend(ids().map(|id| Effect::Record(id, State::NEW)));
        self.validating.extend(ids());
        let mut may_circle = false;
        let mut after = Vec::new();
        for id in ids() {
            after.clear();
            after.extend_from_slice(self.request(id).map_or(&[], |it| &it.after));
            after.sort_unstable();
            after.dedup();
            may_circle |= after.last().is_some_and(|last| *last >= id);
            self.tie(id, &after, effects);
        }
        // Every cycle has a call that depends on a later one.
        let circles = if may_circle { self.circles(calls.clone()) } else { Vec::new() };
        for circle in circles {
            // Each call on the cycle fails because of the cycle, not because its dependency failed.
            for id in &circle {
                if let Some(links) = self.calls.links_mut(*id) {
                    links.dependants.retain(|it| !circle.contains(it));
                }
            }
            for id in &circle {
                let error = CallError::Circle(circle.clone());
                self.step(*id, Step::Invalid(error), effects);
            }
        }
        let version = ArgumentsVersion::default();
        let waiting = ids().filter(|id| self.is_validating(*id, version));
        effects.extend(waiting.map(|id| Effect::Validate(id, version)));
    }

    /// Links a new call with its dependencies, each counted once.
    fn tie(&mut self, id: CallId, after: &[CallId], effects: &mut Vec<Effect>) {
        for other in after.iter().copied() {
            let is_known = other < self.next_call();
            let step = match self.calls.get(other).map(|it| &it.call.state) {
                None if is_known => Step::Invalid(CallError::Forgotten(other)),
                None => Step::Invalid(CallError::Unknown(other)),
                Some(State::Done(outcome)) if outcome.is_success() => continue,
                Some(State::Done(_)) => {
                    Step::Stop(StopReason::Cancelled(CancelReason::Dependency(other)))
                }
                Some(State::Live(_)) => {
                    if let Some(links) = self.calls.links_mut(other) {
                        links.dependants.push(id);
                    }
                    if let Some(links) = self.calls.links_mut(id) {
                        links.unmet = links.unmet.saturating_add(1);
                    }
                    continue;
                }
            };
            return self.step(id, step, effects);
        }
    }

    fn validated(
        &mut self,
        id: CallId,
        version: ArgumentsVersion,
        found: Result<Checked, String>,
        effects: &mut Vec<Effect>,
    ) {
        // Late: the arguments were changed, or the call was cancelled.
        if !self.is_validating(id, version) {
            return;
        }
        let step = match found {
            Err(what) => Step::Invalid(CallError::Invalid(what)),
            Ok(checked) => {
                let step = match self.options.policy.verdict(&checked.subject) {
                    Verdict::Allow => Step::Valid { allowed: true },
                    Verdict::Ask(_) if self.is_given(id) => Step::Valid { allowed: true },
                    Verdict::Ask(_) if self.options.attended.is_about(id) => {
                        Step::Valid { allowed: false }
                    }
                    Verdict::Ask(because) => {
                        let policy = &self.options.policy;
                        let reader = self.options.reader;
                        let what = policy.unasked(&checked.subject, because.as_deref(), reader);
                        Step::Invalid(CallError::NobodyToAsk(what))
                    }
                    Verdict::Deny(rule) => Step::Invalid(CallError::Denied(rule.told())),
                };
                if let Some(entry) = self.calls.get_mut(id) {
                    entry.kind = checked.kind;
                    entry.checked = Some(Box::new(checked));
                }
                step
            }
        };
        self.step(id, step, effects);
        self.come(id);
    }

    fn answered(&mut self, question: QuestionId, answer: Answer, effects: &mut Vec<Effect>) {
        // Late: somebody else has answered, or the call was cancelled.
        let Some(id) = self.questions.get(&question).copied() else { return };
        match answer {
            Answer::Once | Answer::AlwaysServer => self.allow(id, effects),
            Answer::Session(_)
            | Answer::Always { .. }
            | Answer::AlwaysTool
            | Answer::AlwaysPrefix(_) => {
                let tool = self.subject(id).map(|it| it.tool.clone()).unwrap_or_default();
                let rules = self.options.policy.rules_of(&answer, &tool);
                rules.into_iter().for_each(|it| self.options.policy.add(it));
                // The person allowed this call, even if the added rules do not cover it.
                self.allow(id, effects);
                let waiting: Vec<CallId> = self.questions.values().copied().collect();
                for other in waiting {
                    if self.is_allowed(other) {
                        self.allow(other, effects);
                    }
                }
            }
            Answer::Modify(arguments) => {
                let Some(entry) = self.calls.get_mut(id) else { return };
                entry.call.request.arguments = arguments;
                entry.is_given = true;
                self.validate_again(id, effects);
            }
            Answer::Refuse(reason) => {
                let is_for_all = reason.is_none();
                let stop = StopReason::Cancelled(CancelReason::Refused(reason));
                self.step(id, Step::Stop(stop), effects);
                if is_for_all {
                    self.stop_beside(id, false, effects);
                }
            }
            Answer::RefuseAndStop(reason) => {
                let stop = StopReason::Cancelled(CancelReason::Refused(reason));
                self.step(id, Step::Stop(stop), effects);
                self.stop_beside(id, true, effects);
            }
        }
    }

    /// Validates a call with an open question again.
    fn validate_again(&mut self, id: CallId, effects: &mut Vec<Effect>) {
        let Some(entry) = self.calls.get_mut(id) else { return };
        entry.version = ArgumentsVersion(entry.version.0.saturating_add(1));
        entry.checked = None;
        let version = entry.version;
        // It may conflict with other calls now, so it leaves the line.
        self.leave(id, effects);
        self.step(id, Step::Modify(version), effects);
        self.validating.insert(id);
        effects.push(Effect::Validate(id, version));
    }

    /// After a refusal: cancels the calls of the batch that have not started, or all of them.
    fn stop_beside(&mut self, id: CallId, with_running: bool, effects: &mut Vec<Effect>) {
        let Some(batch) = self.calls.get(id).map(|it| it.call.batch) else { return };
        let has_begun = |it: &Entry| match &it.call.state {
            State::Live(Live::Executing { .. }) => true,
            State::Live(Live::Scheduled { tried, .. }) => tried.0 > 0,
            State::Live(Live::Validating { .. } | Live::AwaitingApproval { .. })
            | State::Done(_) => false,
        };
        let stopped = self.calls.of(batch).iter().filter(|it| with_running || !has_begun(it));
        let stopped = stopped.map(|it| it.call.id).filter(|it| *it != id).collect();
        self.stop_all(stopped, &CancelReason::Beside(id), effects);
    }

    /// Cancels calls, the last one first, so that each gets this reason and not that its dependency
    /// was cancelled.
    fn stop_all(&mut self, calls: Vec<CallId>, reason: &CancelReason, effects: &mut Vec<Effect>) {
        for id in calls.into_iter().rev() {
            if self.live(id).is_some() {
                self.step(id, Step::Stop(StopReason::Cancelled(reason.clone())), effects);
            }
        }
    }

    fn ended(
        &mut self,
        now: Timestamp,
        id: CallId,
        attempt: Attempt,
        how: Ended,
        effects: &mut Vec<Effect>,
    ) {
        match self.live(id) {
            Some(Live::Executing { attempt: present, .. }) if *present == attempt => {}
            Some(_) | None => return,
        }
        let (mut timeout_ms, mut again_at) = (0, None);
        // A tool that panicked is not retried.
        if let (Ended::Badly { .. }, Some(request)) = (&how, self.request(id)) {
            timeout_ms = request.timeout_ms.unwrap_or_default();
            again_at = request.retry.wait_after(attempt).map(|wait| later(now, wait));
        }
        let kind = self.calls.get(id).map(|it| it.kind).unwrap_or_default();
        self.queue.ended(kind);
        self.step(id, Step::End { how, timeout_ms, again_at }, effects);
        if let Some(Live::Scheduled { again_at: Some(at), .. }) = self.live(id) {
            let token = WakeToken { call: id, attempt, what: Alarm::Retry };
            effects.push(Effect::Wake { at: *at, token });
        }
    }

    fn woke(&mut self, token: WakeToken, effects: &mut Vec<Effect>) {
        let WakeToken { call: id, attempt, what } = token;
        match (what, self.live(id)) {
            (Alarm::Timeout, Some(Live::Executing { attempt: present, stopping, .. }))
                if *present == attempt && stopping.is_none() =>
            {
                self.step(id, Step::Stop(StopReason::TimedOut), effects);
            }
            (Alarm::Retry, Some(Live::Scheduled { tried, again_at: Some(_), .. }))
                if *tried == attempt =>
            {
                self.step(id, Step::Allow, effects);
                self.make_ready(id);
            }
            // Late.
            (Alarm::Timeout | Alarm::Retry, _) => {}
        }
    }

    fn cancel(&mut self, target: Target, reason: &CancelReason, effects: &mut Vec<Effect>) {
        let calls = match target {
            Target::Call(id) => vec![id],
            Target::Batch(batch) => self.calls.of(batch).iter().map(|it| it.call.id).collect(),
            Target::All => self.calls.iter().map(|it| it.call.id).collect(),
        };
        self.stop_all(calls, reason, effects);
    }

    fn is_allowed(&self, id: CallId) -> bool {
        let subject = self.subject(id);
        subject.is_some_and(|it| self.options.policy.verdict(it) == Verdict::Allow)
    }

    fn live(&self, id: CallId) -> Option<&Live> {
        match &self.calls.get(id)?.call.state {
            State::Live(live) => Some(live),
            State::Done(_) => None,
        }
    }

    fn request(&self, id: CallId) -> Option<&Request> {
        self.calls.get(id).map(|it| &it.call.request)
    }
}

/// `ms` milliseconds later, or the latest time that exists.
fn later(now: Timestamp, ms: u64) -> Timestamp {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    let at = now.as_millisecond().saturating_add(ms);
    Timestamp::from_millisecond(at).unwrap_or(Timestamp::MAX)
}
