//! The start of a session's context: the model gets its own open list again, and an offer with the
//! count of items that ended sessions left open.

use punchlist_formats::hook::{Answer, Source};
use punchlist_model::guard::{Input as Guard, Turn};
use punchlist_model::remind::{Boundary, Input, Others};
use punchlist_model::store::Error;

use super::Exchange;
use crate::session::left_open;

impl Exchange<'_> {
    pub(crate) async fn begins(&self, source: Source) -> Result<Answer, Error> {
        // An agent that was started in plan mode may leave it later. It then reports that itself.
        if self.session.memory.planning != self.given.agent.planning {
            self.remember(|memory| memory.planning = self.given.agent.planning).await?;
        }
        self.settle_unconfirmed(source).await?;
        let plan = self.whole("").await?;
        let at = match source {
            Source::Startup | Source::Clear => Boundary::Start,
            Source::Resume => Boundary::Resume,
            Source::Compact => Boundary::Compaction,
        };
        let others = match at {
            Boundary::Compaction => Others::default(),
            Boundary::Start | Boundary::Resume => self.others().await?,
        };
        let open = plan.as_ref().map_or(0, |plan| plan.open);
        self.remind(plan.as_ref(), &[Input::Boundary { at, open, others }]).await
    }

    /// The conversation was compacted and nothing can be sent now. The list is sent with the next
    /// event.
    pub(crate) async fn compacted(&self) -> Result<Answer, Error> {
        let open = self.whole("").await?.map_or(0, |plan| plan.open);
        if open > 0 && self.sub_agent.is_empty() {
            self.remember(|memory| memory.watch.owe()).await?;
        }
        Ok(Answer::Nothing)
    }

    /// What ended sessions of this project left open.
    async fn others(&self) -> Result<Others, Error> {
        let own = self.attached("").await?;
        let left = left_open(
            self.store,
            &self.session.project,
            self.given.moment.host,
            self.given.moment.now,
        )
        .await?;
        let left: Vec<_> = left.iter().filter(|it| Some(it.plan.id) != own).collect();
        Ok(Others {
            items: left.iter().fold(0, |sum, it| sum.saturating_add(it.plan.open)),
            sessions: u32::try_from(left.len()).unwrap_or(u32::MAX),
        })
    }

    /// The title for the session's plan: the user's prompt, if it is new and the plan does not
    /// exist yet.
    async fn title<'a>(&self, prompt: Option<&'a str>) -> Result<Option<&'a str>, Error> {
        let new_prompt = prompt.filter(|it| self.session.memory.prompt.as_deref() != Some(it));
        if new_prompt.is_none() || !self.sub_agent.is_empty() || self.attached("").await?.is_some()
        {
            return Ok(None);
        }
        Ok(new_prompt)
    }

    /// The user sent a prompt: the governor starts to count again, overdue reminders are sent, and
    /// earlier reminders are measured against the new turn.
    pub(crate) async fn prompt(&self, prompt: Option<&str>) -> Result<Answer, Error> {
        let title = self.title(prompt).await?;
        if self.session.memory.turn != Turn::Fresh || title.is_some() {
            self.remember(|memory| {
                let (next, _) = std::mem::take(&mut memory.turn).step(Guard::Prompt);
                memory.turn = next;
                if let Some(title) = title {
                    memory.prompt = Some(title.to_owned());
                }
            })
            .await?;
        }
        // Usually no reminder is overdue, and then the list need not be read. But a session with a
        // named plan is attached to it here.
        if !self.session.memory.watch.heeds_prompts() && self.given.plan.name.is_none() {
            return Ok(Answer::Nothing);
        }
        let plan = self.whole("").await?;
        let open = plan.as_ref().map_or(0, |plan| plan.open);
        self.remind(plan.as_ref(), &[Input::Prompt { open }]).await
    }
}
