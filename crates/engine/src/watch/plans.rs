//! What the store knows of agents: plans, who works on each, and sessions.
//!
//! It is read once at the start, then only what has changed. Nothing is written here.

use std::collections::BTreeMap;
use std::sync::Arc;

use punchlist_bridge::process::{self, Fate};
use punchlist_model::agents::{Row, SessionFacts, State};
use punchlist_model::call::{News, Question, QuestionFilter};
use punchlist_model::session::{Session, SessionFilter, Store};
use punchlist_model::store::turns::{Conversation, ConversationFilter};
use punchlist_model::store::{AttachmentKey, Cursor, Filter, Following, Scope, Summary};
use punchlist_model::{Plan, PlanId, Timestamp};
use punchlist_streams::watch::{Life, OwnSession};

use super::{ReadFacts, StoreSource};
use crate::fail::Fail;
use crate::notices;

/// Maximum of plans that are shown, most recently changed first.
const MOST_PLANS: u32 = 500;
/// Maximum of sessions that are read.
const MOST_SESSIONS: u32 = 1_000;

/// The plans and sessions of the store.
#[derive(Default)]
pub(super) struct Plans {
    store: Option<Arc<dyn Store>>,
    plans: BTreeMap<PlanId, (Option<AttachmentKey>, Plan)>,
    sessions: Vec<(Session, Life)>,
    /// The sessions of our own agent.
    own_sessions: Vec<Own>,
    read_facts: Option<ReadFacts>,
    /// The questions that wait for an answer, oldest first.
    questions: Vec<Question>,
    /// What could not be read, and why. The rest is shown.
    troubles: BTreeMap<Option<PlanId>, String>,
}

/// A session of our own agent.
struct Own {
    conversation: Conversation,
    is_running: bool,
    facts: SessionFacts,
}

impl Plans {
    /// Whether the store is open.
    pub(super) fn is_open(&self) -> bool {
        self.store.is_some()
    }

