//! The file beside the database that writers queue at and followers listen to.
//!
//! A writer locks it before its transaction: the kernel wakes waiters in order, where SQLite's own
//! busy handler starves some of them. After the commit it writes one byte, which wakes whoever
//! watches the file. Neither is needed for correctness: a missing bell costs fairness and a second
//! of delay.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The bell of one database, opened at the first write.
pub(crate) struct Bell {
    path: PathBuf,
    file: Option<File>,
}

/// Where the bell of a database is.
pub(crate) fn path_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-bell");
    PathBuf::from(name)
}

impl Bell {
    pub(crate) fn of(database: &Path) -> Self {
        Self { path: path_of(database), file: None }
    }

    /// Waits for its turn to write. The turn ends with the guard.
    pub(crate) fn turn(&mut self) -> io::Result<Turn> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(open(&self.path)?),
        };
        // A second handle on the same open file: it shares the lock, so dropping the guard must
        // unlock by word, not by closing.
        let file = file.try_clone()?;
        loop {
            match file.lock() {
                Ok(()) => return Ok(Turn { file }),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Some network file systems have no such locks; SQLite's own waiting remains.
                Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(Turn { file }),
                Err(error) => return Err(error),
            }
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    // Ringing writes a byte, and through a link that would be a byte of any file.
    if fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file()) {
        let words = format!("{} is not a plain file", path.display());
        return Err(io::Error::new(ErrorKind::InvalidInput, words));
    }
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// The right to write, until dropped.
pub(crate) struct Turn {
    file: File,
}

impl Turn {
    /// Tells the followers that something was committed.
    pub(crate) fn ring(&mut self) {
        // The commit has happened: a bell that cannot be rung (a full disk) must not turn it into
        // a failure, and followers look by themselves once a second.
        let rung = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.write_all(b"\n"));
        drop(rung);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // An unlock that fails is made good when the process closes the file.
        drop(self.file.unlock());
    }
}
