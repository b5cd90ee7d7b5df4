//! The supervisor: the model leads, and may not answer while items hold the turn.

use punchlist_model::guard::{self, Bounds, Verdict};
use serde::{Deserialize, Serialize};

use super::common::Common;
use super::{Answer, Ask, Effect, Ending, Offered, PlanChange, PlanStatus, Purpose};

/// How often the supervisor's model may be called.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CallLimits {
    /// Calls to begin with.
    pub first: u32,
    /// While items are open, a round of tools extends the limit to this many calls from now.
    pub more: u32,
    /// The limit is never extended beyond this.
    pub most: u32,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { first: 10, more: 10, most: 50 }
    }
}

/// What a supervisor has used of its limits.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Supervisor {
    /// Model calls since the user's last word.
    calls: u32,
    /// The limit as it stands.
    limit: u32,
}

impl Supervisor {
    pub(super) fn new(limits: CallLimits) -> Self {
        Self { calls: 0, limit: limits.first }
    }

    /// The user's request, or the reply to a question.
    pub(super) fn begin(&mut self, turn: &mut Common) -> Vec<Effect> {
        *self = Self::new(turn.options.calls);
        self.call(turn, Purpose::Work)
    }

    pub(super) fn answered(
        &mut self,
        turn: &mut Common,
        ask: &Ask,
        answer: &Answer,
        plan: &PlanStatus,
    ) -> Vec<Effect> {
        if ask.purpose == Purpose::FinalAnswer {
            return self.closed(turn, answer, plan);
        }
        if answer.calls > 0 {
            return turn.run_calls(u32::MAX);
        }
        if answer.has_steering {
            turn.prompted();
            return self.go_on(turn);
        }
        if turn.options.is_plan_only && !plan.open.is_empty() {
            return turn.end(Ending::Planned);
        }
        if answer.asks_user && turn.options.is_attended {
            return turn.end(Ending::Asked);
        }
        if turn.options.is_plan_only {
            return turn.end(Ending::Answered);
        }
        self.judge(turn, answer, plan)
    }

    /// A round of tools is over.
    pub(super) fn worked(&mut self, turn: &mut Common, plan: &PlanStatus) -> Vec<Effect> {
        if !plan.open.is_empty() {
            let limits = turn.options.calls;
            let wanted = self.limit.max(self.calls.saturating_add(limits.more));
            // A first limit above the cap is the user's wish, and is not lowered.
            self.limit = wanted.min(limits.most).max(self.limit);
        }
        self.go_on(turn)
    }

    /// The drain guard: asks the governor whether the turn may end with this answer.
    fn judge(&mut self, turn: &mut Common, answer: &Answer, plan: &PlanStatus) -> Vec<Effect> {
        let wish = guard::Wish {
            items: plan.outlook.clone(),
            bounds: Some(Bounds::FULL),
            pass: None,
            aim: plan.is_goal_unmet,
        };
        let governor = std::mem::take(&mut turn.governor);
        let (governor, verdict) = governor.step(guard::Input::Stop(wish));
        turn.governor = governor;
        match verdict {
            Verdict::Refuse { open, refusal } => {
                let mut effects = vec![Effect::RefuseAnswer { open, refusal }];
                effects.extend(self.go_on(turn));
                effects
            }
            Verdict::LetGo { park } => {
                let mut effects = vec![Effect::Change(PlanChange::Park(park))];
                effects.extend(turn.end(Ending::LetGo));
                effects
            }
            Verdict::End(_) | Verdict::Noted => match turn.hand_back(answer) {
                Some(tell) => {
                    let mut effects = vec![tell];
                    effects.extend(self.go_on(turn));
                    effects
                }
                None => turn.end(Common::ending_with(answer, Ending::Answered)),
            },
        }
    }

    /// The answer that was written at the limit. Tools were not offered, so calls in it are ignored.
    fn closed(&mut self, turn: &mut Common, answer: &Answer, plan: &PlanStatus) -> Vec<Effect> {
        match turn.hand_back(answer) {
            Some(tell) => {
                let mut effects = vec![tell];
                effects.extend(self.call(turn, Purpose::FinalAnswer));
                effects
            }
            None => turn.end_with_open(Common::ending_with(answer, Ending::Limit), plan),
        }
    }

    /// The next model call; at the limit, the one that writes the answer without tools.
    fn go_on(&mut self, turn: &mut Common) -> Vec<Effect> {
        let purpose = if self.calls < self.limit { Purpose::Work } else { Purpose::FinalAnswer };
        self.call(turn, purpose)
    }

    fn call(&mut self, turn: &mut Common, purpose: Purpose) -> Vec<Effect> {
        self.calls = self.calls.saturating_add(1);
        let tools = if purpose == Purpose::FinalAnswer {
            Offered::Nothing
        } else if turn.options.is_plan_only {
            Offered::Planning
        } else {
            Offered::Everything
        };
        turn.call_model(Ask::new(purpose, tools))
    }
}