    /// Notes for the viewer about what could not be read.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.troubles.iter().map(|(plan, why)| match plan {
            Some(plan) => {
                let plan = plan.to_string();
                let short = plan.get(plan.len().saturating_sub(4)..).unwrap_or_default();
                format!("plan {short} cannot be read: {why}")
            }
            None => format!("plans cannot be read: {why}"),
        })
    }

    /// Records whether something could be read.
    pub(super) fn note(&mut self, plan: Option<PlanId>, read: Result<(), Fail>) {
        match read {
            Ok(()) => drop(self.troubles.remove(&plan)),
            Err(why) => drop(self.troubles.insert(plan, why.message)),
        }
    }

    /// Opens the store, if it exists, and returns its changes from now on.
    pub(super) async fn open(
        &mut self,
        source: &StoreSource<'_>,
    ) -> Result<Option<(Following, News)>, Fail> {
        let Some(store) = (source.open)()? else { return Ok(None) };
        // Following begins before anything is read, so that no change is missed.
        let changes = store.follow(Cursor::Now, Scope::All).await?;
        let news = store.news().await?;
        (self.store, self.read_facts) = (Some(store), Some(source.facts));
        Ok(Some((changes, news)))
    }

    /// Drops a store that can no longer be followed, and everything read from it.
    pub(super) fn close(&mut self) {
        *self = Self::default();
    }

    /// Reads the plans that changed since this time.
    pub(super) async fn load(&mut self, since: i64) -> Result<(), Fail> {
        let Some(store) = &self.store else { return Ok(()) };
        let summaries = store.plans(Filter { most: Some(MOST_PLANS), ..Filter::default() }).await?;
        let recent = |it: &Summary| it.updated_at.as_millisecond() >= since;
        let mut read = Vec::new();
        for summary in summaries.into_iter().filter(recent) {
            read.push((store.whole(summary.id).await, summary));
        }
        for (plan, summary) in read {
            self.keep(summary, plan.map_err(Fail::from));
        }
        Ok(())
    }

    /// Stores a plan, or that it could not be read.
    fn keep(&mut self, summary: Summary, plan: Result<Plan, Fail>) {
        let id = summary.id;
        let read = plan.map(|plan| drop(self.plans.insert(id, (summary.attachment, plan))));
        self.note(Some(id), read);
    }

    /// Reads one plan again.
    pub(super) async fn reload(&mut self, id: PlanId) -> Result<(), Fail> {
        let Some(store) = &self.store else { return Ok(()) };
        let filter = Filter { id: Some(id.to_string()), ..Filter::default() };
        match store.plans(filter).await?.into_iter().find(|it| it.id == id) {
            Some(summary) => {
                let plan = store.whole(id).await.map_err(Fail::from);
                self.keep(summary, plan);
            }
            None => {
                self.plans.remove(&id);
                self.troubles.remove(&Some(id));
            }
        }
        Ok(())
    }

    /// Reads the sessions again, and whether their processes run.
    pub(super) async fn read_sessions(
        &mut self,
        host: &str,
        since: i64,
        now: Timestamp,
    ) -> Result<(), Fail> {
        let Some(store) = &self.store else { return Ok(()) };
        let filter = SessionFilter { most: Some(MOST_SESSIONS), ..SessionFilter::default() };
        let sessions = store.sessions(filter).await?.into_iter();
        let recent = |it: &Session| it.seen_at.as_millisecond() >= since;
        let with_life = |it: Session| {
            let life = life(&it, host);
            (it, life)
        };
        self.sessions = sessions.filter(recent).map(with_life).collect();
        let filter = ConversationFilter { most: MOST_SESSIONS, ..ConversationFilter::default() };
        let all = store.conversations(filter).await?.into_iter();
        let recent = |it: &Conversation| it.changed_at.as_millisecond() >= since;
        let mut own_sessions = Vec::new();
        for conversation in all {
            let is_running = is_running(&conversation, host, now);
            if !is_running && !recent(&conversation) {
                continue;
            }
            let facts = self.facts(&**store, &conversation).await;
            own_sessions.push(Own { conversation, is_running, facts });
        }
        self.own_sessions = own_sessions;
        self.read_questions(since).await
    }

    /// The model and the context of a session, which are read again only if it was recorded since.
    async fn facts(&self, store: &dyn Store, conversation: &Conversation) -> SessionFacts {
        let is_same = |it: &&Own| {
            let known = &it.conversation;
            known.id == conversation.id && known.changed_at == conversation.changed_at
        };
        match (self.own_sessions.iter().find(is_same), self.read_facts) {
            (Some(known), _) => known.facts.clone(),
            (None, Some(read)) => read(store, conversation).await,
            (None, None) => SessionFacts::default(),
        }
    }

    /// Reads the waiting questions again.
    pub(super) async fn read_questions(&mut self, since: i64) -> Result<(), Fail> {
        let Some(store) = &self.store else { return Ok(()) };
        let filter = QuestionFilter { waiting: true, ..QuestionFilter::default() };
        self.questions = store.questions(filter).await?;
        self.questions.retain(|it| it.asked.at.as_millisecond() >= since);
        Ok(())
    }

    /// Whether a message waits that will begin the next turn of a session of our own agent.
    pub(super) async fn has_follow_up(&self, row: &Row) -> bool {
        let Some(store) = self.store.as_ref().filter(|_| row.state == State::Idle) else {
            return false;
        };
        let session = row.key.split('/').nth(1).unwrap_or_default();
        let of_row = |it: &&Own| it.conversation.id.to_string() == session;
        let Some(own) = self.own_sessions.iter().find(of_row) else { return false };
        notices::has_follow_up(&**store, own.conversation.id).await
    }

    /// Whether the hooks of a row's session report to the store.
    pub(super) fn has_hook(&self, row: &Row) -> bool {
        let session = row.key.split('/').nth(1).unwrap_or_default();
        let is_it = |(it, _): &(Session, Life)| it.key.agent == row.agent && it.key.id == session;
        self.sessions.iter().any(is_it)
    }

    pub(super) fn questions(&self) -> impl Iterator<Item = &Question> {
        self.questions.iter()
    }

    pub(super) fn store(&self) -> Option<&Arc<dyn Store>> {
        self.store.as_ref()
    }

    /// Drops plans that have not changed since this time.
    pub(super) fn forget(&mut self, since: i64) {
        self.plans.retain(|_, (_, plan)| plan.updated_at.as_millisecond() >= since);
    }

    pub(super) fn plans(&self) -> impl Iterator<Item = (Option<&AttachmentKey>, &Plan)> {
        self.plans.values().map(|(key, plan)| (key.as_ref(), plan))
    }

    pub(super) fn plan(&self, id: PlanId) -> Option<(Option<&AttachmentKey>, &Plan)> {
        self.plans.get(&id).map(|(key, plan)| (key.as_ref(), plan))
    }

    pub(super) fn sessions(&self) -> impl Iterator<Item = (&Session, Life)> {
        self.sessions.iter().map(|(session, life)| (session, *life))
    }

    pub(super) fn own_sessions(&self) -> impl Iterator<Item = OwnSession<'_>> {
        self.own_sessions.iter().map(|it| {
            let Own { conversation, is_running, facts } = it;
            OwnSession { conversation, is_running: *is_running, facts }
        })
    }

    /// Whether an agent's list is recorded as a plan.
    pub(super) fn keeps(&self, session: &str, sub_agent: &str) -> bool {
        self.plans.values().any(|(key, plan)| {
            let is_it =
                |it: &AttachmentKey| it.conversation == session && it.sub_agent == sub_agent;
            key.as_ref().is_some_and(is_it) && !plan.items.is_empty()
        })
    }
}

/// Whether a process runs a session of our own agent.
fn is_running(conversation: &Conversation, host: &str, now: Timestamp) -> bool {
    let Some(runner) = &conversation.runner else { return false };
    let has_ended = runner.process.as_ref().is_some_and(|it| process::has_ended(host, it));
    runner.until > now && !has_ended
}

fn life(session: &Session, host: &str) -> Life {
    if session.ended_at.is_some() {
        return Life::Ended;
    }
    match session.process.as_ref().map_or(Fate::Unknown, |it| process::fate(host, it)) {
        Fate::Runs => Life::Runs { busy: None },
        Fate::Ended => Life::Died,
        Fate::Unknown => Life::Unknown,
    }
}
