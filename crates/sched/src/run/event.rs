//! What watchers are told, and how: a slow one loses lines of output, never a state.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punchlist_model::Attempt;
use punchlist_model::call::Asked;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::call::{BatchId, CallId, State};
use crate::output::Line;

/// How many lines a watcher may be behind before it loses some.
const BEHIND: usize = 4_096;

/// Something that happened.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A call stands somewhere else now. The ledger knows.
    Moved {
        /// Which.
        call: CallId,
        /// Where it stands.
        state: State,
    },
    /// A person is asked. The ledger knows.
    Asked(Arc<Asked>),
    /// A running call said something.
    Output {
        /// Which.
        call: CallId,
        /// In which attempt.
        attempt: Attempt,
        /// What.
        line: Line,
    },
    /// So many lines came too fast for this watcher.
    Lost {
        /// How many.
        lines: u64,
    },
    /// All calls of a batch have ended. Comes once for each.
    BatchDone(BatchId),
}

/// What one watcher is told, from when it began to watch.
pub struct Events {
    receiver: UnboundedReceiver<Event>,
    /// How many lines wait to be received.
    lines: Arc<AtomicUsize>,
}

impl Events {
    /// The next event, or `None` once the run is over. Nothing is lost if the answer is not waited for.
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
    /// How many lines it has lost since the last one that it got.
    lost: u64,
}

impl Watcher {
    /// Says whether anybody still listens.
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

/// All watchers.
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

    /// Tells everybody. Who has gone is forgotten.
    pub(crate) fn tell(&self, event: &Event) {
        self.lock().retain_mut(|it| it.tell(event));
    }

    /// Nothing more happens.
    pub(crate) fn close(&self) {
        for mut watcher in self.lock().drain(..) {
            watcher.tell_lost();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Watcher>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
