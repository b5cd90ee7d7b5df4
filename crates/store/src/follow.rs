//! Following the journal, for changes of this process and of others.
//!
//! A process has one thread for each database that it follows; streams subscribe to it. The thread
//! reads new entries and hands them to the streams, so a stream needs no particular runtime and
//! never blocks one. The thread waits for the bell, and polls once a second in case a writer died
//! between its commit and the bell. It keeps no transaction open while it waits, reads no further
//! than its subscribers, and ends when the last subscriber leaves.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use futures_core::Stream;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use punchlist_model::store::{Cursor, Entry, Error, Scope};
use rusqlite::Connection;

use crate::bell;
use crate::error::{explain, unusable};
use crate::identity::Identity;
use crate::journal;
use crate::open::{self, Database, Options};

/// How often to poll without the bell.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How many entries are read at once.
const BATCH: u32 = 256;

/// Where following begins.
pub(crate) struct Start {
    pub(crate) seq: i64,
    pub(crate) options: Options,
}

/// The following threads of this process, by the path of their database.
static HUBS: LazyLock<Mutex<HashMap<PathBuf, Arc<Hub>>>> = LazyLock::new(Mutex::default);

/// The state that a thread and its subscribers share.
#[derive(Default)]
struct Hub {
    /// The files that the thread has open.
    identity: Option<Identity>,
    state: Mutex<HubState>,
    woken: Condvar,
}

#[derive(Default)]
struct HubState {
    subscribers: Vec<Arc<Subscriber>>,
    /// The bell rang.
    rung: bool,
    /// A subscriber came, left, or wants more entries.
    has_request: bool,
    /// The thread has ended, or is about to end.
    is_over: bool,
}

/// Why the thread woke up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Woken {
    Rung,
    Request,
    Timeout,
}

impl Hub {
    /// Adds a subscriber to the database's thread, and starts the thread if there is none.
    fn subscribe(options: &Options, wanted: Wanted, seq: i64) -> Result<Subscription, Error> {
        let Some(database) = open::to_read(options)? else {
            let what = format!("{} is gone", options.path.display());
            return Err(Error::Unusable { what, source: None });
        };
        let state = Mutex::new(SubscriberState { seq, ..SubscriberState::default() });
        let subscriber = Arc::new(Subscriber { wanted, state });
        let mut hubs = HUBS.lock().unwrap_or_else(PoisonError::into_inner);
        // If the file was replaced, the old thread follows the old file and is about to end.
        if let Some(hub) = hubs.get(&database.path)
            && hub.identity == database.identity
            && hub.add(&subscriber)
        {
            return Ok(Subscription { hub: Arc::clone(hub), subscriber });
        }
        let hub = Arc::new(Self { identity: database.identity.clone(), ..Self::default() });
        hub.add(&subscriber);
        let path = database.path.clone();
        // The watch begins before the first read, so every commit after that read wakes the thread.
        let watching_hub = Arc::clone(&hub);
        let watch = watch(&path, move || watching_hub.wake(|state| state.rung = true));
        let thread_hub = Arc::clone(&hub);
        thread::Builder::new()
            .name("punchlist-follow".to_owned())
            .spawn(move || {
                let ending = Ending(thread_hub);
                let failed = ending.0.run(&database).err();
                ending.0.end(failed.as_ref());
                drop(watch);
            })
            .map_err(|error| {
                unusable("cannot start a thread to follow the journal".to_owned(), error)
            })?;
        hubs.retain(|_, hub| !hub.state().is_over);
        hubs.insert(path, Arc::clone(&hub));
        Ok(Subscription { hub, subscriber })
    }

