//! Telling an attempt that it is to stop, and knowing which processes it still has.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

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
pub(crate) struct Brake {
    stopping: watch::Sender<Stopping>,
    processes: Mutex<Vec<Watched>>,
}

impl Default for Brake {
    fn default() -> Self {
        Self { stopping: watch::Sender::new(Stopping::No), processes: Mutex::default() }
    }
}

impl Brake {
    /// Whether the attempt is to stop.
    pub(crate) fn is_on(&self) -> bool {
        *self.stopping.borrow() != Stopping::No
    }

    /// Waits until stopping has got that far.
    pub(crate) async fn reached(&self, far: Stopping) {
        let mut stopping = self.stopping.subscribe();
        // The sender lives as long as this borrow, so it does not fail.
        drop(stopping.wait_for(|it| *it >= far).await);
    }

    /// Takes a process under it, or has it ended at once if it is too late for that.
    pub(crate) fn add(&self, process: Watched) {
        let mut processes = self.processes();
        if self.is_on() {
            process.stop();
        }
        processes.retain(|it| !it.is_over());
        processes.push(process);
    }

    /// Stops the attempt: it hears of it, and its processes are ended.
    pub(crate) fn stop(&self, far: Stopping) {
        let processes = self.processes();
        self.stopping.send_if_modified(|it| {
            let is_further = *it < far;
            *it = far.max(*it);
            is_further
        });
        processes.iter().for_each(Watched::stop);
    }

    /// The processes that are not over yet.
    pub(crate) fn left(&self) -> Vec<Watched> {
        self.processes().iter().filter(|it| !it.is_over()).cloned().collect()
    }

    fn processes(&self) -> MutexGuard<'_, Vec<Watched>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
