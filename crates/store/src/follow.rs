//! Following the journal, from this process and others.
//!
//! A thread of its own reads new entries and hands them over; the stream only takes them, so it
//! needs no particular runtime and never blocks one. The thread waits for the bell, and looks by
//! itself once a second in case a writer died between its commit and the bell. It holds no
//! transaction while it waits, reads no further than its consumer, and ends when the stream is
//! dropped.

use std::collections::VecDeque;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use futures_core::Stream;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use punchlist_model::store::{Cursor, Entry, Error, Scope};
use rusqlite::Connection;

use crate::bell;
use crate::error::{explain, unusable};
use crate::journal;
use crate::open::{self, Database, Options};

/// How often to look without having heard the bell.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How many entries are read at a time.
const BATCH: u32 = 256;

/// Where following begins.
pub(crate) struct Start {
    pub(crate) seq: i64,
    pub(crate) options: Options,
}

type Found = Result<(Cursor, Entry), Error>;

/// Entries as they come.
pub(crate) struct Follow {
    shared: Arc<Shared>,
}

impl Follow {
    /// Begins to follow: what is committed after this returns is given.
    pub(crate) fn begin(start: Start, scope: Scope) -> Result<Self, Error> {
        let Start { seq, options } = start;
        let Some(database) = open::to_read(&options)? else {
            let what = format!("{} is gone", options.path.display());
            return Err(Error::Unusable { what, source: None });
        };
        let shared = Arc::new(Shared::default());
        // Armed before the first look: what is committed after that look rings.
        let heard = Arc::clone(&shared);
        let watch = watch(&database.path, move || heard.ring());
        let follow = Self { shared: Arc::clone(&shared) };
        let feeder = Feeder { shared, scope, database, seq };
        thread::Builder::new()
            .name("punchlist-follow".to_owned())
            .spawn(move || {
                let failed = feeder.run().err();
                feeder.shared.push(failed.map(Err), true);
                drop(watch);
            })
            .map_err(|error| unusable("no thread can be started to follow".to_owned(), error))?;
        Ok(follow)
    }
}

impl Stream for Follow {
    type Item = Found;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Found>> {
        let mut state = self.shared.state();
        if let Some(found) = state.queue.pop_front() {
            if state.queue.is_empty() {
                self.shared.changed.notify_all();
            }
            return Poll::Ready(Some(found));
        }
        if state.done {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
    }
}

/// What a stream and its thread share.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Found>,
    waker: Option<Waker>,
    /// The bell was heard.
    rung: bool,
    /// Nobody takes entries any more.
    closed: bool,
    /// Nobody brings entries any more.
    done: bool,
}

/// Why a wait ended.
enum Woken {
    Rung,
    Closed,
    Timeout,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Each holder leaves it whole at every point, so a poisoned lock is as good.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        self.state().rung = true;
        self.changed.notify_all();
    }

    fn push(&self, found: impl IntoIterator<Item = Found>, done: bool) {
        let mut state = self.state();
        state.queue.extend(found);
        state.done |= done;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits until the consumer has taken all; whether there still is one. What rings from here on
    /// is news.
    fn drained(&self) -> bool {
        let mut state = self.state();
        while !state.closed && !state.queue.is_empty() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.rung = false;
        !state.closed
    }

    fn wait(&self) -> Woken {
        let state = self.state();
        let quiet = |state: &mut State| !state.closed && !state.rung;
        let waited = self.changed.wait_timeout_while(state, LOOK_AGAIN, quiet);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match (state.closed, state.rung) {
            (true, _) => Woken::Closed,
            (false, true) => Woken::Rung,
            (false, false) => Woken::Timeout,
        }
    }
}

/// Brings entries to a stream.
struct Feeder {
    shared: Arc<Shared>,
    scope: Scope,
    database: Database,
    /// Where following begins.
    seq: i64,
}

impl Drop for Feeder {
    /// Whatever ended it, the stream must not wait for ever.
    fn drop(&mut self) {
        self.shared.push(None, true);
    }
}

impl Feeder {
    /// What is no longer at its path is not followed: nobody writes there any more.
    fn is_current(&self) -> Result<(), Error> {
        match self.database.fate().words(&self.database.path) {
            Some(what) => Err(Error::Unusable { what, source: None }),
            None => Ok(()),
        }
    }

    fn run(&self) -> Result<(), Error> {
        let conn = &self.database.conn;
        let broken = |error| explain(&self.database.path, error);
        let mut version = data_version(conn).map_err(broken)?;
        let mut seq = self.seq;
        while self.shared.drained() {
            self.is_current()?;
            let found = journal::following(conn, seq, &self.scope, BATCH).map_err(broken)?;
            if let Some((last, _)) = found.last() {
                seq = *last;
                let found = found.into_iter().map(|(seq, it)| Ok((journal::cursor(seq), it)));
                self.shared.push(found, false);
                continue;
            }
            loop {
                match self.shared.wait() {
                    Woken::Rung => break,
                    Woken::Closed => return Ok(()),
                    Woken::Timeout => {
                        self.is_current()?;
                        let now = data_version(conn).map_err(broken)?;
                        if now != version {
                            version = now;
                            break;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// Changes when another connection has committed.
pub(crate) fn data_version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

/// Listens for the bell. Where that cannot be (too many watches, an odd file system), looking once
/// a second has to do.
pub(crate) fn watch(
    database: &Path,
    ring: impl Fn() + Send + 'static,
) -> Option<RecommendedWatcher> {
    let bell = bell::path_of(database);
    let name = bell.file_name()?.to_owned();
    let heard = move |event: notify::Result<notify::Event>| {
        let rung = event.is_ok_and(|event| {
            matches!(event.kind, EventKind::Modify(_) | EventKind::Create(_))
                && event.paths.iter().any(|path| path.file_name() == Some(&name))
        });
        if rung {
            ring();
        }
    };
    let mut watcher = notify::recommended_watcher(heard).ok()?;
    // A database that was never written since it was copied has no bell yet.
    let target = if bell.exists() { bell.as_path() } else { bell.parent()? };
    watcher.watch(target, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::{Durability, Sqlite};

    #[test]
    fn a_dropped_follower_ends_its_thread() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("plans.db");
        let store = Sqlite::open(&Options { path, durability: Durability::Normal }).unwrap();
        let follow = Follow::begin(store.start(&Cursor::Now).unwrap(), Scope::All).unwrap();
        let shared = Arc::downgrade(&follow.shared);
        drop(follow);
        let deadline = Instant::now() + Duration::from_secs(10);
        while shared.strong_count() > 0 {
            assert!(Instant::now() < deadline, "the thread still holds on");
            thread::yield_now();
        }
    }
}
