//! The lock files of writers, and the bell that wakes followers.
//!
//! A writer locks the bell file before its transaction, because SQLite's busy handler starves some
//! of the waiting writers. It takes the bell lock through a second lock, the queue lock, which it
//! holds only until it has the bell lock. Otherwise a writer that has just released the bell lock,
//! and is still running, would take it again before a sleeping writer wakes up. A writer that has
//! not met another one for a while skips the queue lock most of the time, so a waiting writer may
//! have to let a few changes pass.
//!
//! After a commit, the writer writes one byte into the bell file, which wakes the followers.
//! Correctness does not depend on these files: without them waiting is less fair, and followers
//! notice a change up to a second later.
//!
//! A suspended writer keeps its lock. Waiting writers report its name after a while, and later fail
//! with a timeout ([`crate::waiting`]).

use std::cell::Cell;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::OFlags;

use crate::waiting::{self, Lock, Waiting};

/// The lock files of one database, opened at the first write.
pub(crate) struct Bell {
    path: PathBuf,
    queue: PathBuf,
    files: Option<Files>,
}

/// The open files.
pub(crate) struct Files {
    bell: File,
    queue: File,
    uncontended: Cell<Uncontended>,
    /// A thread still waits for a lock on these files, so they must not be used again.
    is_abandoned: Cell<bool>,
}

/// Why the write lock was not acquired.
#[derive(Debug)]
pub(crate) enum LockError {
    /// The files cannot be used.
    Failed(io::Error),
    /// Another process held the lock until the timeout; the text describes it.
    Held(String),
}

impl From<io::Error> for LockError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// The number of consecutive acquisitions without contention.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Uncontended(u32);

impl Uncontended {
    /// After this many, contention is unlikely.
    const ENOUGH: u32 = 16;
    /// Even then, every eighth acquisition takes the queue lock, where it would meet other writers.
    const QUEUE_EVERY: u32 = 8;

    /// Whether the next acquisition may skip the queue lock.
    fn skips_queue(self) -> bool {
        self.0 >= Self::ENOUGH && !self.0.is_multiple_of(Self::QUEUE_EVERY)
    }

    /// The count after an acquisition. `waited` says whether there was contention.
    fn after(self, waited: bool) -> Self {
        Self(if waited { 0 } else { self.0.checked_add(1).unwrap_or(Self::ENOUGH) })
    }
}

/// The path of a database's bell file.
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

    /// The open files; opens them first if necessary.
    pub(crate) fn files(&mut self) -> io::Result<&Files> {
        if self.files.as_ref().is_some_and(|it| it.is_abandoned.get()) {
            self.files = None;
        }
        Ok(match &mut self.files {
            Some(files) => files,
            none => none.insert(Files {
                bell: open(&self.path)?,
                queue: open(&self.queue)?,
                uncontended: Cell::default(),
                is_abandoned: Cell::default(),
            }),
        })
    }
}

impl Files {
    /// Waits for the write lock, at most as long as this process is set to wait. Dropping the guard
    /// releases it.
    pub(crate) fn write_lock(&self, database: &Path) -> Result<WriteLock<'_>, LockError> {
        let uncontended = self.uncontended.get();
        if uncontended.skips_queue() && try_lock(&self.bell)? {
            self.uncontended.set(uncontended.after(false));
            waiting::record(&self.queue, Lock::Bell);
            return Ok(WriteLock { file: &self.bell });
        }
        let mut wait = Wait::begin(database);
        let waited = self.lock(&self.queue, &mut wait)?;
        waiting::record(&self.queue, Lock::Queue);
        let locked = self.lock(&self.bell, &mut wait);
        // If this fails, the lock is released when the process closes the file.
        drop(self.queue.unlock());
        let waited = locked? || waited;
        self.uncontended.set(uncontended.after(waited));
        waiting::record(&self.queue, Lock::Bell);
        Ok(WriteLock { file: &self.bell })
    }

    /// Locks a file. Returns whether it had to wait.
    fn lock(&self, file: &File, wait: &mut Wait<'_>) -> Result<bool, LockError> {
        if try_lock(file)? {
            return Ok(false);
        }
        let now = Instant::now();
        let began = *wait.began.get_or_insert(now);
        let Waiting { tell_after, give_up_after, tell, .. } =
            wait.settings.get_or_insert_with(waiting::waiting);
        let (tell_at, until) = (began + *tell_after, began + *give_up_after);
        let (tell, is_told) = (*tell, &mut wait.is_told);
        let locked = waiting::lock_until(file, tell_at, until, || {
            if let (Some(tell), false) = (tell, *is_told) {
                *is_told = true;
                tell(&format!("{}; waiting for it", self.holder(wait.database)));
            }
        });
        match locked {
            Ok(true) => Ok(true),
            Ok(false) => {
                self.is_abandoned.set(true);
                Err(LockError::Held(self.holder(wait.database)))
            }
            // Without a thread there can be no timeout, so wait without one.
            Err(_) => Ok(lock(file)?),
        }
    }

    /// Describes the process that blocks the others: the writer or, if nobody writes, the first in
    /// the queue.
    fn holder(&self, database: &Path) -> String {
        // Opened again: a lock on another open file does not affect ours.
        let is_writing = |bell: File| !try_lock(&bell).unwrap_or(true);
        let lock = match open(&path_of(database)).is_ok_and(is_writing) {
            true => Lock::Bell,
            false => Lock::Queue,
        };
        waiting::describe(waiting::holder(&self.queue, lock).as_ref(), database)
    }

    /// Wakes the followers.
    pub(crate) fn ring(&self) {
        // The change is committed: if the byte cannot be written (full disk), that must not fail
        // the change. Followers poll once a second anyway.
        drop(self.bell.write_all_at(b"\n", 0));
    }
}

