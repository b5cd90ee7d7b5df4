//! What happens next, for all calls together.
//!
//! Inputs are facts ("the person said yes", "the process ended"); answers are [`Effect`]s for whoever
//! drives the machine. Nothing here waits, starts anything or looks at a clock.
//!
//! A call's way: it is validated; it waits for the calls that it names; it gets in `line`, in the order
//! in which calls were scheduled, and waits for those ahead of it that touch the same; a person is asked,
//! if policy says so; it waits in a `queue` for room; it runs. Late answers are harmless: each names the
//! version of the arguments, the question or the attempt that it belongs to, and only the present one
//! counts.

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

/// How many calls may run at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// In all.
    pub all: u32,
    /// Of a kind.
    pub of_kind: BTreeMap<Kind, u32>,
}

impl Default for Limits {
    /// Eight calls of any kind.
    fn default() -> Self {
        Self { all: 8, of_kind: BTreeMap::new() }
    }
}

/// How the machine decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// How many calls may run at once.
    pub limits: Limits,
    /// The rules.
    pub policy: Policy,
    /// Who can be asked.
    pub attended: Attended,
    /// Who reads why a call did not run.
    pub reader: Reader,
    /// Where the ids of questions come from. Whoever keeps questions of several runs together gives each
    /// run a source of its own.
    pub ids: IdSource,
}

impl Default for Options {
    /// No rules, nobody to ask, eight calls at once: what is not harmless does not run.
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

/// Whether somebody can be asked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Attended {
    /// Always.
    Yes,
    /// Never: a call that needs a person is an error.
    #[default]
    No,
    /// Nobody is there, but about these calls a person has said something already.
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

/// A fact.
#[derive(Clone, PartialEq, Debug)]
pub enum Input {
    /// These calls are wanted. A call may wait for others of its batch: see [`Scheduler::next_call`].
    Schedule(Vec<Request>),
    /// A call's tool and arguments were validated.
    Validated {
        /// Which call.
        call: CallId,
        /// Which version of the arguments.
        version: ArgumentsVersion,
        /// What was found out, or what is wrong.
        found: Result<Checked, String>,
    },
    /// A person answered.
    Answered {
        /// Which question.
        question: QuestionId,
        /// What they said.
        answer: Answer,
    },
    /// What a question showed has changed: the call is validated and asks again.
    Changed(QuestionId),
    /// An execution ended.
    Ended {
        /// Which call.
        call: CallId,
        /// Which attempt.
        attempt: Attempt,
        /// How.
        how: Ended,
    },
    /// The time came.
    Woke(WakeToken),
    /// Calls are not wanted any more.
    Cancel(Target, CancelReason),
}

/// Which calls are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// One.
    Call(CallId),
    /// Those that were scheduled together.
    Batch(BatchId),
    /// All.
    All,
}

/// Whose time it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WakeToken {
    /// Which call.
    pub call: CallId,
    /// Which attempt: the one that runs, or the last one.
    pub attempt: Attempt,
    /// What for.
    pub what: Alarm,
}

/// What a call is woken for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Alarm {
    /// The attempt took too long.
    Timeout,
    /// The next attempt may begin.
    Retry,
}

/// What is to be done. Each transition is recorded before what follows from it.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// Write down where a call stands now. A new call is recorded in [`State::NEW`] first.
    Record(CallId, State),
    /// Validate a call's tool and arguments, then say [`Input::Validated`].
    Validate(CallId, ArgumentsVersion),
    /// Ask a person, then say [`Input::Answered`].
    Ask(CallId, QuestionId),
    /// Run it, then say [`Input::Ended`].
    Run(CallId, Attempt),
    /// End it; [`Input::Ended`] comes all the same.
    Kill(CallId, Attempt),
    /// Say [`Input::Woke`] at that time.
    Wake {
        /// When.
        at: Timestamp,
        /// Whom.
        token: WakeToken,
    },
    /// All calls of a batch have ended. Comes once for each.
    BatchDone(BatchId),
    /// A step that cannot be: a fault in who drives the machine or in the machine itself.
    Illegal(CallId, IllegalStep),
}

/// The machine.
#[derive(Clone, Debug)]
pub struct Scheduler {
    options: Options,
    calls: Calls,
    /// The calls that are being validated. Nobody gets in line before all earlier ones are known.
    validating: BTreeSet<CallId>,
    /// The calls that wait for nothing but their place in line.
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

