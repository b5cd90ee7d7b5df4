//! Truncates the WAL, and removes erased texts from the files.

use std::path::Path;
use std::time::Duration;

use punchlist_model::store::Error;
use rusqlite::Connection;

use crate::error::explain;
use crate::open::{self, busy_timeout};

/// Copies the WAL into the database and truncates it, unless somebody is reading it; then a later
/// write does it. This saves the next process from reading the WAL.
///
/// The file is truncated, because SQLite's own mark ("everything is copied") is in shared memory,
/// which the last process removes.
pub(crate) fn truncate_wal(conn: &Connection) {
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    let emptied = conn
        .busy_timeout(Duration::ZERO)
        .and_then(|()| conn.query_row(checkpoint, [], |_| Ok(())))
        .and(conn.busy_timeout(busy_timeout()));
    drop(emptied);
}

/// Rewrites the whole file and truncates the WAL. The texts are already gone from the rows; this
/// removes what remains in free pages, in gaps between rows, and in the WAL.
///
/// The caller holds the write lock and no transaction.
pub(crate) fn purge(path: &Path) -> Result<(), Error> {
    let broken = |error| explain(path, error);
    let conn = open::connect(path).map_err(broken)?;
    // Without it, new pages may contain old memory.
    conn.pragma_update_and_check(None, "secure_delete", "ON", |_| Ok(())).map_err(broken)?;
    conn.execute_batch("VACUUM").map_err(broken)?;
    let busy: bool =
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).map_err(broken)?;
    if busy {
        let what = format!(
            "the texts are erased, but copies remain in the WAL of {} while another program reads \
             it; end that program and forget once more, or forget anything else: that removes them",
            path.display()
        );
        return Err(Error::Unusable { what, source: None });
    }
    Ok(())
}
