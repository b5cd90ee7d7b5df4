//! What happens next, for all calls together.
//!
//! Inputs are facts ("the person said yes", "the process ended"); answers are [`Effect`]s for whoever
//! drives the machine. Nothing here waits, starts anything or looks at a clock.
//!
//! A call's way: it is validated; it waits for the calls that it names; it gets in `line`, in the order
//! in which calls were scheduled, and waits for those ahead of it that touch the same; a person is asked,
//! if policy says so; it waits in a `queue` for room; it runs. Late answers are harmless: each names the
//! look, question or attempt that it belongs to, and only the present one counts.

mod brief;
mod calls;
mod line;
mod marks;
mod queue;
#[cfg(test)]
mod search;
mod settle;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use punchlist_model::{Attempt, Timestamp};
use serde_json::Value;

use crate::call::{
    BatchId, CallError, CallId, CallRef, CancelReason, Checked, Ended, Illegal, Kind, Live, Look,
    Outcome, QuestionId, Request, State, Step, Stop,
};
use crate::policy::{Policy, Reader, Rule, Subject, Verdict};
use brief::Stage;
use calls::Calls;
use line::Line;
use marks::Marks;
use queue::Queue;

/// How many calls may run at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// In all.
    pub all: u32,
    /// Of a kind.
    pub of_kind: BTreeMap<Kind, u32>,
}

/// How the machine works.
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
}

/// Whether somebody can be asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Attended {
    /// Always.
    Yes,
    /// Never: a call that needs a person is an error.
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
    /// A look at a call's arguments came to this.
    Validated {
        /// Which call.
        call: CallId,
        /// Which look.
        look: Look,
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
    /// What a question showed is not so any more: the call is looked at again, and asks again.
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

/// What a person may say.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// Yes, this once.
    Once,
    /// Yes, and from now on whatever these rules allow.
    Always(Vec<Rule>),
    /// With these arguments instead, which then need no further yes. A rule may still deny them.
    Modify(Value),
    /// No, and possibly why. Without a reason, nothing else of the batch begins.
    Refuse(Option<String>),
    /// No, possibly why, and everything else of the batch is ended too.
    RefuseAndStop(Option<String>),
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
    /// Write down that there are these calls, by their numbers, each in [`State::NEW`]. Then look at each
    /// as for [`Effect::Validate`], for the first time, unless [nobody waits](Scheduler::is_looked_at)
    /// for that any more.
    Take(Range<u32>),
    /// Write down where a call stands now.
    Record(CallId, State),
    /// Look at a call's tool and arguments, then say [`Input::Validated`].
    Validate(CallId, Look),
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
    Illegal(CallId, Illegal),
}

/// The machine.
#[derive(Clone, Debug)]
pub struct Scheduler {
    options: Options,
    calls: Calls,
    /// The calls that are looked at. Nobody gets in line before an earlier one is known.
    validating: Marks,
    /// The calls that wait for nothing but their place in line.
    coming: Marks,
    line: Line,
    queue: Queue,
    questions: BTreeMap<QuestionId, CallId>,
    next_question: u32,
    /// The calls whose arguments a person has written: they need no further yes.
    given: BTreeSet<CallId>,
    /// Steps that follow from a step; kept so that their place need not be made each time.
    steps: Vec<(CallId, Step)>,
}

impl Scheduler {
    /// A machine without calls.
    pub fn new(options: Options) -> Self {
        let queue = Queue::new(&options.limits);
        Self {
            options,
            calls: Calls::default(),
            validating: Marks::default(),
            coming: Marks::default(),
            line: Line::default(),
            queue,
            questions: BTreeMap::new(),
            next_question: 0,
            given: BTreeSet::new(),
            steps: Vec::new(),
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

    /// A call.
    pub fn call(&self, id: CallId) -> Option<CallRef<'_>> {
        self.calls.call(id)
    }

    /// All calls, in their order.
    pub fn calls(&self) -> impl Iterator<Item = CallRef<'_>> {
        self.calls.ids().filter_map(|id| self.calls.call(id))
    }

    /// Whether anybody waits for this look at a call.
    pub fn is_looked_at(&self, id: CallId, look: Look) -> bool {
        matches!(self.live(id), Some(Live::Validating { look: present }) if *present == look)
    }

    /// What policy looks at, of a call that a person is asked about.
    pub fn subject(&self, id: CallId) -> Option<&Subject> {
        self.calls.checked(id).map(|it| &it.subject)
    }

