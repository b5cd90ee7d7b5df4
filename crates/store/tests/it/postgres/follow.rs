//! Following where entries become visible in another order than they were numbered.

use punchlist_model::Revision;
use punchlist_model::store::{Change, Cursor, Scope};
use punchlist_testkit::postgres::{Held, query};

use super::open;
use crate::support::{add, ctx, database, follow, is_quiet, new_plan, next, plan_id, wait};

/// Writes an entry of the second plan as a slow transaction would, and waits.
const SLOW: &str = "INSERT INTO punchlist.journal(plan, revision, at, actor_kind, actor, kind, events) \
    SELECT key, 1, 0, 'agent', 'bob', 'edit', '[]' FROM punchlist.plan WHERE title = 'Plan 2'; \
    UPDATE punchlist.plan SET revision = 1 WHERE title = 'Plan 2'";

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn an_entry_that_becomes_visible_late_is_delivered_to_whoever_was_past_it() {
    let address = database();
    let store = open(&address);
    for n in [1, 2] {
        wait(store.create(new_plan(n))).unwrap();
    }
    let mut all = follow(&*store, Cursor::Start, Scope::All);
    let held = Held::begin(&address, SLOW);
    // This entry has a higher number, and is committed first.
    wait(store.change(plan_id(1), Change::new(vec![add("a")], ctx("ann", 1)))).unwrap();
    let (cursor, first) = next(&mut all);
    assert_eq!(first.plan, plan_id(1));
    assert!(is_quiet(&mut all));
    held.commit();
    assert_eq!(next(&mut all).1.plan, plan_id(2));
    // Whoever continues from the cursor after the first entry gets the late one too.
    let mut rest = follow(&*open(&address), cursor, Scope::All);
    let mut found = Vec::new();
    while !found.contains(&plan_id(2)) {
        found.push(next(&mut rest).1.plan);
    }
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_follower_goes_on_after_its_connections_were_cut() {
    let address = database();
    let store = open(&address);
    wait(store.create(new_plan(1))).unwrap();
    let mut all = follow(&*open(&address), Cursor::Now, Scope::All);
    for n in 1..=5 {
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";
        query(&address, cut).unwrap();
        let change = Change::new(vec![add(&n.to_string())], ctx("ann", n));
        wait(store.change(plan_id(1), change)).unwrap();
        assert_eq!(next(&mut all).1.revision, Revision(u64::try_from(n).unwrap()));
    }
}
