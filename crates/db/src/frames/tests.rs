//! Logs that are written so, beside SQLite writing its own.

use std::path::Path;

use proptest::prelude::*;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

/// A database with a table, in a log.
fn database(directory: &TempDir) -> std::path::PathBuf {
    let path = directory.path().join("x.db");
    let conn = Connection::open(&path).unwrap();
    let made = "PRAGMA page_size = 512; PRAGMA journal_mode = WAL; CREATE TABLE t(n, text)";
    conn.execute_batch(made).unwrap();
    path
}

fn ours(path: &Path) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = super::open(path, flags).unwrap();
    conn.execute_batch("PRAGMA synchronous = NORMAL").unwrap();
    conn
}

fn rows(conn: &Connection) -> i64 {
    conn.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()
}

fn is_whole(conn: &Connection) -> bool {
    let said = conn.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    said.as_deref() == Ok("ok")
}

/// Adds rows in a transaction that the caller ends.
fn add(conn: &Connection, count: i64, length: usize) {
    conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    for n in 0..count {
        conn.execute("INSERT INTO t VALUES (?1, ?2)", (n, "x".repeat(length))).unwrap();
    }
}

#[test]
fn a_database_opened_to_write_has_its_log_written_so() {
    let directory = TempDir::new().unwrap();
    let conn = ours(&database(&directory));
    let spills = |conn: &Connection| -> i64 {
        conn.query_row("PRAGMA cache_spill", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(spills(&conn), 0);
    assert!(spills(&Connection::open_in_memory().unwrap()) > 0, "which is not as it always is");
}

/// What somebody does with a database.
#[derive(Clone, Debug)]
enum Act {
    Commit { rows: i64, length: usize },
    TakeBack { rows: i64, length: usize },
    Empty(&'static str),
    Reopen,
}

fn act() -> impl Strategy<Value = Act> {
    let empty = prop_oneof![
        Just("PRAGMA wal_checkpoint(PASSIVE)"),
        Just("PRAGMA wal_checkpoint(RESTART)"),
        Just("PRAGMA wal_checkpoint(TRUNCATE)"),
    ];
    let size = || (0_i64..40, 0_usize..900);
    prop_oneof![
        6 => size().prop_map(|(rows, length)| Act::Commit { rows, length }),
        1 => (200_i64..400).prop_map(|rows| Act::Commit { rows, length: 700 }),
        2 => size().prop_map(|(rows, length)| Act::TakeBack { rows, length }),
        2 => empty.prop_map(Act::Empty),
        1 => Just(Act::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Two that write so and one that does not take turns at one database, in any order.
    #[test]
    fn whoever_writes_the_others_read_it(acts in prop::collection::vec((0_usize..3, act()), 1..40)) {
        let directory = TempDir::new().unwrap();
        let path = database(&directory);
        let open = |who| if who == 2 { Connection::open(&path).unwrap() } else { ours(&path) };
        let mut all = [0, 1, 2].map(open);
        let mut expected = 0;
        for (who, act) in acts {
            let conn = &all[who];
            match act {
                Act::Commit { rows, length } => {
                    add(conn, rows, length);
                    conn.execute_batch("COMMIT").unwrap();
                    expected += rows;
                }
                Act::TakeBack { rows, length } => {
                    add(conn, rows, length);
                    conn.execute_batch("ROLLBACK").unwrap();
                }
                Act::Empty(how) => conn.query_row(how, [], |_| Ok(())).unwrap(),
                Act::Reopen => all[who] = open(who),
            }
            for conn in &all {
                prop_assert_eq!(rows(conn), expected);
            }
        }
        drop(all);
        let after = Connection::open(&path).unwrap();
        prop_assert_eq!(rows(&after), expected);
        prop_assert!(is_whole(&after));
    }
}

/// What is committed is in the file and not only held: a copy made right then has it all.
#[test]
fn a_committed_change_is_in_the_log_at_once() {
    let directory = TempDir::new().unwrap();
    let path = database(&directory);
    let conn = ours(&path);
    for n in 1..=30 {
        add(&conn, 1, 700);
        conn.execute_batch("COMMIT").unwrap();
        let copy = directory.path().join(format!("{n}.db"));
        for ending in ["", "-wal"] {
            let name = |path: &Path| format!("{}{ending}", path.display());
            std::fs::copy(name(&path), name(&copy)).unwrap();
        }
        let copy = Connection::open(copy).unwrap();
        assert_eq!(rows(&copy), n);
        assert!(is_whole(&copy));
    }
}

/// Should SQLite ever write pages before it commits, the change fails and everything else stays.
#[test]
fn pages_that_come_before_the_commit_are_refused_and_harm_nothing() {
    let directory = TempDir::new().unwrap();
    let path = database(&directory);
    let (conn, other) = (ours(&path), ours(&path));
    add(&conn, 3, 100);
    conn.execute_batch("COMMIT; PRAGMA cache_spill = 1; PRAGMA cache_size = 1").unwrap();
    conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    let insert = "INSERT INTO t VALUES (1, hex(zeroblob(400)))";
    let mut done = (0..2000).map(|_| conn.execute(insert, []));
    let failed = done.find_map(Result::err).map(|error| error.sqlite_error_code());
    // Some of it was held when it failed or was given up, and none of that is ever written.
    drop(conn.execute_batch("ROLLBACK"));
    add(&other, 5, 300);
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(rows(&other), 8);
    assert!(is_whole(&other));
    // What was held is told once as a failure to read; then it is as if it had not been.
    drop(conn.query_row("SELECT count(*) FROM t", [], |_| Ok(())));
    assert_eq!(rows(&conn), 8, "after {failed:?}");
}
