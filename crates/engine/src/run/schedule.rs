//! Decides which items a run does, and in which order. Pure.
//!
//! Sub-items come before their parent, and they wait for everything that the parent depends on. An
//! item that cannot be done in this run also holds the items that depend on it; each has a reason.

#[cfg(test)]
mod tests;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use punchlist_model::{Item, Number, Plan, Status};

use super::steps::sub_lists;

/// The chosen items.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Chosen {
    /// All items.
    #[default]
    All,
    /// These items and their sub-items. Their dependencies must be completed already.
    Only(BTreeSet<Number>),
    /// This item and all that come after it in the list. Items before it are ignored.
    From(Number),
}

/// How an item is done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Task {
    /// Run the item's command, its check, or both.
    Step,
    /// Let an agent do the item.
    Agent(String),
    /// Ask a person whether the item is done.
    ByHand,
}

/// Who can answer questions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Attendance {
    /// Whether a person can be asked.
    pub(crate) person: bool,
    /// Whether all approvals are given beforehand.
    pub(crate) yes: bool,
    /// Items with an answer that no run has used yet.
    pub(crate) answered: BTreeSet<Number>,
}

/// Why an item is not done in this run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Held {
    /// It depends on this item, which will not be done either.
    After(Number),
    /// This sub-item will not be done.
    Under(Number),
    /// It was not chosen.
    NotChosen,
    /// It waits for a person or an event.
    Waiting(String),
    /// A person must do it, and nobody is there.
    ByHand,
    /// A person must allow it, and nobody is there.
    Approval,
    /// It was interrupted in an earlier run, and nobody said that it may run again.
    Interrupted,
    /// Another worker holds it.
    Claimed(String),
    /// Its check may not run, for this reason.
    Check(&'static str),
}

/// An item that the run will do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Planned {
    /// The item.
    pub number: Number,
    /// How it is done.
    pub task: Task,
    /// The indexes in the schedule of the items that must be done before.
    pub after: Vec<usize>,
}

/// What a run does, and in which order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// The items that are done, in the order of the list.
    pub planned: Vec<Planned>,
    /// The items that are not done, with the reason.
    pub held: BTreeMap<Number, Held>,
}

/// The sub-items of each item, in order. It is built once, because finding them means reading every
/// item.
pub(crate) struct Tree(BTreeMap<Number, Vec<Number>>);

impl Tree {
    /// The tree of a whole plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut children: BTreeMap<Number, Vec<Number>> = BTreeMap::new();
        for item in plan.listed().into_iter().filter(|it| !sub_lists::is_entry(it)) {
            if let Some(parent) = item.parent {
                children.entry(parent).or_default().push(item.number);
            }
        }
        Self(children)
    }

    fn under(&self, number: Number) -> &[Number] {
        self.0.get(&number).map_or(&[], Vec::as_slice)
    }

    /// How an item is done; `None` for a group, which only has sub-items.
    pub(crate) fn task(&self, item: &Item) -> Option<Task> {
        if let Some(agent) = &item.agent_type {
            return Some(Task::Agent(agent.clone()));
        }
        if item.run.is_some() || item.check.is_some() {
            return Some(Task::Step);
        }
        self.under(item.number).is_empty().then_some(Task::ByHand)
    }

    /// The groups that are finished once `from` is closed, innermost first. `closed` are items that
    /// are closed in the same change; the groups are added to it.
    pub(crate) fn finished_by(
        &self,
        plan: &Plan,
        from: Number,
        closed: &mut BTreeSet<Number>,
    ) -> Vec<Number> {
        closed.insert(from);
        let mut groups = Vec::new();
        for group in parents(plan, from).filter_map(|it| plan.get(it)) {
            let is_left = |it: &Number| is_open(plan, *it) && !closed.contains(it);
            let is_over = !self.under(group.number).iter().any(is_left);
            if !group.is_open() || self.task(group).is_some() || !is_over {
                break;
            }
            closed.insert(group.number);
            groups.push(group.number);
        }
        groups
    }

    /// Open groups without open sub-items. The file may have been ticked by hand.
    pub(crate) fn idle(&self, plan: &Plan) -> Vec<Number> {
        let mut groups: Vec<Number> = Vec::new();
        // In reverse order inner groups come first, because sub-items come after their parent.
        let open = |it: &&Item| it.is_open() && !sub_lists::is_entry(it);
        for item in plan.listed().into_iter().rev().filter(open) {
            let is_left = |it: &Number| is_open(plan, *it) && !groups.contains(it);
            if self.task(item).is_none() && !self.under(item.number).iter().any(is_left) {
                groups.push(item.number);
            }
        }
        groups
    }
}

