//! The way in to a driver: cheap to clone, from any thread.

use std::ops::Range;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::event::{Events, Watchers};
use super::mailbox::Sender;
use crate::call::{BatchId, Call, CallId, CancelReason, Outcome, QuestionId, Request};
use crate::machine::{Answer, Target};

/// Makes requests, once it is known what the first of them will be called.
pub(super) type Make = Box<dyn FnOnce(CallId) -> Vec<Request> + Send>;

/// What callers want of a driver.
pub(super) enum Wish {
    Schedule { make: Make, told: oneshot::Sender<Scheduled> },
    Answer { question: QuestionId, answer: Answer, told: oneshot::Sender<bool> },
    Cancel { target: Target, reason: CancelReason, told: oneshot::Sender<()> },
    Call { id: CallId, told: oneshot::Sender<Option<Call>> },
    Outcomes { batch: BatchId, told: oneshot::Sender<Vec<Outcome>> },
    Done { batch: BatchId, told: oneshot::Sender<()> },
    ShutDown { reason: CancelReason },
}

/// What calls that were scheduled together are called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scheduled {
    /// The batch.
    pub batch: BatchId,
    /// The calls' numbers, in the order in which they were given.
    pub calls: Range<u32>,
}

impl Scheduled {
    /// The calls.
    pub fn ids(&self) -> impl Iterator<Item = CallId> + use<> {
        self.calls.clone().map(CallId)
    }
}

/// The driver has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("calls are not worked on any more")]
pub struct Gone;

/// A driver, from outside. As long as one exists, the driver waits for more.
#[derive(Clone)]
pub struct Handle {
    pub(super) wishes: Sender<Wish>,
    pub(super) watchers: Arc<Watchers>,
}

impl Handle {
    /// Schedules calls. Answers once they are written down.
    pub async fn schedule(&self, requests: Vec<Request>) -> Result<Scheduled, Gone> {
        self.schedule_together(move |_| requests).await
    }

    /// The same for calls that wait for others of their batch: `make` is told what the first one will
    /// be called; the one after it is called by the next number, and so on.
    pub async fn schedule_together(
        &self,
        make: impl FnOnce(CallId) -> Vec<Request> + Send + 'static,
    ) -> Result<Scheduled, Gone> {
        let make = Box::new(make);
        self.wish(|told| Wish::Schedule { make, told }).await
    }

    /// Answers a question. Says whether it was still open: the first answer counts.
    pub async fn answer(&self, question: QuestionId, answer: Answer) -> Result<bool, Gone> {
        self.wish(|told| Wish::Answer { question, answer, told }).await
    }

    /// Calls are not wanted any more. Answers once that is written down; what runs has then been told
    /// to end, and may take a while.
    pub async fn cancel(&self, target: Target, reason: CancelReason) -> Result<(), Gone> {
        self.wish(|told| Wish::Cancel { target, reason, told }).await
    }

    /// A call as it stands.
    pub async fn call(&self, id: CallId) -> Result<Option<Call>, Gone> {
        self.wish(|told| Wish::Call { id, told }).await
    }

    /// How the calls of a batch ended, once all have. A batch that there is not has no calls.
    pub async fn outcomes(&self, batch: BatchId) -> Result<Vec<Outcome>, Gone> {
        self.wish(|told| Wish::Outcomes { batch, told }).await
    }

    /// Waits until all calls of a batch have ended.
    pub async fn done(&self, batch: BatchId) -> Result<(), Gone> {
        self.wish(|told| Wish::Done { batch, told }).await
    }

    /// Everything that happens from now on.
    pub fn subscribe(&self) -> Events {
        self.watchers.subscribe()
    }

    /// Cancels everything; the driver ends once everything has ended, whoever still holds a handle.
    pub fn shut_down(&self, reason: CancelReason) {
        // A driver that has ended needs no word.
        drop(self.wishes.send(Wish::ShutDown { reason }));
    }

    async fn wish<T>(&self, wish: impl FnOnce(oneshot::Sender<T>) -> Wish) -> Result<T, Gone> {
        let (told, hear) = oneshot::channel();
        self.wishes.send(wish(told)).map_err(|_| Gone)?;
        hear.await.map_err(|_| Gone)
    }
}
