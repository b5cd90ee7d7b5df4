//! What a change does to the rows of a plan, as data.
//!
//! A store keeps one row per item and one per dependency. [`RowChanges::of`] says which rows to
//! insert, update and delete for a list of events; the store executes that. It also works on a
//! slice: rows that are not loaded are moved by ranges of positions, and their counts are computed
//! by the store.
//!
//! `unmet` is the only derived column: the number of dependencies and sub-items that keep an item
//! from being ready. It lets an index find the next ready item.

use std::collections::BTreeSet;

use crate::event::Event;
use crate::id::{Number, Position};
use crate::item::{Item, Status};
use crate::plan::Plan;
use crate::slice::Slice;

/// The changes to the rows of one plan. The store executes them in the order of the fields.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RowChanges {
    /// Ranges of positions that change by one, in this order.
    pub shifts: Vec<Shift>,
    /// New items.
    pub inserted: Vec<Item>,
    /// Items with a changed column, in their new state.
    pub updated: Vec<Item>,
    /// Removed dependencies.
    pub unlinked: Vec<Link>,
    /// New dependencies.
    pub linked: Vec<Link>,
    /// Items whose `unmet` must be recomputed.
    pub recounted: BTreeSet<Number>,
    /// Items that began or ceased to block others: `unmet` of their dependants must be recomputed.
    pub blocking: BTreeSet<Number>,
    /// Whether the plan's own fields changed (name, title, rules, goal, end), not only its counts.
    pub plan_fields: bool,
}

/// A range of positions that changes by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shift {
    /// The first position.
    pub from: Position,
    /// The last position.
    pub to: Position,
    /// 1 or -1.
    pub by: i32,
}

/// A dependency of one item on another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Link {
    /// The item that depends.
    pub item: Number,
    /// The item that it depends on.
    pub on: Number,
}

impl RowChanges {
    /// The slice after these events, and the changes to the rows of its plan.
    pub fn of(before: &Slice, events: &[Event]) -> (Slice, Self) {
        let is_whole = before.is_whole();
        let mut changes = Self::default();
        let mut after = before.clone();
        // Items that the events move. In a slice, the shifts move the rows of all others.
        let mut moved = BTreeSet::new();
        for event in events {
            if !is_whole {
                changes.shifts.extend(Shift::of(event, after.placed));
            }
            match event {
                Event::Moved { number, .. }
                | Event::Superseded { number, .. }
                | Event::Restored { number, .. } => {
                    moved.insert(*number);
                }
                Event::PlanChanged { .. } | Event::Forgotten { .. } => changes.plan_fields = true,
                Event::Added { .. } | Event::Changed { .. } => {}
            }
            after.evolve(event);
        }
        for (number, item) in &after.items {
            match before.get(*number) {
                None => changes.insert(item),
                Some(old) => {
                    changes.count(old, item);
                    let is_changed = if is_whole {
                        old != item
                    } else {
                        moved.contains(number) || !is_same_but_for_position(old, item)
                    };
                    if is_changed {
                        changes.updated.push(item.clone());
                    }
                }
            }
        }
        (after, changes)
    }

    /// All rows of a new plan.
    pub fn of_new(plan: &Plan) -> Self {
        let mut changes = Self::default();
        plan.items.values().for_each(|item| changes.insert(item));
        changes
    }

    fn insert(&mut self, item: &Item) {
        if !item.depends_on.is_empty() {
            self.recounted.insert(item.number);
        }
        self.recounted.extend(holds_up(item));
        self.linked.extend(item.depends_on.iter().map(|on| Link { item: item.number, on: *on }));
        self.inserted.push(item.clone());
    }

    /// Records how a changed item affects dependencies and `unmet`.
    fn count(&mut self, old: &Item, new: &Item) {
        let link = |on: &Number| Link { item: new.number, on: *on };
        if old.depends_on != new.depends_on {
            self.linked.extend(new.depends_on.difference(&old.depends_on).map(link));
            self.unlinked.extend(old.depends_on.difference(&new.depends_on).map(link));
            self.recounted.insert(new.number);
        }
        if blocks(old) != blocks(new) {
            self.blocking.insert(new.number);
        }
        let (was, is) = (holds_up(old), holds_up(new));
        if was != is {
            self.recounted.extend(was.into_iter().chain(is));
        }
    }
}

