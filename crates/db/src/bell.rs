//! The files beside the database that writers queue at and followers listen to.
//!
//! A writer locks the bell before its transaction, because SQLite's own busy handler starves some of
//! those who wait. It comes to the bell through the queue, a second lock that it holds only until it
//! has the first: otherwise whoever has just written, and is still running, takes the bell again
//! before the one that slept at it wakes up. When a change is safe it writes one byte into the bell,
//! which wakes whoever watches it. None of this is needed for correctness: without it waiting is less fair,
//! and news is a second late.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// The bell of one database, opened at the first write.
pub(crate) struct Bell {
    path: PathBuf,
    queue: PathBuf,
    files: Option<Files>,
}

/// The files themselves.
pub(crate) struct Files {
    bell: File,
    queue: File,
}

/// Where the bell of a database is.
pub(crate) fn path_of(database: &Path) -> PathBuf {
    beside(database, "-bell")
}

fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

impl Bell {
    pub(crate) fn of(database: &Path) -> Self {
        Self { path: path_of(database), queue: beside(database, "-queue"), files: None }
    }

    /// Opens the files, unless they are.
    pub(crate) fn files(&mut self) -> io::Result<&Files> {
        Ok(match &mut self.files {
            Some(files) => files,
            none => none.insert(Files { bell: open(&self.path)?, queue: open(&self.queue)? }),
        })
    }
}

impl Files {
    /// Waits for its turn to write. The turn ends with the guard.
    pub(crate) fn turn(&self) -> io::Result<Turn<'_>> {
        lock(&self.queue)?;
        let mine = lock(&self.bell);
        // An unlock that fails is made good when the process closes the file.
        drop(self.queue.unlock());
        mine.map(|()| Turn { file: &self.bell })
    }

    /// Tells the followers that something was changed.
    pub(crate) fn ring(&self) {
        // The change has happened: a bell that cannot be rung (a full disk) must not turn it into
        // a failure, and followers look by themselves once a second.
        drop(self.bell.write_all_at(b"\n", 0));
    }
}

fn open(path: &Path) -> io::Result<File> {
    let strange = || {
        let words = format!("{} is not a plain file", path.display());
        io::Error::new(ErrorKind::InvalidInput, words)
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    // Ringing writes a byte, and through a link that would be a byte of any file.
    let file = match options.custom_flags(NOT_THROUGH_LINKS).open(path) {
        Err(_) if fs::symlink_metadata(path).is_ok_and(|it| !it.is_file()) => return Err(strange()),
        opened => opened?,
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(strange()) }
}

/// Opening fails if the last part of the path is a link.
const NOT_THROUGH_LINKS: i32 = OFlags::NOFOLLOW.bits().cast_signed();

fn lock(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Some network file systems have no such locks; SQLite's own waiting remains.
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
            done => return done,
        }
    }
}

/// The right to write, until dropped.
pub(crate) struct Turn<'a> {
    file: &'a File,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // An unlock that fails is made good when the process closes the file.
        drop(self.file.unlock());
    }
}
