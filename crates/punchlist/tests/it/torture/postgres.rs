//! The scenarios with the plans on a PostgreSQL server, and those that only a server has. `cargo xtask test
//! postgres` runs them in their short form, `cargo xtask torture --postgres` in full.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use punchlist_model::session::Store;
use punchlist_store::postgres::{Address, Options, Postgres};
use punchlist_testkit::postgres::{Server, Setup, query, shared};

use super::flight::disturbed;
use super::place::Place;
use super::{Kept, Round, Tally, scenario_on, skip};
use super::{flight, keeping, kills, lists, own_sessions, races, runs, served, together};

/// How long a server that starts again is waited for, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

fn programs() -> PathBuf {
    let programs = std::env::var_os("PUNCHLIST_TEST_POSTGRES");
    PathBuf::from(programs.expect("run by `cargo xtask test postgres`"))
}

/// A database on the server that all scenarios share. It is removed at the end.
pub(super) struct Database(pub(super) String);

impl Database {
    pub(super) fn new() -> Self {
        Self(shared(&programs()).database())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let name = self.0.split(['/', '?']).nth(3).unwrap_or_default();
        // What stays goes with the server.
        shared(&programs()).query("postgres", &format!("DROP DATABASE {name} WITH (FORCE)")).ok();
    }
}

/// The address of a database, unless it is a file.
pub(super) fn address(db: &Path) -> Option<&str> {
    db.to_str().filter(|it| Address::is_address(it))
}

pub(super) fn open(address: &str) -> Arc<dyn Store> {
    let options = Options::new(address.parse().unwrap());
    Arc::new(Postgres::open(&Options { patience: Some(PATIENCE), ..options }).unwrap())
}

