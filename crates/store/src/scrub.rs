//! Emptying the log, and leaving no copy of erased texts in the files.

use std::path::Path;
use std::time::Duration;

use punchlist_model::store::Error;
use rusqlite::Connection;

use crate::error::explain;
use crate::open::{self, patience};

/// Empties the log into the database, unless somebody is just reading it: a courtesy to those who
/// come next, which is done after a later write if it cannot be done now.
///
/// Truncated and not only marked as copied: that mark is in memory that ends with the last process.
pub(crate) fn empty_log(conn: &Connection) {
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    let emptied = conn
        .busy_timeout(Duration::ZERO)
        .and_then(|()| conn.query_row(checkpoint, [], |_| Ok(())))
        .and(conn.busy_timeout(patience()));
    drop(emptied);
}

/// Rewrites the whole file and empties the log. The texts are gone from the rows already; this is
/// about what lies about in free pages, in gaps between rows, and in the log.
///
/// The caller holds the writers' lock and no transaction.
pub(crate) fn purge(path: &Path) -> Result<(), Error> {
    let broken = |error| explain(path, error);
    let conn = open::connect(path).map_err(broken)?;
    // Without it, new pages may carry what their memory held before.
    conn.pragma_update_and_check(None, "secure_delete", "ON", |_| Ok(())).map_err(broken)?;
    conn.execute_batch("VACUUM").map_err(broken)?;
    let busy: bool =
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).map_err(broken)?;
    if busy {
        let what = format!(
            "the texts are erased, but a program that reads {} keeps its log from being emptied; \
             end it and forget once more",
            path.display()
        );
        return Err(Error::Unusable { what, source: None });
    }
    Ok(())
}
