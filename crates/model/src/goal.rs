//! The goal of a plan, and whether it is reached.
//!
//! Acceptance items decide whether a goal is reached; if it names none, a statement by a person or
//! an agent does. The result is derived from the plan each time. Stored are only the statement and
//! the items that were given up since the goal was set. This module writes no messages and reads no
//! files: the caller says which evidence is stale.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::actor::ActorKind;
use crate::event::{Delta, Event, PlanDelta};
use crate::id::Number;
use crate::item::{Level, Status, Verification};
use crate::plan::Plan;
use crate::slice::Slice;

/// What a plan is for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Goal {
    /// What must be true in the end.
    pub statement: String,
    /// The acceptance items: the goal is reached when they are.
    pub acceptance: BTreeSet<Number>,
    /// What the goal may cost.
    pub budget: Budget,
    /// When the statement was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Items that were cancelled, or dropped while open, since then: top-level items and acceptance
    /// items.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub given_up: BTreeSet<Number>,
    /// A person's or agent's statement that the goal is met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<Met>,
    /// Who set the goal. If unknown, it counts as a person's goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<ActorKind>,
}

/// What a goal may cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "units speak for themselves")]
pub struct Budget {
    pub tokens: Option<u64>,
    pub turns: Option<u32>,
    pub minutes: Option<u32>,
}

/// A statement that a goal is met.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Met {
    /// When it was made.
    pub at: Timestamp,
    /// Who made it.
    pub by: String,
    /// Its level: a person's statement is an approval, any other is a report.
    pub level: Level,
}

/// Whether a plan has reached its goal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reached {
    /// Items are open, so it is too early to say.
    NotYet,
    /// No item is open, but this is missing.
    No(Vec<Missing>),
    /// The goal is reached.
    Yes,
}

/// Why a goal is not reached although no item is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    /// This item was cancelled, or dropped while it was open.
    GivenUp(Number),
    /// The evidence for this item is missing or stale: its check must run.
    Unchecked(Number),
    /// The check of this item failed.
    Failed(Number),
    /// A person must approve this item.
    Unapproved(Number),
    /// The goal has no acceptance items, and nobody has stated that it is met.
    Word,
}

impl Missing {
    /// The item that is missing something, if there is one.
    pub fn number(self) -> Option<Number> {
        match self {
            Self::GivenUp(number)
            | Self::Unchecked(number)
            | Self::Failed(number)
            | Self::Unapproved(number) => Some(number),
            Self::Word => None,
        }
    }

    /// Whether an agent that wants to stop can do something about it. A missing check is not among
    /// these, because the item already holds the turn; an approval is not, because only a person
    /// can give it.
    pub fn is_for_agents(self) -> bool {
        match self {
            Self::GivenUp(_) | Self::Word => true,
            Self::Unchecked(_) | Self::Failed(_) | Self::Unapproved(_) => false,
        }
    }
}

impl Plan {
    /// Whether the plan has reached its goal; `None` if it has no goal.
    pub fn reached(&self, stale: &BTreeSet<Number>) -> Option<Reached> {
        let goal = self.goal.as_ref()?;
        if self.open > 0 || self.next_number <= Number(1) {
            return Some(Reached::NotYet);
        }
        if self.is_word_enough(goal.met.as_ref().map(|it| it.level)) {
            return Some(Reached::Yes);
        }
        let missing: Vec<Missing> = if goal.acceptance.is_empty() {
            vec![Missing::Word]
        } else {
            goal.acceptance.iter().filter_map(|it| self.missing(*it, stale)).collect()
        };
        Some(if missing.is_empty() { Reached::Yes } else { Reached::No(missing) })
    }

    /// Whether a statement of this level is enough to meet the goal. If the goal has acceptance
    /// items, only a person's approval is; otherwise the level that the plan demands of its items.
    pub fn is_word_enough(&self, level: Option<Level>) -> bool {
        let Some(goal) = &self.goal else { return false };
        let demanded = if goal.acceptance.is_empty() {
            self.rules.demand.unwrap_or(Level::Reported)
        } else {
            Level::Approved
        };
        level >= Some(demanded)
    }

    fn missing(&self, number: Number, stale: &BTreeSet<Number>) -> Option<Missing> {
        let Some(item) = self.get(number) else { return Some(Missing::GivenUp(number)) };
        // A completed item counts even if it has left the list since.
        if item.status != Status::Completed {
            return Some(Missing::GivenUp(number));
        }
        match self.verification(item, stale.contains(&number)) {
            Verification::None | Verification::Passed => None,
            Verification::Failed => Some(Missing::Failed(number)),
            Verification::Stale => Some(Missing::Unchecked(number)),
            Verification::Required => {
                let by_check = item.check.is_some() && self.demanded(item) != Some(Level::Approved);
                Some(if by_check {
                    Missing::Unchecked(number)
                } else {
                    Missing::Unapproved(number)
                })
            }
        }
    }

