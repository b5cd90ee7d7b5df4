//! A plan: a list with all its items, and what is derived from them.
//!
//! A [`Plan`] has all items. A decision needs only a [`Slice`] of it. Every plan is also a slice, but a slice
//! becomes a plan only if a store has loaded all items into it. Views take a plan, so no view can mistake a
//! part of the items for all of them.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::{Number, PlanId};
use crate::item::{Item, Level, Status};
use crate::slice::Slice;
use crate::store::AttachmentKey;

/// A durable list of items, with its rules, revision and goal. Its fields are those of [`Slice`].
#[derive(Clone, PartialEq, Debug)]
pub struct Plan(Slice);

impl Deref for Plan {
    type Target = Slice;

    fn deref(&self) -> &Slice {
        &self.0
    }
}

impl DerefMut for Plan {
    fn deref_mut(&mut self) -> &mut Slice {
        &mut self.0
    }
}

impl From<Plan> for Slice {
    fn from(plan: Plan) -> Self {
        plan.0
    }
}

/// What a plan was made for. A store has at most one plan for each value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MadeFor {
    /// A project: its default plan, which verbs use if no other is named.
    Project(String),
    /// A plan file, by its real path.
    File(String),
    /// A conversation: the plan that it started with.
    Conversation(AttachmentKey),
}

/// Rules of one plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// Maximum of items in progress in the plan; if `None`, one per worker.
    pub max_in_progress: Option<u32>,
    /// The evidence that an item needs to be completed.
    pub demand: Option<Level>,
    /// Archived: overviews leave the plan out. It has no other effect.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// Shared: workers (`punchlist work`) take its items.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

/// The state of a plan as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Work is left, or there never was any.
    #[default]
    Open,
    /// Every item is completed or cancelled.
    Drained,
    /// A turn ended although items were open.
    Stopped,
}

impl End {
    /// The name in stores and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Drained => "drained",
            Self::Stopped => "stopped",
        }
    }

    /// The name in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Drained => "finished",
            Self::Stopped => "stopped with open items",
        }
    }
}

/// How much of a plan is done, counted in its leaves; see [`Plan::leaves`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Progress {
    pub completed: u32,
    pub total: u32,
    /// Rounded. 0 if there is nothing to do; 100 only if nothing is open.
    pub percent: u32,
}

impl Progress {
    /// Progress from the two counts. `is_open` says whether any item is open, even one that is not
    /// a leaf, such as an item with a command whose sub-items are all done.
    pub fn of(completed: u32, total: u32, is_open: bool) -> Self {
        let (done, all) = (u64::from(completed), u64::from(total));
        let rounded = (done * 200 + all).checked_div(all * 2).unwrap_or(0);
        let most = if is_open || completed < total { 99 } else { 100 };
        Self { completed, total, percent: u32::try_from(rounded).unwrap_or(most).min(most) }
    }

    /// Whether nothing is left.
    pub fn is_over(self) -> bool {
        self.percent == 100
    }
}

impl Plan {
    /// An empty plan at revision 0.
    pub fn new(id: PlanId, project: impl Into<String>, at: Timestamp) -> Self {
        Self::from_all(Slice::new(id, project, at))
    }

    /// Makes a plan from a slice that has all items. For stores, which know whether it has.
    pub fn from_all(slice: Slice) -> Self {
        Self(Slice { is_whole: true, ..slice })
    }

    /// The ready item with the lowest priority number, then the lowest position.
    pub fn next_ready(&self) -> Option<&Item> {
        self.next_ready_of(self.items.values())
    }

    /// The items that progress counts: those without sub-items, neither cancelled nor superseded.
    /// Items on a worker's own list do not count.
    pub fn leaves(&self) -> BTreeSet<Number> {
        let counts = |item: &&Item| {
            !item.is_superseded() && item.status != Status::Cancelled && !item.is_workers()
        };
        let counted = || self.items.values().filter(counts);
        let above: BTreeSet<Number> = counted().filter_map(|it| it.parent).collect();
        counted().map(|it| it.number).filter(|it| !above.contains(it)).collect()
    }

    /// How much of the plan is done.
    pub fn progress(&self) -> Progress {
        let leaves = self.leaves();
        let is_done = |it: &Number| self.get(*it).is_some_and(|it| it.status == Status::Completed);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let is_open = self.items.values().any(|it| it.is_open() && !it.is_workers());
        let done = leaves.iter().filter(|it| is_done(it)).count();
        Progress::of(count(done), count(leaves.len()), is_open)
    }

    /// What the counts of the header, `placed` and `open`, should be.
    ///
    /// For tests and `doctor`.
    pub fn recount(&self) -> (u32, u32) {
        let placed = self.items.values().filter(|it| it.position.is_some()).count();
        let open = self.items.values().filter(|it| it.is_open()).count();
        (u32::try_from(placed).unwrap_or(u32::MAX), u32::try_from(open).unwrap_or(u32::MAX))
    }
}
