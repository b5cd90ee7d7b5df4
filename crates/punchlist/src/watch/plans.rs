//! What the store knows of agents: plans, who works on each, and sessions.
//!
//! Read once at the beginning; afterwards only what has changed. Nothing is written here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use punchlist_bridge::process::{self, Fate};
use punchlist_model::needs::Needs;
use punchlist_model::session::{Session, SessionFilter, Store};
use punchlist_model::store::{AttachmentKey, Filter, Summary};
use punchlist_model::{Plan, PlanId};
use punchlist_streams::watch::Life;

use super::wake::{self, Wake};
use crate::app::App;
use crate::block_on;
use crate::error::Fail;

/// The most plans that are shown; the ones that changed last are.
const MOST_PLANS: usize = 500;
/// The most sessions that are looked at.
const MOST_SESSIONS: u32 = 1_000;

/// What the store knows.
#[derive(Default)]
pub(super) struct Plans {
    store: Option<Arc<dyn Store>>,
    plans: BTreeMap<PlanId, (Option<AttachmentKey>, Plan)>,
    sessions: Vec<(Session, Life)>,
    /// What could not be read, and why. The rest is shown all the same.
    troubles: BTreeMap<Option<PlanId>, String>,
}

impl Plans {
    /// Whether the store is open.
    pub(super) fn is_open(&self) -> bool {
        self.store.is_some()
    }

    /// What a viewer should know of what could not be read.
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

    /// Notes that something could not be read, or that it could.
    pub(super) fn note(&mut self, plan: Option<PlanId>, read: Result<(), Fail>) {
        match read {
            Ok(()) => drop(self.troubles.remove(&plan)),
            Err(why) => drop(self.troubles.insert(plan, why.message)),
        }
    }

    /// Opens the store, if there is one and it is not open. Says whether it was opened now.
    pub(super) fn open(&mut self, app: &App, tell: &Sender<Wake>) -> Result<bool, Fail> {
        if self.store.is_some() {
            return Ok(false);
        }
        let Some(store) = app.store_to_read()? else { return Ok(false) };
        // Following begins before anything is read, so that nothing falls between.
        wake::plans(&*store, tell.clone())?;
        self.store = Some(store);
        Ok(true)
    }

    /// Lets go of a store that is not where it was.
    pub(super) fn close(&mut self) {
        *self = Self::default();
    }

    /// Reads the plans that changed since then.
    pub(super) fn load(&mut self, since: i64) -> Result<(), Fail> {
        let Some(store) = &self.store else { return Ok(()) };
        let summaries = block_on(store.plans(Filter::default()))?;
        let recent = |it: &Summary| it.updated_at.as_millisecond() >= since;
        let mut read = Vec::new();
        for summary in summaries.into_iter().filter(recent).take(MOST_PLANS) {
            read.push((block_on(store.read(summary.id, Needs::whole())), summary));
        }
        for (plan, summary) in read {
            self.keep(summary, plan.map_err(Fail::from));
        }
        Ok(())
    }

    /// Keeps a plan, or that it could not be read.
    fn keep(&mut self, summary: Summary, plan: Result<Plan, Fail>) {
        let id = summary.id;
        let read = plan.map(|plan| drop(self.plans.insert(id, (summary.attachment, plan))));
        self.note(Some(id), read);
    }

    /// Reads one plan again.
    pub(super) fn reload(&mut self, id: PlanId) -> Result<(), Fail> {
        let Some(store) = &self.store else { return Ok(()) };
        let filter = Filter { id: Some(id.to_string()), ..Filter::default() };
        match block_on(store.plans(filter))?.into_iter().find(|it| it.id == id) {
            Some(summary) => {
                let plan = block_on(store.read(id, Needs::whole())).map_err(Fail::from);
                self.keep(summary, plan);
            }
            None => {
                self.plans.remove(&id);
                self.troubles.remove(&Some(id));
            }
        }
        Ok(())
    }

    /// Looks at sessions and their processes again.
    pub(super) fn look(&mut self, host: &str, since: i64) -> Result<(), Fail> {
        let Some(store) = &self.store else { return Ok(()) };
        let filter = SessionFilter { most: Some(MOST_SESSIONS), ..SessionFilter::default() };
        let sessions = block_on(store.sessions(filter))?.into_iter();
        let recent = |it: &Session| it.seen_at.as_millisecond() >= since;
        self.sessions =
            sessions.filter(recent).map(|it| (life(&it, host), it)).map(|(a, b)| (b, a)).collect();
        Ok(())
    }

    /// Lets go what has not changed since then.
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

    /// Whether an agent's list is kept as a plan.
    pub(super) fn keeps(&self, session: &str, sub_agent: &str) -> bool {
        self.plans.values().any(|(key, plan)| {
            let is_it =
                |it: &AttachmentKey| it.conversation == session && it.sub_agent == sub_agent;
            key.as_ref().is_some_and(is_it) && !plan.items.is_empty()
        })
    }
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