    /// The rules that hold now, those that were answered with included.
    pub fn policy(&self) -> &Policy {
        &self.options.policy
    }

    /// Whether every call has ended.
    pub fn is_idle(&self) -> bool {
        self.calls.batches().all(|batch| batch.left == 0)
    }

    /// Whether a call runs and is to be stopped.
    pub fn is_stopping(&self, id: CallId) -> bool {
        self.calls.briefs.get(id).is_some_and(|it| it.stage == Stage::Stopping)
    }

    /// Whether any question waits for its answer.
    pub fn is_asking(&self) -> bool {
        !self.questions.is_empty()
    }

    /// The call that a question is about, while it waits for its answer.
    pub fn asker(&self, question: QuestionId) -> Option<CallId> {
        self.questions.get(&question).copied()
    }

    /// Whether a person has written a call's arguments.
    pub fn is_given(&self, id: CallId) -> bool {
        self.given.contains(&id)
    }

    /// Whether a question waits for its answer.
    pub fn is_open(&self, question: QuestionId) -> bool {
        self.questions.contains_key(&question)
    }

    /// Whether all calls of a batch have ended. A batch that there is not has no calls.
    pub fn is_done(&self, batch: BatchId) -> bool {
        self.calls.batch(batch).is_none_or(|it| it.left == 0)
    }

    /// How the calls of a batch ended, once all have.
    pub fn outcomes(&self, batch: BatchId) -> Option<Vec<Outcome>> {
        let Some(batch) = self.calls.batch(batch) else { return Some(Vec::new()) };
        let ids = batch.calls.clone().map(CallId);
        let outcomes = ids.map(|id| self.calls.state(id)?.outcome().cloned());
        if batch.left == 0 { outcomes.collect() } else { None }
    }

