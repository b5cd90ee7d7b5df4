//! The schema: numbered steps, forward only.
//!
//! A step that was released never changes; a test holds their digests.

use std::path::Path;

use punchlist_model::store::Error;
use rusqlite::{Connection, TransactionBehavior};

use crate::error::{explain, unusable};

/// The steps in order; the n-th leads to version n.
pub(crate) const STEPS: [&str; 6] = [
    include_str!("../migrations/sqlite/0001_plans.sql"),
    include_str!("../migrations/sqlite/0002_sessions.sql"),
    include_str!("../migrations/sqlite/0003_seen_by.sql"),
    include_str!("../migrations/sqlite/0004_calls.sql"),
    include_str!("../migrations/sqlite/0005_fewer_trees.sql"),
    include_str!("../migrations/sqlite/0006_whose_list.sql"),
];

/// The version that this program writes.
pub(crate) const LATEST: u32 = 6;

/// The bytes of a page in a new database. A change touches a few rows in a few places, and each place
/// is a page that is summed and written to the log; half of SQLite's usual size halves that. An item
/// with a usual amount of text still fits into its page.
const PAGE: u32 = 2048;

/// Marks the file as ours: "Pnch".
pub(crate) const APPLICATION: i32 = 0x506e_6368;

/// What a database file is to us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Nothing is in it yet.
    Empty,
    /// Ours, with a schema that wants these steps still.
    Old(u32),
    /// Ours, and as we write it.
    Current,
}

/// Looks at a database and touches nothing.
pub(crate) fn look(conn: &Connection, path: &Path) -> Result<State, Error> {
    judge(facts(conn).map_err(|error| explain(path, error))?, path)
}

/// What is written in a database about itself.
#[derive(Clone, Copy)]
pub(crate) struct Facts {
    version: i64,
    application: i64,
    /// Whether anything at all is in it; asked only if it is not ours.
    filled: bool,
}

/// Reads what is written in a database about itself.
pub(crate) fn facts(conn: &Connection) -> rusqlite::Result<Facts> {
    let facts = read_facts(conn)?;
    let is_current =
        (facts.application, facts.version) == (i64::from(APPLICATION), i64::from(LATEST));
    if is_current || !conn.is_autocommit() {
        return Ok(facts);
    }
    // Somebody may be making or migrating it at this moment, and what was read in several steps
    // may be from before and after. The usual case needs no transaction to be sure: versions only
    // go up, and ours is never taken back.
    let one_moment = conn.unchecked_transaction()?;
    read_facts(&one_moment)
}

fn read_facts(conn: &Connection) -> rusqlite::Result<Facts> {
    let read = |sql: &str| -> rusqlite::Result<i64> { conn.query_row(sql, [], |row| row.get(0)) };
    let version = read("PRAGMA user_version")?;
    let application = read("PRAGMA application_id")?;
    let filled =
        application == i64::from(APPLICATION) || read("SELECT count(*) FROM sqlite_schema")? > 0;
    Ok(Facts { version, application, filled })
}

/// What those facts make of it.
pub(crate) fn judge(facts: Facts, path: &Path) -> Result<State, Error> {
    if facts.application != i64::from(APPLICATION) {
        if !facts.filled && (facts.version, facts.application) == (0, 0) {
            return Ok(State::Empty);
        }
        let what = format!("{} is the database of another program", path.display());
        return Err(Error::Unusable { what, source: None });
    }
    match u32::try_from(facts.version) {
        Ok(LATEST) => Ok(State::Current),
        Ok(version @ 0..LATEST) => Ok(State::Old(version)),
        Ok(found) => Err(Error::NewerSchema { found, known: LATEST }),
        Err(error) => {
            Err(unusable(format!("{} has a schema version below 0", path.display()), error))
        }
    }
}

/// Brings a database up to date. The caller holds the writers' lock.
pub(crate) fn migrate(conn: &mut Connection, path: &Path) -> Result<(), Error> {
    let broken = |error| explain(path, error);
    if look(conn, path)? == State::Empty {
        conn.pragma_update(None, "page_size", PAGE).map_err(broken)?;
        conn.pragma_update(None, "journal_mode", "WAL").map_err(broken)?;
    }
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
    // Looked at again inside the transaction: somebody may have been quicker.
    let done = match look(&tx, path)? {
        State::Current => return Ok(()),
        State::Empty => 0,
        State::Old(version) => version,
    };
    let steps = STEPS.iter().skip(usize::try_from(done).unwrap_or(usize::MAX));
    for step in steps {
        tx.execute_batch(step).map_err(broken)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION).map_err(broken)?;
    tx.pragma_update(None, "user_version", LATEST).map_err(broken)?;
    tx.commit().map_err(broken)
}

#[cfg(test)]
mod tests {
    use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

    use super::*;
    use crate::{Durability, Options, Sqlite};

    #[test]
    fn a_database_that_is_made_while_one_looks_is_ours() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plans.db");
        std::fs::write(&path, "").unwrap();
        let mut conn = Connection::open(&path).unwrap();
        let options = Options { path: path.clone(), durability: Durability::Normal };
        // Between the statements that look, another process makes it.
        let mut others = Some(move || drop(Sqlite::open(&options).unwrap()));
        conn.authorizer(Some(move |context: AuthContext<'_>| {
            if matches!(context.action, AuthAction::Select)
                && let Some(make) = others.take()
            {
                make();
            }
            Authorization::Allow
        }))
        .unwrap();
        assert_eq!(look(&conn, &path).unwrap(), State::Current);
    }

    #[test]
    fn a_database_of_any_earlier_version_is_brought_up_to_date() {
        for version in 1..LATEST {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("plans.db");
            let conn = Connection::open(&path).unwrap();
            conn.pragma_update(None, "journal_mode", "WAL").unwrap();
            for step in STEPS.iter().take(usize::try_from(version).unwrap()) {
                conn.execute_batch(step).unwrap();
            }
            conn.pragma_update(None, "application_id", APPLICATION).unwrap();
            conn.pragma_update(None, "user_version", version).unwrap();
            assert_eq!(look(&conn, &path).unwrap(), State::Old(version));
            let options = Options { path: path.clone(), durability: Durability::Normal };
            drop(Sqlite::open(&options).unwrap());
            assert_eq!(look(&conn, &path).unwrap(), State::Current);
        }
    }

    #[test]
    fn the_version_is_the_number_of_steps() {
        assert_eq!(usize::try_from(LATEST).unwrap(), STEPS.len());
    }

    /// FNV-1a: enough to notice an edit.
    fn digest(text: &str) -> u64 {
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    #[test]
    fn a_migration_never_changes() {
        // A new step gets a new line; a line that is there stays as it is.
        let digests: Vec<String> = STEPS.iter().map(|it| format!("{:016x}", digest(it))).collect();
        assert_eq!(
            digests,
            [
                "bd5690ad38491a90",
                "2f8027437500b86f",
                "3b0d4d5a54578dde",
                "51f02e9d0823e2ac",
                "67386394d9c10840",
                "f9ff6d9791d125c8"
            ]
        );
    }
}
