//! Which items hold a turn, and what excuses the others.
//!
//! Looks at a whole plan, in time linear in its items and links. It decides nothing about refusals.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Standing;
use crate::actor::Process;
use crate::id::Number;
use crate::item::{Claim, Item, Level, Mark, Status, Verification};
use crate::plan::Plan;
use crate::slice::Slice;

/// Who asks whether its turn may end.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// The worker's name, as its claims have it.
    pub worker: &'a str,
    /// The time: a lease that is over excuses nobody.
    pub now: Timestamp,
    /// Processes known to have ended: their claims excuse nobody.
    pub gone: &'a [Process],
    /// What it answers for.
    pub scope: &'a Scope,
}

/// What a worker answers for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Scope {
    /// The whole list.
    #[default]
    All,
    /// A sub-agent: the items that it made or claimed at some time, which the journal knows, and
    /// those that it holds now.
    Own(BTreeSet<Number>),
}

/// Why an item that is not settled is not held against the worker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Excuse {
    /// Not made or claimed by this sub-agent.
    NotYours,
    /// It waits for a person or an event, or is done and waits for a person's approval.
    Waits,
    /// Another worker holds it.
    HeldByOther,
    /// An earlier turn was let go with it, and nobody has changed it since.
    Parked,
    /// It is blocked by a chain that ends in one of the above.
    Blocked,
    /// An item under it is excused, so it cannot be completed either.
    ChildExcused,
}

/// Whether an item counts as completed, but lacks evidence that the engine could get.
///
/// Stale evidence was there once and is for `verify` to renew; a missing approval is a person's.
pub fn owes_evidence(plan: &Slice, item: &Item) -> bool {
    unproven(plan, item) && !awaits_approval(plan, item)
}

/// Whether an item is neither open nor done: completed, and the evidence for it is missing.
fn unproven(plan: &Slice, item: &Item) -> bool {
    item.status == Status::Completed
        && !item.is_superseded()
        && match plan.verification(item, false) {
            Verification::Required | Verification::Failed => true,
            Verification::None | Verification::Passed | Verification::Stale => false,
        }
}

fn awaits_approval(plan: &Slice, item: &Item) -> bool {
    plan.demanded(item) == Some(Level::Approved)
        && plan.verification(item, false) == Verification::Required
}

fn waits(plan: &Slice, item: &Item) -> bool {
    if item.is_open() { item.waiting_on.is_some() } else { awaits_approval(plan, item) }
}

/// The items that hold the turn, in list order.
pub fn holding(plan: &Plan, asking: &Asking<'_>) -> Vec<Number> {
    let outlook = outlook(plan, asking);
    let items = plan.listed().into_iter().map(|item| item.number);
    items.filter(|number| outlook.get(number) == Some(&Standing::Holds)).collect()
}

/// How every item stands that is open or lacks evidence. What a sub-agent does not answer for is
/// left out: it neither holds its turn nor is its progress.
pub fn outlook(plan: &Plan, asking: &Asking<'_>) -> BTreeMap<Number, Standing> {
    let excuses = excuses(plan, asking);
    unsettled(plan)
        .filter_map(|item| match excuses.get(&item.number) {
            None => Some((item.number, Standing::Holds)),
            Some(Excuse::NotYours) => None,
            Some(_) => Some((item.number, Standing::Excused)),
        })
        .collect()
}

/// What excuses each item that is not settled and does not hold the turn.
pub fn excuses(plan: &Plan, asking: &Asking<'_>) -> BTreeMap<Number, Excuse> {
    let mut excuses: BTreeMap<Number, Excuse> = unsettled(plan)
        .filter_map(|item| Some((item.number, asking.excuse(plan, item)?)))
        .collect();
    let mut dependants: BTreeMap<Number, Vec<&Item>> = BTreeMap::new();
    for item in plan.items.values().filter(|item| item.is_open()) {
        for on in &item.depends_on {
            dependants.entry(*on).or_default().push(item);
        }
    }
    // From each excused item outwards. Whatever lies on a circle that no excuse reaches holds.
    let mut reached: Vec<Number> = excuses.keys().copied().collect();
    while let Some(number) = reached.pop() {
        let Some(item) = plan.get(number).filter(|item| item.is_open()) else { continue };
        let behind = dependants.get(&number).into_iter().flatten();
        let behind = behind.filter(|it| !needs_decision(plan, it)).map(|it| (*it, Excuse::Blocked));
        let above = item.parent.and_then(|parent| plan.get(parent)).filter(|it| it.is_open());
        let above = above.map(|it| (it, Excuse::ChildExcused));
        for (next, excuse) in behind.chain(above) {
            if let Entry::Vacant(place) = excuses.entry(next.number) {
                place.insert(excuse);
                reached.push(next.number);
            }
        }
    }
    excuses
}

fn unsettled(plan: &Plan) -> impl Iterator<Item = &Item> {
    plan.items.values().filter(|item| item.is_open() || unproven(plan, item))
}

/// A cancelled dependency will never be completed: what depends on it needs a decision.
fn needs_decision(plan: &Plan, item: &Item) -> bool {
    plan.blockers(item).any(|on| on.status == Status::Cancelled)
}

impl Asking<'_> {
    /// What excuses an item by itself.
    fn excuse(&self, plan: &Plan, item: &Item) -> Option<Excuse> {
        let claim = item.claim.as_ref();
        if !self.answers_for(item) {
            Some(Excuse::NotYours)
        } else if waits(plan, item) {
            Some(Excuse::Waits)
        } else if claim.is_some_and(|claim| self.is_held_by_other(claim)) {
            Some(Excuse::HeldByOther)
        } else if item.marks.contains(&Mark::Parked) {
            Some(Excuse::Parked)
        } else {
            None
        }
    }

    fn answers_for(&self, item: &Item) -> bool {
        match self.scope {
            Scope::All => true,
            Scope::Own(items) => {
                items.contains(&item.number)
                    || item.claim.as_ref().is_some_and(|claim| claim.holder.name == self.worker)
            }
        }
    }

    /// Whether a name is the worker's own or that of a sub-agent of its: those are called `name/sub`,
    /// and whoever they work for answers for what they leave behind.
    fn is_own(&self, name: &str) -> bool {
        name.strip_prefix(self.worker).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn is_held_by_other(&self, claim: &Claim) -> bool {
        !self.is_own(&claim.holder.name)
            && claim.expires_at > self.now
            && claim.holder.process.as_ref().is_none_or(|process| !self.gone.contains(process))
    }
}
