//! Stores the answers of the person at the front end.

use std::path::PathBuf;
use std::sync::Arc;

use punchlist_engine::Around;
use punchlist_engine::fail::Fail;
use punchlist_engine::policy::rules;
use punchlist_model::call::{Answer, AnswerOutcome, Answered, QuestionFilter};
use punchlist_model::session::Store;
use punchlist_model::{Actor, QuestionId};
use punchlist_sched::policy::Policy;

/// Stores the answers of a person. Whoever passes answers on to the scheduler sees them in the store,
/// like an answer from elsewhere.
pub struct Answers {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The clock.
    pub around: Arc<dyn Around>,
    /// Who answers.
    pub person: Actor,
    /// Which rules an answer may add.
    pub policy: Policy,
    /// The file that gets a rule when the answer is "always".
    pub rules_file: PathBuf,
}

impl Answers {
    /// Stores an answer. Returns what the person is told about it.
    pub async fn give(&self, id: QuestionId, answer: Answer) -> Result<Option<String>, Fail> {
        let answered =
            Answered { answer: answer.clone(), by: self.person.clone(), at: self.around.now() };
        let outcome = self.store.answer(id, answered).await?;
        if !matches!(outcome, AnswerOutcome::Taken(_)) {
            return Ok(None);
        }
        let all = self.store.questions(QuestionFilter::default()).await?;
        let Some(question) = all.into_iter().find(|it| it.asked.id == id) else { return Ok(None) };
        let rules = self.policy.rules_of(&answer, &question.asked.tool);
        if rules.is_empty() || matches!(answer, Answer::Session(_)) {
            return Ok(None);
        }
        Ok(match rules::remember(&self.rules_file, &rules) {
            Ok(true) => Some(format!("from now on allowed by {}", self.rules_file.display())),
            Ok(false) => None,
            Err(why) => Some(format!("what you allowed only applies to this session: {why}")),
        })
    }
}
