//! The schema and its version.
//!
//! Versions before 7 were never released. A database of version 5 or 6 is migrated nevertheless; an
//! older one is refused. From version 7 on there are numbered migrations, forward only. A released
//! migration never changes; a test checks their digests.

use std::path::Path;

use punchlist_model::store::Error;
use rusqlite::{Connection, TransactionBehavior};

use crate::error::{explain, unusable};
use crate::legacy;

/// The whole schema of version 7.
pub(crate) const SCHEMA_7: &str = include_str!("../migrations/sqlite/0007_schema.sql");
/// What version 8 adds.
pub(crate) const TO_8: &str = include_str!("../migrations/sqlite/0008_conversations.sql");
/// What version 9 adds.
pub(crate) const TO_9: &str = include_str!("../migrations/sqlite/0009_queue_and_notices.sql");
/// What version 10 adds.
pub(crate) const TO_10: &str = include_str!("../migrations/sqlite/0010_access.sql");
const FROM_6_BEFORE: &str = include_str!("../migrations/sqlite/from_6_before.sql");
const FROM_6_AFTER: &str = include_str!("../migrations/sqlite/from_6_after.sql");
const FROM_5_LISTS: &str = include_str!("../migrations/sqlite/from_5_lists.sql");

/// The version that this program writes.
pub(crate) const LATEST: u32 = 10;

/// The oldest version that can be migrated.
const OLDEST: u32 = 5;

/// Marks a file as a database of Punchlist: "Pnch".
pub(crate) const APPLICATION: i32 = 0x506e_6368;

/// What a database file contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Nothing yet.
    Empty,
    /// A schema of this older version, which must be migrated.
    Old(u32),
    /// The current schema.
    Current,
}

/// Reads the state of a database without changing it.
pub(crate) fn read_state(conn: &Connection, path: &Path) -> Result<State, Error> {
    state_of(facts(conn).map_err(|error| explain(path, error))?, path)
}

/// What a database file says about itself.
#[derive(Clone, Copy)]
pub(crate) struct Facts {
    version: i64,
    application: i64,
    /// Whether it contains any table; only read if the file is not ours.
    filled: bool,
}

/// Reads what a database file says about itself.
pub(crate) fn facts(conn: &Connection) -> rusqlite::Result<Facts> {
    let facts = read_facts(conn)?;
    let is_current =
        (facts.application, facts.version) == (i64::from(APPLICATION), i64::from(LATEST));
    if is_current || !conn.is_autocommit() {
        return Ok(facts);
    }
    // Another process may be creating or migrating the database now, and several statements may
    // read values from before and after. So they are read in one transaction. The usual case needs
    // none: versions only go up.
    let snapshot = conn.unchecked_transaction()?;
    read_facts(&snapshot)
}

fn read_facts(conn: &Connection) -> rusqlite::Result<Facts> {
    let read = |sql: &str| -> rusqlite::Result<i64> { conn.query_row(sql, [], |row| row.get(0)) };
    let version = read("PRAGMA user_version")?;
    let application = read("PRAGMA application_id")?;
    let filled =
        application == i64::from(APPLICATION) || read("SELECT count(*) FROM sqlite_schema")? > 0;
    Ok(Facts { version, application, filled })
}

/// Derives the state from the facts, or refuses the file.
pub(crate) fn state_of(facts: Facts, path: &Path) -> Result<State, Error> {
    if facts.application != i64::from(APPLICATION) {
        if !facts.filled && (facts.version, facts.application) == (0, 0) {
            return Ok(State::Empty);
        }
        let what = format!("{} is the database of another program", path.display());
        return Err(Error::Unusable { what, source: None });
    }
    match u32::try_from(facts.version) {
        Ok(LATEST) => Ok(State::Current),
        Ok(version @ OLDEST..LATEST) => Ok(State::Old(version)),
        Ok(version @ 0..OLDEST) => Err(too_old(path, version)),
        Ok(found) => Err(Error::NewerSchema { found, known: LATEST }),
        Err(error) => {
            Err(unusable(format!("{} has a schema version below 0", path.display()), error))
        }
    }
}

