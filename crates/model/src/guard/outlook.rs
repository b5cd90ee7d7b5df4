//! Which items hold a turn, and what excuses the others.
//!
//! Reads a whole plan, in time linear in its items and links. Refusals are decided elsewhere.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Standing;
use crate::actor::Process;
use crate::id::Number;
use crate::item::{Claim, Item, Level, Mark, Status, Verification};
use crate::plan::Plan;
use crate::slice::Slice;

/// The worker whose turn wants to end.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// The worker's name, as in its claims.
    pub worker: &'a str,
    /// The current time: an expired lease excuses nobody.
    pub now: Timestamp,
    /// Processes that have ended: their claims excuse nobody.
    pub gone: &'a [Process],
    /// The items that the worker is responsible for.
    pub scope: &'a Scope,
}

/// The items that a worker is responsible for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Scope {
    /// The whole list.
    #[default]
    All,
    /// For a sub-agent: the items that it ever added or claimed according to the journal, and those
    /// that it holds now.
    Own(BTreeSet<Number>),
}

/// Why an unsettled item does not hold the worker's turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Excuse {
    /// This sub-agent did not add or claim it.
    NotYours,
    /// It waits for a person or an event, or it is done and needs a person's approval.
    Waits,
    /// Another worker holds it.
    HeldByOther,
    /// An earlier turn was let go with it, and nobody has changed it since.
    Parked,
    /// It is blocked by a chain of dependencies that ends in an excused item.
    Blocked,
    /// A sub-item is excused, so this item cannot be completed either.
    ChildExcused,
}

/// Whether a completed item lacks evidence that Punchlist could get itself.
///
/// Stale evidence does not count as lacking: `verify` renews it. Nor does a missing approval: only
/// a person can give it.
pub fn owes_evidence(plan: &Slice, item: &Item) -> bool {
    unproven(plan, item) && !awaits_approval(plan, item)
}

/// Whether a completed item lacks its evidence.
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

/// The standing of every item that is open or lacks evidence. Items that a sub-agent is not
/// responsible for are left out: they neither hold its turn nor count as its progress.
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

/// The excuse of each unsettled item that does not hold the turn.
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
    // Spreads the excuses along dependencies and parents. An item in a cycle that no excuse reaches
    // holds the turn.
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

/// Whether a dependency was cancelled. It will never be completed, so somebody must decide what to
/// do.
fn needs_decision(plan: &Plan, item: &Item) -> bool {
    plan.blockers(item).any(|on| on.status == Status::Cancelled)
}

impl Asking<'_> {
    /// The excuse that an item has by itself, not through other items.
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

    /// Whether a name is the worker's own or that of one of its sub-agents (`name/sub`). A worker
    /// is responsible for what its sub-agents leave open.
    fn is_own(&self, name: &str) -> bool {
        name.strip_prefix(self.worker).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn is_held_by_other(&self, claim: &Claim) -> bool {
        !self.is_own(&claim.holder.name)
            && claim.expires_at > self.now
            && claim.holder.process.as_ref().is_none_or(|process| !self.gone.contains(process))
    }
}
