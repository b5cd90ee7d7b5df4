//! A plan: a list with all its items, and what follows from them.
//!
//! A [`Plan`] is whole. What a decision needs of one is a [`Slice`]: every plan is also a slice, but no slice
//! becomes a plan, unless a store has loaded all items into it. Views take a plan, so nobody shows a part for
//! the whole.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::{Number, PlanId};
use crate::item::{Item, Level, Status};
use crate::slice::Slice;
use crate::store::AttachmentKey;

/// A durable list of things to do, with all its items. Its fields are those of [`Slice`].
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

/// What a plan was made for. At most one plan of a store was made for the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MadeFor {
    /// A project: its own plan, which verbs work on where nothing else is named.
    Project(String),
    /// A plan file, by its real path.
    File(String),
    /// A conversation: the plan that it began with.
    Conversation(AttachmentKey),
}

/// Rules of one plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// Most items in progress at once in the plan; without it, one per worker.
    pub max_in_progress: Option<u32>,
    /// The evidence that an item needs to count as done.
    pub demand: Option<Level>,
    /// Put away: overviews leave it out. Nothing else follows from it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

/// How a plan stands as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Work is left, or none was ever put down.
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

/// How far a plan has come, counted in its leaves; see [`Plan::leaves`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Progress {
    pub completed: u32,
    pub total: u32,
    /// Rounded; 0 when there is nothing to do, and 100 only when nothing is open.
    pub percent: u32,
}

impl Progress {
    /// From the two counts, and whether anything is open that may not be among them: an item with a command
    /// of its own, say, under which everything is done.
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

    /// The plan that a slice is which has all items: for stores, which know that.
    pub fn from_all(slice: Slice) -> Self {
        Self(Slice { is_whole: true, ..slice })
    }

    /// The items that progress counts: those that no other one is under, of all that are neither cancelled
    /// nor superseded. What a worker has on a list of its own is no item of the plan.
    pub fn leaves(&self) -> BTreeSet<Number> {
        let counts = |item: &&Item| {
            !item.is_superseded() && item.status != Status::Cancelled && !item.is_workers()
        };
        let counted = || self.items.values().filter(counts);
        let above: BTreeSet<Number> = counted().filter_map(|it| it.parent).collect();
        counted().map(|it| it.number).filter(|it| !above.contains(it)).collect()
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        let leaves = self.leaves();
        let is_done = |it: &Number| self.get(*it).is_some_and(|it| it.status == Status::Completed);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let is_open = self.items.values().any(|it| it.is_open() && !it.is_workers());
        let done = leaves.iter().filter(|it| is_done(it)).count();
        Progress::of(count(done), count(leaves.len()), is_open)
    }

    /// The list without the header's counts being believed: what they should be.
    ///
    /// For tests and `doctor`; only a whole plan can answer.
    pub fn recount(&self) -> (u32, u32) {
        let placed = self.items.values().filter(|it| it.position.is_some()).count();
        let open = self.items.values().filter(|it| it.is_open()).count();
        (u32::try_from(placed).unwrap_or(u32::MAX), u32::try_from(open).unwrap_or(u32::MAX))
    }
}
