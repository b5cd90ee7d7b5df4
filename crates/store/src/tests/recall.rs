//! Who is who, from memory: right, or nothing happens.

use punchlist_model::store::{AttachmentKey, Change};
use punchlist_model::{ItemRef, NewItem, Op, Revision};

use super::*;

fn key() -> AttachmentKey {
    AttachmentKey {
        project: "/project".to_owned(),
        agent: "claude".to_owned(),
        conversation: "c".to_owned(),
        sub_agent: String::new(),
        turn: String::new(),
    }
}

fn add(title: &str) -> Op {
    Op::Add(Box::new(NewItem::titled(title)))
}

/// A store that stays, the same one recalling, another one on the same file, and a plan.
fn stores() -> (tempfile::TempDir, Sqlite, Sqlite, Sqlite, PlanId) {
    let directory = tempfile::TempDir::new().unwrap();
    let options =
        Options { path: directory.path().join("plans.db"), durability: Durability::Normal };
    let store = Sqlite::open(&options).unwrap();
    store.stay();
    let plan = Plan::new(PlanId(IdSource::fixed(at(0), 2).nth(0)), "/project", at(0));
    now(store.import(plan.clone(), Vec::new())).unwrap();
    now(store.attach(key(), plan.id, at(0))).unwrap();
    let (recalling, other) = (store.recalling(), Sqlite::open(&options).unwrap());
    (directory, store, recalling, other, plan.id)
}

#[track_caller]
fn check_outdated<T: std::fmt::Debug>(answer: Result<T, Error>) {
    assert!(matches!(answer, Err(Error::Outdated)), "{answer:?}");
}

/// As a caller does it: who is attached, then a change by that one.
fn change(store: &Sqlite, op: Op) -> Result<Revision, Error> {
    let attachment = now(store.attachment(key()))?.unwrap();
    let mut change = Change::new(vec![op], ctx());
    change.seen_by = Some(key());
    change.ctx.base = Some(attachment.shown);
    now(store.change(attachment.plan, change)).map(|it| it.revision())
}

#[test]
fn what_was_never_asked_is_not_recalled() {
    let (_directory, store, recalling, _, _) = stores();
    check_outdated(now(recalling.attachment(key())));
    now(store.attachment(key())).unwrap();
    now(recalling.attachment(key())).unwrap();
}

#[test]
fn a_change_after_recalling_is_like_any_other_also_while_something_is_in_progress() {
    let (_directory, store, recalling, _, plan) = stores();
    assert_eq!(change(&store, add("one")).unwrap(), Revision(1));
    assert_eq!(change(&recalling, add("two")).unwrap(), Revision(2));
    let start = Op::Start(ItemRef::Number(Number(1)));
    assert_eq!(change(&recalling, start).unwrap(), Revision(3));
    assert_eq!(change(&recalling, add("three")).unwrap(), Revision(4));
    let found = now(PlanStore::read(&store, plan, Needs::whole())).unwrap();
    assert_eq!((found.items.len(), found.revision), (3, Revision(4)));
    assert_eq!(now(store.attachment(key())).unwrap().unwrap().shown, Revision(4));
}

#[test]
fn after_somebody_else_wrote_nothing_is_changed_from_memory() {
    let (_directory, store, recalling, other, plan) = stores();
    change(&store, add("one")).unwrap();
    now(other.change(plan, Change::new(vec![add("theirs")], ctx()))).unwrap();
    check_outdated(change(&recalling, add("two")));
    let found = now(PlanStore::read(&other, plan, Needs::whole())).unwrap();
    assert_eq!(found.revision, Revision(2));
    assert_eq!(change(&store, add("two")).unwrap(), Revision(3));
    // For a while all is looked up, and then it is tried again.
    let tried = (0..40).find(|_| now(recalling.attachment(key())).is_ok());
    assert!(tried.is_some_and(|times| times > 1), "{tried:?}");
}

#[test]
fn what_was_recalled_before_and_after_a_look_does_not_go_together() {
    let (_directory, store, recalling, other, plan) = stores();
    change(&store, add("one")).unwrap();
    let attachment = now(recalling.attachment(key())).unwrap().unwrap();
    now(other.change(plan, Change::new(vec![add("theirs")], ctx()))).unwrap();
    // Somebody else in this process looks, and the store remembers a later moment.
    now(store.attachment(key())).unwrap();
    check_outdated(now(recalling.change(attachment.plan, Change::new(vec![add("two")], ctx()))));
    check_outdated(now(recalling.change(plan, Change::new(vec![add("without a look")], ctx()))));
}
