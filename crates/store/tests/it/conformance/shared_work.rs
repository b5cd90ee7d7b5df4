//! Shared plans: which there are, who wrote their commands, and what a lost lease leaves.

use punchlist_model::store::Error;
use punchlist_model::store::work::SharedPlan;
use punchlist_model::{
    Attempt, Broken, Item, ItemRef, NewItem, Number, Op, Origin, PlanPatch, Rules, Run, Status,
};

use super::World;
use crate::support::{Desk, at, done, plan_id, start, wait};

fn shares(shared: bool) -> Op {
    let rules = Rules { shared, max_in_progress: Some(u32::MAX), ..Rules::default() };
    Op::Plan(Box::new(PlanPatch { rules: Some(rules), ..PlanPatch::default() }))
}

fn runs(title: &str) -> Op {
    let run = Run { command: format!("make {title}"), origin: Origin::Person };
    Op::Add(Box::new(NewItem { run: Some(run), ..NewItem::titled(title) }))
}

fn renew(number: u32, attempt: u32) -> Op {
    Op::Renew { item: ItemRef::Number(Number(number)), attempt: Some(Attempt(attempt)) }
}

/// A shared plan with two items, and two workers.
fn two(world: &World) -> (Desk, Desk) {
    let ann = Desk::new(world.handle(), "ann");
    ann.must(vec![runs("a"), runs("b"), shares(true)]);
    let bob = Desk::at(world.handle(), plan_id(1), "bob");
    bob.wait_seconds(10);
    (ann, bob)
}

fn first(desk: &Desk) -> Item {
    desk.whole().get(Number(1)).unwrap().clone()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>) -> Broken {
    match result {
        Err(Error::Refused(refusal)) => refusal.problems[0].broken.clone(),
        other => panic!("not refused: {other:?}"),
    }
}

pub(crate) fn shared_plans_with_open_items_are_listed(world: &World) {
    let (ann, bob) = two(world);
    let listed = || wait(bob.store.shared("/project".to_owned())).unwrap();
    let revision = bob.whole().revision;
    assert_eq!(listed(), [SharedPlan { id: plan_id(1), revision }]);
    assert_eq!(wait(bob.store.shared("/other".to_owned())).unwrap(), []);
    ann.must(vec![shares(false)]);
    assert_eq!(listed(), []);
    ann.must(vec![shares(true)]);
    ann.must(vec![done(1), done(2)]);
    assert_eq!(listed(), [], "nothing is open");
}

pub(crate) fn the_store_knows_who_published_each_item(world: &World) {
    let (_, bob) = two(world);
    let items = [Number(1), Number(2)].into();
    let found = wait(bob.store.publishers(plan_id(1), items)).unwrap();
    assert_eq!(found.revision, bob.whole().revision);
    let publishers: Vec<&String> = found.of.values().collect();
    assert_eq!(publishers.len(), 2);
    assert!(publishers.iter().all(|it| !it.is_empty() && *it == publishers[0]), "{found:?}");
}

pub(crate) fn only_the_holder_renews_a_lease_and_nothing_else_changes(world: &World) {
    let (ann, bob) = two(world);
    ann.must(vec![start(1)]);
    let before = first(&ann);
    ann.wait_seconds(60);
    ann.must(vec![renew(1, 1)]);
    let after = first(&ann);
    let (was, is) = (before.claim.clone().unwrap(), after.claim.clone().unwrap());
    assert!(is.expires_at > was.expires_at);
    assert_eq!(Item { claim: before.claim.clone(), ..after }, before);
    assert!(matches!(refused(bob.change(vec![renew(1, 1)])), Broken::HeldByOther { .. }));
    let stale = Broken::StaleAttempt { yours: Attempt(7), current: Attempt(1) };
    assert_eq!(refused(ann.change(vec![renew(1, 7)])), stale);
}

pub(crate) fn an_item_whose_lease_ran_out_is_interrupted_whoever_notices_it(world: &World) {
    let (ann, bob) = two(world);
    ann.must(vec![start(1)]);
    bob.wait_seconds(15 * 60);
    // Bob only takes another item.
    bob.must(vec![start(2)]);
    let item = first(&bob);
    assert_eq!((item.status, item.interruptions()), (Status::Pending, 1));
    assert_eq!(item.outcome.as_deref(), Some("interrupted: ann did not finish it"));
    // Or he puts it back himself.
    bob.must(vec![start(1)]);
    ann.wait_seconds(3600);
    ann.must(vec![Op::Release(ItemRef::Number(Number(1)))]);
    assert_eq!(first(&ann).interruptions(), 2);
    ann.must(vec![done(1)]);
    assert!(!first(&ann).is_interrupted(), "closing it settles the interruption");
}

pub(crate) fn a_late_result_is_refused_even_if_nobody_has_taken_the_item(world: &World) {
    let (ann, bob) = two(world);
    ann.must(vec![start(1)]);
    bob.wait_seconds(15 * 60);
    bob.must(vec![start(2)]);
    let late = refused(ann.change(vec![renew(1, 1), done(1)]));
    assert_eq!(late, Broken::StaleAttempt { yours: Attempt(1), current: Attempt(1) });
    assert_eq!(first(&ann).status, Status::Pending);
    // As long as nobody has noticed, the holder may still finish.
    let claim = bob.whole().get(Number(2)).unwrap().claim.clone().unwrap();
    assert!(claim.expires_at > at(0));
    bob.wait_seconds(3600);
    bob.must(vec![renew(2, 1), done(2)]);
}

pub(crate) fn an_item_that_a_person_does_is_not_interrupted(world: &World) {
    let (ann, bob) = two(world);
    ann.must(vec![Op::Add(Box::new(NewItem::titled("by hand")))]);
    ann.must(vec![start(3)]);
    bob.wait_seconds(15 * 60);
    bob.must(vec![start(2)]);
    let item = bob.whole().get(Number(3)).unwrap().clone();
    assert_eq!((item.status, item.is_interrupted()), (Status::Pending, false));
}
