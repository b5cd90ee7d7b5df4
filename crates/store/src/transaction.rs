//! Transactions whose beginning and end are statements kept ready.
//!
//! The driver's own parses `BEGIN` and `COMMIT` every time, which costs as much as a small query.

use std::ops::Deref;

use crate::session::Session;

/// A transaction; taken back when dropped, unless it was committed.
pub(crate) struct Transaction<'s, 'c> {
    session: &'s Session<'c>,
}

impl<'s, 'c> Transaction<'s, 'c> {
    /// Begins to read: all statements see one state.
    pub(crate) fn read(session: &'s Session<'c>) -> rusqlite::Result<Self> {
        Self::begin(session, "BEGIN")
    }

    /// Begins to write, and waits for other writers now and not in the middle.
    pub(crate) fn write(session: &'s Session<'c>) -> rusqlite::Result<Self> {
        Self::begin(session, "BEGIN IMMEDIATE")
    }

    fn begin(session: &'s Session<'c>, sql: &'static str) -> rusqlite::Result<Self> {
        session.statement(sql)?.execute([])?;
        Ok(Self { session })
    }

    /// Ends it, keeping what was written. What cannot be kept is taken back.
    pub(crate) fn commit(self) -> rusqlite::Result<()> {
        self.session.statement("COMMIT")?.execute([]).map(drop)
    }
}

impl<'c> Deref for Transaction<'_, 'c> {
    type Target = Session<'c>;

    fn deref(&self) -> &Session<'c> {
        self.session
    }
}

impl Drop for Transaction<'_, '_> {
    fn drop(&mut self) {
        // SQLite ends it by itself on a full disk and the like. One that cannot be taken back is,
        // when the connection closes; until then nothing else can begin, so it is not overlooked.
        if !self.session.is_autocommit() {
            drop(self.session.execute_batch("ROLLBACK"));
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn what_is_not_committed_is_taken_back() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch("CREATE TABLE t(x)").unwrap();
        let count = || conn.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0));
        let insert = |tx: &Connection| tx.execute("INSERT INTO t VALUES (1)", []).unwrap();
        let session = Session::lasting(&conn);
        let tx = Transaction::write(&session).unwrap();
        insert(&tx);
        drop(tx);
        assert_eq!(count(), Ok(0));
        let tx = Transaction::write(&session).unwrap();
        insert(&tx);
        tx.commit().unwrap();
        assert_eq!(count(), Ok(1));
        let tx = Transaction::read(&session).unwrap();
        assert!(Transaction::read(&session).is_err(), "one at a time");
        drop(tx);
        assert!(conn.is_autocommit());
    }
}