fn open(path: &Path) -> io::Result<File> {
    let not_a_file = || {
        let words = format!("{} is not a plain file", path.display());
        io::Error::new(ErrorKind::InvalidInput, words)
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    // `ring` writes a byte. Through a symbolic link it could overwrite any file.
    let file = match options.custom_flags(NO_FOLLOW).open(path) {
        Err(_) if fs::symlink_metadata(path).is_ok_and(|it| !it.is_file()) => {
            return Err(not_a_file());
        }
        opened => opened?,
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_a_file()) }
}

/// A wait for both locks, with one timeout.
struct Wait<'a> {
    database: &'a Path,
    began: Option<Instant>,
    settings: Option<Waiting>,
    is_told: bool,
}

impl<'a> Wait<'a> {
    fn begin(database: &'a Path) -> Self {
        Self { database, began: None, settings: None, is_told: false }
    }
}

/// Opening fails if the last component of the path is a symbolic link.
const NO_FOLLOW: i32 = OFlags::NOFOLLOW.bits().cast_signed();

/// Locks a file, without a timeout. Returns whether it had to wait.
fn lock(file: &File) -> io::Result<bool> {
    if try_lock(file)? {
        return Ok(false);
    }
    loop {
        match file.lock() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done.map(|()| true),
        }
    }
}

/// Tries to lock a file. Returns whether it did.
fn try_lock(file: &File) -> io::Result<bool> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Interrupted => {}
            // Some network file systems have no such locks. SQLite's own locks remain.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {
                return Ok(true);
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// The write lock. Released when dropped.
pub(crate) struct WriteLock<'a> {
    file: &'a File,
}

impl Drop for WriteLock<'_> {
    fn drop(&mut self) {
        // If this fails, the lock is released when the process closes the file.
        drop(self.file.unlock());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_meets_nobody_goes_past_the_queue_but_not_for_ever() {
        let mut uncontended = Uncontended::default();
        let mut passed = Vec::new();
        for n in 0..40 {
            if uncontended.skips_queue() {
                passed.push(n);
            }
            uncontended = uncontended.after(false);
        }
        let expected: Vec<i32> = (17..40).filter(|n| n % 8 != 0).collect();
        assert_eq!(passed, expected);
        assert!(!uncontended.after(true).skips_queue(), "somebody was there");
        assert_eq!(Uncontended(u32::MAX).after(false), Uncontended(Uncontended::ENOUGH));
    }

    #[test]
    fn whoever_goes_past_the_queue_waits_at_the_bell_all_the_same() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("plans.db");
        let mut bells = [Bell::of(&path), Bell::of(&path)];
        let [one, other] = bells.each_mut().map(|it| it.files().unwrap());
        one.uncontended.set(Uncontended(Uncontended::ENOUGH + 1));
        let held = other.write_lock(&path).unwrap();
        assert!(!try_lock(&one.bell).unwrap(), "it is taken");
        drop(held);
        // A writer that waits in the queue is not noticed.
        lock(&other.queue).unwrap();
        drop(one.write_lock(&path).unwrap());
        assert_eq!(one.uncontended.get(), Uncontended(Uncontended::ENOUGH + 2));
    }
}
