//! Stops an attempt: tells its tool to stop, and ends the processes that it started.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::process::Watched;

/// How far stopping has got.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Stopping {
    /// The attempt may go on.
    #[default]
    No,
    /// The attempt was asked to stop.
    Asked,
    /// The time to stop is over: the attempt is dropped.
    Over,
}

/// The stop signal of one attempt.
#[derive(Default)]
pub(crate) struct Brake {
    state: Mutex<BrakeState>,
    /// Notified whenever `stopping` advances.
    changed: Notify,
}

#[derive(Default)]
struct BrakeState {
    stopping: Stopping,
    processes: Vec<Watched>,
}

impl Brake {
    /// Whether the attempt must stop.
    pub(crate) fn is_on(&self) -> bool {
        self.lock().stopping != Stopping::No
    }

    /// Waits until stopping has advanced that far.
    pub(crate) async fn reached(&self, far: Stopping) {
        loop {
            // Registered before the check, so that no change is missed.
            let changed = self.changed.notified();
            if self.lock().stopping >= far {
                return;
            }
            changed.await;
        }
    }

    /// Adds a process of the attempt. If the attempt must stop already, the process is ended at
    /// once.
    pub(crate) fn add(&self, process: Watched) {
        let mut state = self.lock();
        if state.stopping != Stopping::No {
            process.stop();
        }
        state.processes.retain(|it| !it.is_over());
        state.processes.push(process);
    }

    /// Stops the attempt: notifies its tool, and ends its processes.
    pub(crate) fn stop(&self, far: Stopping) {
        let mut state = self.lock();
        state.stopping = far.max(state.stopping);
        state.processes.iter().for_each(Watched::stop);
        drop(state);
        self.changed.notify_waiters();
    }

    /// The processes that have not ended yet.
    pub(crate) fn left(&self) -> Vec<Watched> {
        self.lock().processes.iter().filter(|it| !it.is_over()).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BrakeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
