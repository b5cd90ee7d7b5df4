//! The plan, as far as a turn has to know it, and what a turn does to it.

use std::collections::{BTreeMap, BTreeSet};

use punchlist_model::guard::{self, Asking, Scope, Standing};
use punchlist_model::{Number, Plan, Status, Timestamp};
use serde::{Deserialize, Serialize};

/// How the plan stands. The runtime reads it from the store before each step.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct PlanStatus {
    /// The items that are not settled, and whether each holds the turn (`guard::outlook`).
    pub outlook: BTreeMap<Number, Standing>,
    /// The items that are pending or in progress.
    pub open: BTreeSet<Number>,
    /// Those in progress that this turn holds, itself or through a delegation.
    pub in_progress: Vec<Number>,
    /// The item that `next` would start.
    pub next: Option<Number>,
    /// How many items are completed.
    pub completed: u32,
    /// Nothing is open, the goal is not reached, and the model has not been told of that yet.
    pub is_goal_unmet: bool,
}

impl PlanStatus {
    /// How a plan stands for the agent of this name. Items that it has delegated are claimed as `NAME/N`
    /// and count as its own.
    pub fn of(plan: &Plan, agent: &str, now: Timestamp) -> Self {
        let mut own = plan.clone();
        for item in own.items.values_mut() {
            if let Some(claim) = item.claim.as_mut().filter(|it| is_own(&it.holder.name, agent)) {
                agent.clone_into(&mut claim.holder.name);
            }
        }
        let asking = Asking { worker: agent, now, gone: &[], scope: &Scope::All };
        let listed = own.listed();
        let is_mine = |claim: &punchlist_model::Claim| claim.holder.name == agent;
        let in_progress = listed.iter().filter(|it| it.status == Status::InProgress);
        Self {
            outlook: guard::outlook(&own, &asking),
            open: listed.iter().filter(|it| it.is_open()).map(|it| it.number).collect(),
            in_progress: in_progress
                .filter(|it| it.claim.as_ref().is_none_or(is_mine))
                .map(|it| it.number)
                .collect(),
            next: own.next_ready().map(|it| it.number),
            completed: u32::try_from(
                listed.iter().filter(|it| it.status == Status::Completed).count(),
            )
            .unwrap_or(u32::MAX),
            is_goal_unmet: false,
        }
    }

    /// The items that hold the turn.
    pub fn holding(&self) -> Vec<Number> {
        let held = self.outlook.iter().filter(|(_, standing)| **standing == Standing::Holds);
        held.map(|(number, _)| *number).collect()
    }
}

/// A change of the plan that the turn itself makes, not the model.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanChange {
    /// Starts an item.
    Start(Number),
    /// Completes an item with this outcome.
    Complete(Number, String),
    /// Puts an item back to pending, with a note.
    GiveBack(Number, String),
    /// Cancels an item for this reason.
    Skip(Number, String),
    /// Puts items back to pending, because the turn was aborted.
    Release(Vec<Number>),
    /// Parks items, because the turn ended with them open.
    Park(Vec<Number>),
}

/// Whether a claim by `holder` is the agent's own, or that of one of its delegations.
fn is_own(holder: &str, agent: &str) -> bool {
    holder.strip_prefix(agent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