    /// Whole minutes since the goal was set. If no item is open, only up to the last completion.
    pub fn minutes_spent(&self, now: Timestamp) -> Option<u64> {
        let from = self.goal.as_ref()?.since.unwrap_or(self.created_at);
        let last = || self.items.values().filter_map(|it| it.completed_at).max();
        let until = if self.open == 0 { last().unwrap_or(now) } else { now };
        Some(u64::try_from(until.duration_since(from).as_secs() / 60).unwrap_or(0))
    }

    /// Whether the goal has taken more minutes than its budget. Turns and tokens are not counted
    /// here.
    pub fn is_over_budget(&self, now: Timestamp) -> bool {
        let most = self.goal.as_ref().and_then(|it| it.budget.minutes);
        let spent = self.minutes_spent(now);
        most.zip(spent).is_some_and(|(most, spent)| spent > u64::from(most))
    }
}

impl Slice {
    /// The change of the goal's `given_up` items that follows from these events, as an event.
    /// `None` if nothing changes.
    pub(crate) fn rescoped(&self, events: &[Event]) -> Option<Event> {
        let before = self.goal.as_ref()?;
        let mut after = before.clone();
        for event in events {
            let Some(item) = event.number().and_then(|it| self.get(it)) else { continue };
            let number = item.number;
            let is_open = matches!(item.status, Status::Pending | Status::InProgress);
            let is_given_up = match event {
                Event::Changed { deltas, .. } => {
                    deltas.iter().rev().find_map(status).map(|it| it == Status::Cancelled)
                }
                // An item that was closed before it left the list was not given up.
                Event::Superseded { .. } => is_open.then_some(true),
                Event::Restored { .. } => is_open.then_some(false),
                Event::Added { .. }
                | Event::Moved { .. }
                | Event::PlanChanged { .. }
                | Event::Forgotten { .. } => None,
            };
            let counts = item.parent.is_none() || before.acceptance.contains(&number);
            match is_given_up {
                Some(true) if counts => drop(after.given_up.insert(number)),
                Some(true) | None => {}
                Some(false) => drop(after.given_up.remove(&number)),
            }
        }
        (after != *before).then(|| {
            let delta = PlanDelta::Goal { before: Some(before.clone()), after: Some(after) };
            Event::PlanChanged { deltas: vec![delta] }
        })
    }
}

impl Goal {
    /// The new goal, if a caller sets `wanted`. The caller cannot set what happened since the goal
    /// was set, and a new statement or new acceptance items clear `met`.
    pub(crate) fn set(before: Option<&Self>, wanted: &Self, now: Timestamp, by: ActorKind) -> Self {
        let mut goal = wanted.clone();
        let kept = before.filter(|it| it.asks_for_same(&goal));
        goal.author = kept.map_or(Some(by), |it| it.author);
        if let Some(met) = &mut goal.met
            && before.and_then(|it| it.met.as_ref()) != Some(met)
            && by != ActorKind::Person
        {
            // Only a person can approve.
            met.level = Level::Reported;
        }
        let same = before.filter(|it| it.statement == goal.statement);
        goal.since = same.map_or(Some(now), |it| it.since);
        goal.given_up = same.map(|it| it.given_up.clone()).unwrap_or_default();
        if same.is_none_or(|it| it.acceptance != goal.acceptance) {
            goal.met = None;
        }
        goal
    }

    /// Whether both goals ask for the same.
    fn asks_for_same(&self, other: &Self) -> bool {
        let ask = |it: &Self| (it.statement.clone(), it.acceptance.clone(), it.budget);
        ask(self) == ask(other)
    }

    /// Whether `other` (or no goal) would override a person's goal: what it asks for, or the
    /// person's approval. Stating that a goal is met does not override it.
    pub(crate) fn is_overridden_by(&self, other: Option<&Self>) -> bool {
        let approved = self.met.as_ref().filter(|it| it.level == Level::Approved);
        let keeps = |other: &Self| {
            self.asks_for_same(other) && (approved.is_none() || other.met.as_ref() == approved)
        };
        self.author != Some(ActorKind::Agent) && !other.is_some_and(keeps)
    }
}

fn status(delta: &Delta) -> Option<Status> {
    if let Delta::Status { after, .. } = delta { Some(*after) } else { None }
}

/// Whether a change of the goal affects only `given_up`. Such a change follows from changes of
/// items.
pub(crate) fn is_rescoping(delta: &PlanDelta) -> bool {
    let PlanDelta::Goal { before: Some(before), after: Some(after) } = delta else { return false };
    let without = |goal: &Goal| Goal { given_up: BTreeSet::new(), ..goal.clone() };
    before.given_up != after.given_up && without(before) == without(after)
}