fn too_old(path: &Path, version: u32) -> Error {
    let what = format!(
        "{} has schema {version}, from before the first release, which this version cannot read; \
         move the file away to start with an empty one",
        path.display()
    );
    Error::Unusable { what, source: None }
}

/// The error for an old database that was opened read-only.
pub(crate) fn needs_write(path: &Path, version: u32) -> Error {
    let what = format!(
        "{} has schema {version}, which must be brought up to date by a command that writes",
        path.display()
    );
    Error::Unusable { what, source: None }
}

/// Migrates a database. The caller holds the write lock.
pub(crate) fn migrate(conn: &mut Connection, path: &Path) -> Result<(), Error> {
    let broken = |error| explain(path, error);
    if read_state(conn, path)? == State::Empty {
        conn.pragma_update(None, "journal_mode", "WAL").map_err(broken)?;
    }
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(broken)?;
    // Checked again inside the transaction: another process may have migrated it meanwhile.
    let version = match read_state(&tx, path)? {
        State::Current => return Ok(()),
        State::Empty => {
            tx.execute_batch(SCHEMA_7).map_err(broken)?;
            7
        }
        State::Old(version @ ..7) => {
            upgrade_to_7(&tx, version).map_err(broken)?;
            7
        }
        State::Old(version) => version,
    };
    let steps = [(8, TO_8), (9, TO_9), (10, TO_10)];
    for (_, step) in steps.into_iter().filter(|(to, _)| *to > version) {
        tx.execute_batch(step).map_err(broken)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION).map_err(broken)?;
    tx.pragma_update(None, "user_version", LATEST).map_err(broken)?;
    tx.commit().map_err(broken)
}

/// Copies everything from the tables of version 5 or 6 into those of version 7.
fn upgrade_to_7(conn: &Connection, version: u32) -> rusqlite::Result<()> {
    for step in [FROM_6_BEFORE, SCHEMA_7, FROM_6_AFTER] {
        conn.execute_batch(step)?;
    }
    if version == 5 {
        conn.execute_batch(FROM_5_LISTS)?;
    }
    legacy::record_what_plans_were_made_for(conn)
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
        // Another process creates the database between the statements that read it.
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
        assert_eq!(read_state(&conn, &path).unwrap(), State::Current);
    }

    #[test]
    fn a_database_from_before_schema_5_is_refused_and_left_alone() {
        for version in 1..OLDEST {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("plans.db");
            let conn = Connection::open(&path).unwrap();
            conn.execute_batch("CREATE TABLE plan(key INTEGER PRIMARY KEY) STRICT").unwrap();
            conn.pragma_update(None, "application_id", APPLICATION).unwrap();
            conn.pragma_update(None, "user_version", version).unwrap();
            drop(conn);
            let before = std::fs::read(&path).unwrap();
            let options = Options { path: path.clone(), durability: Durability::Normal };
            for error in [Sqlite::open(&options).err(), Sqlite::open_to_read(&options).err()]
                .map(Option::unwrap)
            {
                let words = error.to_string();
                assert!(words.contains(&format!("has schema {version}, from before")), "{words}");
                assert!(
                    words.ends_with("move the file away to start with an empty one"),
                    "{words}"
                );
            }
            assert_eq!(std::fs::read(&path).unwrap(), before);
        }
    }

    /// FNV-1a: enough to notice an edit.
    fn digest(text: &str) -> u64 {
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    #[test]
    fn a_migration_never_changes_after_its_release() {
        // A new migration gets a new line; the line of a released one stays.
        let digests = [SCHEMA_7, TO_8, TO_9, TO_10].map(|it| format!("{:016x}", digest(it)));
        let released =
            ["a451ff11494fb7eb", "c0ac3df3ebed6ed7", "b758f8ac807461e0", "a7282e43b561c047"];
        assert_eq!(digests, released);
    }
}
