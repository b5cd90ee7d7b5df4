//! What a person sees of a project at a glance: the plan that a call without a name means, and the
//! questions that wait.

use punchlist_model::call::{Question, QuestionFilter};
use punchlist_model::session::Store;
use punchlist_model::{Plan, QuestionId, Timestamp};

use crate::fail::{Code, Fail};
use crate::plan_service::choice;
use crate::plan_service::{CalledFrom, Query};

/// What is looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    /// The project.
    pub project: String,
    /// The name or id of a plan, if the person named one.
    pub plan: Option<String>,
    /// The host, to tell which sessions are alive.
    pub host: String,
}

/// What a person sees at a glance.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Overview {
    /// The plan; `None` if there is none, or if several could be meant.
    pub plan: Option<Plan>,
    /// The questions of the project that wait, oldest first.
    pub questions: Vec<Question>,
}

impl Scope {
    /// Reads what there is now.
    pub async fn read(&self, store: &dyn Store, now: Timestamp) -> Result<Overview, Fail> {
        let query = Query {
            project: &self.project,
            name: self.plan.as_deref(),
            from: CalledFrom::Outside,
            host: &self.host,
            now,
        };
        let plan = match choice::existing(store, query).await {
            Ok(existing) => Some(store.whole(existing.id).await?),
            // No plan, or several: the person chooses one.
            Err(fail) if matches!(fail.code, Code::NotFound | Code::Usage) => None,
            Err(fail) => return Err(fail),
        };
        let filter = QuestionFilter {
            project: Some(self.project.clone()),
            waiting: true,
            ..QuestionFilter::default()
        };
        Ok(Overview { plan, questions: store.questions(filter).await? })
    }
}

/// A question as it stands now; `None` if the store has it no longer.
pub async fn question(store: &dyn Store, id: QuestionId) -> Result<Option<Question>, Fail> {
    let filter = QuestionFilter { id: Some(id.to_string()), ..QuestionFilter::default() };
    Ok(store.questions(filter).await?.into_iter().find(|it| it.asked.id == id))
}
