//! An agent's own list, as entries under the item that the agent works on. Pure.
//!
//! Entries are matched by title. Entries that the agent drops are superseded. Each entry names its
//! agent, so that it is not taken for an item of the plan: a run neither does it nor asks about it.
//! Sub-items that were there before the agent are left alone.

use std::collections::BTreeMap;

use punchlist_model::{Item, ItemRef, NewItem, Number, Op, Patch, Place, Plan, Status};
use serde_json::{Map, Value};

/// One entry of an agent's list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) title: String,
    pub(crate) status: Status,
}

/// Whether an item is an entry of an agent's list.
pub(crate) fn is_entry(item: &Item) -> bool {
    item.is_workers()
}

/// The entries under an item, in order.
fn entries(plan: &Plan, under: Number) -> impl Iterator<Item = &Item> {
    plan.children(under).into_iter().filter(|it| is_entry(it))
}

/// The operations that make the entries under the item equal to the agent's list.
pub(crate) fn ops(plan: &Plan, under: Number, agent: &str, list: &[Entry]) -> Vec<Op> {
    let mut left: BTreeMap<&str, &Item> =
        entries(plan, under).map(|it| (it.title.as_str(), it)).collect();
    let mark = Map::from_iter([(Item::WORKER.to_owned(), Value::from(agent))]);
    let mut ops = Vec::new();
    let mut before = ItemRef::Number(under);
    let mut added = 0;
    for entry in list.iter().filter(|it| !it.title.trim().is_empty()) {
        let (by, status) = match left.remove(entry.title.as_str()) {
            Some(item) => (ItemRef::Number(item.number), item.status),
            None => {
                let new = NewItem {
                    parent: Some(ItemRef::Number(under)),
                    place: Place::After(before),
                    metadata: Some(mark.clone()),
                    ..NewItem::titled(entry.title.clone())
                };
                ops.push(Op::Add(Box::new(new)));
                added += 1;
                (ItemRef::Batch(added), Status::Pending)
            }
        };
        if status != entry.status {
            let patch = Patch { status: Some(entry.status), ..Patch::default() };
            ops.push(Op::Edit { item: by.clone(), patch: Box::new(patch) });
        }
        before = by;
    }
    ops.extend(left.into_values().map(|it| Op::Supersede(ItemRef::Number(it.number))));
    ops
}

/// Cancels the entries that an agent left open when it said that it was done.
pub(crate) fn left_open(plan: &Plan, under: Number, agent: &str) -> Vec<Op> {
    let open = entries(plan, under).filter(|it| it.is_open());
    let cancel = |it: &Item| Op::Cancel {
        item: ItemRef::Number(it.number),
        reason: Some(format!("left open when {agent} ended")),
    };
    open.map(cancel).collect()
}

/// Releases the entries in progress of an agent that failed or was ended.
pub(crate) fn let_go(plan: &Plan, under: Number) -> Vec<Op> {
    let begun = entries(plan, under).filter(|it| it.status == Status::InProgress);
    begun.map(|it| Op::Release(ItemRef::Number(it.number))).collect()
}

/// The operations for a list that arrived after its item had ended.
pub(crate) fn overtaken(plan: &Plan, under: Number, agent: &str) -> Vec<Op> {
    match plan.get(under).map(|it| it.status) {
        Some(Status::Completed | Status::Cancelled) => left_open(plan, under, agent),
        Some(Status::Pending) => let_go(plan, under),
        Some(Status::InProgress) | None => Vec::new(),
    }
}

/// Drops the entries of agents' lists under these items.
pub(crate) fn dropped(plan: &Plan, of: impl Fn(Number) -> bool) -> Vec<Op> {
    let listed = plan.listed().into_iter();
    let gone = listed.filter(|it| is_entry(it) && it.parent.is_some_and(&of));
    gone.map(|it| Op::Supersede(ItemRef::Number(it.number))).collect()
}

#[cfg(test)]
mod tests {
    use punchlist_model::{Actor, Ctx, Holder, IdSource, Limits, Mode, PlanId, Timestamp, decide};

    use super::*;

    fn entry(title: &str, status: Status) -> Entry {
        Entry { title: title.to_owned(), status }
    }

    fn take(plan: &mut Plan, ops: &[Op]) {
        let at = Timestamp::UNIX_EPOCH;
        let ctx = Ctx {
            now: at,
            ids: IdSource::fixed(at, u8::try_from(plan.next_number.0).unwrap()),
            actor: Actor::agent("claude"),
            holder: Holder::named("claude"),
            attempt: None,
            base: None,
            mode: Mode::Recorded,
            limits: Limits::default(),
            gone: Vec::new(),
            anyway: false,
        };
        for event in &decide(plan, ops, &ctx).unwrap().events {
            plan.evolve(event);
        }
    }

    fn shown(plan: &Plan) -> Vec<(String, Status)> {
        plan.children(Number(1)).into_iter().map(|it| (it.title.clone(), it.status)).collect()
    }

    #[test]
    fn a_list_stands_under_its_item_as_the_agent_has_it() {
        use Status::{Completed, InProgress, Pending};
        let mut plan = Plan::new(PlanId::NIL, "/p", Timestamp::UNIX_EPOCH);
        take(&mut plan, &[Op::Add(Box::new(NewItem::titled("Write the notes")))]);
        let list = [entry("Read", InProgress), entry("Write", Pending)];
        let first = ops(&plan, Number(1), "claude", &list);
        take(&mut plan, &first);
        assert_eq!(shown(&plan), [("Read".to_owned(), InProgress), ("Write".to_owned(), Pending)]);
        assert_eq!(
            ops(&plan, Number(1), "claude", &list),
            [],
            "the same list again changes nothing"
        );
        let list = [entry("Read", Completed), entry("Check", InProgress)];
        let second = ops(&plan, Number(1), "claude", &list);
        take(&mut plan, &second);
        assert_eq!(
            shown(&plan),
            [("Read".to_owned(), Completed), ("Check".to_owned(), InProgress)]
        );
        let rest = left_open(&plan, Number(1), "claude");
        take(&mut plan, &rest);
        assert_eq!(shown(&plan)[1].1, Status::Cancelled);
    }
}
