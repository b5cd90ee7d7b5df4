//! SQLite's log, written once for each change.
//!
//! SQLite writes every page of a change as two pieces, one after the other. A change is some four
//! pages, so it takes eight calls to the system where one would do, and they are a tenth of the time
//! of an MCP call. Here the pieces are held until the one that commits, and written together.
//!
//! That holds nothing back from anybody: what is held is not committed, nobody else looks at it
//! before it is, and if it cannot be written, the commit fails as it would have. It needs one promise,
//! that SQLite writes pages to its log only when it commits. [`open`] exacts it by forbidding SQLite
//! to empty its cache earlier (`cache_spill`), so a change has to fit in memory: what rewrites a whole
//! database opens it plainly. [`held`] refuses what shows that the promise was broken.
//!
//! [`held`] decides, [`log_file`] is the unsafe part between it and SQLite.

mod held;
mod log_file;
#[cfg(test)]
mod tests;

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// Opens a database to write.
pub(crate) fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let Some(name) = log_file::registered() else {
        return Connection::open_with_flags(path, flags);
    };
    let conn = Connection::open_with_flags_and_vfs(path, flags, name)?;
    conn.pragma_update(None, "cache_spill", false)?;
    Ok(conn)
}