    fn state(&self) -> MutexGuard<'_, HubState> {
        // No holder panics with a half-written state, so the state behind a poisoned lock is valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, edit: impl FnOnce(&mut HubState)) {
        edit(&mut self.state());
        self.woken.notify_all();
    }

    /// Adds a subscriber. Returns false if the thread has ended.
    fn add(&self, subscriber: &Arc<Subscriber>) -> bool {
        let mut state = self.state();
        if state.is_over {
            return false;
        }
        state.subscribers.push(Arc::clone(subscriber));
        state.has_request = true;
        drop(state);
        self.woken.notify_all();
        true
    }

    /// Waits until there is something to do; `None` if no subscriber is left.
    fn wait(&self) -> Option<(Woken, Vec<Arc<Subscriber>>)> {
        let is_quiet = |state: &mut HubState| !state.rung && !state.has_request;
        let waited = self.woken.wait_timeout_while(self.state(), POLL_INTERVAL, is_quiet);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.subscribers.retain(|it| !it.state().is_closed);
        if state.subscribers.is_empty() {
            state.is_over = true;
            return None;
        }
        let (rung, has_request) =
            (std::mem::take(&mut state.rung), std::mem::take(&mut state.has_request));
        let woken = match (rung, has_request) {
            (true, _) => Woken::Rung,
            (false, true) => Woken::Request,
            (false, false) => Woken::Timeout,
        };
        Some((woken, state.subscribers.clone()))
    }

    fn run(&self, database: &Database) -> Result<(), Error> {
        let conn = &database.conn;
        let broken = |error| explain(&database.path, error);
        let mut version = data_version(conn).map_err(broken)?;
        while let Some((woken, subscribers)) = self.wait() {
            // The database is no longer at its path, so nobody writes to it any more.
            if let Some(what) = database.fate().words(&database.path) {
                return Err(Error::Unusable { what, source: None });
            }
            let now = data_version(conn).map_err(broken)?;
            let is_new = std::mem::replace(&mut version, now) != now || woken == Woken::Rung;
            if !is_new && woken == Woken::Timeout {
                continue;
            }
            for subscriber in subscribers {
                subscriber.deliver(conn, is_new).map_err(broken)?;
            }
        }
        Ok(())
    }

    /// Ends the streams of all subscribers, with the error if there is one.
    fn end(&self, failed: Option<&Error>) {
        let mut state = self.state();
        state.is_over = true;
        for subscriber in std::mem::take(&mut state.subscribers) {
            let error = failed.map(|it| Error::Unusable { what: it.to_string(), source: None });
            subscriber.update(|state| {
                state.failed = error;
                state.is_done = true;
            });
        }
    }
}

/// Ends the streams even if the thread panics, so that no subscriber waits for ever.
struct Ending(Arc<Hub>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end(None);
    }
}

/// What a subscriber wants.
enum Wanted {
    /// The journal entries.
    Entries(Scope),
    /// A wake-up after any write.
    News,
}

/// One of those who follow.
struct Subscriber {
    wanted: Wanted,
    state: Mutex<SubscriberState>,
}

#[derive(Default)]
struct SubscriberState {
    /// The last entry that was read for this subscriber.
    seq: i64,
    entries: VecDeque<(Cursor, Entry)>,
    /// Something was written, and the subscriber has not been woken for it yet.
    has_news: bool,
    /// Why the stream ends, until the subscriber has received it.
    failed: Option<Error>,
    /// The thread has ended; nothing more will come.
    is_done: bool,
    /// The subscriber has left.
    is_closed: bool,
    waker: Option<Waker>,
}

impl Subscriber {
    fn state(&self) -> MutexGuard<'_, SubscriberState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, edit: impl FnOnce(&mut SubscriberState)) {
        let mut state = self.state();
        edit(&mut state);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Reads new entries for the subscriber, unless it has not taken the last ones yet.
    fn deliver(&self, conn: &Connection, is_new: bool) -> rusqlite::Result<()> {
        match &self.wanted {
            Wanted::News if is_new => self.update(|state| state.has_news = true),
            Wanted::News => {}
            Wanted::Entries(scope) => {
                let seq = {
                    let state = self.state();
                    if !state.entries.is_empty() {
                        return Ok(());
                    }
                    state.seq
                };
                let found = journal::following(conn, seq, scope, BATCH)?;
                let Some((last, _)) = found.last() else { return Ok(()) };
                let last = *last;
                self.update(|state| {
                    state.seq = last;
                    let found = found.into_iter().map(|(seq, it)| (journal::cursor(seq), it));
                    state.entries.extend(found);
                });
            }
        }
        Ok(())
    }
}

