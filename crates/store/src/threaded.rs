//! The store on SQLite with threads of its own: no call blocks the caller's executor.
//!
//! One thread writes and one reads. Writes are done one by one in the order in which their futures were
//! first polled; reads likewise, beside the writes. A read sees every write that was acknowledged before the
//! read was asked for. A future that is dropped after it was polled does not stop its call.

use std::pin::Pin;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{self, JoinHandle};

use futures_core::future::BoxFuture;
use punchlist_model::needs::Needs;
use punchlist_model::session::{Kept, Session, SessionFilter, SessionKey, SessionStore};
use punchlist_model::store::{
    Applied, Attachment, AttachmentKey, Change, Cursor, Entry, Error, Filter, Following, NewPlan,
    PlanStore, Scope, Summary,
};
use punchlist_model::{Ctx, ItemRef, MadeFor, Plan, PlanId, Process, Revision, Slice, Timestamp};

use crate::error::unusable;
use crate::{Options, Sqlite};

/// Plans in a SQLite database that threads work on.
pub struct Threaded {
    store: Arc<Sqlite>,
    writing: Worker,
    reading: Worker,
}

/// A thread and its queue.
struct Worker {
    /// `None` only while dropping.
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

type Job = Box<dyn FnOnce(&Sqlite) + Send>;

impl Threaded {
    /// Opens a database as [`Sqlite::open`] does, and starts its threads.
    pub fn open(options: &Options) -> Result<Self, Error> {
        Self::new(Sqlite::open(options)?)
    }

    /// Gives an open store its threads.
    pub fn new(store: Sqlite) -> Result<Self, Error> {
        store.stay();
        let store = Arc::new(store);
        let writing = Worker::start("punchlist-write", &store)?;
        let reading = Worker::start("punchlist-read", &store)?;
        Ok(Self { store, writing, reading })
    }

    /// Does work that writes, or may.
    pub(crate) fn write<'a, T: Send + 'static>(
        &'a self,
        work: impl for<'s> FnOnce(&'s Sqlite) -> BoxFuture<'s, Result<T, Error>> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, Error>> {
        self.writing.ask(work)
    }

    /// Does work that only reads.
    pub(crate) fn only_read<'a, T: Send + 'static>(
        &'a self,
        work: impl for<'s> FnOnce(&'s Sqlite) -> BoxFuture<'s, Result<T, Error>> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, Error>> {
        self.reading.ask(work)
    }
}

impl Drop for Threaded {
    fn drop(&mut self) {
        self.writing.end();
        self.reading.end();
        self.store.leave();
    }
}

impl Worker {
    fn start(name: &str, store: &Arc<Sqlite>) -> Result<Self, Error> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let store = Arc::clone(store);
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || queue.into_iter().for_each(|job| job(&store)))
            .map_err(|error| unusable("no thread can be started for the store".into(), error))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Queues a job.
    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // A job that cannot be sent is dropped, and its answer says so.
            drop(jobs.send(job));
        }
    }

    fn ask<'a, T: Send + 'static>(
        &'a self,
        work: impl for<'s> FnOnce(&'s Sqlite) -> BoxFuture<'s, Result<T, Error>> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, Error>> {
        Box::pin(async move {
            let slot = Arc::new(Slot::default());
            let answer = Answer(Arc::clone(&slot));
            self.send(Box::new(move |store| answer.give(finish(work(store)))));
            Reply(slot).await
        })
    }

    /// Waits until the jobs that are queued are done, and ends the thread.
    fn end(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // That it panicked was told to whoever asked.
            drop(thread.join());
        }
    }
}

/// What a future of [`Sqlite`] came to: it is ready at once.
fn finish<T>(mut future: BoxFuture<'_, Result<T, Error>>) -> Result<T, Error> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => Err(gone()),
    }
}

fn gone() -> Error {
    Error::Unusable { what: "the store's thread has ended".to_owned(), source: None }
}

/// Where an answer is put for the one who asked.
struct Slot<T> {
    state: Mutex<Answered<T>>,
}

struct Answered<T> {
    value: Option<Result<T, Error>>,
    waker: Option<Waker>,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { state: Mutex::new(Answered { value: None, waker: None }) }
    }
}

