//! Logs that are written so, beside SQLite writing its own.

mod disk;

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

/// What the commit of a change writes, in calls to the system.
fn writes(conn: &Connection) -> usize {
    add(conn, 2, 700);
    let before = disk::writes();
    conn.execute_batch("COMMIT").unwrap();
    disk::writes() - before
}

#[test]
fn a_change_is_one_write() {
    disk::watch();
    let directory = TempDir::new().unwrap();
    let path = database(&directory);
    let (conn, plain) = (ours(&path), Connection::open(&path).unwrap());
    // A new log has a beginning of its own.
    assert_eq!(writes(&conn), 2);
    for _ in 0..3 {
        assert_eq!(writes(&conn), 1);
        // Some pages, and each of them two pieces.
        assert!(writes(&plain) >= 8);
    }
}

#[test]
fn sqlite_may_not_write_before_it_commits() {
    let directory = TempDir::new().unwrap();
    let conn = ours(&database(&directory));
    let spills = |conn: &Connection| -> i64 {
        conn.query_row("PRAGMA cache_spill", [], |row| row.get(0)).unwrap()
    };
    conn.execute_batch("PRAGMA synchronous = FULL; PRAGMA cache_size = -1000").unwrap();
    assert_eq!(spills(&conn), 0, "whatever else it is told");
    assert!(spills(&Connection::open_in_memory().unwrap()) > 0, "which is not as it always is");
}

#[cfg(target_os = "linux")]
#[test]
fn a_change_for_which_the_disk_has_no_room_is_not_made() {
    disk::watch();
    let directory = TempDir::new().unwrap();
    let path = database(&directory);
    let (conn, other) = (ours(&path), ours(&path));
    let mut expected = 0;
    for room in [0, 10, 24, 300, 536, 1000, 4000] {
        add(&conn, 8, 700);
        disk::has_room(Some(room));
        let refused = conn.execute_batch("COMMIT");
        disk::has_room(None);
        let code = refused.unwrap_err().sqlite_error_code();
        assert_eq!(code, Some(rusqlite::ErrorCode::DiskFull), "room for {room}");
        assert!(conn.is_autocommit(), "it is taken back");
        for who in [&other, &conn] {
            assert_eq!(rows(who), expected, "room for {room}");
            add(who, 1, 700);
            who.execute_batch("COMMIT").unwrap();
            expected += 1;
        }
        assert_eq!([rows(&conn), rows(&other)], [expected; 2]);
    }
    assert!(is_whole(&conn) && is_whole(&Connection::open(&path).unwrap()));
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
    let failed = done.find_map(Result::err).and_then(|error| error.sqlite_error_code());
    assert_eq!(failed, Some(rusqlite::ErrorCode::SystemIoFailure));
    drop(conn.execute_batch("ROLLBACK"));
    for length in [300, 3000] {
        add(&other, 5, length);
        other.execute_batch("COMMIT").unwrap();
        // What is still held is told once as a failure; then it is as if it had not been.
        drop(conn.query_row("SELECT count(*) FROM t", [], |_| Ok(())));
        assert_eq!(rows(&conn), rows(&other));
    }
    add(&conn, 1, 100);
    conn.execute_batch("COMMIT").unwrap();
    assert_eq!([rows(&conn), rows(&other)], [14; 2]);
    assert!(is_whole(&other));
}