/// Whether the item blocks the items that depend on it.
fn blocks(item: &Item) -> bool {
    item.status != Status::Completed && !item.is_superseded()
}

/// The parent that must wait until this item is closed.
fn holds_up(item: &Item) -> Option<Number> {
    item.parent.filter(|_| item.is_open())
}

fn is_same_but_for_position(old: &Item, new: &Item) -> bool {
    old == new || *new == Item { position: new.position, ..old.clone() }
}

impl Shift {
    /// How an event shifts the positions of other items. `placed` is the number of positions before
    /// it.
    fn of(event: &Event, placed: u32) -> Option<Self> {
        let (from, to, by) = match event {
            Event::Added { item } => (item.position?.0, placed, 1),
            Event::Moved { from, to, .. } if from < to => (from.0.saturating_add(1), to.0, -1),
            Event::Moved { from, to, .. } => (to.0, from.0.saturating_sub(1), 1),
            Event::Superseded { from, .. } => (from.0.saturating_add(1), placed, -1),
            Event::Restored { to, .. } => (to.0, placed, 1),
            Event::Changed { .. } | Event::PlanChanged { .. } | Event::Forgotten { .. } => {
                return None;
            }
        };
        (from <= to).then_some(Self { from: Position(from), to: Position(to), by })
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::id::{IdSource, PlanId};

    fn item(number: u32) -> Item {
        let at = Timestamp::UNIX_EPOCH;
        let id = IdSource::fixed(at, 1).item(Number(number));
        let position = Some(Position(number));
        Item { position, ..Item::new(id, Number(number), format!("item {number}"), at) }
    }

    fn plan(items: impl IntoIterator<Item = Item>) -> Plan {
        let at = Timestamp::UNIX_EPOCH;
        let mut plan = Plan::new(PlanId(IdSource::fixed(at, 2).nth(0)), "/p", at);
        for item in items {
            plan.evolve(&Event::Added { item: Box::new(item) });
        }
        plan
    }

    #[test]
    fn a_slice_moves_others_by_a_range_and_a_whole_plan_by_its_rows() {
        let whole = plan((1..=5).map(item));
        let moved = [Event::Moved { number: Number(5), from: Position(5), to: Position(2) }];
        let (after, changes) = RowChanges::of(&whole, &moved);
        let numbers: Vec<u32> = changes.updated.iter().map(|it| it.number.0).collect();
        assert_eq!((changes.shifts.len(), numbers), (0, vec![2, 3, 4, 5]));
        let mut slice = whole.header();
        slice.items.insert(Number(5), item(5));
        let (part, changes) = RowChanges::of(&slice, &moved);
        assert_eq!(changes.shifts, [Shift { from: Position(2), to: Position(4), by: 1 }]);
        assert_eq!(changes.updated, [after.get(Number(5)).unwrap().clone()]);
        assert_eq!(part.get(Number(5)), after.get(Number(5)));
    }

    #[test]
    fn what_an_item_waits_for_is_counted_again_when_that_changes() {
        let waiting = Item { depends_on: [Number(1)].into(), ..item(2) };
        let under = Item { parent: Some(Number(1)), ..item(3) };
        let new = plan([item(1), waiting, under]);
        let changes = RowChanges::of_new(&new);
        assert_eq!(changes.linked, [Link { item: Number(2), on: Number(1) }]);
        assert_eq!(changes.recounted, [Number(1), Number(2)].into());
        let gone =
            [Event::Superseded { number: Number(3), from: Position(3), at: Timestamp::UNIX_EPOCH }];
        let (_, changes) = RowChanges::of(&new, &gone);
        assert_eq!(changes.recounted, [Number(1)].into());
        assert_eq!(changes.blocking, [Number(3)].into());
    }
}
