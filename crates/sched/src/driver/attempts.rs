//! Telling attempts that they are to stop, and knowing what they still have running.
//!
//! An attempt that ends at once, as most do that do not wait for anything, never gets an entry here.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use punchlist_model::Attempt;

use crate::call::CallId;
use crate::process::Watched;

/// How far stopping has got.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Stopping {
    /// Nobody wants it to stop.
    No,
    /// It is to stop.
    Asked,
    /// It had its time: it is dropped.
    Over,
}

/// One attempt, from the side of who may stop it.
pub(crate) struct Brake(Mutex<State>);

struct State {
    stopping: Stopping,
    waiting: Vec<Waker>,
    processes: Vec<Watched>,
}

impl Brake {
    fn new() -> Self {
        let state = State { stopping: Stopping::No, waiting: Vec::new(), processes: Vec::new() };
        Self(Mutex::new(state))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the attempt is to stop.
    pub(crate) fn is_on(&self) -> bool {
        self.stopping() != Stopping::No
    }

    pub(crate) fn stopping(&self) -> Stopping {
        self.lock().stopping
    }

    /// Waits until the attempt is to stop.
    pub(crate) async fn on(&self) {
        poll_fn(|context| self.poll(context, Stopping::Asked)).await;
    }

    /// Ready once stopping has got that far.
    pub(crate) fn poll(&self, context: &mut Context<'_>, far: Stopping) -> Poll<()> {
        let mut state = self.lock();
        if state.stopping >= far {
            return Poll::Ready(());
        }
        if !state.waiting.iter().any(|it| it.will_wake(context.waker())) {
            state.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }

    /// Takes a process under it, or has it ended at once if it is too late for that.
    pub(crate) fn add(&self, process: Watched) {
        let mut state = self.lock();
        if state.stopping != Stopping::No {
            process.stop();
        }
        state.processes.retain(|it| !it.is_over());
        state.processes.push(process);
    }

    /// Stops the attempt: it hears of it, and its processes are ended.
    pub(crate) fn stop(&self, far: Stopping) {
        let mut state = self.lock();
        if state.stopping >= far {
            return;
        }
        state.stopping = far;
        state.processes.iter().for_each(Watched::stop);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// The processes that are not over yet.
    pub(crate) fn processes(&self) -> Vec<Watched> {
        self.lock().processes.iter().filter(|it| !it.is_over()).cloned().collect()
    }
}

/// The attempts that are under way and that somebody has asked about.
#[derive(Default)]
pub(crate) struct Attempts {
    by_attempt: Mutex<BTreeMap<(CallId, Attempt), Arc<Brake>>>,
    /// How many there are: none, as long as no call waits for anything.
    count: AtomicUsize,
}

impl Attempts {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(CallId, Attempt), Arc<Brake>>> {
        self.by_attempt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The brake of an attempt.
    pub(crate) fn brake(&self, call: CallId, attempt: Attempt) -> Arc<Brake> {
        let mut all = self.lock();
        let brake = all.entry((call, attempt)).or_insert_with(|| Arc::new(Brake::new()));
        let brake = Arc::clone(brake);
        self.count.store(all.len(), Ordering::Release);
        brake
    }

    /// The brake of an attempt, if anybody asked for it.
    pub(crate) fn known(&self, call: CallId, attempt: Attempt) -> Option<Arc<Brake>> {
        self.lock().get(&(call, attempt)).cloned()
    }

    /// Whether an attempt has processes that are not over.
    pub(crate) fn has_processes(&self, call: CallId, attempt: Attempt) -> bool {
        self.count.load(Ordering::Acquire) > 0
            && self.known(call, attempt).is_some_and(|brake| !brake.processes().is_empty())
    }

    /// The attempt has ended. Whoever still works for it is to stop.
    pub(crate) fn ended(&self, call: CallId, attempt: Attempt) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut all = self.lock();
        let brake = all.remove(&(call, attempt));
        self.count.store(all.len(), Ordering::Release);
        drop(all);
        if let Some(brake) = brake {
            brake.stop(Stopping::Over);
        }
    }
}
