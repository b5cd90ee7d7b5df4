//! Following the journal, from this process and others.
//!
//! A process has one thread for each database that it follows; streams subscribe to it. The thread reads new
//! entries and hands them over; a stream only takes them, so it needs no particular runtime and never blocks
//! one. The thread waits for the bell, and looks by itself once a second in case a writer died between its
//! commit and the bell. It holds no transaction while it waits, reads no further than its subscribers, and ends
//! with the last of them.

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

/// How often to look without having heard the bell.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How many entries are read at a time.
const BATCH: u32 = 256;

/// Where following begins.
pub(crate) struct Start {
    pub(crate) seq: i64,
    pub(crate) options: Options,
}

/// The threads of this process, by the path of their database.
static HUBS: LazyLock<Mutex<HashMap<PathBuf, Arc<Hub>>>> = LazyLock::new(Mutex::default);

/// What a thread and its subscribers share.
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
    /// The bell was heard.
    rung: bool,
    /// A subscriber came, left, or wants more.
    asked: bool,
    /// The thread has ended, or is about to.
    is_over: bool,
}

/// Why the thread looks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Woken {
    Rung,
    Asked,
    Timeout,
}

impl Hub {
    /// Adds a subscriber to the database's thread, which is started if there is none.
    fn subscribe(options: &Options, wanted: Wanted, seq: i64) -> Result<Subscription, Error> {
        let Some(database) = open::to_read(options)? else {
            let what = format!("{} is gone", options.path.display());
            return Err(Error::Unusable { what, source: None });
        };
        let state = Mutex::new(SubscriberState { seq, ..SubscriberState::default() });
        let subscriber = Arc::new(Subscriber { wanted, state });
        let mut hubs = HUBS.lock().unwrap_or_else(PoisonError::into_inner);
        // After the file was replaced, the old thread is about to notice that it looks in vain.
        if let Some(hub) = hubs.get(&database.path)
            && hub.identity == database.identity
            && hub.add(&subscriber)
        {
            return Ok(Subscription { hub: Arc::clone(hub), subscriber });
        }
        let hub = Arc::new(Self { identity: database.identity.clone(), ..Self::default() });
        hub.add(&subscriber);
        let path = database.path.clone();
        // Armed before the first look: what is committed after that look rings.
        let heard = Arc::clone(&hub);
        let watch = watch(&path, move || heard.wake(|state| state.rung = true));
        let looking = Arc::clone(&hub);
        thread::Builder::new()
            .name("punchlist-follow".to_owned())
            .spawn(move || {
                let ending = Ending(looking);
                let failed = ending.0.run(&database).err();
                ending.0.end(failed.as_ref());
                drop(watch);
            })
            .map_err(|error| unusable("no thread can be started to follow".to_owned(), error))?;
        hubs.retain(|_, hub| !hub.state().is_over);
        hubs.insert(path, Arc::clone(&hub));
        Ok(Subscription { hub, subscriber })
    }