fn is_open(plan: &Plan, number: Number) -> bool {
    plan.get(number).is_some_and(Item::is_open)
}

impl Schedule {
    /// Plans the open items. `cannot_run` are items that cannot be done, with the reason.
    pub(crate) fn plot(
        plan: &Plan,
        tree: &Tree,
        chosen: &Chosen,
        attendance: &Attendance,
        cannot_run: &BTreeMap<Number, Held>,
    ) -> Self {
        let map = Map::of(plan, tree, chosen);
        let held = map.held(attendance, cannot_run);
        let planned: Vec<&Node<'_>> = map
            .nodes
            .iter()
            .filter(|it| it.task.is_some() && !held.contains_key(&it.item.number))
            .collect();
        let places: BTreeMap<Number, usize> =
            planned.iter().enumerate().map(|(at, it)| (it.item.number, at)).collect();
        let planned = planned
            .into_iter()
            .filter_map(|node| {
                let mut after = BTreeSet::new();
                for number in node.after.iter().chain(&node.children) {
                    map.ends(*number, &places, &mut after);
                }
                let (number, task) = (node.item.number, node.task.clone()?);
                Some(Planned { number, task, after: after.into_iter().collect() })
            })
            .collect();
        Self { planned, held }
    }
}

/// An open item with its links.
struct Node<'a> {
    item: &'a Item,
    task: Option<Task>,
    is_chosen: bool,
    /// The dependencies that are not done, including those of the ancestors.
    after: Vec<Number>,
    /// The open sub-items.
    children: Vec<Number>,
}

struct Map<'a> {
    nodes: Vec<Node<'a>>,
    /// The index of each item in `nodes`.
    places: BTreeMap<Number, usize>,
}

impl<'a> Map<'a> {
    fn of(plan: &'a Plan, tree: &Tree, chosen: &Chosen) -> Self {
        let listed = plan.listed();
        let first = match chosen {
            Chosen::All | Chosen::Only(_) => 0,
            Chosen::From(number) => listed.iter().position(|it| it.number == *number).unwrap_or(0),
        };
        let is_above = |at: usize| at < first;
        // A group above the chosen item is included, so that it can be finished.
        let begun: BTreeSet<Number> = match chosen {
            Chosen::From(number) => parents(plan, *number).collect(),
            Chosen::All | Chosen::Only(_) => BTreeSet::new(),
        };
        let mut nodes = Vec::new();
        let mut left_out = BTreeSet::new();
        for (at, item) in listed.into_iter().enumerate() {
            // Entries of an agent's own list are done by that agent alone.
            if !item.is_open() || sub_lists::is_entry(item) {
                continue;
            }
            let task = tree.task(item);
            if is_above(at) && !(task.is_none() && begun.contains(&item.number)) {
                left_out.insert(item.number);
                continue;
            }
            let is_chosen = match chosen {
                Chosen::All | Chosen::From(_) => true,
                Chosen::Only(numbers) => {
                    numbers.contains(&item.number)
                        || parents(plan, item.number).any(|it| numbers.contains(&it))
                }
            };
            nodes.push(Node { item, task, is_chosen, after: Vec::new(), children: Vec::new() });
        }
        let places: BTreeMap<Number, usize> =
            nodes.iter().enumerate().map(|(at, it)| (it.item.number, at)).collect();
        for node in &mut nodes {
            let number = node.item.number;
            let above: BTreeSet<Number> = parents(plan, number).collect();
            let mut after = node.item.depends_on.clone();
            for group in above.iter().filter_map(|it| plan.get(*it)) {
                // Sub-items of a group wait for the group's dependencies, except those inside the
                // group itself: an item with its own command depends on its sub-items.
                let is_outside = |it: &&Number| !parents(plan, **it).any(|it| it == group.number);
                after.extend(group.depends_on.iter().filter(is_outside));
            }
            let is_left = |it: &Number| {
                let done = |it: &Item| it.status == Status::Completed || it.is_superseded();
                plan.get(*it).is_some_and(|it| !done(it)) && !left_out.contains(it)
            };
            // A dependency on an ancestor would never end, so it is ignored; reading the file warns
            // about it.
            node.after =
                after.into_iter().filter(|it| is_left(it) && !above.contains(it)).collect();
            let children = tree.under(number).iter().copied();
            node.children = children.filter(|it| places.contains_key(it)).collect();
        }
        Self { nodes, places }
    }

