//! The schema: made once, never by a reader, and a newer one is refused.

use std::thread;

use punchlist_model::store::{Change, Error};
use punchlist_store::postgres::Postgres;
use punchlist_testkit::postgres::query;

use super::{open, options};
use crate::support::{Desk, add, database, wait};

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn programs_that_open_an_empty_database_at_once_make_one_schema() {
    let address = database();
    thread::scope(|scope| {
        for n in 0..8 {
            let address = &address;
            scope.spawn(move || {
                let desk = Desk::at(open(address), crate::support::plan_id(n), "ann");
                wait(desk.store.create(crate::support::new_plan(n))).unwrap();
                desk.must(vec![add("a")]);
            });
        }
    });
    let plans = query(&address, "SELECT count(*) FROM punchlist.plan").unwrap();
    assert_eq!(plans, ["8"]);
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_reader_finds_nothing_in_an_empty_database_and_leaves_it_empty() {
    let address = database();
    assert!(Postgres::open_to_read(&options(&address)).unwrap().is_none());
    let made = "SELECT count(*) FROM pg_namespace WHERE nspname = 'punchlist'";
    assert_eq!(query(&address, made).unwrap(), ["0"]);
    open(&address);
    assert!(Postgres::open_to_read(&options(&address)).unwrap().is_some());
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_newer_schema_is_refused_also_by_who_was_there_before() {
    let address = database();
    let desk = Desk::new(open(&address), "ann");
    desk.must(vec![add("a")]);
    query(&address, "UPDATE punchlist.schema_version SET version = 99").unwrap();
    let is_newer =
        |error: &Error| matches!(error, Error::NewerSchema { found: 99, known } if *known < 99);
    for opened in [
        Postgres::open(&options(&address)).map(drop),
        Postgres::open_to_read(&options(&address)).map(drop),
    ] {
        assert!(is_newer(&opened.unwrap_err()));
    }
    let late = wait(desk.store.change(desk.plan, Change::new(vec![add("b")], desk.ctx())));
    assert!(is_newer(&late.unwrap_err()));
    let written = "SELECT count(*) FROM punchlist.item";
    assert_eq!(query(&address, written).unwrap(), ["1"]);
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_role_without_rights_is_told_so_and_a_reader_may_read() {
    let address = database();
    let desk = Desk::new(open(&address), "ann");
    desk.must(vec![add("a")]);
    let role = format!("reader_{}", std::process::id());
    let make = format!(
        "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA punchlist TO {role}; \
         GRANT SELECT ON ALL TABLES IN SCHEMA punchlist TO {role}"
    );
    query(&address, &make).unwrap();
    let theirs = address.replace("postgres@", &format!("{role}@"));
    let reader = Postgres::open_to_read(&options(&theirs)).unwrap().unwrap();
    let reader = Desk::at(std::sync::Arc::new(reader), desk.plan, "eve");
    assert_eq!(reader.list(), "1:a pending");
    let refused = reader.change(vec![add("b")]).unwrap_err();
    assert!(
        matches!(&refused, Error::Denied { role: who, what } if *who == role && what == "change plans"),
        "{refused}"
    );
}
