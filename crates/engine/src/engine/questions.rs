//! Questions that wait for a person: list and answer them.

use std::collections::{BTreeSet, VecDeque};
use std::future::poll_fn;

use punchlist_model::Actor;
use punchlist_model::call::{Answer, AnswerOutcome, Answered, News, Question, QuestionFilter};
use punchlist_model::id::QuestionId;
use punchlist_model::store::Error;

use super::{Engine, Inner};

impl Engine {
    /// The project's questions that wait for an answer, oldest first, from all programs: plan files
    /// that run, and calls with a [`CallLedger`](crate::ledger::CallLedger). Questions are kept in
    /// the store, so a late reader misses none.
    pub async fn questions(&self) -> Result<Vec<Question>, Error> {
        let Inner { store, options, .. } = &*self.inner;
        let project = Some(options.project.clone());
        let filter = QuestionFilter { project, waiting: true, ..QuestionFilter::default() };
        store.questions(filter).await
    }

    /// The waiting questions, then new ones as they are asked.
    pub async fn follow_questions(&self) -> Result<Questions, Error> {
        let news = self.inner.store.news().await?;
        let (given, waiting) = (BTreeSet::new(), VecDeque::new());
        Ok(Questions { engine: self.clone(), news, given, waiting })
    }

    /// Answers a question in a person's name. The program vouches that it is a person. Only the
    /// first answer counts, and only one that the question offers.
    pub async fn answer(
        &self,
        question: QuestionId,
        answer: Answer,
        person: impl Into<String>,
    ) -> Result<AnswerOutcome, Error> {
        let Inner { store, around, .. } = &*self.inner;
        let answered = Answered { answer, by: Actor::person(person), at: around.now() };
        store.answer(question, answered).await
    }
}

/// Waiting questions, then new ones as they are asked, each once. The stream ends after an error.
pub struct Questions {
    engine: Engine,
    news: News,
    given: BTreeSet<QuestionId>,
    waiting: VecDeque<Question>,
}

impl Questions {
    /// Waits for the next question; `None` if the stream has ended.
    pub async fn next(&mut self) -> Option<Result<Question, Error>> {
        loop {
            if let Some(question) = self.waiting.pop_front() {
                return Some(Ok(question));
            }
            match self.engine.questions().await {
                Ok(mut all) => {
                    all.retain(|it| self.given.insert(it.asked.id));
                    self.waiting.extend(all);
                }
                Err(error) => return Some(Err(error)),
            }
            if self.waiting.is_empty()
                && let Err(error) = poll_fn(|context| self.news.as_mut().poll_next(context)).await?
            {
                return Some(Err(error));
            }
        }
    }
}
