//! Moving calls, and what follows from it for others.

use std::ops::Range;

use punchlist_model::Timestamp;

use super::brief::Stage;
use super::{Alarm, Effect, Scheduler, WakeToken, later};
use crate::call::{CallError, CallId, CancelReason, Live, Outcome, QuestionId, State, Step, Stop};

/// What need be known of the state that a call leaves.
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
    /// Moves a call and whatever ends because of it.
    pub(super) fn step(&mut self, id: CallId, step: Step, effects: &mut Vec<Effect>) {
        // A chain of dependants may be long, so they are not called one within the other.
        let mut steps = std::mem::take(&mut self.steps);
        self.step_one(id, step, &mut steps, effects);
        while let Some((id, step)) = steps.pop() {
            self.step_one(id, step, &mut steps, effects);
        }
        self.steps = steps;
    }

    /// Moves one call, and says in `steps` who moves because of it.
    fn step_one(
        &mut self,
        id: CallId,
        step: Step,
        steps: &mut Vec<(CallId, Step)>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(state @ State::Live(live)) = self.calls.state(id) else { return };
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
        self.calls.set_state(id, next);
        match before {
            Before::Validating => drop(self.validating.remove(id)),
            Before::AwaitingApproval(question) => drop(self.questions.remove(&question)),
            Before::Scheduled | Before::Executing { .. } => {}
        }
        // Why it is stopped may change; that it is, need be said once.
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

    /// After a vital call has failed nothing begins that has not begun.
    fn halt(&self, id: CallId, steps: &mut Vec<(CallId, Step)>) {
        if !self.calls.request(id).is_some_and(|it| it.vital) {
            return;
        }
        for other in self.calls.ids().rev() {
            let has_begun = match self.live(other) {
                Some(Live::Executing { .. }) | None => true,
                Some(
                    Live::Validating { .. }
                    | Live::Scheduled { .. }
                    | Live::AwaitingApproval { .. },
                ) => false,
            };
            if !has_begun {
                let reason = CancelReason::Halted(id);
                steps.push((other, Step::Stop(Stop::Cancelled(reason))));
            }
        }
    }

    /// What follows from a call's end.
    fn end(
        &mut self,
        id: CallId,
        before: Before,
        well: bool,
        steps: &mut Vec<(CallId, Step)>,
        effects: &mut Vec<Effect>,
    ) {
        self.calls.forget(id);
        if !self.coming.remove(id) && self.was_in_line(id, before) {
            self.leave(id, effects);
        }
        // The last one is taken first, and so is the last step.
        while let Some(dependant) = self.calls.briefs.take_dependant(id) {
            if well {
                self.met(dependant);
            } else {
                let reason = CancelReason::Dependency(id);
                steps.push((dependant, Step::Stop(Stop::Cancelled(reason))));
            }
        }
        let Some(batch) = self.calls.briefs.get(id).map(|it| it.batch) else { return };
        if let Some(it) = self.calls.batch_mut(batch) {
            it.left = it.left.saturating_sub(1);
            if it.left == 0 {
                effects.push(Effect::BatchDone(batch));
            }
        }
    }

    /// Whether a call that was in this state had got in line.
    fn was_in_line(&self, id: CallId, before: Before) -> bool {
        match before {
            Before::Validating => false,
            Before::AwaitingApproval(_) | Before::Executing { .. } => true,
            Before::Scheduled => self.calls.briefs.get(id).is_some_and(|it| it.unmet == 0),
        }
    }

    /// One that a call waited for has succeeded.
    fn met(&mut self, id: CallId) {
        if let Some(brief) = self.calls.briefs.get_mut(id) {
            brief.unmet = brief.unmet.saturating_sub(1);
        }
        self.come(id);
    }

    /// A call may have become one that waits for its place in line only.
    pub(super) fn come(&mut self, id: CallId) {
        if self.calls.briefs.get(id).is_some_and(|it| it.unmet == 0 && it.stage.is_scheduled()) {
            self.coming.insert(id);
        }
    }

    /// Lets calls get in line, in their order.
    pub(super) fn get_in_line(&mut self, effects: &mut Vec<Effect>) {
        while let Some(id) = self.coming.first() {
            // One that was scheduled before may be in the way; nobody knows yet.
            if self.validating.first().is_some_and(|earlier| earlier < id) {
                return;
            }
            self.coming.remove(id);
            let goes_on = if self.calls.briefs.get(id).is_none_or(|it| it.is_free) {
                self.line.enter_free(id)
            } else {
                let access = self.calls.take_access(id);
                self.line.enter(id, access)
            };
            if let Some(id) = goes_on {
                self.turn_came(id, effects);
            }
        }
    }

    /// A call leaves the line, and others move up.
    pub(super) fn leave(&mut self, id: CallId, effects: &mut Vec<Effect>) {
        let free = self.calls.briefs.get(id).is_none_or(|it| it.is_free);
        for next in self.line.leave(id, free) {
            self.turn_came(next, effects);
        }
    }

    /// Nobody ahead is in the way any more.
    fn turn_came(&mut self, id: CallId, effects: &mut Vec<Effect>) {
        let Some(stage) = self.calls.briefs.get(id).map(|it| it.stage) else { return };
        if !stage.is_scheduled() {
            return;
        }
        if stage == Stage::Allowed {
            self.calls.forget(id);
            self.make_ready(id);
        } else if self.is_allowed(id) {
            // An answer to another question allowed it meanwhile.
            self.allow(id, effects);
        } else {
            let question = QuestionId(self.next_question);
            self.next_question = self.next_question.saturating_add(1);
            self.questions.insert(question, id);
            self.step(id, Step::Ask(question), effects);
            effects.push(Effect::Ask(id, question));
        }
    }

    pub(super) fn allow(&mut self, id: CallId, effects: &mut Vec<Effect>) {
        self.calls.forget(id);
        self.step(id, Step::Allow, effects);
        self.make_ready(id);
    }

    pub(super) fn make_ready(&mut self, id: CallId) {
        if let Some(brief) = self.calls.briefs.get(id) {
            self.queue.push(id, brief.kind, brief.priority);
        }
    }

    /// Starts what there is room for.
    pub(super) fn start(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        while let Some(id) = self.queue.pop() {
            let Some(brief) = self.calls.briefs.get(id).copied() else { continue };
            let kind = brief.kind;
            if !brief.stage.is_scheduled() {
                // It was cancelled while it waited for room.
                self.queue.ended(kind);
                continue;
            }
            self.step(id, Step::Start(now), effects);
            if let Some(Live::Executing { attempt, .. }) = self.live(id) {
                let attempt = *attempt;
                effects.push(Effect::Run(id, attempt));
                if let Some(timeout) = self.calls.request(id).and_then(|it| it.timeout_ms) {
                    let token = WakeToken { call: id, attempt, what: Alarm::Timeout };
                    effects.push(Effect::Wake { at: later(now, timeout), token });
                }
            } else {
                self.queue.ended(kind);
            }
        }
    }

    /// The circles among new calls: who is on one waits for itself.
    pub(super) fn circles(&self, calls: Range<u32>) -> Vec<Vec<CallId>> {
        // Only new calls can be on a circle: older ones could not name them.
        let mut unmet: Vec<u32> = Vec::new();
        let mut free = Vec::new();
        let within = |id: &CallId| calls.contains(&id.0);
        for n in calls.clone() {
            let waits = self.calls.request(CallId(n)).map_or(0, |it| {
                let mut after: Vec<CallId> = it.after.iter().copied().filter(within).collect();
                after.sort_unstable();
                after.dedup();
                u32::try_from(after.len()).unwrap_or(u32::MAX)
            });
            if waits == 0 {
                free.push(CallId(n));
            }
            unmet.push(waits);
        }
        let at = |id: CallId| usize::try_from(id.0.wrapping_sub(calls.start)).unwrap_or(usize::MAX);
        while let Some(id) = free.pop() {
            for dependant in self.calls.briefs.dependants(id) {
                if let Some(left) = unmet.get_mut(at(dependant)) {
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        free.push(dependant);
                    }
                }
            }
        }
        // What is left is on a circle or waits for one. Walking back always meets a circle.
        let stuck = |id: CallId| unmet.get(at(id)).is_some_and(|left| *left > 0);
        let mut circles: Vec<Vec<CallId>> = Vec::new();
        let mut seen = vec![false; unmet.len()];
        for start in calls.clone().map(CallId).filter(|id| stuck(*id)) {
            let mut path: Vec<CallId> = Vec::new();
            let mut id = start;
            while !seen.get(at(id)).copied().unwrap_or(true) {
                if let Some(seen) = seen.get_mut(at(id)) {
                    *seen = true;
                }
                path.push(id);
                let after = self.calls.request(id).map_or(&[][..], |it| &it.after);
                let Some(next) = after.iter().copied().find(|it| within(it) && stuck(*it)) else {
                    break;
                };
                id = next;
            }
            if let Some(from) = path.iter().position(|it| *it == id) {
                circles.push(path.split_off(from));
            }
        }
        circles
    }
}

impl Outcome {
    /// Whether it did what it was asked.
    pub fn is_success(&self) -> bool {
        match self {
            Self::Success(_) => true,
            Self::Error(_) | Self::Cancelled { .. } => false,
        }
    }
}

/// That nobody could be asked is no failure of a call.
fn is_failure(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Error(CallError::NobodyToAsk(_))
        | Outcome::Success(_)
        | Outcome::Cancelled { .. } => false,
        Outcome::Error(_) => true,
    }
}
