//! Which items a run takes on, and what each of them waits for. Pure.
//!
//! What is under an item comes before it, and what an item waits for, everything under it waits for too.
//! An item that cannot be done in this run holds those that wait for it; each is told by what.

#[cfg(test)]
mod tests;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use punchlist_model::{Item, Number, Plan, Status};

use super::steps::sub_lists;

/// Which items are meant.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Chosen {
    /// All of them.
    #[default]
    All,
    /// These, and what is under them. What they wait for must be done already.
    Only(BTreeSet<Number>),
    /// This one and all that stand below it. What stands above holds nobody up.
    From(Number),
}

/// What there is to do for an item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Task {
    /// Run its command, its check, or both.
    Step,
    /// Have an agent do it.
    Agent(String),
    /// Ask a person whether it is done.
    ByHand,
}

/// Who is there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct There {
    /// Somebody can be asked.
    pub(crate) person: bool,
    /// Every approval is given beforehand.
    pub(crate) yes: bool,
    /// Items about which a person has given an answer that no run has heard yet.
    pub(crate) answered: BTreeSet<Number>,
}

/// Why an item is not done in this run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Held {
    /// It waits for this one, which will not be done either.
    After(Number),
    /// This one is under it, and will not be done.
    Under(Number),
    /// It was not asked for.
    NotChosen,
    /// It waits for somebody or something.
    Waiting(String),
    /// Somebody must do it, and nobody is there.
    ByHand,
    /// Somebody must allow it, and nobody is there.
    Approval,
    /// It was under way when an earlier run was ended, and nobody said that it may run again.
    Interrupted,
    /// Somebody else is at it.
    Claimed(String),
    /// Its check may not run, and why.
    Check(&'static str),
}

/// An item that the run takes on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Planned {
    /// Which item.
    pub number: Number,
    /// What there is to do for it.
    pub task: Task,
    /// The places in the schedule of those that must be done before.
    pub after: Vec<usize>,
}

/// The way through a plan.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// What is done, in the order of the list.
    pub planned: Vec<Planned>,
    /// What is not, and why.
    pub held: BTreeMap<Number, Held>,
}

/// What is under each item, in order. Made once: looking for it means looking at every item.
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

    /// What there is to do for an item, if anything. One that only holds others together has nothing.
    pub(crate) fn task(&self, item: &Item) -> Option<Task> {
        if let Some(agent) = &item.agent_type {
            return Some(Task::Agent(agent.clone()));
        }
        if item.run.is_some() || item.check.is_some() {
            return Some(Task::Step);
        }
        self.under(item.number).is_empty().then_some(Task::ByHand)
    }

    /// Items that hold others together and whose last open one is `from`, innermost first. `closed` are
    /// items that are closed together with it, and gets the groups as well.
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

    /// Groups without anything open under them: a file may have been ticked off by hand.
    pub(crate) fn idle(&self, plan: &Plan) -> Vec<Number> {
        let mut groups: Vec<Number> = Vec::new();
        // From the end, since what is under an item stands behind it; so inner groups come first.
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
    /// The way through what is open. `not` are items that cannot be done, and why.
    pub(crate) fn plot(
        plan: &Plan,
        tree: &Tree,
        chosen: &Chosen,
        there: &There,
        not: &BTreeMap<Number, Held>,
    ) -> Self {
        let map = Map::of(plan, tree, chosen);
        let held = map.held(there, not);
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

/// An open item, and what is around it.
struct Node<'a> {
    item: &'a Item,
    task: Option<Task>,
    is_chosen: bool,
    /// What it waits for and is not done; what its parents wait for included.
    after: Vec<Number>,
    /// What is open under it.
    children: Vec<Number>,
}

struct Map<'a> {
    nodes: Vec<Node<'a>>,
    /// Where in `nodes` an item is.
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
        // What holds a chosen item together with others is worked on as well.
        let begun: BTreeSet<Number> = match chosen {
            Chosen::From(number) => parents(plan, *number).collect(),
            Chosen::All | Chosen::Only(_) => BTreeSet::new(),
        };
        let mut nodes = Vec::new();
        let mut left_out = BTreeSet::new();
        for (at, item) in listed.into_iter().enumerate() {
            // What an agent has on a list of its own is nobody else's to do.
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
                // What is under a group waits for what the group waits for, unless that is under it too:
                // an item with a command of its own comes after those under it.
                let is_outside = |it: &&Number| !parents(plan, **it).any(|it| it == group.number);
                after.extend(group.depends_on.iter().filter(is_outside));
            }
            let is_left = |it: &Number| {
                let done = |it: &Item| it.status == Status::Completed || it.is_superseded();
                plan.get(*it).is_some_and(|it| !done(it)) && !left_out.contains(it)
            };
            // One that waits for what it is under would wait for ever; the reader of the file says so.
            node.after =
                after.into_iter().filter(|it| is_left(it) && !above.contains(it)).collect();
            let children = tree.under(number).iter().copied();
            node.children = children.filter(|it| places.contains_key(it)).collect();
        }
        Self { nodes, places }
    }

    /// What cannot be done, and why: first by itself, then because of others.
    fn held(&self, there: &There, not: &BTreeMap<Number, Held>) -> BTreeMap<Number, Held> {
        let mut held: BTreeMap<Number, Held> = BTreeMap::new();
        let mut waits: BTreeMap<Number, Vec<(Number, bool)>> = BTreeMap::new();
        let mut queue: VecDeque<Number> = VecDeque::new();
        for node in &self.nodes {
            let number = node.item.number;
            if let Some(why) = node.why(there).or_else(|| not.get(&number).cloned()) {
                held.insert(number, why);
                queue.push_back(number);
            }
            for on in &node.after {
                // A cancelled one is no node: nothing will come of it.
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

    /// The places whose end is an item's end: its own, or those of what is under it.
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
    fn why(&self, there: &There) -> Option<Held> {
        if !self.is_chosen {
            return Some(Held::NotChosen);
        }
        if let Some(on) = &self.item.waiting_on {
            return Some(Held::Waiting(on.clone()));
        }
        let can_ask = there.person || there.answered.contains(&self.item.number);
        match &self.task {
            Some(Task::ByHand) if !can_ask => Some(Held::ByHand),
            Some(Task::Step | Task::Agent(_)) if self.item.approve => {
                (!can_ask && !there.yes).then_some(Held::Approval)
            }
            Some(Task::Step | Task::Agent(_) | Task::ByHand) | None => None,
        }
    }
}

/// The items that one is under, nearest first. A circle, which rules forbid, would end it.
fn parents(plan: &Plan, number: Number) -> impl Iterator<Item = Number> {
    let mut seen = BTreeSet::from([number]);
    let mut at = plan.get(number).and_then(|it| it.parent);
    std::iter::from_fn(move || {
        let number = at.filter(|it| seen.insert(*it))?;
        at = plan.get(number).and_then(|it| it.parent);
        Some(number)
    })
}
