//! A plan: its header, its items, and what is derived from them.
//!
//! A [`Plan`] may be a *slice*: the header is complete, but `items` has only the items that a
//! decision needs (see [`crate::needs`]). So the header has the counts that rules need, and no
//! decision may count `items` instead.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::goal::Goal;
use crate::id::{Number, PlanId, Position, Revision};
use crate::item::{Item, Level, Status, Verification};
use crate::store::AttachmentKey;

/// A durable list of items, with its rules, revision and goal.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The plan's id.
    pub id: PlanId,
    /// The project's root directory. All worktrees of a repository are one project.
    pub project: String,
    /// The name that people use, unique in the project.
    pub name: Option<String>,
    /// What the plan was made for. The plan is found by it.
    pub made_for: Option<MadeFor>,
    /// The plan's title.
    pub title: String,
    /// Goes up by one with each change.
    pub revision: Revision,
    /// Rules of this plan, beyond the common ones.
    pub rules: Rules,
    /// What the plan is for.
    pub goal: Option<Box<Goal>>,
    /// Whether work is left, and how the last turn ended.
    pub end: End,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The number of the next new item.
    pub next_number: Number,
    /// How many items have a position.
    pub placed: u32,
    /// How many items are open.
    pub open: u32,
    /// The items by number: all of them, or a slice.
    pub items: BTreeMap<Number, Item>,
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
        Self {
            id,
            project: project.into(),
            name: None,
            made_for: None,
            title: String::new(),
            revision: Revision(0),
            rules: Rules::default(),
            goal: None,
            end: End::Open,
            created_at: at,
            updated_at: at,
            next_number: Number(1),
            placed: 0,
            open: 0,
            items: BTreeMap::new(),
        }
    }

    /// The item with this number, which may be superseded.
    pub fn get(&self, number: Number) -> Option<&Item> {
        self.items.get(&number)
    }

    /// The items on the list, in order.
    pub fn listed(&self) -> Vec<&Item> {
        let mut items: Vec<&Item> = self.items.values().filter(|it| !it.is_superseded()).collect();
        items.sort_by_key(|it| it.position);
        items
    }

    /// The item at a position.
    pub fn at(&self, position: Position) -> Option<&Item> {
        self.items.values().find(|it| it.position == Some(position))
    }

    /// The items in progress, in order.
    pub fn in_progress(&self) -> impl Iterator<Item = &Item> {
        self.items.values().filter(|it| it.status == Status::InProgress && !it.is_superseded())
    }

    /// The direct sub-items of an item, in order.
    pub fn children(&self, parent: Number) -> Vec<&Item> {
        let mut items: Vec<&Item> = self
            .items
            .values()
            .filter(|it| it.parent == Some(parent) && !it.is_superseded())
            .collect();
        items.sort_by_key(|it| it.position);
        items
    }

    /// The dependencies that keep an item from being ready: those that are open or cancelled.
    ///
    /// Superseded items block nothing.
    pub fn blockers<'a>(&'a self, item: &'a Item) -> impl Iterator<Item = &'a Item> {
        item.depends_on
            .iter()
            .filter_map(|number| self.get(*number))
            .filter(|dep| dep.status != Status::Completed && !dep.is_superseded())
    }

    /// A dependency is open or cancelled.
    pub fn is_blocked(&self, item: &Item) -> bool {
        item.is_open() && self.blockers(item).next().is_some()
    }

    /// Whether the item is pending, its dependencies are completed, no sub-item is open, and it
    /// does not wait.
    pub fn is_ready(&self, item: &Item) -> bool {
        let is_over = |it: &Item| it.parent == Some(item.number) && it.is_open();
        self.could_begin(item) && !self.items.values().any(is_over)
    }

    /// Whether the item is ready, except that sub-items may be open.
    fn could_begin(&self, item: &Item) -> bool {
        item.status == Status::Pending
            && !item.is_superseded()
            && item.waiting_on.is_none()
            && self.blockers(item).next().is_none()
    }

    /// Like [`Self::is_ready`], for callers that ask about many items: `parents` is
    /// [`Self::open_parents`].
    pub fn is_ready_among(&self, item: &Item, parents: &BTreeSet<Number>) -> bool {
        self.could_begin(item) && !parents.contains(&item.number)
    }

    /// The items that have an open sub-item.
    pub fn open_parents(&self) -> BTreeSet<Number> {
        self.items.values().filter(|it| it.is_open()).filter_map(|it| it.parent).collect()
    }

    /// The ready item with the lowest priority number, then the lowest position.
    pub fn next_ready(&self) -> Option<&Item> {
        let parents = self.open_parents();
        self.items
            .values()
            .filter(|it| self.is_ready_among(it, &parents))
            .min_by_key(|it| (it.priority.unwrap_or(u32::MAX), it.position))
    }

    /// The evidence that an item needs to be completed, beyond the worker's report.
    pub fn demanded(&self, item: &Item) -> Option<Level> {
        let by_check = item.check.is_some().then_some(Level::Checked);
        by_check.max(self.rules.demand).filter(|level| *level > Level::Reported)
    }

    /// The verification of an item. The caller has looked at the covered files and says whether the
    /// evidence is `stale`.
    pub fn verification(&self, item: &Item, stale: bool) -> Verification {
        let Some(demanded) = self.demanded(item) else { return Verification::None };
        // The newest evidence counts. A failed check after an earlier success is a failure; a
        // person's approval after a failed check is a success.
        match item.evidence.iter().rfind(|it| it.level > Level::Reported) {
            None => Verification::Required,
            Some(last) if !last.passed() => Verification::Failed,
            Some(last) if stale && last.level == Level::Checked => Verification::Stale,
            Some(_) if item.evidence_level() >= Some(demanded) => Verification::Passed,
            Some(_) => Verification::Required,
        }
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

    /// The position after the last item.
    pub fn back(&self) -> Position {
        Position(self.placed.saturating_add(1))
    }

    /// What the counts of the header, `placed` and `open`, should be.
    ///
    /// For tests and `doctor`. Needs the whole plan.
    pub fn recount(&self) -> (u32, u32) {
        let placed = self.items.values().filter(|it| it.position.is_some()).count();
        let open = self.items.values().filter(|it| it.is_open()).count();
        (u32::try_from(placed).unwrap_or(u32::MAX), u32::try_from(open).unwrap_or(u32::MAX))
    }
}
