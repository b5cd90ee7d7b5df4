//! Where a session's context begins: its own open list is put back, and what ended sessions left is
//! offered as a count.

use punchlist_formats::hook::{Answer, Source};
use punchlist_model::guard::{Input as Guard, Turn};
use punchlist_model::remind::{Boundary, Input, Others};
use punchlist_model::store::Error;

use super::Exchange;
use crate::session::left_open;

impl Exchange<'_> {
    pub(crate) async fn begins(&self, source: Source) -> Result<Answer, Error> {
        // One that was started to plan may be told to go on later, which it says itself.
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

    /// The conversation was compacted, and nothing can be said just now: it is owed.
    pub(crate) async fn compacted(&self) -> Result<Answer, Error> {
        let open = self.whole("").await?.map_or(0, |plan| plan.open);
        if open > 0 && self.sub_agent.is_empty() {
            self.remember(|memory| memory.watch.owe()).await?;
        }
        Ok(Answer::Nothing)
    }

    /// What sessions that ended left open here.
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

    /// What the user said, if it is news and the session's plan, which is yet to be made, is to be called
    /// after it.
    async fn title<'a>(&self, said: Option<&'a str>) -> Result<Option<&'a str>, Error> {
        let news = said.filter(|it| self.session.memory.prompt.as_deref() != Some(it));
        if news.is_none() || !self.sub_agent.is_empty() || self.attached("").await?.is_some() {
            return Ok(None);
        }
        Ok(news)
    }

    /// The user said something: the governor counts afresh, what is owed is said, and what was said
    /// before is held against the turn that begins.
    pub(crate) async fn prompt(&self, said: Option<&str>) -> Result<Answer, Error> {
        let title = self.title(said).await?;
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
        // Mostly nothing is, and then nobody need look at the list; but a session that shall work on a plan
        // with a name comes to it here.
        if !self.session.memory.watch.heeds_prompts() && self.given.plan.name.is_none() {
            return Ok(Answer::Nothing);
        }
        let plan = self.whole("").await?;
        let open = plan.as_ref().map_or(0, |plan| plan.open);
        self.remind(plan.as_ref(), &[Input::Prompt { open }]).await
    }
}