/// Waits until the server has noticed that all clients of a database are gone. What a client had sent
/// before it was killed is done until then.
pub(super) fn settle(address: &str) {
    let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                  AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
    let until = Instant::now() + PATIENCE;
    while query(address, others).unwrap() != ["0"] {
        assert!(Instant::now() < until, "somebody is still connected");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Compares the indexes with their tables, if the server can do that.
pub(super) fn indexes(address: &str, tally: &mut Tally) {
    let has_check = "SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck'";
    if query(address, has_check).unwrap().is_empty() {
        return;
    }
    let check = "CREATE EXTENSION IF NOT EXISTS amcheck; SELECT bt_index_check(indexrelid, true) \
                 FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid \
                 WHERE relnamespace = 'punchlist'::regnamespace";
    if let Err(why) = query(address, check) {
        tally.spoil(format!("amcheck: {why}"));
    }
}

/// Names the database if a text is in a file of its tables.
pub(super) fn traces(address: &str, text: &str) -> Vec<String> {
    // The server keeps samples of what is in a table.
    query(address, "ANALYZE; CHECKPOINT").unwrap();
    let number = query(address, "SELECT oid FROM pg_database WHERE datname = current_database()");
    let directory = format!("base/{}", number.unwrap()[0]);
    let is_there = shared(&programs()).files_contain(&directory, text);
    if is_there { vec![address.to_owned()] } else { Vec::new() }
}

/// The scenarios: the test, the name that it reports, and what it does.
macro_rules! scenarios {
    ($($test:ident: $name:literal, $round:expr;)*) => {
        $(#[test]
        #[ignore = "needs a server: cargo xtask test postgres"]
        fn $test() {
            scenario_on(Kept::OnAServer, $name, $round);
        })*
    };
}

scenarios! {
    numbers_have_no_gap_and_no_repeat_when_many_processes_add: "adds", races::adds;
    processes_that_make_the_database_at_once_make_one_and_lose_nothing: "births", races::births;
    an_item_is_handed_out_once_however_many_race_for_it: "claims", races::claims;
    two_edits_of_different_fields_at_once_are_both_kept: "edits", races::edits;
    whole_lists_from_many_processes_drop_nothing_in_silence: "whole lists", lists::lists;
    adds_in_flight_are_kept_once_acknowledged_whoever_is_killed: "in flight", flight::in_flight;
    a_kill_at_any_point_costs_nothing_that_was_acknowledged: "mixed writes", kills::mixed;
    a_plan_file_goes_on_after_every_kill_and_repeats_only_what_was_in_flight:
        "plan file", runs::killed;
    a_session_goes_on_after_every_kill_and_repeats_no_call_that_has_begun:
        "sessions", own_sessions::killed;
    clients_of_a_server_that_is_killed_miss_nothing: "served", served::served;
    order_is_by_revision_whatever_the_clock_says: "jumping clock", super::clock::jumps;
    what_is_exported_and_imported_is_the_same_to_the_byte: "export", keeping::export;
    what_is_exported_while_others_write_is_one_state: "exports", together::exports;
    what_is_forgotten_leaves_no_trace_in_any_file: "forget", keeping::forget;
    what_is_forgotten_is_not_brought_back_by_others_who_undo: "undo and forget", together::undo_and_forget;
    processes_go_on_when_the_server_is_killed_under_them: "database server", server_is_killed;
}

#[cfg(target_os = "linux")]
mod processes {
    use super::super::liveness::{self, can_choose_pids, can_make_namespaces};
    use super::{Kept, scenario_on, skip};

    scenarios! {
        a_claim_is_freed_early_only_when_its_process_is_gone: "liveness", liveness::liveness;
    }

    #[test]
    #[ignore = "needs a server: cargo xtask test postgres"]
    fn a_claim_from_another_pid_namespace_is_never_taken_for_gone() {
        if !can_make_namespaces() {
            return skip("namespaces", "no pid namespace can be made here");
        }
        scenario_on(Kept::OnAServer, "namespaces", liveness::namespaces);
    }

    #[test]
    #[ignore = "needs a server: cargo xtask test postgres"]
    fn a_pid_that_is_used_again_is_another_process() {
        if !can_choose_pids() {
            return skip("pid reuse", "pids cannot be chosen here");
        }
        scenario_on(Kept::OnAServer, "pid reuse", liveness::reuse);
    }
}

fn server_is_killed(round: &mut Round<'_>) {
    let (each, kills) = (round.of(240, 2_500), round.of(2, 10));
    let mut server = Server::start(&programs(), Setup { fsync: true, ..Setup::default() });
    let place = Place::around(server.database().into());
    disturbed(round, &place, each, kills, || {
        server.kill();
        server.run();
    });
    round.tally.kills += kills;
    place.run(&["add", "last"]).works();
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_promoted_standby_has_all_that_was_acknowledged() {
    if !programs().join("pg_basebackup").exists() {
        return skip("failover", "there is no pg_basebackup for a standby");
    }
    scenario_on(Kept::OnAServer, "failover", failover);
}

/// The server is killed for good, and its standby takes over.
fn failover(round: &mut Round<'_>) {
    let each = round.of(60, 2_500);
    let setup = Setup { fsync: true, ..Setup::default() };
    let mut server = Server::start(&programs(), setup);
    server.query("postgres", "CREATE DATABASE plans").unwrap();
    let directory = server.socket_directory().to_str().unwrap().to_owned();
    let standby = Server::start_standby(&server, &directory, setup);
    // From now on, a commit waits for the standby.
    server.query("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'standby'").unwrap();
    server.query("postgres", "SELECT pg_reload_conf()").unwrap();
    let is_synchronous = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
    let until = Instant::now() + PATIENCE;
    while server.query("postgres", is_synchronous).unwrap().is_empty() {
        assert!(Instant::now() < until, "the standby does not follow");
        thread::sleep(Duration::from_millis(5));
    }
    let other = standby.socket_directory().display();
    let address = format!("postgres://postgres@/plans?host={directory}&host={other}&port=5432");
    let place = Place::around(address.into());
    disturbed(round, &place, each, 1, || {
        server.kill();
        assert_eq!(standby.query("postgres", "SELECT pg_promote()").unwrap(), ["t"]);
    });
    round.tally.kills += 1;
    place.run(&["add", "last"]).works();
}
