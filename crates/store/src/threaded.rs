//! The store on SQLite with its own threads: no call blocks the caller's executor.
//!
//! One thread writes and one reads. Writes are executed one by one, in the order in which their
//! futures were first polled; so are reads, in parallel with the writes. A read sees every write
//! that was acknowledged before the read was polled. Dropping a future that was polled does not
//! stop its call. Writes that wait while others are confirmed are confirmed together (`group`).

use std::pin::Pin;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{self, JoinHandle};

use futures_core::future::BoxFuture;
use punchlist_model::needs::Needs;
use punchlist_model::session::{Kept, Session, SessionFilter, SessionKey, SessionStore};
use punchlist_model::store::{
    Applied, Attachment, AttachmentKey, Change, Cursor, Entry, Error, Filter, Following, FoundItem,
    ItemSearch, NewPlan, PlanStore, ProjectSums, Scope, Since, Summary,
};
use punchlist_model::{Ctx, ItemRef, MadeFor, Plan, PlanId, Process, Revision, Slice, Timestamp};

use crate::error::unusable;
use crate::{Options, Sqlite, group};

/// A store in a SQLite database, with its own threads.
pub struct Threaded {
    store: Arc<Sqlite>,
    writing: Worker,
    reading: Worker,
}

/// A thread and its queue of jobs.
struct Worker {
    /// `None` only while dropping.
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// Does its work, and returns how its caller is answered.
pub(crate) type Job = Box<dyn FnOnce(&Sqlite) -> Deliver + Send>;

/// Answers a caller. If the change could not be confirmed, the caller is told that instead of a success.
pub(crate) type Deliver = Box<dyn FnOnce(&Result<(), Error>)>;

impl Threaded {
    /// Opens a database as [`Sqlite::open`] does, and starts its threads.
    pub fn open(options: &Options) -> Result<Self, Error> {
        Self::new(Sqlite::open(options)?)
    }

    /// Starts the threads of an open store.
    pub fn new(store: Sqlite) -> Result<Self, Error> {
        store.stay();
        let store = Arc::new(store);
        let writing = Worker::start("punchlist-write", &store, group::run)?;
        let reading = Worker::start("punchlist-read", &store, |store, _, job| job(store)(&Ok(())))?;
        Ok(Self { store, writing, reading })
    }

    /// Runs a job that may write, on the writing thread.
    pub(crate) fn write<'a, T: Send + 'static>(
        &'a self,
        work: impl for<'s> FnOnce(&'s Sqlite) -> BoxFuture<'s, Result<T, Error>> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, Error>> {
        self.writing.ask(work)
    }

    /// Runs a job that only reads, on the reading thread.
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
    fn start(
        name: &str,
        store: &Arc<Sqlite>,
        run: fn(&Sqlite, &Receiver<Job>, Job),
    ) -> Result<Self, Error> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let store = Arc::clone(store);
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                while let Ok(job) = queue.recv() {
                    run(&store, &queue, job);
                }
            })
            .map_err(|error| unusable("cannot start a thread for the store".into(), error))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Queues a job.
    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // If the job cannot be sent, it is dropped, and its [`Answer`] reports that.
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
            self.send(Box::new(move |store| {
                let value = finish(work(store));
                Box::new(move |confirmed| {
                    answer.give(value.and_then(|it| group::told(it, confirmed)));
                })
            }));
            Reply(slot).await
        })
    }

    /// Finishes the queued jobs and ends the thread.
    fn end(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, its callers have already got an error.
            drop(thread.join());
        }
    }
}

/// The result of a future of [`Sqlite`], which is ready at once.
fn finish<T>(mut future: BoxFuture<'_, Result<T, Error>>) -> Result<T, Error> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => Err(gone()),
    }
}

fn gone() -> Error {
    Error::Unusable { what: "the store's thread has ended".to_owned(), source: None }
}

/// Where a thread puts the result for the caller.
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

/// The thread's side of a slot. Dropped without a result, it reports that the thread is gone.
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

/// The caller's side of a slot: a future of the result.
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

    fn projects(&self, project: Option<String>) -> BoxFuture<'_, Result<Vec<ProjectSums>, Error>> {
        self.only_read(move |store| store.projects(project))
    }

    fn search(&self, search: ItemSearch) -> BoxFuture<'_, Result<Vec<FoundItem>, Error>> {
        self.only_read(move |store| store.search(search))
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

    fn journal_since(&self, after: Cursor, most: u32) -> BoxFuture<'_, Result<Since, Error>> {
        self.only_read(move |store| store.journal_since(after, most))
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
