//! Applies steps to calls, and their consequences for other calls.

use punchlist_model::Timestamp;

use super::calls::Entry;
use super::{Alarm, Effect, Scheduler, WakeToken, later};
use crate::call::{
    CallError, CallId, CancelReason, Live, Outcome, QuestionId, State, Step, StopReason,
};

/// What the machine needs to know about the previous state.
#[derive(Clone, Copy)]
enum Before {
    Validating,
    Scheduled,
    AwaitingApproval(QuestionId),
    Executing { stopping: bool },
}

impl Before {
    fn of(live: &Live) -> Self {
        match live {
            Live::Validating { .. } => Self::Validating,
            Live::Scheduled { .. } => Self::Scheduled,
            Live::AwaitingApproval { question } => Self::AwaitingApproval(*question),
            Live::Executing { stopping, .. } => Self::Executing { stopping: stopping.is_some() },
        }
    }
}

impl Scheduler {
    /// Applies a step to a call, and to all calls that end because of it.
    pub(super) fn step(&mut self, id: CallId, step: Step, effects: &mut Vec<Effect>) {
        // A stack instead of recursion: a chain of dependants may be long.
        let mut steps = Vec::new();
        self.step_one(id, step, &mut steps, effects);
        while let Some((id, step)) = steps.pop() {
            self.step_one(id, step, &mut steps, effects);
        }
    }

    /// Applies a step to one call, and adds the steps that follow from it to `steps`.
    fn step_one(
        &mut self,
        id: CallId,
        step: Step,
        steps: &mut Vec<(CallId, Step)>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(entry) = self.calls.get_mut(id) else { return };
        let state @ State::Live(live) = &entry.call.state else { return };
        let before = Before::of(live);
        let next = match live.clone().step(step) {
            Ok(next) => next,
            Err(illegal) => return effects.push(Effect::Illegal(id, illegal)),
        };
        if next == *state {
            return;
        }
        let is_well = next.outcome().map(Outcome::is_success);
        let is_failed = next.outcome().is_some_and(is_failure);
        let stopped = match &next {
            State::Live(Live::Executing { attempt, stopping: Some(_), .. }) => Some(*attempt),
            State::Live(_) | State::Done(_) => None,
        };
        effects.push(Effect::Record(id, next.clone()));
        entry.call.state = next;
        match before {
            Before::Validating => drop(self.validating.remove(&id)),
            Before::AwaitingApproval(question) => drop(self.questions.remove(&question)),
            Before::Scheduled | Before::Executing { .. } => {}
        }
        // The reason for stopping may change, but the attempt is killed only once.
        if let (Some(attempt), Before::Executing { stopping: false }) = (stopped, before) {
            effects.push(Effect::Kill(id, attempt));
        }
        if is_failed {
            self.halt(id, steps);
        }
        if let Some(is_well) = is_well {
            self.end(id, before, is_well, steps, effects);
        }
    }

    /// After a vital call has failed, no further call starts.
    fn halt(&self, id: CallId, steps: &mut Vec<(CallId, Step)>) {
        if !self.request(id).is_some_and(|it| it.vital) {
            return;
        }
        for other in self.calls.iter().rev() {
            let has_begun = match &other.call.state {
                State::Live(Live::Executing { .. }) | State::Done(_) => true,
                State::Live(
                    Live::Validating { .. }
                    | Live::Scheduled { .. }
                    | Live::AwaitingApproval { .. },
                ) => false,
            };
            if !has_begun {
                let reason = CancelReason::Halted(id);
                steps.push((other.call.id, Step::Stop(StopReason::Cancelled(reason))));
            }
        }
    }

    /// Handles the end of a call.
    fn end(
        &mut self,
        id: CallId,
        before: Before,
        well: bool,
        steps: &mut Vec<(CallId, Step)>,
        effects: &mut Vec<Effect>,
    ) {
        if !self.coming.remove(&id) && self.was_in_line(id, before) {
            self.leave(id, effects);
        }
        let Some(entry) = self.calls.get_mut(id) else { return };
        entry.checked = None;
        self.queue.remove(id, entry.kind, entry.call.request.priority);
        let dependants = self.calls.links_mut(id).map(|it| std::mem::take(&mut it.dependants));
        // In reverse, because the last step is taken first.
        for dependant in dependants.into_iter().flatten().rev() {
            if well {
                self.met(dependant);
            } else {
                let reason = CancelReason::Dependency(id);
                steps.push((dependant, Step::Stop(StopReason::Cancelled(reason))));
            }
        }
        effects.extend(self.calls.ended(id).map(Effect::BatchDone));
    }

