//! Waits for the disk after a commit, without holding the write lock.
//!
//! If an acknowledged change must survive a power loss, SQLite would wait for the disk inside the
//! commit, and all other writers with it. Here a commit only writes the WAL; the writer releases
//! the write lock and then syncs the WAL itself, before it acknowledges the change. The syncs of
//! several writers overlap, and one sync confirms everything that was written before it.
//!
//! Syncing the WAL is enough. The WAL is one file that grows, so a sync covers everything up to the
//! change. Before SQLite restarts the WAL, it syncs both the WAL and the database, so a change that
//! is no longer in the WAL is on the disk too.
//!
//! This file does not decide what is written, and acknowledges nothing.

use std::fs::File;
use std::io;
use std::path::Path;

use punchlist_model::store::Error;
use rusqlite::Connection;

use crate::open::wal_of;

/// The WAL of a database.
pub(crate) struct Wal {
    file: File,
    /// A sync has failed. Systems report such a failure only once, so a later success proves
    /// nothing.
    has_failed: bool,
}

impl Wal {
    /// The WAL of the database that is open at `path`. `None` if it has no WAL, or if the WAL
    /// cannot be opened; then SQLite itself must wait for the disk.
    ///
    /// SQLite keeps its WAL file open as long as the connection lives, and so does this. If
    /// somebody moves the files, the path may later lead to another WAL.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        File::open(wal_of(path)).ok().map(Self::at)
    }

    pub(crate) fn at(file: File) -> Self {
        Self { file, has_failed: false }
    }

    /// Replaces the file, so that a test can simulate another disk.
    #[cfg(test)]
    pub(crate) fn replace_file(&mut self, file: File) {
        self.file = file;
    }

    /// The length of the file.
    pub(crate) fn len(&self) -> io::Result<u64> {
        self.file.metadata().map(|it| it.len())
    }

    /// Waits until everything that was committed is on the disk.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        if self.has_failed {
            return Err(io::Error::other("an earlier change is not confirmed"));
        }
        loop {
            match self.file.sync_data() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.has_failed = true;
                    return Err(error);
                }
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Recovers from a failed sync: copies the whole WAL into the database and syncs that. The
    /// caller holds the write lock.
    pub(crate) fn recover(
        &mut self,
        conn: &Connection,
        path: &Path,
        why: io::Error,
    ) -> Result<(), Error> {
        // The system reports the failure once for each open file, and SQLite has its own. So its
        // first try may fail with the old failure.
        if checkpoint(conn) || checkpoint(conn) {
            self.has_failed = false;
            return Ok(());
        }
        let what = format!(
            "the change was made, but the disk of {} did not confirm it: a power loss may undo it",
            path.display()
        );
        Err(Error::Unconfirmed { what, source: Some(why.into()) })
    }
}

/// Copies the whole WAL into the database and syncs it. Returns whether that worked.
fn checkpoint(conn: &Connection) -> bool {
    let busy = conn.query_row("PRAGMA wal_checkpoint(FULL)", [], |row| row.get::<_, bool>(0));
    busy.is_ok_and(|busy| !busy)
}