    /// What the next call will be called; the one after it by the next number, and so on.
    pub fn next_call(&self) -> CallId {
        self.calls.next_call()
    }

    /// What the next batch will be called.
    pub fn next_batch(&self) -> BatchId {
        self.calls.next_batch()
    }

    /// A call that is kept.
    pub fn call(&self, id: CallId) -> Option<&Call> {
        self.calls.get(id).map(|it| &it.call)
    }

    /// All calls that are kept, in their order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().map(|it| &it.call)
    }

    /// Whether this version of a call's arguments is being validated.
    pub fn is_validating(&self, id: CallId, version: ArgumentsVersion) -> bool {
        matches!(self.live(id), Some(Live::Validating { version: present }) if *present == version)
    }

    /// What rules are about, of a call that a person is asked about.
    pub fn subject(&self, id: CallId) -> Option<&Subject> {
        self.calls.get(id)?.checked.as_ref().map(|it| &it.subject)
    }

    /// The rules that hold now, those that were answered with included.
    pub fn policy(&self) -> &Policy {
        &self.options.policy
    }

    /// Whether every call has ended.
    pub fn is_idle(&self) -> bool {
        !self.calls.is_any_open()
    }

    /// Whether a call runs and is to be stopped.
    pub fn is_stopping(&self, id: CallId) -> bool {
        matches!(self.live(id), Some(Live::Executing { stopping: Some(_), .. }))
    }

    /// The call that a question is about, while it waits for its answer.
    pub fn asker(&self, question: QuestionId) -> Option<CallId> {
        self.questions.get(&question).copied()
    }

    /// Whether a person has written a call's arguments.
    pub fn is_given(&self, id: CallId) -> bool {
        self.calls.get(id).is_some_and(|it| it.is_given)
    }

    /// Whether all calls of a batch have ended. A batch that there is not has no calls.
    pub fn is_done(&self, batch: BatchId) -> bool {
        !self.calls.is_open(batch)
    }

    /// How the calls of a batch ended, once all have. A batch that there is not has no calls.
    pub fn outcomes(&self, batch: BatchId) -> Option<Vec<Outcome>> {
        let outcome = |it: &Entry| it.call.state.outcome().cloned();
        self.calls.of(batch).iter().map(outcome).collect()
    }

    /// Forgets a batch all of whose calls have ended; one that has not is kept. No later call can wait
    /// for a forgotten one.
    pub fn forget(&mut self, batch: BatchId) {
        self.calls.forget(batch);
    }

    /// How much is kept, of whatever kind.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        let Self { options: _, calls, validating, coming, line, queue, questions, .. } = self;
        let waiting = validating.len() + coming.len() + line.len() + queue.len();
        calls.iter().count() + waiting + questions.len()
    }

    /// Takes a fact in and says what is to be done, in this order.
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
        // On every circle somebody waits for one that comes later.
        let circles = if may_circle { self.circles(calls.clone()) } else { Vec::new() };
        for circle in circles {
            // Each is told of the circle, not that the one before it did not succeed.
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

    /// Ties a new call to those that it waits for, each named once.
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
        // Late: it was modified or cancelled meanwhile.
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
        // Late: somebody else answered, or the call was cancelled.
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
                // What was asked is answered, even if the rules are too narrow to say so.
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

    /// A call that waits for an answer is validated again.
    fn validate_again(&mut self, id: CallId, effects: &mut Vec<Effect>) {
        let Some(entry) = self.calls.get_mut(id) else { return };
        entry.version = ArgumentsVersion(entry.version.0.saturating_add(1));
        entry.checked = None;
        let version = entry.version;
        // It may touch other things now, so it gives up its place.
        self.leave(id, effects);
        self.step(id, Step::Modify(version), effects);
        self.validating.insert(id);
        effects.push(Effect::Validate(id, version));
    }

    /// A person refused a call: what else of its batch has not begun does not begin, or all of it ends.
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

    /// Cancels these calls, from the last one: so each is told what was meant, not that another was
    /// cancelled before it.
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
        // A tool that broke is not asked again: it has a fault.
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

/// So many milliseconds later, or the end of time.
fn later(now: Timestamp, ms: u64) -> Timestamp {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    let at = now.as_millisecond().saturating_add(ms);
    Timestamp::from_millisecond(at).unwrap_or(Timestamp::MAX)
}
