//! Replays a journal from an empty plan and compares the result with the file.
//!
//! `Plan::evolve` applies an event without checks, because a store only holds events that the rules
//! allowed. A file gives no such guarantee, so each event is checked against the plan before it is
//! applied.

use std::collections::BTreeSet;

use punchlist_model::event::{Delta, PlanDelta};
use punchlist_model::store::Entry;
use punchlist_model::{Event, Item, ItemId, Number, Plan, Position};

use super::bad;
use crate::fail::Fail;

/// Maximum of items in an imported plan.
const MOST: u32 = 100_000;

/// Checks that the journal, with its line numbers, leads to the plan.
pub(super) fn check(plan: &Plan, journal: &[(usize, Entry)]) -> Result<(), Fail> {
    let mut replayed = origin(plan, journal);
    let mut ids = BTreeSet::new();
    for (line, entry) in journal {
        step(&mut replayed, entry, &mut ids).map_err(|why| bad(*line, &why))?;
    }
    let differs = |what: &str| {
        Fail::usage(format!("the journal does not lead to the {what} that the file has"))
            .hint("the file was changed or cut; export the plan again.")
    };
    for (number, item) in &replayed.items {
        if plan.items.get(number) != Some(item) {
            return Err(differs(&format!("item {number}")));
        }
    }
    if plan.items.len() != replayed.items.len() {
        return Err(differs("number of items"));
    }
    if replayed != *plan {
        return Err(differs("header"));
    }
    links(plan)
}

/// The plan before its first change. Fields that no change touched have their final value from the
/// start.
fn origin(plan: &Plan, journal: &[(usize, Entry)]) -> Plan {
    let mut origin = Plan::new(plan.id, plan.project.clone(), plan.created_at);
    origin.name.clone_from(&plan.name);
    origin.title.clone_from(&plan.title);
    origin.rules = plan.rules;
    origin.goal.clone_from(&plan.goal);
    // Undoing from the last change to the first leaves each field with its first value.
    for (_, entry) in journal.iter().rev() {
        for event in entry.events.iter().rev() {
            if let Event::PlanChanged { deltas } = event {
                for delta in deltas.iter().filter(|it| !matches!(it, PlanDelta::End { .. })) {
                    delta.inverse().apply(&mut origin);
                }
            }
        }
    }
    origin
}

fn step(plan: &mut Plan, entry: &Entry, ids: &mut BTreeSet<ItemId>) -> Result<(), String> {
    if entry.plan != plan.id {
        return Err("an entry of another plan".to_owned());
    }
    let revision = plan.revision.0.checked_add(1).ok_or("the revision is too high")?;
    if entry.revision.0 != revision {
        return Err(format!("revision {} where {revision} comes next", entry.revision));
    }
    if entry.undoes.is_some_and(|undone| undone >= entry.revision) {
        return Err("it undoes a later change".to_owned());
    }
    if entry.events.is_empty() {
        return Err("an entry without events".to_owned());
    }
    for event in &entry.events {
        fits(plan, event, ids, entry.undoes.is_some())?;
        plan.evolve(event);
    }
    plan.revision = entry.revision;
    plan.updated_at = entry.at;
    Ok(())
}

