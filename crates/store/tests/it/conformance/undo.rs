//! Undo.

use punchlist_model::store::{Error, Kind};
use punchlist_model::undo::Conflict;
use punchlist_model::{Number, Op, Patch, Revision};

use super::World;
use crate::support::{Desk, add, done, plan_id, start, wait};

fn rename(number: u32, title: &str) -> Op {
    let patch = Box::new(Patch { title: Some(title.to_owned()), ..Patch::default() });
    Op::Edit { item: Number(number).into(), patch }
}

pub(crate) fn the_callers_own_last_change_is_taken_back(world: &World) {
    let ann = Desk::new(world.handle(), "ann");
    let bob = Desk::at(world.handle(), plan_id(1), "bob");
    ann.must(vec![add("a"), add("b"), add("c")]);
    ann.must(vec![Op::Supersede(Number(2).into())]);
    bob.must(vec![rename(3, "C")]);
    let applied = ann.undo().unwrap();
    assert_eq!(applied.revision(), Revision(4));
    assert_eq!(ann.list(), "1:a pending, 2:b pending, 3:C pending");
    let last = ann.journal().pop().unwrap();
    assert_eq!((last.kind, last.undoes), (Kind::Undo, Some(Revision(2))));
    bob.undo().unwrap();
    ann.undo().unwrap();
    let plan = ann.whole();
    assert_eq!((plan.placed, plan.open, plan.items.len()), (0, 0, 3));
}

pub(crate) fn what_is_undone_is_its_workers_again_while_the_claim_would_last(world: &World) {
    let ann = Desk::new(world.handle(), "ann");
    let bob = Desk::at(world.handle(), plan_id(1), "bob");
    ann.must(vec![add("a"), add("b")]);
    ann.must(vec![start(1)]);
    let before = ann.whole().get(Number(1)).unwrap().claim.clone();
    ann.must(vec![done(1)]);
    ann.undo().unwrap();
    assert_eq!(ann.whole().get(Number(1)).unwrap().claim, before);
    assert_eq!(bob.must(vec![Op::Next]).decision.picked, Some(Number(2)));
    ann.must(vec![done(1)]);
    ann.wait_seconds(16 * 60);
    ann.undo().unwrap();
    assert_eq!(ann.list(), "1:a pending, 2:b in progress");
    assert_eq!(ann.must(vec![Op::Next]).decision.picked, Some(Number(1)));
}

pub(crate) fn what_others_changed_since_is_a_conflict(world: &World) {
    let ann = Desk::new(world.handle(), "ann");
    let bob = Desk::at(world.handle(), plan_id(1), "bob");
    ann.must(vec![add("a")]);
    ann.must(vec![rename(1, "A")]);
    bob.must(vec![rename(1, "B")]);
    let before = ann.whole();
    let Err(Error::Undo(Conflict::Changed { revision, clashes })) = ann.undo() else { panic!() };
    assert_eq!((revision, clashes[0].actor.as_str()), (Revision(2), "bob"));
    assert_eq!((clashes[0].number, clashes[0].revision), (Some(Number(1)), Revision(3)));
    assert_eq!(ann.whole(), before);
}

pub(crate) fn nothing_left_is_said_by_name(world: &World) {
    let ann = Desk::new(world.handle(), "ann");
    ann.must(vec![add("a")]);
    let bob = Desk::at(world.handle(), plan_id(1), "bob");
    let Err(Error::Undo(Conflict::Nothing(who))) = bob.undo() else { panic!() };
    assert_eq!(who, "bob");
    ann.undo().unwrap();
    assert!(matches!(ann.undo(), Err(Error::Undo(Conflict::Nothing(_)))));
}

pub(crate) fn an_old_change_is_found_behind_many_of_others(world: &World) {
    let ann = Desk::new(world.handle(), "ann");
    let bob = Desk::at(world.handle(), plan_id(1), "bob");
    ann.must(vec![add("a")]);
    for n in 0..100 {
        bob.must(vec![add(&format!("b{n}"))]);
        bob.must(vec![done(n + 2)]);
    }
    ann.undo().unwrap();
    assert!(ann.whole().get(Number(1)).unwrap().is_superseded());
}

pub(crate) fn an_expected_revision_is_checked(world: &World) {
    let ann = Desk::new(world.handle(), "ann");
    ann.must(vec![add("a")]);
    ann.must(vec![start(1)]);
    let late = wait(ann.store.undo(ann.plan, ann.ctx(), Some(Revision(1))));
    let Err(Error::Revision { since, .. }) = late else { panic!("{late:?}") };
    assert_eq!(since, ann.journal()[1..]);
    wait(ann.store.undo(ann.plan, ann.ctx(), Some(Revision(2)))).unwrap();
}
