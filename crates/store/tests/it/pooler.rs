//! The store behind pgbouncer in transaction mode, where each transaction may go to another process of
//! the server. These tests need both: `cargo xtask test postgres --full`.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use punchlist_model::store::{Change, Cursor, Scope};
use punchlist_model::{Revision, Timestamp};
use punchlist_store::postgres::{Options, Postgres};
use punchlist_testkit::pooler::Pooler;

use crate::support::{Desk, add, ctx, follow, next, plan_id, server_programs, wait};

/// A pooler in front of a server.
fn pooler() -> Pooler {
    let program = std::env::var_os("PUNCHLIST_TEST_PGBOUNCER");
    let program = PathBuf::from(program.expect("run by `cargo xtask test postgres --full`"));
    Pooler::start(&program, &server_programs())
}

#[test]
#[ignore = "needs pgbouncer: cargo xtask test postgres --full"]
fn behind_a_pooler_everything_works_and_followers_poll() {
    let pooler = pooler();
    let options = Options::new(pooler.address().parse().unwrap());
    let open = || Arc::new(Postgres::open(&options).unwrap());
    let desk = Desk::new(open(), "ann");
    let mut all = follow(&*open(), Cursor::Now, Scope::All);
    thread::scope(|scope| {
        for worker in 0..8 {
            let (store, plan) = (open(), desk.plan);
            scope.spawn(move || {
                for n in 1..=20 {
                    let who = format!("w{worker}");
                    let mut ctx = ctx(&who, n);
                    ctx.limits.open_items = u32::MAX;
                    let change = Change::new(vec![add(&format!("{who} {n}"))], ctx);
                    wait(punchlist_model::store::PlanStore::change(&*store, plan, change)).unwrap();
                }
            });
        }
    });
    for revision in 1..=160 {
        assert_eq!(next(&mut all).1.revision, Revision(revision));
    }
    assert_eq!(wait(desk.store.whole(plan_id(1))).unwrap().items.len(), 160);
    let clock = || Timestamp::UNIX_EPOCH;
    assert!(Postgres::examine(&options, clock).unwrap().is_pooled);
    let direct = pooler.server.address("plans").parse().unwrap();
    assert!(!Postgres::examine(&Options::new(direct), clock).unwrap().is_pooled);
}
