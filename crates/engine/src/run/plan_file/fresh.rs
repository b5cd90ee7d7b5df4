//! Starting over: resets a plan as if none of its items had ever been run. Pure.
//!
//! Items that are closed, failed, interrupted or waiting become pending and lose their outcome and
//! evidence. Entries of agents' own lists are dropped. Items that the file itself skips (`[-]`)
//! stay skipped. The journal keeps everything.

use std::collections::BTreeSet;

use punchlist_formats::planfile::{self, Tick};
use punchlist_model::{Item, ItemRef, Number, Op, Plan, Status};

use super::Source;
use crate::workers::sub_lists;

/// The operations that make the plan of a file start over.
pub(crate) fn ops(plan: &Plan, source: &Source) -> Vec<Op> {
    let known = planfile::matched(&source.file, plan).into_iter().zip(&source.file.items);
    let skipped: BTreeSet<Number> =
        known.filter(|(_, it)| it.tick == Tick::Skipped).filter_map(|it| it.0).collect();
    let mut ops = sub_lists::dropped(plan, |_| true);
    for item in plan.listed().into_iter().filter(|it| !sub_lists::is_entry(it)) {
        let is_skipped = |it: &Number| skipped.contains(it);
        if is_skipped(&item.number) || above(plan, item).any(|it| is_skipped(&it)) {
            continue;
        }
        let by = || ItemRef::Number(item.number);
        match item.status {
            Status::Completed | Status::Cancelled => {}
            // Another worker holds this item.
            Status::InProgress => continue,
            Status::Pending if !has_past(item) => continue,
            Status::Pending => {
                // Reopening clears what a closed item had, so the item is closed first.
                ops.push(Op::Cancel { item: by(), reason: Some("started over".to_owned()) });
            }
        }
        ops.push(Op::Reopen { item: by(), start: false });
    }
    ops
}

/// Opens all items of a plan, for a preview.
pub(crate) fn look(plan: &mut Plan) {
    for item in plan.items.values_mut().filter(|it| !it.is_superseded()) {
        item.status = Status::Pending;
    }
}

/// Whether an open item has an outcome, evidence, a wait or an interruption to clear.
fn has_past(item: &Item) -> bool {
    item.outcome.is_some()
        || !item.evidence.is_empty()
        || item.waiting_on.is_some()
        || item.is_interrupted()
}

/// The ancestors of an item.
fn above<'a>(plan: &'a Plan, item: &Item) -> impl Iterator<Item = Number> + 'a {
    let mut visited = BTreeSet::from([item.number]);
    let mut at = item.parent;
    std::iter::from_fn(move || {
        let number = at.filter(|it| visited.insert(*it))?;
        at = plan.get(number).and_then(|it| it.parent);
        Some(number)
    })
}
