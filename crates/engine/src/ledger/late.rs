//! Answers to questions of a run that was cut off before their calls began. They hold for the same calls
//! when these are asked about again.

use std::sync::{Arc, Mutex, PoisonError};

use punchlist_model::RunId;
use punchlist_model::call::{Answered, Asked, CallState, QuestionFilter, Standing};
use punchlist_model::session::Store;
use punchlist_model::store::Error;
use serde_json::Value;

#[derive(Clone, Default)]
pub(super) struct LateAnswers(Arc<Mutex<Vec<Late>>>);

struct Late {
    /// The caller's name of the call.
    label: String,
    asked: Asked,
    answered: Answered,
}

impl LateAnswers {
    /// The answers of a run whose calls have not begun.
    pub(super) async fn of(store: &dyn Store, run: RunId) -> Result<Self, Error> {
        let calls = store.calls(run).await?;
        let filter = QuestionFilter { run: Some(run), ..QuestionFilter::default() };
        let mut late = Vec::new();
        for question in store.questions(filter).await? {
            let Standing::Answered(answered) = question.standing else { continue };
            let call = calls.iter().find(|it| it.number == question.asked.call);
            // Of a call that has begun, the answer is used up.
            let Some(call) = call.filter(|it| has_not_begun(it.state)) else { continue };
            if let Some(label) = call.request.get("label").and_then(Value::as_str) {
                late.push(Late { label: label.to_owned(), asked: question.asked, answered });
            }
        }
        Ok(Self(Arc::new(Mutex::new(late))))
    }

    /// Takes the answer to a question about the same call, if it asks exactly the same.
    pub(super) fn take(&self, label: &str, asked: &Asked) -> Option<Answered> {
        let mut late = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = late.iter().position(|it| it.label == label && it.asked.asks_the_same(asked))?;
        Some(late.remove(at).answered)
    }
}

fn has_not_begun(state: CallState) -> bool {
    match state {
        CallState::Validating | CallState::Scheduled | CallState::AwaitingApproval => true,
        CallState::Executing | CallState::Success | CallState::Error | CallState::Cancelled => {
            false
        }
    }
}
