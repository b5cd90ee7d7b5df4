//! Decides which items a run does, and in which order. Pure.
//!
//! Sub-items are done before their parent, and after everything that the parent depends on. If an
//! item cannot be done in this run, the items that depend on it cannot be done either. The schedule
//! has a reason ([`Held`]) for each item that is not done.

#[cfg(test)]
mod tests;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use punchlist_model::{Item, Number, Plan, Status};

use crate::workers::sub_lists;

/// Which items the caller chose for this run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Chosen {
    /// All items.
    #[default]
    All,
    /// These items and their sub-items. A dependency that is not among them must be completed
    /// already.
    Only(BTreeSet<Number>),
    /// This item and all items after it in the list. Nothing waits for the items before it.
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

/// Whether this run can get answers and approvals from a person.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Attendance {
    /// Whether a person can be asked.
    pub(crate) person: bool,
    /// Whether all approvals were given beforehand, with `--yes`.
    pub(crate) yes: bool,
    /// Items whose question a person has answered after an earlier run; this run uses the answers.
    pub(crate) answered: BTreeSet<Number>,
}

/// Why an item is not done in this run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Held {
    /// It depends on this item, which is not done in this run either.
    After(Number),
    /// This sub-item of it is not done in this run.
    Under(Number),
    /// It was not chosen.
    NotChosen,
    /// It waits for a person or an event.
    Waiting(String),
    /// A person must do it, and no person can be asked.
    ByHand,
    /// A person must approve it, and no person can be asked.
    Approval,
    /// It was interrupted in an earlier run and has no permission to run again.
    Interrupted,
    /// Another worker holds it.
    Claimed(String),
    /// Its check is not allowed to run, for this reason.
    Check(&'static str),
}

/// An item that the run will do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Planned {
    /// The item.
    pub number: Number,
    /// How it is done.
    pub task: Task,
    /// The items that must be done before it, as indexes into [`Schedule::planned`].
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

/// The sub-items of each item, in the order of the list. An index: without it, each lookup would
/// read all items of the plan.
pub(crate) struct Tree(BTreeMap<Number, Vec<Number>>);

impl Tree {
    /// Builds the index of a plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut children: BTreeMap<Number, Vec<Number>> = BTreeMap::new();
        for item in plan.listed().into_iter().filter(|it| !sub_lists::is_entry(it)) {
            if let Some(parent) = item.parent {
                children.entry(parent).or_default().push(item.number);
            }
        }
        Self(children)
    }

    fn sub_items(&self, number: Number) -> &[Number] {
        self.0.get(&number).map_or(&[], Vec::as_slice)
    }

    /// How an item is done; `None` for a group, which has nothing to do except its sub-items.
    pub(crate) fn task(&self, item: &Item) -> Option<Task> {
        if let Some(agent) = &item.agent_type {
            return Some(Task::Agent(agent.clone()));
        }
        if item.run.is_some() || item.check.is_some() {
            return Some(Task::Step);
        }
        self.sub_items(item.number).is_empty().then_some(Task::ByHand)
    }

    /// The groups that are finished when the item `from` is closed, innermost first. `closed` has
    /// the items that the same change closes; `from` and the groups are added to it.
    pub(crate) fn finished_by(
        &self,
        plan: &Plan,
        from: Number,
        closed: &mut BTreeSet<Number>,
    ) -> Vec<Number> {
        closed.insert(from);
        let mut groups = Vec::new();
        for group in ancestors(plan, from).filter_map(|it| plan.get(it)) {
            let is_left = |it: &Number| is_open(plan, *it) && !closed.contains(it);
            let is_finished = !self.sub_items(group.number).iter().any(is_left);
            if !group.is_open() || self.task(group).is_some() || !is_finished {
                break;
            }
            closed.insert(group.number);
            groups.push(group.number);
        }
        groups
    }

    /// Open groups without open sub-items, innermost first. They exist if somebody ticked the
    /// sub-items in the plan file.
    pub(crate) fn finished_groups(&self, plan: &Plan) -> Vec<Number> {
        let mut groups: Vec<Number> = Vec::new();
        // In reverse order inner groups come first, because sub-items come after their parent.
        let open = |it: &&Item| it.is_open() && !sub_lists::is_entry(it);
        for item in plan.listed().into_iter().rev().filter(open) {
            let is_left = |it: &Number| is_open(plan, *it) && !groups.contains(it);
            if self.task(item).is_none() && !self.sub_items(item.number).iter().any(is_left) {
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
    /// Builds the schedule of the open items. `cannot_run` has items that cannot be done for
    /// reasons that the caller knows.
    pub(crate) fn build(
        plan: &Plan,
        tree: &Tree,
        chosen: &Chosen,
        attendance: &Attendance,
        cannot_run: &BTreeMap<Number, Held>,
    ) -> Self {
        let graph = Graph::of(plan, tree, chosen);
        let held = graph.held(attendance, cannot_run);
        let planned: Vec<&Node<'_>> = graph
            .nodes
            .iter()
            .filter(|it| it.task.is_some() && !held.contains_key(&it.item.number))
            .collect();
        let indexes: BTreeMap<Number, usize> =
            planned.iter().enumerate().map(|(at, it)| (it.item.number, at)).collect();
        let planned = planned
            .into_iter()
            .filter_map(|node| {
                let mut after = BTreeSet::new();
                for number in node.after.iter().chain(&node.children) {
                    graph.add_last_steps(*number, &indexes, &mut after);
                }
                let (number, task) = (node.item.number, node.task.clone()?);
                Some(Planned { number, task, after: after.into_iter().collect() })
            })
            .collect();
        Self { planned, held }
    }
}

/// An open item, and the items that must be done before it.
struct Node<'a> {
    item: &'a Item,
    task: Option<Task>,
    is_chosen: bool,
    /// The dependencies that are not completed, including those of its ancestors.
    after: Vec<Number>,
    /// The open sub-items.
    children: Vec<Number>,
}

/// The dependency graph of the open items.
struct Graph<'a> {
    nodes: Vec<Node<'a>>,
    /// The index of each item in `nodes`.
    indexes: BTreeMap<Number, usize>,
}