/// Whether an event is possible for the plan at this point.
///
/// The old values of an undo are not compared with the plan: an undo names the values that it
/// reverts, and fields that undo never touches may have changed since.
fn fits(
    plan: &Plan,
    event: &Event,
    ids: &mut BTreeSet<ItemId>,
    is_undo: bool,
) -> Result<(), String> {
    match event {
        Event::Added { item } => {
            let Number(number) = item.number;
            if item.number != plan.next_number || number > MOST {
                return Err(format!(
                    "item {number} is added where {} comes next",
                    plan.next_number
                ));
            }
            if !ids.insert(item.id) {
                return Err(format!("item {number} has the id of another"));
            }
            if item.superseded_at.is_some() {
                return Err(format!("item {number} is added as superseded"));
            }
            within(item.position, plan.placed + 1)
        }
        Event::Changed { number, deltas, .. } => {
            let item = get(plan, *number)?;
            let mut before = item.clone();
            deltas.iter().rev().map(Delta::inverse).for_each(|delta| delta.apply(&mut before));
            if before != *item && !is_undo {
                return Err(format!(
                    "item {number} does not have the old value that the entry names"
                ));
            }
            Ok(())
        }
        Event::Moved { number, from, to } => {
            stands(plan, *number, *from)?;
            within(Some(*to), plan.placed)
        }
        Event::Superseded { number, from, .. } => stands(plan, *number, *from),
        Event::Restored { number, to, superseded_at } => {
            if get(plan, *number)?.superseded_at != Some(*superseded_at) {
                return Err(format!("item {number} was not superseded then"));
            }
            within(Some(*to), plan.placed + 1)
        }
        Event::PlanChanged { deltas } => match deltas.iter().find(|delta| !held(plan, delta)) {
            Some(delta) if !is_undo => Err(format!(
                "the plan's {} does not have the old value that the entry names",
                delta.field().as_str()
            )),
            Some(_) | None => Ok(()),
        },
        Event::Forgotten { number } => match number {
            Some(number) => get(plan, *number).map(|_| ()),
            None => Ok(()),
        },
    }
}

/// Whether a field of the plan has the value that the event names as the old one.
fn held(plan: &Plan, delta: &PlanDelta) -> bool {
    match delta {
        PlanDelta::Title { before, .. } => plan.title == *before,
        PlanDelta::Name { before, .. } => plan.name == *before,
        PlanDelta::Rules { before, .. } => plan.rules == *before,
        PlanDelta::Goal { before, .. } => plan.goal == *before,
        PlanDelta::End { before, .. } => plan.end == *before,
    }
}

fn get(plan: &Plan, number: Number) -> Result<&Item, String> {
    plan.get(number).ok_or_else(|| format!("there is no item {number} yet"))
}

fn stands(plan: &Plan, number: Number, at: Position) -> Result<(), String> {
    match get(plan, number)?.position {
        Some(position) if position == at => Ok(()),
        Some(_) | None => Err(format!("item {number} is not at position {at}")),
    }
}

fn within(position: Option<Position>, last: u32) -> Result<(), String> {
    match position {
        Some(Position(at)) if (1..=last).contains(&at) => Ok(()),
        Some(Position(at)) => Err(format!("there is no position {at}")),
        None => Err("an item without a position".to_owned()),
    }
}

/// Checks that dependencies and parents exist and form no cycle.
fn links(plan: &Plan) -> Result<(), Fail> {
    let next = |item: &Item| -> Vec<Number> { item.depends_on.iter().copied().collect() };
    let above = |item: &Item| -> Vec<Number> { item.parent.into_iter().collect() };
    for item in plan.items.values() {
        for number in next(item).into_iter().chain(above(item)) {
            if plan.get(number).is_none() {
                return Err(Fail::usage(format!(
                    "item {} is linked to {number}, which does not exist",
                    item.number
                )));
            }
        }
    }
    acyclic(plan, next, "depends on itself")?;
    acyclic(plan, above, "is under itself")
}

fn acyclic(plan: &Plan, next: impl Fn(&Item) -> Vec<Number>, what: &str) -> Result<(), Fail> {
    let mut done: BTreeSet<Number> = BTreeSet::new();
    for start in plan.items.keys() {
        // Depth-first search without recursion. An item that is entered but not left lies on the
        // current path, so meeting it again is a cycle.
        let mut entered: BTreeSet<Number> = BTreeSet::new();
        let mut stack = vec![(*start, false)];
        while let Some((number, leaving)) = stack.pop() {
            if leaving {
                entered.remove(&number);
                done.insert(number);
                continue;
            }
            if done.contains(&number) {
                continue;
            }
            if !entered.insert(number) {
                return Err(Fail::usage(format!("item {number} {what}")));
            }
            stack.push((number, true));
            let follow = plan.get(number).map(&next).unwrap_or_default();
            for number in follow {
                if entered.contains(&number) {
                    return Err(Fail::usage(format!("item {number} {what}")));
                }
                stack.push((number, false));
            }
        }
    }
    Ok(())
}
