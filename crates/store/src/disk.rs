//! Waiting for the disk after a commit, beside other writers and not one after the other.
//!
//! Where an acknowledged change must survive a power loss, SQLite would wait for the disk inside the
//! commit, and everybody else would wait for it too. Here a commit only writes the log; the writer
//! passes its turn on, and then waits for the disk by itself, before anybody is told. The waits of
//! several writers overlap, and one wait confirms all that was written before it.
//!
//! That is enough because the log is one file that grows: what is behind a change in it, up to the
//! change itself, is on the disk when the file is. Before SQLite begins the log anew, it has waited
//! for the log and for the database, so a change that is no longer in the log is on the disk as well.
//!
//! Nothing here decides what is written, and nothing is acknowledged here.

use std::fs::File;
use std::io;
use std::path::Path;

use punchlist_model::store::Error;
use rusqlite::Connection;

use crate::open::log_of;

/// The log of a database, to wait for.
pub(crate) struct Log {
    file: File,
    /// The disk has failed to confirm something, and may say that all is well ever after: systems
    /// tell such a failure once.
    in_doubt: bool,
}

impl Log {
    /// The log of the database that is open at `path`. Nothing if it keeps no log, or none that we
    /// can open; then SQLite itself has to wait.
    ///
    /// SQLite opens its log once and keeps it as long as the connection lives, and so do we: what
    /// stands at the path later, after somebody moved the files, is another log.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        File::open(log_of(path)).ok().map(Self::at)
    }

    pub(crate) fn at(file: File) -> Self {
        Self { file, in_doubt: false }
    }

    /// Lets a test have another disk under what happened so far.
    #[cfg(test)]
    pub(crate) fn mend(&mut self, file: File) {
        self.file = file;
    }

    /// How long it is.
    pub(crate) fn len(&self) -> io::Result<u64> {
        self.file.metadata().map(|it| it.len())
    }

    /// Waits until what was committed is on the disk; whether it is.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        if self.in_doubt {
            return Err(io::Error::other("an earlier change is not confirmed"));
        }
        loop {
            match self.file.sync_data() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.in_doubt = true;
                    return Err(error);
                }
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Makes good what the disk did not confirm: all of the log is written into the database, and the
    /// disk asked about that. The caller has the turn to write.
    pub(crate) fn make_good(
        &mut self,
        conn: &Connection,
        path: &Path,
        why: io::Error,
    ) -> Result<(), Error> {
        // The failure is told once to everybody who has the file open, and SQLite has: what it hears
        // the first time may be that same failure.
        if empty(conn) || empty(conn) {
            self.in_doubt = false;
            return Ok(());
        }
        let what = format!(
            "the change is made, but the disk of {} did not confirm it: it may be gone after a loss \
             of power",
            path.display()
        );
        Err(Error::Unconfirmed { what, source: Some(why.into()) })
    }
}

/// Writes all of the log into the database and waits for the disk; whether that worked.
fn empty(conn: &Connection) -> bool {
    let busy = conn.query_row("PRAGMA wal_checkpoint(FULL)", [], |row| row.get::<_, bool>(0));
    busy.is_ok_and(|busy| !busy)
}