impl<T> Slot<T> {
    fn state(&self) -> MutexGuard<'_, Answered<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, value: Result<T, Error>) {
        let mut state = self.state();
        if state.value.is_none() {
            state.value = Some(value);
        }
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The duty to answer. Dropped without an answer, it says that the thread is gone.
struct Answer<T>(Arc<Slot<T>>);

impl<T> Answer<T> {
    fn give(self, value: Result<T, Error>) {
        self.0.put(value);
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        self.0.put(Err(gone()));
    }
}

/// Waits for an answer.
struct Reply<T>(Arc<Slot<T>>);

impl<T> Future for Reply<T> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.state();
        match state.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl PlanStore for Threaded {
    fn create(&self, new: NewPlan) -> BoxFuture<'_, Result<Plan, Error>> {
        self.write(move |store| store.create(new))
    }

    fn change(&self, plan: PlanId, change: Change) -> BoxFuture<'_, Result<Applied, Error>> {
        self.write(move |store| store.change(plan, change))
    }

    fn undo(
        &self,
        plan: PlanId,
        ctx: Ctx,
        expect: Option<Revision>,
    ) -> BoxFuture<'_, Result<Applied, Error>> {
        self.write(move |store| store.undo(plan, ctx, expect))
    }

    fn forget(
        &self,
        plan: PlanId,
        item: Option<ItemRef>,
        ctx: Ctx,
    ) -> BoxFuture<'_, Result<Applied, Error>> {
        self.write(move |store| store.forget(plan, item, ctx))
    }

    fn whole(&self, plan: PlanId) -> BoxFuture<'_, Result<Plan, Error>> {
        self.only_read(move |store| store.whole(plan))
    }

    fn read(&self, plan: PlanId, needs: Needs) -> BoxFuture<'_, Result<Slice, Error>> {
        self.only_read(move |store| PlanStore::read(store, plan, needs))
    }

    fn plans(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Summary>, Error>> {
        self.only_read(move |store| store.plans(filter))
    }

    fn plan_for(&self, what: MadeFor) -> BoxFuture<'_, Result<Option<PlanId>, Error>> {
        self.only_read(move |store| store.plan_for(what))
    }

    fn set_made_for(
        &self,
        plan: PlanId,
        what: Option<MadeFor>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |store| store.set_made_for(plan, what))
    }

    fn attach(
        &self,
        key: AttachmentKey,
        plan: PlanId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Attachment, Error>> {
        self.write(move |store| store.attach(key, plan, now))
    }

    fn attachment(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<Attachment>, Error>> {
        self.only_read(move |store| store.attachment(key))
    }

    fn attached(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<PlanId>, Error>> {
        self.only_read(move |store| store.attached(key))
    }

    fn whole_attached(&self, key: AttachmentKey) -> BoxFuture<'_, Result<Option<Plan>, Error>> {
        self.only_read(move |store| store.whole_attached(key))
    }

    fn shown(&self, key: AttachmentKey, revision: Revision) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |store| store.shown(key, revision))
    }

    fn journal(
        &self,
        plan: PlanId,
        after: Revision,
        most: u32,
    ) -> BoxFuture<'_, Result<Vec<Entry>, Error>> {
        self.only_read(move |store| store.journal(plan, after, most))
    }

    fn follow(&self, after: Cursor, scope: Scope) -> BoxFuture<'_, Result<Following, Error>> {
        self.only_read(move |store| store.follow(after, scope))
    }

    fn import(&self, plan: Plan, journal: Vec<Entry>) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |store| store.import(plan, journal))
    }
}

impl SessionStore for Threaded {
    fn session(&self, key: SessionKey) -> BoxFuture<'_, Result<Option<Session>, Error>> {
        self.only_read(move |store| store.session(key))
    }

    fn sessions(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Vec<Session>, Error>> {
        self.only_read(move |store| store.sessions(filter))
    }

    fn seen_beside(
        &self,
        key: SessionKey,
        process: Process,
    ) -> BoxFuture<'_, Result<Option<Timestamp>, Error>> {
        self.only_read(move |store| store.seen_beside(key, process))
    }

    fn keep(&self, session: Session) -> BoxFuture<'_, Result<Kept, Error>> {
        self.write(move |store| store.keep(session))
    }

    fn change_and_keep(
        &self,
        plan: PlanId,
        change: Change,
        session: Session,
    ) -> BoxFuture<'_, Result<(Applied, Kept), Error>> {
        self.write(move |store| store.change_and_keep(plan, change, session))
    }
}
