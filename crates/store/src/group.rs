//! Group commit: writes that come while the disk confirms others are confirmed together.
//!
//! Each write stays a transaction of its own, so a refusal concerns one write only. But the disk is asked
//! once for all of them, and they are acknowledged after that. A server with many clients then waits for the
//! disk once per group and not once per change.

use std::sync::mpsc::Receiver;

use punchlist_model::store::Error;

use crate::Sqlite;
use crate::identity::{Fate, Identity};
use crate::open::{Access, Database};
use crate::threaded::Job;

/// The most writes that are confirmed together, so that the first one is not kept waiting by all others.
const MOST: usize = 128;

/// The writes of a group so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Group {
    has_run: bool,
    wrote: bool,
    /// The database was replaced while the group ran: what was written before may be lost.
    is_lost: bool,
}

impl Group {
    /// One more write was committed.
    pub(crate) fn add(&mut self, wrote: bool) {
        self.has_run = true;
        self.wrote |= wrote;
    }

    /// The same group after the database was opened again.
    pub(crate) fn lost(self) -> Self {
        Self { is_lost: self.is_lost || self.wrote, ..self }
    }
}

/// Runs a job and all that wait behind it, confirms them, and answers their callers.
pub(crate) fn run(store: &Sqlite, queue: &Receiver<Job>, first: Job) {
    let mut jobs = vec![first];
    while jobs.len() < MOST
        && let Ok(job) = queue.try_recv()
    {
        jobs.push(job);
    }
    // One alone is confirmed as it is by a store without threads.
    let is_group = jobs.len() > 1;
    if is_group {
        store.database().group = Some(Group::default());
    }
    let answers: Vec<_> = jobs.into_iter().map(|job| job(store)).collect();
    let confirmed = if is_group { store.database().confirm() } else { Ok(()) };
    for answer in answers {
        answer(&confirmed);
    }
}

/// The value of a change, or the error if the disk did not confirm the group.
pub(crate) fn told<T>(value: T, confirmed: &Result<(), Error>) -> Result<T, Error> {
    match confirmed {
        Ok(()) => Ok(value),
        Err(error) => Err(Error::Unconfirmed { what: error.to_string(), source: None }),
    }
}

impl Database {
    /// Waits until the writes of the group are on the disk, and wakes the followers.
    fn confirm(&mut self) -> Result<(), Error> {
        let Some(group) = self.group.take().filter(|it| it.has_run) else { return Ok(()) };
        let path = &self.path;
        let unconfirmed = |words: &str| {
            let what = format!("{words} while this was written, so the change may be lost");
            Error::Unconfirmed { what, source: None }
        };
        if group.is_lost {
            return Err(unconfirmed(&format!("{} was replaced", path.display())));
        }
        let Access::Write { bell, wal, .. } = &mut self.access else { return Ok(()) };
        let files = bell.files();
        if let Some(wal) = wal
            && let Err(error) = wal.wait()
        {
            // If the lock cannot be had, continue without it: that is only less fair to others.
            let lock = files.as_ref().ok().and_then(|it| it.write_lock(path).ok());
            wal.recover(&self.conn, path, error)?;
            drop(lock);
        }
        let fate = self.identity.as_ref().map_or(Fate::Same, Identity::fate);
        if let Some(words) = fate.words(path) {
            return Err(unconfirmed(&words));
        }
        if let Ok(files) = files
            && group.wrote
        {
            files.ring();
        }
        Ok(())
    }
}
