//! What a decision needs of a plan.
//!
//! Large plans are not loaded whole for every change. A [`Slice`] has the header, which is always whole, and
//! those items that [`crate::needs`] names. So the header carries the counts that rules ask for, and nothing
//! in a decision may count `items` instead.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::goal::Goal;
use crate::id::{Number, PlanId, Position, Revision};
use crate::item::{Item, Level, Status, Verification};
use crate::plan::{End, MadeFor, Plan, Rules};

/// The part of a plan that somebody needs: the whole header, and some of the items.
#[derive(Clone, PartialEq, Debug)]
pub struct Slice {
    /// Which plan.
    pub id: PlanId,
    /// The project's root directory, as text: all worktrees of a repository share one.
    pub project: String,
    /// How people call it, unique in the project.
    pub name: Option<String>,
    /// What it was made for: the plan is found by it.
    pub made_for: Option<MadeFor>,
    /// What it is about.
    pub title: String,
    /// Goes up by one with each change.
    pub revision: Revision,
    /// What holds here beyond the common rules.
    pub rules: Rules,
    /// What the list is for.
    pub goal: Option<Box<Goal>>,
    /// How the last turn left it.
    pub end: End,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The number that the next new item gets.
    pub next_number: Number,
    /// How many items have a position.
    pub placed: u32,
    /// How many items are open.
    pub open: u32,
    /// The items by number, as many as were loaded.
    pub items: BTreeMap<Number, Item>,
    /// Whether these are all items.
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
            is_whole: false,
        }
    }

    /// The plan without its items: what every slice has.
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

    /// Whether it has all items of its plan.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The plan, if all its items were loaded.
    pub fn whole(self) -> Option<Plan> {
        self.is_whole.then(|| Plan::from_all(self))
    }

    /// The item with that number, superseded ones included.
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

    /// The items directly under one, in order.
    pub fn children(&self, parent: Number) -> Vec<&Item> {
        let mut items: Vec<&Item> = self
            .items
            .values()
            .filter(|it| it.parent == Some(parent) && !it.is_superseded())
            .collect();
        items.sort_by_key(|it| it.position);
        items
    }

    /// The dependencies that keep an item from being ready: open or cancelled ones.
    ///
    /// What was superseded is history and blocks nothing.
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

    /// Pending, dependencies completed, no open item under it, not waiting.
    pub fn is_ready(&self, item: &Item) -> bool {
        let is_over = |it: &Item| it.parent == Some(item.number) && it.is_open();
        self.could_begin(item) && !self.items.values().any(is_over)
    }

    /// Whether nothing but an open item under it can be in its way.
    fn could_begin(&self, item: &Item) -> bool {
        item.status == Status::Pending
            && !item.is_superseded()
            && item.waiting_on.is_none()
            && self.blockers(item).next().is_none()
    }

    /// The same for who asks of many: `parents` is [`Self::open_parents`].
    pub fn is_ready_among(&self, item: &Item, parents: &BTreeSet<Number>) -> bool {
        self.could_begin(item) && !parents.contains(&item.number)
    }

    /// The items that have an open one under them.
    pub fn open_parents(&self) -> BTreeSet<Number> {
        self.items.values().filter(|it| it.is_open()).filter_map(|it| it.parent).collect()
    }

    /// Of the ready items, the one with the lowest priority, then position.
    pub fn next_ready(&self) -> Option<&Item> {
        let parents = self.open_parents();
        self.items
            .values()
            .filter(|it| self.is_ready_among(it, &parents))
            .min_by_key(|it| (it.priority.unwrap_or(u32::MAX), it.position))
    }

    /// The evidence that an item needs to count as done, beyond the agent's word.
    pub fn demanded(&self, item: &Item) -> Option<Level> {
        let by_check = item.check.is_some().then_some(Level::Checked);
        by_check.max(self.rules.demand).filter(|level| *level > Level::Reported)
    }

    /// What evidence says of an item. `stale` is the caller's to know: it has looked at the files.
    pub fn verification(&self, item: &Item, stale: bool) -> Verification {
        let Some(demanded) = self.demanded(item) else { return Verification::None };
        // The newest word counts: a check that failed after an earlier pass is a failure, and
        // a person's approval after a failed check settles it.
        match item.evidence.iter().rfind(|it| it.level > Level::Reported) {
            None => Verification::Required,
            Some(last) if !last.passed() => Verification::Failed,
            Some(last) if stale && last.level == Level::Checked => Verification::Stale,
            Some(_) if item.evidence_level() >= Some(demanded) => Verification::Passed,
            Some(_) => Verification::Required,
        }
    }

    /// The end of the list, where the next item would go.
    pub fn back(&self) -> Position {
        Position(self.placed.saturating_add(1))
    }
}