impl<'a> Graph<'a> {
    fn of(plan: &'a Plan, tree: &Tree, chosen: &Chosen) -> Self {
        let listed = plan.listed();
        let first = match chosen {
            Chosen::All | Chosen::Only(_) => 0,
            Chosen::From(number) => listed.iter().position(|it| it.number == *number).unwrap_or(0),
        };
        // The groups that contain the chosen item are included, although they come before it in the
        // list, so that they can be finished.
        let enclosing: BTreeSet<Number> = match chosen {
            Chosen::From(number) => ancestors(plan, *number).collect(),
            Chosen::All | Chosen::Only(_) => BTreeSet::new(),
        };
        let mut nodes = Vec::new();
        let mut left_out = BTreeSet::new();
        for (at, item) in listed.into_iter().enumerate() {
            // Only the agent itself works on the entries of its own list.
            if !item.is_open() || sub_lists::is_entry(item) {
                continue;
            }
            let task = tree.task(item);
            if at < first && !(task.is_none() && enclosing.contains(&item.number)) {
                left_out.insert(item.number);
                continue;
            }
            let is_chosen = match chosen {
                Chosen::All | Chosen::From(_) => true,
                Chosen::Only(numbers) => {
                    numbers.contains(&item.number)
                        || ancestors(plan, item.number).any(|it| numbers.contains(&it))
                }
            };
            nodes.push(Node { item, task, is_chosen, after: Vec::new(), children: Vec::new() });
        }
        let indexes: BTreeMap<Number, usize> =
            nodes.iter().enumerate().map(|(at, it)| (it.item.number, at)).collect();
        for node in &mut nodes {
            let number = node.item.number;
            let above: BTreeSet<Number> = ancestors(plan, number).collect();
            let mut after = node.item.depends_on.clone();
            for group in above.iter().filter_map(|it| plan.get(*it)) {
                // An item also waits for the dependencies of its ancestors, except those inside the
                // ancestor itself: an ancestor with its own command depends on its sub-items.
                let is_outside = |it: &&Number| !ancestors(plan, **it).any(|it| it == group.number);
                after.extend(group.depends_on.iter().filter(is_outside));
            }
            let is_left = |it: &Number| {
                let done = |it: &Item| it.status == Status::Completed || it.is_superseded();
                plan.get(*it).is_some_and(|it| !done(it)) && !left_out.contains(it)
            };
            // A dependency on an ancestor is ignored: the ancestor waits for its sub-items, so this
            // would be a deadlock. The parser of plan files warns about it.
            node.after =
                after.into_iter().filter(|it| is_left(it) && !above.contains(it)).collect();
            let children = tree.sub_items(number).iter().copied();
            node.children = children.filter(|it| indexes.contains_key(it)).collect();
        }
        Self { nodes, indexes }
    }

    /// The items that cannot be done: first those with a reason of their own, then all items that
    /// wait for one of these.
    fn held(
        &self,
        attendance: &Attendance,
        cannot_run: &BTreeMap<Number, Held>,
    ) -> BTreeMap<Number, Held> {
        let mut held: BTreeMap<Number, Held> = BTreeMap::new();
        // For each item: the items that wait for it, and whether they are its parent.
        let mut waits: BTreeMap<Number, Vec<(Number, bool)>> = BTreeMap::new();
        let mut queue: VecDeque<Number> = VecDeque::new();
        for node in &self.nodes {
            let number = node.item.number;
            let own = node.own_reason(attendance).or_else(|| cannot_run.get(&number).cloned());
            if let Some(why) = own {
                held.insert(number, why);
                queue.push_back(number);
            }
            for on in &node.after {
                // A cancelled item has no node and is never completed.
                if self.indexes.contains_key(on) {
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

    /// Adds to `steps` the scheduled items that must be done so that an item is finished: the item
    /// itself, or for a group its sub-items. `indexes` has the index of each scheduled item.
    fn add_last_steps(
        &self,
        number: Number,
        indexes: &BTreeMap<Number, usize>,
        steps: &mut BTreeSet<usize>,
    ) {
        let mut left = vec![number];
        while let Some(number) = left.pop() {
            if let Some(at) = indexes.get(&number) {
                steps.insert(*at);
            } else if let Some(node) = self.indexes.get(&number).and_then(|at| self.nodes.get(*at))
            {
                left.extend(&node.children);
            }
        }
    }
}

impl Node<'_> {
    /// Why the item itself cannot be done, whatever it depends on.
    fn own_reason(&self, attendance: &Attendance) -> Option<Held> {
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

/// The ancestors of an item, nearest first. Stops if the parents form a cycle, which the rules of
/// the plan forbid.
fn ancestors(plan: &Plan, number: Number) -> impl Iterator<Item = Number> {
    let mut visited = BTreeSet::from([number]);
    let mut at = plan.get(number).and_then(|it| it.parent);
    std::iter::from_fn(move || {
        let number = at.filter(|it| visited.insert(*it))?;
        at = plan.get(number).and_then(|it| it.parent);
        Some(number)
    })
}
