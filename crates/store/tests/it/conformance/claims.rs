//! Leases and attempts, between two handles.

use punchlist_model::store::{Change, Error};
use punchlist_model::{Attempt, Broken, Ctx, ItemRef, NewItem, Number, Op, Place};

use super::World;
use crate::support::{Desk, add, at, done, plan_id, start, wait};

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>) -> Broken {
    match result {
        Err(Error::Refused(refusal)) => refusal.problems[0].broken.clone(),
        other => panic!("not refused: {other:?}"),
    }
}

fn two(world: &World) -> (Desk, Desk) {
    let ann = Desk::new(world.handle(), "ann");
    ann.must(vec![add("a"), add("b")]);
    let bob = Desk::at(world.handle(), plan_id(1), "bob");
    bob.wait_seconds(10);
    (ann, bob)
}

pub(crate) fn a_second_worker_is_refused_while_the_lease_lasts(world: &World) {
    let (ann, bob) = two(world);
    ann.must(vec![start(1)]);
    let Broken::HeldByOther { holder, until } = refused(bob.change(vec![done(1)])) else {
        panic!()
    };
    assert_eq!((holder.as_str(), until), ("ann", at(2 + 15 * 60)));
    assert!(matches!(refused(bob.change(vec![start(1)])), Broken::HeldByOther { .. }));
}

pub(crate) fn a_lease_that_ran_out_is_taken_over_and_the_late_write_is_refused(world: &World) {
    let (ann, bob) = two(world);
    let first = ann.must(vec![start(1)]).plan.get(Number(1)).unwrap().attempt;
    bob.wait_seconds(15 * 60);
    let second = bob.must(vec![start(1)]).plan.get(Number(1)).unwrap().attempt;
    assert_eq!((first, second), (Attempt(1), Attempt(2)));
    let late = Ctx { attempt: Some(first), ..ann.ctx() };
    let late = wait(ann.store.change(ann.plan, Change::new(vec![done(1)], late)));
    assert_eq!(refused(late), Broken::StaleAttempt { yours: first, current: second });
    let fresh = Ctx { attempt: Some(second), ..bob.ctx() };
    wait(bob.store.change(bob.plan, Change::new(vec![done(1)], fresh))).unwrap();
    assert_eq!(ann.list(), "1:a completed, 2:b pending");
}

pub(crate) fn any_write_of_the_holder_renews_its_lease(world: &World) {
    let (ann, bob) = two(world);
    ann.must(vec![start(1)]);
    ann.wait_seconds(10 * 60);
    ann.must(vec![add("c")]);
    bob.wait_seconds(16 * 60);
    assert!(matches!(refused(bob.change(vec![start(1)])), Broken::HeldByOther { .. }));
    let claim = bob.whole().get(Number(1)).unwrap().claim.clone().unwrap();
    assert_eq!(claim.expires_at, at(2 + 10 * 60 + 1 + 15 * 60));
}

pub(crate) fn two_workers_that_ask_for_the_next_get_different_items(world: &World) {
    let (ann, bob) = two(world);
    assert_eq!(ann.must(vec![Op::Next]).decision.picked, Some(Number(1)));
    assert_eq!(bob.must(vec![Op::Next]).decision.picked, Some(Number(2)));
    assert_eq!(ann.must(vec![Op::Next]).decision.picked, Some(Number(1)));
}

pub(crate) fn next_never_takes_a_blocked_item_under_one_in_progress(world: &World) {
    let (ann, bob) = two(world);
    ann.must(vec![start(1)]);
    // Both stand first on the list: one depends on item 2, the other has an open sub-item.
    let under = |parent, depends_on, place| {
        let parent = Some(ItemRef::Number(Number(parent)));
        let new = NewItem { parent, depends_on, place, ..NewItem::titled("under") };
        Op::Add(Box::new(new))
    };
    let waits = Op::Wait { item: Number(5).into(), on: "rain".to_owned() };
    ann.must(vec![under(1, vec![Number(2).into()], Place::Front)]);
    ann.must(vec![under(1, vec![], Place::Front)]);
    ann.must(vec![under(4, vec![], Place::Front)]);
    ann.must(vec![waits]);
    assert_eq!(bob.must(vec![Op::Next]).decision.picked, Some(Number(2)));
}
