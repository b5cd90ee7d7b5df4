//! Write ids: a repeated write happens once.

use punchlist_model::store::{Change, Error, NewPlan};
use punchlist_model::{IdSource, MadeFor, Op, Revision, WriteId};

use super::World;
use crate::support::{Desk, add, at, key, new_plan, plan_id, start, wait};

fn write_id(n: u8) -> WriteId {
    WriteId(IdSource::fixed(at(0), n).nth(9))
}

fn writing(desk: &Desk, n: u8, ops: Vec<Op>) -> Change {
    Change { write: Some(write_id(n)), ..Change::new(ops, desk.ctx()) }
}

pub(crate) fn a_repeated_write_changes_nothing_and_returns_what_was_recorded(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    desk.must(vec![add("a")]);
    let ops = || vec![add("b"), add("c")];
    let first = wait(desk.store.change(desk.plan, writing(&desk, 1, ops()))).unwrap();
    desk.must(vec![start(1)]);
    let (whole, journal) = (desk.whole(), desk.journal());
    // The retry may come from another process, when the plan already has another revision.
    let other = Desk::at(world.handle(), desk.plan, "ann");
    let mut repeated = writing(&other, 1, ops());
    repeated.expect = Some(Revision(1));
    let again = wait(other.store.change(desk.plan, repeated)).unwrap();
    assert_eq!((first.revision(), again.revision()), (Revision(2), Revision(2)));
    assert_eq!(again.decision.events, first.decision.events);
    assert_eq!(again.decision.added, first.decision.added);
    assert_eq!(again.plan.revision, Revision(3), "the plan is the one of now");
    assert_eq!((desk.whole(), desk.journal()), (whole, journal));
}

pub(crate) fn another_write_id_is_another_write(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    for n in 1..=3 {
        wait(desk.store.change(desk.plan, writing(&desk, n, vec![add("x")]))).unwrap();
    }
    assert_eq!(desk.whole().items.len(), 3);
}

pub(crate) fn a_refused_write_may_be_repeated(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let refused = wait(desk.store.change(desk.plan, writing(&desk, 1, vec![start(1)])));
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    desk.must(vec![add("a")]);
    wait(desk.store.change(desk.plan, writing(&desk, 1, vec![start(1)]))).unwrap();
    assert_eq!(desk.list(), "1:a in progress");
}

pub(crate) fn one_source_of_ids_is_enough_for_several_writes(world: &World) {
    let desk = Desk::new(world.handle(), "ann");
    let ctx = desk.ctx();
    for title in ["a", "b", "c"] {
        wait(desk.store.change(desk.plan, Change::new(vec![add(title)], ctx.clone()))).unwrap();
    }
    let ids: std::collections::BTreeSet<_> = desk.whole().items.values().map(|it| it.id).collect();
    assert_eq!(ids.len(), 3);
}

pub(crate) fn a_plan_is_found_by_what_it_was_made_for(world: &World) {
    let store = world.handle();
    let kinds = [
        MadeFor::Project("/project".to_owned()),
        MadeFor::File("/project/plan.md".to_owned()),
        MadeFor::Conversation(key("c", "t")),
    ];
    for (n, what) in (1..).zip(kinds.clone()) {
        assert_eq!(wait(store.plan_for(what.clone())).unwrap(), None);
        let new = |n| NewPlan { made_for: Some(what.clone()), ..new_plan(n) };
        let made = wait(store.create(new(n))).unwrap();
        assert_eq!(made.made_for.as_ref(), Some(&what));
        // Two concurrent first writes create one plan.
        let second = wait(world.handle().create(new(n + 100)));
        assert!(matches!(second, Err(Error::AlreadyMade(id)) if id == plan_id(n)), "{second:?}");
    }
    for (n, what) in (1..).zip(kinds) {
        assert_eq!(wait(world.handle().plan_for(what)).unwrap(), Some(plan_id(n)));
    }
    let other = MadeFor::Conversation(key("c", "another turn"));
    assert_eq!(wait(store.plan_for(other)).unwrap(), None);
}

pub(crate) fn a_plan_file_that_moved_takes_its_plan_along(world: &World) {
    let store = world.handle();
    let file = |path: &str| Some(MadeFor::File(path.to_owned()));
    for (n, path) in [(1, "/old.md"), (2, "/taken.md")] {
        wait(store.create(NewPlan { made_for: file(path), ..new_plan(n) })).unwrap();
    }
    let taken = wait(store.set_made_for(plan_id(1), file("/taken.md")));
    assert!(matches!(taken, Err(Error::AlreadyMade(id)) if id == plan_id(2)), "{taken:?}");
    wait(store.set_made_for(plan_id(1), file("/new.md"))).unwrap();
    wait(store.set_made_for(plan_id(1), file("/new.md"))).unwrap();
    let found = |path| wait(store.plan_for(file(path).unwrap())).unwrap();
    assert_eq!((found("/new.md"), found("/old.md")), (Some(plan_id(1)), None));
    let unknown = wait(store.set_made_for(plan_id(9), None));
    assert!(matches!(unknown, Err(Error::NoPlan(_))), "{unknown:?}");
}