    fn state(&self) -> MutexGuard<'_, HubState> {
        // Each holder leaves it whole at every point, so a poisoned lock is as good.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, note: impl FnOnce(&mut HubState)) {
        note(&mut self.state());
        self.woken.notify_all();
    }

    /// Adds a subscriber; not if the thread is over.
    fn add(&self, subscriber: &Arc<Subscriber>) -> bool {
        let mut state = self.state();
        if state.is_over {
            return false;
        }
        state.subscribers.push(Arc::clone(subscriber));
        state.asked = true;
        drop(state);
        self.woken.notify_all();
        true
    }

    /// Waits until there is a reason to look; `None` if nobody is left to look for.
    fn wait(&self) -> Option<(Woken, Vec<Arc<Subscriber>>)> {
        let is_quiet = |state: &mut HubState| !state.rung && !state.asked;
        let waited = self.woken.wait_timeout_while(self.state(), LOOK_AGAIN, is_quiet);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.subscribers.retain(|it| !it.state().is_closed);
        if state.subscribers.is_empty() {
            state.is_over = true;
            return None;
        }
        let (rung, asked) = (std::mem::take(&mut state.rung), std::mem::take(&mut state.asked));
        let woken = match (rung, asked) {
            (true, _) => Woken::Rung,
            (false, true) => Woken::Asked,
            (false, false) => Woken::Timeout,
        };
        Some((woken, state.subscribers.clone()))
    }

    fn run(&self, database: &Database) -> Result<(), Error> {
        let conn = &database.conn;
        let broken = |error| explain(&database.path, error);
        let mut version = data_version(conn).map_err(broken)?;
        while let Some((woken, subscribers)) = self.wait() {
            // What is no longer at its path is not followed: nobody writes there any more.
            if let Some(what) = database.fate().words(&database.path) {
                return Err(Error::Unusable { what, source: None });
            }
            let now = data_version(conn).map_err(broken)?;
            let is_new = std::mem::replace(&mut version, now) != now || woken == Woken::Rung;
            if !is_new && woken == Woken::Timeout {
                continue;
            }
            for subscriber in subscribers {
                subscriber.look(conn, is_new).map_err(broken)?;
            }
        }
        Ok(())
    }

    /// Tells all subscribers that nothing more comes, and why.
    fn end(&self, failed: Option<&Error>) {
        let mut state = self.state();
        state.is_over = true;
        for subscriber in std::mem::take(&mut state.subscribers) {
            let error = failed.map(|it| Error::Unusable { what: it.to_string(), source: None });
            subscriber.tell(|state| {
                state.failed = error;
                state.is_done = true;
            });
        }
    }
}

/// Whatever ends the thread, no subscriber waits for ever.
struct Ending(Arc<Hub>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end(None);
    }
}

/// What a subscriber wants to know.
enum Wanted {
    /// The entries of the journal.
    Entries(Scope),
    /// That anything was written.
    News,
}

/// One of those who follow.
struct Subscriber {
    wanted: Wanted,
    state: Mutex<SubscriberState>,
}

#[derive(Default)]
struct SubscriberState {
    /// The last entry that was read for it.
    seq: i64,
    entries: VecDeque<(Cursor, Entry)>,
    /// Something was written, and the subscriber does not know yet.
    has_news: bool,
    /// Why nothing more can be had, until that is told.
    failed: Option<Error>,
    /// Nobody brings anything any more.
    is_done: bool,
    /// Nobody takes anything any more.
    is_closed: bool,
    waker: Option<Waker>,
}

impl Subscriber {
    fn state(&self) -> MutexGuard<'_, SubscriberState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, note: impl FnOnce(&mut SubscriberState)) {
        let mut state = self.state();
        note(&mut state);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Brings what is new, unless the last is not taken yet.
    fn look(&self, conn: &Connection, is_new: bool) -> rusqlite::Result<()> {
        match &self.wanted {
            Wanted::News if is_new => self.tell(|state| state.has_news = true),
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
                self.tell(|state| {
                    state.seq = last;
                    let found = found.into_iter().map(|(seq, it)| (journal::cursor(seq), it));
                    state.entries.extend(found);
                });
            }
        }
        Ok(())
    }
}

/// A subscriber's end of it.
struct Subscription {
    hub: Arc<Hub>,
    subscriber: Arc<Subscriber>,
}

impl Subscription {
    /// What `take` finds, else the end, else it is woken later.
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
        self.hub.wake(|state| state.asked = true);
    }
}

/// Entries as they come.
pub(crate) struct Follow(Subscription);

impl Follow {
    /// Begins to follow: what is committed after this returns is given.
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
            self.0.hub.wake(|state| state.asked = true);
        }
        found
    }
}

/// News as they come: that something was written, not what.
pub(crate) struct Listen(Subscription);

impl Listen {
    /// Begins to listen: what is committed after this returns is told.
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

/// Changes when another connection has committed.
fn data_version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

/// Listens for the bell. Where that cannot be (too many watches, an odd file system), looking once
/// a second has to do.
fn watch(database: &Path, ring: impl Fn() + Send + 'static) -> Option<RecommendedWatcher> {
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