    /// Whether a call that was in this state was in the line.
    fn was_in_line(&self, id: CallId, before: Before) -> bool {
        match before {
            Before::Validating => false,
            Before::AwaitingApproval(_) | Before::Executing { .. } => true,
            Before::Scheduled => self.calls.links(id).is_some_and(|it| it.unmet == 0),
        }
    }

    /// Counts a dependency that has succeeded.
    fn met(&mut self, id: CallId) {
        if let Some(links) = self.calls.links_mut(id) {
            links.unmet = links.unmet.saturating_sub(1);
        }
        self.come(id);
    }

    /// Notes a call that now waits only for entering the line.
    pub(super) fn come(&mut self, id: CallId) {
        if self.calls.links(id).is_some_and(|it| it.unmet == 0)
            && self.calls.get(id).is_some_and(Entry::is_scheduled)
        {
            self.coming.insert(id);
        }
    }

    /// Lets calls enter the line, in order.
    pub(super) fn get_in_line(&mut self, effects: &mut Vec<Effect>) {
        while let Some(id) = self.coming.first().copied() {
            // An earlier call may conflict; that is known only after its validation.
            if self.validating.first().is_some_and(|earlier| *earlier < id) {
                return;
            }
            self.coming.remove(&id);
            let checked = self.calls.get_mut(id).and_then(|it| it.checked.as_mut());
            let access = checked.map(|it| std::mem::take(&mut it.access)).unwrap_or_default();
            if let Some(id) = self.line.enter(id, access) {
                self.turn_came(id, effects);
            }
        }
    }

    /// Removes a call from the line, so that others may proceed.
    pub(super) fn leave(&mut self, id: CallId, effects: &mut Vec<Effect>) {
        for next in self.line.leave(id) {
            self.turn_came(next, effects);
        }
    }

    /// Handles a call for which no conflicting call is ahead any more.
    fn turn_came(&mut self, id: CallId, effects: &mut Vec<Effect>) {
        let Some(Live::Scheduled { allowed, .. }) = self.live(id) else { return };
        if *allowed {
            self.make_ready(id);
        } else if self.is_allowed(id) {
            // A rule from another answer has allowed it meanwhile.
            self.allow(id, effects);
        } else {
            self.next_question = self.next_question.saturating_add(1);
            let question = QuestionId(self.options.ids.nth(self.next_question));
            self.questions.insert(question, id);
            self.step(id, Step::Ask(question), effects);
            effects.push(Effect::Ask(id, question));
        }
    }

    pub(super) fn allow(&mut self, id: CallId, effects: &mut Vec<Effect>) {
        self.step(id, Step::Allow, effects);
        self.make_ready(id);
    }

    /// Puts a call into the queue.
    pub(super) fn make_ready(&mut self, id: CallId) {
        if let Some(entry) = self.calls.get_mut(id) {
            entry.checked = None;
            self.queue.push(id, entry.kind, entry.call.request.priority);
        }
    }

    /// Starts calls while there are free places.
    pub(super) fn start(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        while let Some(id) = self.queue.pop() {
            let Some(entry) = self.calls.get(id) else { continue };
            let (kind, timeout_ms) = (entry.kind, entry.call.request.timeout_ms);
            self.step(id, Step::Start(now), effects);
            if let Some(Live::Executing { attempt, .. }) = self.live(id) {
                let attempt = *attempt;
                effects.push(Effect::Run(id, attempt));
                if let Some(timeout) = timeout_ms {
                    let token = WakeToken { call: id, attempt, what: Alarm::Timeout };
                    effects.push(Effect::Wake { at: later(now, timeout), token });
                }
            } else {
                self.queue.ended(kind);
            }
        }
    }
}

/// Whether an outcome counts as a failure. That nobody could be asked does not.
fn is_failure(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Error(CallError::NobodyToAsk(_))
        | Outcome::Success(_)
        | Outcome::Cancelled { .. } => false,
        Outcome::Error(_) => true,
    }
}
