//! Many concurrent writers.

use std::sync::Arc;
use std::thread;

use punchlist_model::Revision;
use punchlist_model::store::{Change, PlanStore};
use punchlist_store::{Durability, Options, Sqlite};

use super::place;
use crate::support::{Desk, add, new_plan, plan_id, wait};

#[test]
fn eight_writers_lose_nothing_and_never_hear_that_the_database_is_locked() {
    let (_directory, options) = place();
    let first = Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann");
    thread::scope(|scope| {
        for worker in 0..8 {
            let options = &options;
            scope.spawn(move || {
                let store = Arc::new(Sqlite::open(options).unwrap());
                let desk = Desk::at(store, plan_id(1), &format!("worker {worker}"));
                for n in 0..100 {
                    let mut ctx = desk.ctx();
                    ctx.limits.open_items = 1_000;
                    let change = Change::new(vec![add(&format!("{worker}/{n}"))], ctx);
                    wait(desk.store.change(desk.plan, change)).unwrap();
                }
            });
        }
    });
    let plan = first.whole();
    assert_eq!((plan.items.len(), plan.revision), (800, Revision(800)));
    assert_eq!((plan.placed, plan.open), plan.recount());
    let revisions: Vec<u64> = first.journal().iter().map(|it| it.revision.0).collect();
    assert_eq!(revisions, (1..=800).collect::<Vec<u64>>());
}

#[test]
fn processes_that_make_the_database_at_once_make_one() {
    let (_directory, options) = place();
    thread::scope(|scope| {
        for n in 1..=8 {
            let options = &options;
            scope.spawn(move || {
                let store = Sqlite::open(options).unwrap();
                wait(store.create(new_plan(n))).unwrap();
            });
        }
    });
    let store = Sqlite::open(&options).unwrap();
    assert_eq!(wait(store.plans(Default::default())).unwrap().len(), 8);
}

#[test]
fn a_database_that_is_just_being_made_is_there_or_not_but_never_a_strangers() {
    for _ in 0..40 {
        let (_directory, options) = place();
        let options = &options;
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| drop(Sqlite::open(options).unwrap()));
            }
            for _ in 0..2 {
                scope.spawn(|| while Sqlite::open_to_read(options).unwrap().is_none() {});
            }
        });
    }
}

#[test]
fn a_full_sync_is_the_default_and_a_change_is_there_for_another_process() {
    let (_directory, options) = place();
    let options = Options { durability: Durability::default(), ..options };
    assert_eq!(options.durability, Durability::Full);
    let desk = Desk::new(Arc::new(Sqlite::open(&options).unwrap()), "ann");
    desk.must(vec![add("a")]);
    let outside = super::outside(&options);
    let count: u32 = outside.query_row("SELECT count(*) FROM journal", [], |it| it.get(0)).unwrap();
    assert_eq!(count, 1);
}
