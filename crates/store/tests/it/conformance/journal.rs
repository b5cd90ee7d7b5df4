//! The journal.

use punchlist_model::store::Entry;
use punchlist_model::{
    Goal, ItemRef, ListEntry, NewItem, Number, Op, Patch, Place, Plan, PlanPatch, Revision, Status,
};

use super::World;
use crate::support::{Desk, add, at, done, plan_id, start, wait};

pub(crate) fn entries_are_in_order_without_gaps_and_as_many_as_asked(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    for n in 0..5 {
        desk.must(vec![add(&n.to_string())]);
    }
    let read = |after, most| -> Vec<u64> {
        let entries = wait(desk.store.journal(desk.plan, Revision(after), most)).unwrap();
        entries.iter().map(|it| it.revision.0).collect()
    };
    assert_eq!(read(0, u32::MAX), [1, 2, 3, 4, 5]);
    assert_eq!(read(0, 2), [1, 2]);
    assert_eq!(read(3, 9), [4, 5]);
    assert_eq!(read(5, 9), [0; 0]);
    assert_eq!(read(u64::MAX, 9), [0; 0]);
    assert_eq!(read(0, 0), [0; 0]);
}

pub(crate) fn the_journal_replays_to_exactly_what_is_read(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let other = Desk::at(world.handle(), plan_id(1), "bob");
    let under = |title: &str, parent: u32, place| {
        let parent = Some(ItemRef::Number(Number(parent)));
        Op::Add(Box::new(NewItem { parent, place, ..NewItem::titled(title) }))
    };
    desk.must(vec![add("a"), add("b"), add("c")]);
    desk.must(vec![under("a.1", 1, Place::Front), under("a.2", 1, Place::Back)]);
    desk.must(vec![start(2)]);
    other.must(vec![Op::Next]);
    desk.must(vec![done(2), start(3)]);
    let patch = Patch {
        title: Some("A".to_owned()),
        after: vec![Number(2).into(), Number(3).into()],
        ..Patch::default()
    };
    desk.must(vec![Op::Edit { item: Number(1).into(), patch: Box::new(patch) }]);
    desk.must(vec![Op::Replace(vec![
        ListEntry::titled("c", Status::Completed),
        ListEntry::titled("new", Status::Pending),
        ListEntry::titled("A", Status::Pending),
    ])]);
    let goal = Goal { statement: "all of it".to_owned(), ..Goal::default() };
    let patch =
        PlanPatch { title: Some("T".to_owned()), goal: Some(Some(goal)), ..PlanPatch::default() };
    desk.must(vec![Op::Plan(Box::new(patch))]);
    desk.undo().unwrap();
    wait(desk.store.forget(desk.plan, Some(Number(3).into()), desk.ctx())).unwrap();

    let empty = {
        let mut plan = Plan::new(desk.plan, "/project", at(0));
        plan.title = "Plan 1".to_owned();
        plan
    };
    assert_eq!(replay(empty, &desk.journal()), desk.whole());
}

fn replay(mut plan: Plan, journal: &[Entry]) -> Plan {
    for entry in journal {
        for event in &entry.events {
            plan.evolve(event);
        }
        plan.revision.0 += 1;
        assert_eq!(plan.revision, entry.revision);
        plan.updated_at = entry.at;
    }
    plan
}
