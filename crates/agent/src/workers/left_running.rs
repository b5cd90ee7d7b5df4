//! Delegations that still run although their call was answered: the user sent a message that the model is
//! to hear before the worker has ended. A later call of `delegate` for the same waits for the worker again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punchlist_sched::call::Ended;
use tokio::sync::watch;

/// The delegations of a turn that run. Cheap to clone.
#[derive(Clone, Default)]
pub struct LeftRunning(Arc<Mutex<Vec<Delegation>>>);

struct Delegation {
    /// What is delegated.
    what: String,
    /// The call that runs the worker.
    runs: String,
    /// The call that waits for its end, which may be a later one.
    waits: String,
    /// The call that waited was answered, and nobody waits now.
    is_left: bool,
    /// How it ended, once it has.
    end: watch::Sender<Option<Ended>>,
}

impl LeftRunning {
    /// Answers these calls, which wait for workers: the workers go on. Returns `false`, and does nothing,
    /// unless each of the calls waits for a worker that runs.
    pub fn leave(&self, calls: &[&str]) -> bool {
        let mut all = self.lock();
        let waits = |it: &Delegation, call: &str| it.waits == call && it.end.borrow().is_none();
        if !calls.iter().all(|call| all.iter().any(|it| waits(it, call))) {
            return false;
        }
        for it in all.iter_mut().filter(|it| calls.iter().any(|call| waits(it, call))) {
            it.is_left = true;
        }
        true
    }

    /// A call begins. If the same was delegated by a call that was left, returns where its end is told:
    /// the call waits for that. Else the call runs a worker itself, and its end is told with
    /// [`Self::end`].
    pub(super) fn begin(&self, what: &str, call: &str) -> Option<watch::Receiver<Option<Ended>>> {
        let mut all = self.lock();
        if let Some(it) = all.iter_mut().find(|it| it.is_left && it.what == what) {
            (it.is_left, it.waits) = (false, call.to_owned());
            return Some(it.end.subscribe());
        }
        let (what, runs, waits) = (what.to_owned(), call.to_owned(), call.to_owned());
        all.push(Delegation { what, runs, waits, is_left: false, end: watch::Sender::new(None) });
        None
    }

    /// The worker of a call has ended. The end is kept if another call waits for it, or will.
    pub(super) fn end(&self, call: &str, ended: &Ended) {
        let mut all = self.lock();
        let Some(at) = all.iter().position(|it| it.runs == call) else { return };
        if all[at].is_left || all[at].waits != call {
            all[at].end.send_replace(Some(ended.clone()));
        } else {
            all.remove(at);
        }
    }

    /// A call that waited has the end.
    pub(super) fn collected(&self, call: &str) {
        self.lock().retain(|it| it.is_left || it.waits != call);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Delegation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
