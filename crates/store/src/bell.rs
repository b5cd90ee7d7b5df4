//! The files beside the database that writers queue at and followers listen to.
//!
//! A writer locks the bell before its transaction, because SQLite's own busy handler starves some of
//! those who wait. It comes to the bell through the queue, a second lock that it holds only until it
//! has the first: otherwise whoever has just written, and is still running, takes the bell again
//! before the one that slept at it wakes up. A writer that has met nobody for a while mostly goes past
//! the queue, and so keeps somebody who comes waiting for a few changes at most. When a change is safe it writes one byte into the bell,
//! which wakes whoever watches it. None of this is needed for correctness: without it waiting is less fair,
//! and news is a second late.
//!
//! A writer that was stopped keeps its lock. Those who wait are told its name after a while, and end
//! their wait with an error after another ([`crate::waiting`]).

use std::cell::Cell;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::OFlags;

use crate::waiting::{self, Lock, Waiting};

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
    calm: Cell<Calm>,
    /// A thread still waits for a lock on these files, so they must not be used again.
    given_up: Cell<bool>,
}

/// Why there is no turn.
#[derive(Debug)]
pub(crate) enum NoTurn {
    /// The files cannot be used.
    Failed(io::Error),
    /// Somebody else holds the lock for too long: who, in words.
    Held(String),
}

impl From<io::Error> for NoTurn {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// How many turns it has been since a writer met another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Calm(u32);

impl Calm {
    /// After so many, others are not to be expected.
    const LONG: u32 = 16;
    /// Even then every so manieth turn goes through the queue, where it would meet them.
    const LOOKS: u32 = 8;

    /// Whether the next turn may go past the queue.
    fn passes_by(self) -> bool {
        self.0 >= Self::LONG && !self.0.is_multiple_of(Self::LOOKS)
    }

    /// After a turn for which it had to wait, or not.
    fn after(self, waited: bool) -> Self {
        Self(if waited { 0 } else { self.0.checked_add(1).unwrap_or(Self::LONG) })
    }
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
        if self.files.as_ref().is_some_and(|it| it.given_up.get()) {
            self.files = None;
        }
        Ok(match &mut self.files {
            Some(files) => files,
            none => none.insert(Files {
                bell: open(&self.path)?,
                queue: open(&self.queue)?,
                calm: Cell::default(),
                given_up: Cell::default(),
            }),
        })
    }
}

impl Files {
    /// Waits for its turn to write, as long as this process does. The turn ends with the guard.
    pub(crate) fn turn(&self, database: &Path) -> Result<Turn<'_>, NoTurn> {
        let calm = self.calm.get();
        if calm.passes_by() && try_lock(&self.bell)? {
            self.calm.set(calm.after(false));
            waiting::record(&self.queue, Lock::Bell);
            return Ok(Turn { file: &self.bell });
        }
        let mut wait = Wait::begin(database);
        let waited = self.lock(&self.queue, &mut wait)?;
        waiting::record(&self.queue, Lock::Queue);
        let mine = self.lock(&self.bell, &mut wait);
        // An unlock that fails is made good when the process closes the file.
        drop(self.queue.unlock());
        let waited = mine? || waited;
        self.calm.set(calm.after(waited));
        waiting::record(&self.queue, Lock::Bell);
        Ok(Turn { file: &self.bell })
    }

    /// Locks a file; whether that took waiting.
    fn lock(&self, file: &File, wait: &mut Wait<'_>) -> Result<bool, NoTurn> {
        if try_lock(file)? {
            return Ok(false);
        }
        let now = Instant::now();
        let began = *wait.began.get_or_insert(now);
        let Waiting { tell_after, give_up_after, tell, .. } =
            wait.how.get_or_insert_with(waiting::waiting);
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
                self.given_up.set(true);
                Err(NoTurn::Held(self.holder(wait.database)))
            }
            // No thread can be had: it waits without a limit, as it would without one.
            Err(_) => Ok(lock(file)?),
        }
    }

    /// Who keeps everybody waiting: whoever writes; if nobody does, whoever is to be next.
    fn holder(&self, database: &Path) -> String {
        // Another description of the file: a lock on it says nothing about ours.
        let is_writing = |bell: File| !try_lock(&bell).unwrap_or(true);
        let lock = match open(&path_of(database)).is_ok_and(is_writing) {
            true => Lock::Bell,
            false => Lock::Queue,
        };
        waiting::describe(waiting::holder(&self.queue, lock).as_ref(), database)
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

/// A wait for both locks.
struct Wait<'a> {
    database: &'a Path,
    began: Option<Instant>,
    how: Option<Waiting>,
    is_told: bool,
}

impl<'a> Wait<'a> {
    fn begin(database: &'a Path) -> Self {
        Self { database, began: None, how: None, is_told: false }
    }
}

/// Opening fails if the last part of the path is a link.
const NOT_THROUGH_LINKS: i32 = OFlags::NOFOLLOW.bits().cast_signed();

/// Locks a file; whether that took waiting.
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

/// Locks a file unless somebody else has; whether it did.
fn try_lock(file: &File) -> io::Result<bool> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Interrupted => {}
            // Some network file systems have no such locks; SQLite's own waiting remains.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {
                return Ok(true);
            }
            Err(TryLockError::Error(error)) => return Err(error),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_meets_nobody_goes_past_the_queue_but_not_for_ever() {
        let mut calm = Calm::default();
        let mut passed = Vec::new();
        for turn in 0..40 {
            if calm.passes_by() {
                passed.push(turn);
            }
            calm = calm.after(false);
        }
        let expected: Vec<i32> = (17..40).filter(|turn| turn % 8 != 0).collect();
        assert_eq!(passed, expected);
        assert!(!calm.after(true).passes_by(), "somebody was there");
        assert_eq!(Calm(u32::MAX).after(false), Calm(Calm::LONG));
    }

    #[test]
    fn whoever_goes_past_the_queue_waits_at_the_bell_all_the_same() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("plans.db");
        let mut bells = [Bell::of(&path), Bell::of(&path)];
        let [one, other] = bells.each_mut().map(|it| it.files().unwrap());
        one.calm.set(Calm(Calm::LONG + 1));
        let turn = other.turn(&path).unwrap();
        assert!(!try_lock(&one.bell).unwrap(), "it is taken");
        drop(turn);
        // Somebody who waits in the queue is not seen.
        lock(&other.queue).unwrap();
        drop(one.turn(&path).unwrap());
        assert_eq!(one.calm.get(), Calm(Calm::LONG + 2));
    }
}
