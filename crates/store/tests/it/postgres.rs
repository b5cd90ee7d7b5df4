//! What the store on PostgreSQL promises beyond the contract. These tests need a server:
//! `cargo xtask test postgres`.

mod faults;
mod follow;
mod places;
mod schema;
mod tls;

use std::sync::Arc;

use punchlist_model::Timestamp;
use punchlist_model::session::Store;
use punchlist_store::postgres::{Options, Postgres};
use punchlist_testkit::postgres::{Server, Setup};

use crate::support::{Desk, ctx, database, server_programs, wait};

/// The store at an address, with the server's clock.
fn open(address: &str) -> Arc<dyn Store> {
    Arc::new(Postgres::open(&options(address)).unwrap())
}

fn options(address: &str) -> Options {
    Options::new(address.parse().unwrap())
}

/// A server of its own, for tests that kill or reconfigure it.
fn server(setup: Setup<'_>) -> Server {
    Server::start(&server_programs(), setup)
}

/// The time of this machine, which is that of the server.
#[expect(clippy::disallowed_methods, reason = "it is compared with the server's clock")]
fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Timestamp::from_millisecond(i64::try_from(since.as_millis()).unwrap()).unwrap()
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn times_and_leases_are_the_servers_whatever_the_callers_clock_says() {
    let desk = Desk::new(open(&database()), "ann");
    let before = now();
    desk.must(vec![crate::support::add("a")]);
    // The caller's clock is years ahead.
    let applied = desk.must(vec![crate::support::start(1)]);
    let after = now();
    let item = applied.items()[0].clone();
    let within = |at: Timestamp| before.as_second() - 1 <= at.as_second() && at <= after;
    assert!(within(item.created_at) && within(item.started_at.unwrap()), "{item:?}");
    let lease = item.claim.unwrap().expires_at.as_second() - item.started_at.unwrap().as_second();
    assert_eq!(lease, 15 * 60);
    assert!(desk.journal().iter().all(|it| within(it.at)));
    assert!(ctx("ann", 1).now > after, "the test's clock is another one");
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_lease_that_the_server_still_counts_is_not_taken_by_a_clock_that_is_ahead() {
    let ann = Desk::new(open(&database()), "ann");
    ann.must(vec![crate::support::add("a")]);
    ann.must(vec![crate::support::start(1)]);
    let bob = Desk::at(Arc::clone(&ann.store), ann.plan, "bob");
    bob.wait_seconds(3600);
    let refused = bob.change(vec![crate::support::start(1)]);
    assert!(matches!(refused, Err(punchlist_model::store::Error::Refused(_))), "{refused:?}");
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn erased_texts_are_in_no_file_of_a_table() {
    let server = server(Setup::default());
    let address = server.database();
    let desk = Desk::new(open(&address), "ann");
    // Short, so that it is stored as it is and not compressed. Several, so that the server would keep samples.
    let numbers = [1, 2, 3, 4].map(punchlist_model::Number);
    for number in numbers {
        desk.must(vec![crate::support::add("plain")]);
        let text = Some(format!("xyzzy-plugh-{number}"));
        let patch = punchlist_model::Patch { context: text, ..Default::default() };
        desk.must(vec![punchlist_model::Op::Edit { item: number.into(), patch: Box::new(patch) }]);
    }
    let is_anywhere = || {
        punchlist_testkit::postgres::query(&address, "ANALYZE; CHECKPOINT").unwrap();
        server.tables_contain("xyzzy-plugh-")
    };
    assert!(is_anywhere(), "the test would find it");
    for number in numbers {
        wait(desk.store.forget(desk.plan, Some(number.into()), desk.ctx())).unwrap();
    }
    assert!(!is_anywhere());
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn forget_waits_for_a_transaction_of_another_database_because_the_server_keeps_the_text_for_it() {
    use punchlist_testkit::postgres::query;
    let server = server(Setup::default());
    let (address, other) = (server.database(), server.database());
    let desk = Desk::new(open(&address), "ann");
    desk.must(vec![crate::support::add("xyzzy-plugh")]);
    let writes = "BEGIN; SELECT pg_current_xact_id(); SELECT pg_sleep(2); COMMIT";
    let writer = std::thread::spawn(move || query(&other, writes));
    let begun = "SELECT 1 FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND datname <> current_database()";
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while query(&address, begun).unwrap().is_empty() {
        assert!(std::time::Instant::now() < until, "the other transaction does not begin");
    }
    let item = punchlist_model::Number(1);
    wait(desk.store.forget(desk.plan, Some(item.into()), desk.ctx())).unwrap();
    query(&address, "CHECKPOINT").unwrap();
    assert!(!server.tables_contain("xyzzy-plugh"));
    writer.join().unwrap().unwrap();
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_plan_goes_from_one_database_to_another_and_back_unchanged() {
    let (one, other) = (open(&database()), open(&database()));
    let desk = Desk::new(one, "ann");
    for n in 0..20 {
        desk.must(vec![crate::support::add(&format!("item {n}"))]);
    }
    desk.must(vec![crate::support::done(3)]);
    let (plan, journal) = (desk.whole(), desk.journal());
    wait(other.import(plan.clone(), journal.clone())).unwrap();
    assert_eq!(wait(other.whole(desk.plan)).unwrap(), plan);
    assert_eq!(
        wait(other.journal(desk.plan, punchlist_model::Revision(0), u32::MAX)).unwrap(),
        journal
    );
    let directory = tempfile::TempDir::new().unwrap();
    let file = punchlist_store::sqlite(directory.path().join("plans.db")).unwrap();
    wait(file.import(plan.clone(), journal.clone())).unwrap();
    assert_eq!(wait(file.whole(desk.plan)).unwrap(), plan);
    assert_eq!(
        wait(file.journal(desk.plan, punchlist_model::Revision(0), u32::MAX)).unwrap(),
        journal
    );
}
