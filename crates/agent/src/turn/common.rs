//! What both strategies share: the phase of a turn, the governor and the ways to end.

use punchlist_model::guard;
use serde::{Deserialize, Serialize};

use super::{Answer, Ask, Effect, Ending, Options, PlanChange, PlanStatus, SCHEMA_TRIES};

/// Where a turn stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Phase {
    New,
    /// The model is being called.
    Thinking(Ask),
    /// Calls of the answer are running.
    Working {
        most: u32,
    },
    /// The plan is being changed.
    Changing(PlanChange),
    Over(Ending),
}

/// The part of a turn that does not depend on the strategy.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Common {
    pub(super) options: Options,
    pub(super) phase: Phase,
    pub(super) governor: guard::Turn,
    /// How often an answer was handed back because of the schema.
    pub(super) misfits: u32,
}

impl Common {
    /// The user said something: the governor begins its count again.
    pub(super) fn prompted(&mut self) {
        self.governor = std::mem::take(&mut self.governor).step(guard::Input::Prompt).0;
    }

    pub(super) fn call_model(&mut self, ask: Ask) -> Vec<Effect> {
        self.phase = Phase::Thinking(ask.clone());
        vec![Effect::CallModel(ask)]
    }

    pub(super) fn run_calls(&mut self, most: u32) -> Vec<Effect> {
        self.phase = Phase::Working { most };
        vec![Effect::RunCalls { most }]
    }

    pub(super) fn change(&mut self, change: PlanChange) -> Vec<Effect> {
        self.phase = Phase::Changing(change.clone());
        vec![Effect::Change(change)]
    }

    pub(super) fn end(&mut self, ending: Ending) -> Vec<Effect> {
        self.phase = Phase::Over(ending.clone());
        vec![Effect::End(ending)]
    }

    /// Ends the turn, cancels what is under way and leaves nothing in progress.
    pub(super) fn stop(&mut self, ending: Ending, plan: &PlanStatus) -> Vec<Effect> {
        let mut effects = vec![Effect::Cancel];
        if !plan.in_progress.is_empty() {
            effects.push(Effect::Change(PlanChange::Release(plan.in_progress.clone())));
        }
        effects.extend(self.end(ending));
        effects
    }

    /// Ends the turn with items open. They are parked, so that the plan shows that it was left with them.
    pub(super) fn end_with_open(&mut self, ending: Ending, plan: &PlanStatus) -> Vec<Effect> {
        let open = plan.holding();
        let mut effects = Vec::new();
        if !open.is_empty() {
            effects.push(Effect::Change(PlanChange::Park(open)));
        }
        effects.extend(self.end(ending));
        effects
    }

    /// How a turn ends with this answer, if it would end like this otherwise.
    pub(super) fn ending_with(answer: &Answer, otherwise: Ending) -> Ending {
        if answer.misfit.is_some() { Ending::Unfit } else { otherwise }
    }

    /// Hands an answer back that does not fit the schema, as often as that is allowed.
    pub(super) fn hand_back(&mut self, answer: &Answer) -> Option<Effect> {
        let why = answer.misfit.as_ref().filter(|_| self.misfits < SCHEMA_TRIES)?;
        self.misfits += 1;
        Some(Effect::Tell(format!(
            "The answer does not fit the output schema: {why}\n\
             Answer again with JSON that fits it, and nothing else."
        )))
    }
}
