//! Export reads everything; import writes it again.

use punchlist_model::store::{Error, NewPlan};
use punchlist_model::{NewItem, Number, Op, Revision};

use super::World;
use crate::support::{Desk, add, done, new_plan, plan_id, start, wait};

fn exported(world: &World) -> Desk {
    let desk = Desk::new(world.handle(), "ann");
    let depends_on = vec![Number(1).into(), Number(2).into()];
    let last = Op::Add(Box::new(NewItem { depends_on, ..NewItem::titled("last") }));
    desk.must(vec![add("a"), add("b")]);
    desk.must(vec![last]);
    desk.must(vec![done(1), start(2)]);
    desk.must(vec![Op::Supersede(Number(1).into())]);
    desk
}

pub(crate) fn what_is_exported_comes_back_the_same(world: &World) {
    let there = exported(&World::memory());
    let (plan, journal) = (there.whole(), there.journal());
    let here = world.handle();
    wait(here.import(plan.clone(), journal.clone())).unwrap();
    assert_eq!(wait(here.whole(plan.id)).unwrap(), plan);
    assert_eq!(wait(here.journal(plan.id, Revision(0), u32::MAX)).unwrap(), journal);
}

pub(crate) fn a_plan_that_is_there_is_not_taken_in_twice(world: &World) {
    let desk = exported(world);
    let (plan, journal) = (desk.whole(), desk.journal());
    let again = wait(desk.store.import(plan.clone(), journal));
    assert!(matches!(again, Err(Error::Exists(id)) if id == plan.id));
    assert_eq!(desk.whole(), plan);
    let name = Some("x".to_owned());
    wait(desk.store.create(NewPlan { name: name.clone(), ..new_plan(2) })).unwrap();
    let mut other = plan;
    (other.id, other.name) = (plan_id(3), name);
    let taken = wait(desk.store.import(other, Vec::new()));
    assert!(matches!(taken, Err(Error::NameTaken(name)) if name == "x"));
}

pub(crate) fn work_goes_on_after_an_import(world: &World) {
    let there = exported(&World::memory());
    let store = world.handle();
    wait(store.import(there.whole(), there.journal())).unwrap();
    let desk = Desk::at(store, there.plan, "ann");
    desk.wait_seconds(100);
    // A blocked item is still blocked, and becomes ready when its last dependency is completed.
    assert_eq!(desk.must(vec![Op::Next]).decision.picked, Some(Number(2)));
    desk.must(vec![done(2)]);
    assert_eq!(desk.must(vec![Op::Next]).decision.picked, Some(Number(3)));
    assert_eq!(desk.must(vec![add("more")]).decision.added, [Number(4)]);
    let revisions: Vec<u64> = desk.journal().iter().map(|it| it.revision.0).collect();
    assert_eq!(revisions, [1, 2, 3, 4, 5, 6, 7]);
}