    /// The items that cannot be done: first for their own reasons, then because of others.
    fn held(
        &self,
        attendance: &Attendance,
        cannot_run: &BTreeMap<Number, Held>,
    ) -> BTreeMap<Number, Held> {
        let mut held: BTreeMap<Number, Held> = BTreeMap::new();
        let mut waits: BTreeMap<Number, Vec<(Number, bool)>> = BTreeMap::new();
        let mut queue: VecDeque<Number> = VecDeque::new();
        for node in &self.nodes {
            let number = node.item.number;
            if let Some(why) = node.why(attendance).or_else(|| cannot_run.get(&number).cloned()) {
                held.insert(number, why);
                queue.push_back(number);
            }
            for on in &node.after {
                // A cancelled item has no node and will never be done.
                if self.places.contains_key(on) {
                    waits.entry(*on).or_default().push((number, false));
                } else if let Entry::Vacant(free) = held.entry(number) {
                    free.insert(Held::After(*on));
                    queue.push_back(number);
                }
            }
            for child in &node.children {
                waits.entry(*child).or_default().push((number, true));
            }
        }
        while let Some(number) = queue.pop_front() {
            for (other, is_parent) in waits.get(&number).into_iter().flatten() {
                if !held.contains_key(other) {
                    let why = if *is_parent { Held::Under(number) } else { Held::After(number) };
                    held.insert(*other, why);
                    queue.push_back(*other);
                }
            }
        }
        held
    }

    /// The indexes of the calls that finish an item: its own, or those of its sub-items.
    fn ends(&self, number: Number, of: &BTreeMap<Number, usize>, ends: &mut BTreeSet<usize>) {
        let mut left = vec![number];
        while let Some(number) = left.pop() {
            if let Some(at) = of.get(&number) {
                ends.insert(*at);
            } else if let Some(node) = self.places.get(&number).and_then(|at| self.nodes.get(*at)) {
                left.extend(&node.children);
            }
        }
    }
}

impl Node<'_> {
    fn why(&self, attendance: &Attendance) -> Option<Held> {
        if !self.is_chosen {
            return Some(Held::NotChosen);
        }
        if let Some(on) = &self.item.waiting_on {
            return Some(Held::Waiting(on.clone()));
        }
        let can_ask = attendance.person || attendance.answered.contains(&self.item.number);
        match &self.task {
            Some(Task::ByHand) if !can_ask => Some(Held::ByHand),
            Some(Task::Step | Task::Agent(_)) if self.item.approve => {
                (!can_ask && !attendance.yes).then_some(Held::Approval)
            }
            Some(Task::Step | Task::Agent(_) | Task::ByHand) | None => None,
        }
    }
}

/// The ancestors of an item, nearest first. It ends at a cycle, which rules forbid.
fn parents(plan: &Plan, number: Number) -> impl Iterator<Item = Number> {
    let mut visited = BTreeSet::from([number]);
    let mut at = plan.get(number).and_then(|it| it.parent);
    std::iter::from_fn(move || {
        let number = at.filter(|it| visited.insert(*it))?;
        at = plan.get(number).and_then(|it| it.parent);
        Some(number)
    })
}
