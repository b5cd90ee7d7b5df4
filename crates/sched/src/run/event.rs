//! The events for subscribers. A slow subscriber loses lines of output, but never a state.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punchlist_model::Attempt;
use punchlist_model::call::Asked;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::call::{BatchId, CallId, State};
use crate::output::Line;

/// How many lines a subscriber may be behind before it loses some.
const BEHIND: usize = 4_096;

/// An event of a run.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A call has a new state. It is recorded in the ledger.
    Moved {
        /// The call.
        call: CallId,
        /// Its new state.
        state: State,
    },
    /// A person is asked. The question is recorded in the ledger.
    Asked(Arc<Asked>),
    /// A running call printed a line.
    Output {
        /// The call.
        call: CallId,
        /// The attempt.
        attempt: Attempt,
        /// The line.
        line: Line,
    },
    /// This subscriber was too slow and has lost lines.
    Lost {
        /// The number of lost lines.
        lines: u64,
    },
    /// All calls of a batch have ended. Sent once per batch.
    BatchDone(BatchId),
}

/// A subscription to the events of a run.
pub struct Events {
    receiver: UnboundedReceiver<Event>,
    /// How many lines are in the queue.
    lines: Arc<AtomicUsize>,
}

impl Events {
    /// Waits for the next event; `None` once the run is over. Cancel-safe.
    pub async fn next(&mut self) -> Option<Event> {
        let event = self.receiver.recv().await;
        if matches!(event, Some(Event::Output { .. })) {
            self.lines.fetch_sub(1, Ordering::Relaxed);
        }
        event
    }
}

struct Watcher {
    sender: UnboundedSender<Event>,
    lines: Arc<AtomicUsize>,
    /// How many lines were lost since the last one that was delivered.
    lost: u64,
}

impl Watcher {
    /// Sends an event. Returns whether the subscriber still exists.
    fn tell(&mut self, event: &Event) -> bool {
        if let Event::Output { .. } = event {
            if self.lines.load(Ordering::Relaxed) >= BEHIND {
                self.lost = self.lost.saturating_add(1);
                return !self.sender.is_closed();
            }
            self.lines.fetch_add(1, Ordering::Relaxed);
        }
        self.tell_lost() && self.sender.send(event.clone()).is_ok()
    }

    fn tell_lost(&mut self) -> bool {
        match std::mem::take(&mut self.lost) {
            0 => true,
            lines => self.sender.send(Event::Lost { lines }).is_ok(),
        }
    }
}

/// All subscribers.
#[derive(Default)]
pub(crate) struct Watchers(Mutex<Vec<Watcher>>);

impl Watchers {
    pub(crate) fn subscribe(&self) -> Events {
        let (sender, receiver) = mpsc::unbounded_channel();
        let lines = Arc::new(AtomicUsize::new(0));
        self.lock().push(Watcher { sender, lines: Arc::clone(&lines), lost: 0 });
        Events { receiver, lines }
    }

    pub(crate) fn is_anybody_there(&self) -> bool {
        !self.lock().is_empty()
    }

    /// Sends an event to all subscribers. Those that are gone are removed.
    pub(crate) fn tell(&self, event: &Event) {
        self.lock().retain_mut(|it| it.tell(event));
    }

    /// Ends all subscriptions.
    pub(crate) fn close(&self) {
        for mut watcher in self.lock().drain(..) {
            watcher.tell_lost();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Watcher>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