/// A subscriber's side of the subscription.
struct Subscription {
    hub: Arc<Hub>,
    subscriber: Arc<Subscriber>,
}

impl Subscription {
    /// Returns what `take` finds, otherwise the end of the stream; otherwise registers the waker.
    fn poll<T>(
        &self,
        cx: &Context<'_>,
        take: impl FnOnce(&mut SubscriberState) -> Option<T>,
    ) -> Poll<Option<Result<T, Error>>> {
        let mut state = self.subscriber.state();
        if let Some(found) = take(&mut state) {
            return Poll::Ready(Some(Ok(found)));
        }
        if let Some(error) = state.failed.take() {
            return Poll::Ready(Some(Err(error)));
        }
        if state.is_done {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.subscriber.state().is_closed = true;
        self.hub.wake(|state| state.has_request = true);
    }
}

/// The stream of [`PlanStore::follow`](punchlist_model::store::PlanStore::follow).
pub(crate) struct Follow(Subscription);

impl Follow {
    /// Begins to follow: the stream has every change that is committed after this returns.
    pub(crate) fn begin(start: &Start, scope: Scope) -> Result<Self, Error> {
        Hub::subscribe(&start.options, Wanted::Entries(scope), start.seq).map(Self)
    }
}

impl Stream for Follow {
    type Item = Result<(Cursor, Entry), Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut wants_more = false;
        let found = self.0.poll(cx, |state| {
            let found = state.entries.pop_front();
            wants_more = found.is_some() && state.entries.is_empty();
            found
        });
        if wants_more {
            self.0.hub.wake(|state| state.has_request = true);
        }
        found
    }
}

/// The stream of [`CallStore::news`](punchlist_model::call::CallStore::news).
pub(crate) struct Listen(Subscription);

impl Listen {
    /// Begins to listen: every change that is committed after this returns causes a wake-up.
    pub(crate) fn begin(options: &Options) -> Result<Self, Error> {
        Hub::subscribe(options, Wanted::News, 0).map(Self)
    }
}

impl Stream for Listen {
    type Item = Result<(), Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll(cx, |state| std::mem::take(&mut state.has_news).then_some(()))
    }
}

/// A number that changes when another connection has committed.
fn data_version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

/// Watches the bell file. If that is not possible (too many watches, an unusual file system),
/// polling once a second must do.
fn watch(database: &Path, ring: impl Fn() + Send + 'static) -> Option<RecommendedWatcher> {
    let bell = bell::path_of(database);
    let name = bell.file_name()?.to_owned();
    let on_event = move |event: notify::Result<notify::Event>| {
        let rung = event.is_ok_and(|event| {
            matches!(event.kind, EventKind::Modify(_) | EventKind::Create(_))
                && event.paths.iter().any(|path| path.file_name() == Some(&name))
        });
        if rung {
            ring();
        }
    };
    let mut watcher = notify::recommended_watcher(on_event).ok()?;
    // A copied database that was not written since has no bell file yet.
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
    fn followers_share_a_thread_that_ends_with_the_last_of_them() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("plans.db");
        let options = Options { path, durability: Durability::Normal };
        let store = Sqlite::open(&options).unwrap();
        let follow = || Follow::begin(&store.start(&Cursor::Now).unwrap(), Scope::All).unwrap();
        let (one, other, news) = (follow(), follow(), Listen::begin(&options).unwrap());
        assert!(Arc::ptr_eq(&one.0.hub, &other.0.hub) && Arc::ptr_eq(&one.0.hub, &news.0.hub));
        let hub = Arc::clone(&one.0.hub);
        drop((one, other));
        assert!(!hub.state().is_over);
        drop(news);
        let deadline = Instant::now() + Duration::from_secs(10);
        while !hub.state().is_over {
            assert!(Instant::now() < deadline, "the thread still looks");
            thread::yield_now();
        }
        assert!(!Arc::ptr_eq(&hub, &follow().0.hub), "who comes later has another one");
    }
}
