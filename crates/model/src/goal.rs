//! What a list is for, and how a list that is settled stands towards that.
//!
//! A goal is accepted by items of the plan, or, where it names none, by somebody's word. Whether it is
//! reached is derived from the plan each time that somebody asks; only a word that was given is kept, and
//! what was given up while the goal stood. It must not word anything, nor look at files: what is stale is
//! the caller's to know.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::actor::ActorKind;
use crate::event::{Delta, Event, PlanDelta};
use crate::id::Number;
use crate::item::{Level, Status, Verification};
use crate::plan::Plan;
use crate::slice::Slice;

/// What a drained list is held against.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Goal {
    /// What must be true in the end.
    pub statement: String,
    /// Items that the goal is accepted by.
    pub acceptance: BTreeSet<Number>,
    /// What it may cost.
    pub budget: Budget,
    /// Since when the statement stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// What was cancelled, or dropped while it was open, since then: items at the top, and those that the
    /// goal is accepted by.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub given_up: BTreeSet<Number>,
    /// Somebody's word that it is met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<Met>,
    /// What kind of author it has. Where that is not known it is taken for a person's.
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

/// A word that a goal is met.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Met {
    /// When it was given.
    pub at: Timestamp,
    /// By whom.
    pub by: String,
    /// What it is worth: a person's is an approval, anybody else's a claim.
    pub level: Level,
}

/// Whether a plan has reached its goal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reached {
    /// Items are open: it is too early to say.
    NotYet,
    /// No item is open, and this is in the way.
    No(Vec<Missing>),
    /// It has.
    Yes,
}

/// Why a goal is not reached although no item is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    /// This item was cancelled, or dropped while it was open.
    GivenUp(Number),
    /// What speaks for this item is not there yet, or is stale: its check is to be run.
    Unchecked(Number),
    /// The check of this item failed.
    Failed(Number),
    /// A person is to approve this item.
    Unapproved(Number),
    /// The goal names no items, and nobody has said that it is met.
    Word,
}

impl Missing {
    /// The item that it is about, if it is about one.
    pub fn number(self) -> Option<Number> {
        match self {
            Self::GivenUp(number)
            | Self::Unchecked(number)
            | Self::Failed(number)
            | Self::Unapproved(number) => Some(number),
            Self::Word => None,
        }
    }

    /// Whether an agent that wants to stop can do something about it that an open item would not ask of
    /// it anyway. A check that is owed holds it like an open item; an approval is a person's to give.
    pub fn is_for_agents(self) -> bool {
        match self {
            Self::GivenUp(_) | Self::Word => true,
            Self::Unchecked(_) | Self::Failed(_) | Self::Unapproved(_) => false,
        }
    }
}

impl Plan {
    /// Whether the plan has reached its goal; `None` if it has none.
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

    /// Whether a word of this worth settles that the goal is met: where items decide, only a person's;
    /// else what the plan demands of its items.
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
        // What was done and has left the list since was done all the same.
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

    /// The minutes since the goal was set; of a plan without open items, up to when the last was closed.
    /// Whole ones: what has begun is not over.
    pub fn minutes_spent(&self, now: Timestamp) -> Option<u64> {
        let from = self.goal.as_ref()?.since.unwrap_or(self.created_at);
        let last = || self.items.values().filter_map(|it| it.completed_at).max();
        let until = if self.open == 0 { last().unwrap_or(now) } else { now };
        Some(u64::try_from(until.duration_since(from).as_secs() / 60).unwrap_or(0))
    }

    /// Whether the goal has cost more minutes than it may. Turns and tokens are not counted here.
    pub fn is_over_budget(&self, now: Timestamp) -> bool {
        let most = self.goal.as_ref().and_then(|it| it.budget.minutes);
        let spent = self.minutes_spent(now);
        most.zip(spent).is_some_and(|(most, spent)| spent > u64::from(most))
    }
}

impl Slice {
    /// What these events did to the scope of the goal, as an event: what was given up, and what was taken
    /// up again. `None` if that is as it was.
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
                // What was done or cancelled before it left is no news.
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
    /// The goal that a caller wants in the place of this one. What happened while it stood is not the
    /// caller's to say; and a word was given for what the goal said then.
    pub(crate) fn set(before: Option<&Self>, wanted: &Self, now: Timestamp, by: ActorKind) -> Self {
        let mut goal = wanted.clone();
        let kept = before.filter(|it| it.says(&goal));
        goal.author = kept.map_or(Some(by), |it| it.author);
        if let Some(met) = &mut goal.met
            && before.and_then(|it| it.met.as_ref()) != Some(met)
            && by != ActorKind::Person
        {
            // Nobody approves but a person.
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

    /// Whether another asks for the same.
    fn says(&self, other: &Self) -> bool {
        let ask = |it: &Self| (it.statement.clone(), it.acceptance.clone(), it.budget);
        ask(self) == ask(other)
    }

    /// Whether it is a person's and would not be so any more with another in its place, or with none:
    /// what it asks for, and the person's own word that it is met. Anybody may say that it is met.
    pub(crate) fn is_taken_by(&self, other: Option<&Self>) -> bool {
        let approved = self.met.as_ref().filter(|it| it.level == Level::Approved);
        let keeps = |other: &Self| {
            self.says(other) && (approved.is_none() || other.met.as_ref() == approved)
        };
        self.author != Some(ActorKind::Agent) && !other.is_some_and(keeps)
    }
}

fn status(delta: &Delta) -> Option<Status> {
    if let Delta::Status { after, .. } = delta { Some(*after) } else { None }
}

/// Whether a change of a goal is one of its scope alone: the engine's doing, which follows from what
/// happened to items.
pub(crate) fn is_rescoping(delta: &PlanDelta) -> bool {
    let PlanDelta::Goal { before: Some(before), after: Some(after) } = delta else { return false };
    let without = |goal: &Goal| Goal { given_up: BTreeSet::new(), ..goal.clone() };
    before.given_up != after.given_up && without(before) == without(after)
}