    /// Takes a fact in and says what is to be done, in this order.
    pub fn handle(&mut self, now: Timestamp, input: Input, effects: &mut Vec<Effect>) {
        match input {
            Input::Schedule(requests) => self.schedule(requests, effects),
            Input::Validated { call, look, found } => self.validated(call, look, found, effects),
            Input::Answered { question, answer } => self.answered(question, answer, effects),
            Input::Changed(question) => {
                if let Some(id) = self.questions.get(&question).copied() {
                    self.look_again(id, effects);
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
        effects.push(Effect::Take(calls.clone()));
        self.validating.insert_all(calls.clone());
        let mut may_circle = false;
        let mut after = Vec::new();
        for id in calls.clone().map(CallId) {
            after.clear();
            after.extend(self.calls.request(id).iter().flat_map(|it| &it.after));
            if after.is_empty() {
                continue;
            }
            after.sort_unstable();
            after.dedup();
            may_circle |= after.last().is_some_and(|last| *last >= id);
            self.tie(id, &after, effects);
        }
        // On every circle somebody waits for one that comes later.
        let circles = if may_circle { self.circles(calls) } else { Vec::new() };
        for circle in circles {
            // Each is told of the circle, not that the one before it did not succeed.
            for id in &circle {
                self.calls.briefs.retain_dependants(*id, |it| !circle.contains(&it));
            }
            for id in &circle {
                let error = CallError::Circle(circle.clone());
                self.step(*id, Step::Invalid(error), effects);
            }
        }
    }

    /// Ties a new call to those that it waits for, each named once.
    fn tie(&mut self, id: CallId, after: &[CallId], effects: &mut Vec<Effect>) {
        for other in after.iter().copied() {
            match self.calls.briefs.get(other).map(|it| it.stage) {
                None => {
                    self.step(id, Step::Invalid(CallError::Unknown(other)), effects);
                    return;
                }
                Some(Stage::Well) => {}
                Some(Stage::Ill) => {
                    let reason = CancelReason::Dependency(other);
                    self.step(id, Step::Stop(Stop::Cancelled(reason)), effects);
                    return;
                }
                Some(
                    Stage::Validating
                    | Stage::Scheduled
                    | Stage::Allowed
                    | Stage::Awaiting
                    | Stage::Executing
                    | Stage::Stopping,
                ) => self.calls.briefs.tie(id, other),
            }
        }
    }

    fn validated(
        &mut self,
        id: CallId,
        look: Look,
        found: Result<Checked, String>,
        effects: &mut Vec<Effect>,
    ) {
        // Late: it was modified or cancelled meanwhile.
        if !self.is_looked_at(id, look) {
            return;
        }
        let step = match found {
            Err(what) => Step::Invalid(CallError::Invalid(what)),
            Ok(checked) => {
                let step = match self.options.policy.verdict(&checked.subject) {
                    Verdict::Allow => Step::Valid { allowed: true },
                    Verdict::Ask(_) if self.given.contains(&id) => Step::Valid { allowed: true },
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
                let is_free = checked.access.is_free();
                if let Some(brief) = self.calls.briefs.get_mut(id) {
                    (brief.is_free, brief.kind) = (is_free, checked.kind);
                }
                // Nobody will ask what is in the way of one that goes by itself.
                if !(is_free && step == (Step::Valid { allowed: true })) {
                    self.calls.keep(id, checked);
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
            Answer::Once => self.allow(id, effects),
            Answer::Always(rules) => {
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
                let Some(request) = self.calls.request_mut(id) else { return };
                request.arguments = arguments;
                self.given.insert(id);
                self.look_again(id, effects);
            }
            Answer::Refuse(reason) => {
                let is_for_all = reason.is_none();
                let stop = Stop::Cancelled(CancelReason::Refused(reason));
                self.step(id, Step::Stop(stop), effects);
                if is_for_all {
                    self.stop_beside(id, false, effects);
                }
            }
            Answer::RefuseAndStop(reason) => {
                let stop = Stop::Cancelled(CancelReason::Refused(reason));
                self.step(id, Step::Stop(stop), effects);
                self.stop_beside(id, true, effects);
            }
        }
    }

    /// A call that waits for an answer is looked at again.
    fn look_again(&mut self, id: CallId, effects: &mut Vec<Effect>) {
        let look = self.calls.next_look(id);
        self.calls.forget(id);
        // It may touch other things now, so it gives up its place.
        self.leave(id, effects);
        self.step(id, Step::Modify(look), effects);
        self.validating.insert(id);
        effects.push(Effect::Validate(id, look));
    }

    /// A person refused a call: what else of its batch has not begun does not begin, or all of it ends.
    fn stop_beside(&mut self, id: CallId, with_running: bool, effects: &mut Vec<Effect>) {
        let batch = self.calls.briefs.get(id).and_then(|it| self.calls.batch(it.batch));
        let calls = batch.map_or(0..0, |it| it.calls.clone());
        // From the end: so a call is told what was meant, not that another was cancelled before it.
        for other in calls.rev().map(CallId).filter(|it| *it != id) {
            let has_begun = match self.live(other) {
                None => continue,
                Some(Live::Executing { .. }) => true,
                Some(Live::Scheduled { tried, .. }) => tried.0 > 0,
                Some(Live::Validating { .. } | Live::AwaitingApproval { .. }) => false,
            };
            if with_running || !has_begun {
                let stop = Stop::Cancelled(CancelReason::Beside(id));
                self.step(other, Step::Stop(stop), effects);
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
        if let (Ended::Badly { .. }, Some(request)) = (&how, self.calls.request(id)) {
            timeout_ms = request.timeout_ms.unwrap_or_default();
            again_at = request.retry.wait_after(attempt).map(|wait| later(now, wait));
        }
        let kind = self.calls.briefs.get(id).map(|it| it.kind).unwrap_or_default();
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
                self.step(id, Step::Stop(Stop::TimedOut), effects);
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
            Target::Call(id) => id.0..id.0.saturating_add(1),
            Target::Batch(batch) => self.calls.batch(batch).map_or(0..0, |it| it.calls.clone()),
            Target::All => 0..self.next_call().0,
        };
        // From the end: so a call is told what was meant, not that another was cancelled before it.
        for id in calls.rev().map(CallId) {
            if self.live(id).is_some() {
                self.step(id, Step::Stop(Stop::Cancelled(reason.clone())), effects);
            }
        }
    }

    fn is_allowed(&self, id: CallId) -> bool {
        let subject = self.subject(id);
        subject.is_some_and(|it| self.options.policy.verdict(it) == Verdict::Allow)
    }

    fn live(&self, id: CallId) -> Option<&Live> {
        match self.calls.state(id)? {
            State::Live(live) => Some(live),
            State::Done(_) => None,
        }
    }
}

/// So many milliseconds later, or the end of time.
fn later(now: Timestamp, ms: u64) -> Timestamp {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    let at = now.as_millisecond().saturating_add(ms);
    Timestamp::from_millisecond(at).unwrap_or(Timestamp::MAX)
}
