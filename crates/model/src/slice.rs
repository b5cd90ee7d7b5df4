//! A part of a plan: the header, and the items that a decision needs.
//!
//! A store does not load every item of a large plan for every change. A [`Slice`] has the complete
//! header, and only the items that [`crate::needs`] describes. So the header has the counts that rules
//! need, and no decision may count `items` instead.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::goal::Goal;
use crate::id::{Number, PlanId, Position, Revision};
use crate::item::{Item, Level, Status, Verification};
use crate::plan::{End, MadeFor, Plan, Rules};

/// A part of a plan: the complete header, and some of the items or all of them.
#[derive(Clone, PartialEq, Debug)]
pub struct Slice {
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
    /// The loaded items, by number.
    pub items: BTreeMap<Number, Item>,
    /// The next ready item of the whole plan, if [`Needs::next`](crate::needs::Needs::next) asked for
    /// it. A slice has items whose dependencies and sub-items are not loaded, so it cannot find out
    /// by itself which item is ready.
    pub next: Option<Number>,
    /// Whether all items are loaded.
    pub(crate) is_whole: bool,
}

impl Slice {
    /// The header of a plan at revision 0, without items.
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
            next: None,
            is_whole: false,
        }
    }

    /// The slice without its items.
    #[must_use]
    pub fn header(&self) -> Self {
        Self {
            items: BTreeMap::new(),
            is_whole: false,
            project: self.project.clone(),
            name: self.name.clone(),
            made_for: self.made_for.clone(),
            title: self.title.clone(),
            goal: self.goal.clone(),
            ..*self
        }
    }

    /// Whether the slice has all items of its plan.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The plan, if all its items were loaded.
    pub fn whole(self) -> Option<Plan> {
        self.is_whole.then(|| Plan::from_all(self))
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

    /// Of these items, the ready one with the lowest priority number, then the lowest position.
    /// Their dependencies and sub-items must be loaded.
    pub(crate) fn next_ready_of<'a>(
        &'a self,
        items: impl IntoIterator<Item = &'a Item>,
    ) -> Option<&'a Item> {
        let parents = self.open_parents();
        items
            .into_iter()
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

    /// The position after the last item.
    pub fn back(&self) -> Position {
        Position(self.placed.saturating_add(1))
    }
}
