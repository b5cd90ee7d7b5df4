//! Open questions: listed, handed out one by one, and answered.

use std::ops::Deref;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punchlist_model::Actor;
use punchlist_model::call::{Answer, Asked};
use tokio::sync::Notify;

use super::{Run, RunOver};
use crate::call::QuestionId;

/// An open question, and the way to answer it. It derefs to [`Asked`], which has the content.
#[derive(Clone)]
pub struct Question {
    pub(super) asked: Arc<Asked>,
    pub(super) run: Run,
}

impl Question {
    /// Answers the question.
    pub async fn answer(&self, answer: Answer) -> Result<AnswerResult, RunOver> {
        self.run.answer(self.asked.id, answer, None).await
    }

    /// Answers the question in somebody's name, which the tool gets: see
    /// [`crate::Work::approved_by`].
    pub async fn answer_as(&self, by: Actor, answer: Answer) -> Result<AnswerResult, RunOver> {
        self.run.answer(self.asked.id, answer, Some(by)).await
    }
}

impl Deref for Question {
    type Target = Asked;

    fn deref(&self) -> &Asked {
        &self.asked
    }
}

/// The result of answering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerResult {
    /// The answer counts.
    Taken,
    /// The question is no longer open: somebody else has answered, or the call was cancelled.
    Late,
    /// The question does not offer this answer. It stays open.
    NotOffered,
}

/// The open questions, the oldest first.
#[derive(Default)]
pub(super) struct Questions {
    open: Mutex<Open>,
    changed: Notify,
}

#[derive(Default)]
struct Open {
    waiting: Vec<Waiting>,
    /// Whether the run is over.
    is_over: bool,
}

struct Waiting {
    asked: Arc<Asked>,
    /// Whether [`Questions::next`] has handed it out.
    is_handed_out: bool,
}

impl Questions {
    pub(super) fn add(&self, asked: Arc<Asked>) {
        self.lock().waiting.push(Waiting { asked, is_handed_out: false });
        self.changed.notify_waiters();
    }

    /// Removes the questions that are no longer open.
    pub(super) fn retain(&self, waits: impl Fn(QuestionId) -> bool) {
        self.lock().waiting.retain(|it| waits(it.asked.id));
    }

    pub(super) fn close(&self) {
        let mut open = self.lock();
        open.is_over = true;
        open.waiting.clear();
        drop(open);
        self.changed.notify_waiters();
    }

    pub(super) fn all(&self) -> Vec<Arc<Asked>> {
        self.lock().waiting.iter().map(|it| Arc::clone(&it.asked)).collect()
    }

    pub(super) fn get(&self, id: QuestionId) -> Option<Arc<Asked>> {
        self.lock().waiting.iter().find(|it| it.asked.id == id).map(|it| Arc::clone(&it.asked))
    }

    /// Waits for the oldest question that was not handed out yet; `None` once the run is over.
    pub(super) async fn next(&self) -> Option<Arc<Asked>> {
        loop {
            let mut changed = pin!(self.changed.notified());
            // From here on, no change is missed.
            changed.as_mut().enable();
            {
                let mut open = self.lock();
                if let Some(it) = open.waiting.iter_mut().find(|it| !it.is_handed_out) {
                    it.is_handed_out = true;
                    return Some(Arc::clone(&it.asked));
                }
                if open.is_over {
                    return None;
                }
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
