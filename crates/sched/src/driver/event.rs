//! What watchers are told, and how: a slow one loses lines of output, never a state.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use punchlist_model::Attempt;

use super::ledger::Asked;
use super::mailbox::{Receiver, Sender, mailbox};
use crate::call::{BatchId, CallId, State};
use crate::output::Line;

/// How far behind a watcher may be before it loses output.
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
pub struct Events(Receiver<Event>);

impl Events {
    /// The next event, or `None` once the driver is gone.
    pub async fn next(&mut self) -> Option<Event> {
        poll_fn(|context| self.0.poll_next(context)).await
    }
}

/// All watchers.
#[derive(Default)]
pub(crate) struct Watchers {
    /// So that nobody locks where nobody watches.
    any: AtomicBool,
    all: Mutex<Vec<Sender<Event>>>,
}

impl Watchers {
    pub(crate) fn subscribe(&self) -> Events {
        let (sender, receiver) = mailbox();
        self.all.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        self.any.store(true, Ordering::Release);
        Events(receiver)
    }

    pub(crate) fn is_anybody_there(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Tells everybody. Who has gone is forgotten.
    pub(crate) fn tell(&self, event: &Event) {
        if !self.is_anybody_there() {
            return;
        }
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|watcher| {
            watcher.put(|waiting| match event {
                Event::Output { .. } if waiting.len() >= BEHIND => match waiting.back_mut() {
                    Some(Event::Lost { lines }) => *lines = lines.saturating_add(1),
                    Some(
                        Event::Moved { .. }
                        | Event::Asked(_)
                        | Event::Output { .. }
                        | Event::BatchDone(_),
                    )
                    | None => waiting.push_back(Event::Lost { lines: 1 }),
                },
                Event::Output { .. }
                | Event::Moved { .. }
                | Event::Asked(_)
                | Event::Lost { .. }
                | Event::BatchDone(_) => waiting.push_back(event.clone()),
            })
        });
        if all.is_empty() {
            self.any.store(false, Ordering::Release);
        }
    }

    /// Nothing more happens.
    pub(crate) fn close(&self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.any.store(false, Ordering::Release);
    }
}
