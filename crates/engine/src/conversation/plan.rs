//! The plan that a session, or a sub-agent with a list of its own, works on.

use punchlist_model::store::{Attachment, AttachmentKey, Error};
use punchlist_model::{Plan, PlanId, Process, Revision, Slice};

use super::Exchange;
use crate::plan_service::{self, PlanRequest, Which};

impl Exchange<'_> {
    /// The key of the attachment of the session or of a sub-agent's own list.
    pub(crate) fn key(&self, sub_agent: &str) -> AttachmentKey {
        self.session.key.attachment(&self.session.project, sub_agent)
    }

    /// The name of the plan that the session must work on. A sub-agent's own list has none.
    fn name(&self, sub_agent: &str) -> Option<&str> {
        self.given.plan.name.filter(|_| sub_agent.is_empty())
    }

    /// The attachment of the session or of the sub-agent. A session with a named plan is attached
    /// to that plan, if it exists. Creates no plan.
    pub(crate) async fn attachment(&self, sub_agent: &str) -> Result<Option<Attachment>, Error> {
        let key = self.key(sub_agent);
        let there = self.store.attachment(key.clone()).await?;
        let Some(name) = self.name(sub_agent) else { return Ok(there) };
        let named = Which::Named(name.to_owned());
        let plan = plan_service::find(self.store, &self.session.project, &named).await?;
        let Some(plan) = plan else { return Ok(None) };
        match there {
            Some(there) if there.plan == plan => Ok(Some(there)),
            Some(_) | None => Ok(Some(self.store.attach(key, plan, self.given.moment.now).await?)),
        }
    }

    /// The plan that the session or sub-agent is attached to.
    pub(crate) async fn attached(&self, sub_agent: &str) -> Result<Option<PlanId>, Error> {
        match self.name(sub_agent) {
            None => self.store.attached(self.key(sub_agent)).await,
            Some(_) => Ok(self.attachment(sub_agent).await?.map(|it| it.plan)),
        }
    }

    /// The plan that the session or sub-agent is attached to, created if there is none.
    pub(crate) async fn attached_or_created(&self, sub_agent: &str) -> Result<PlanId, Error> {
        match self.attached(sub_agent).await? {
            Some(there) => Ok(there),
            None => Ok(self.create(sub_agent).await?.plan),
        }
    }

    /// Creates a plan for the session or the sub-agent and attaches it.
    pub(crate) async fn create(&self, sub_agent: &str) -> Result<Attachment, Error> {
        let key = self.key(sub_agent);
        let which = match self.name(sub_agent) {
            Some(name) => Which::Named(name.to_owned()),
            None => Which::Attached(key.clone()),
        };
        let request = PlanRequest {
            project: self.session.project.clone(),
            which,
            title: self.title_of(sub_agent),
            id: self.given.plan.new_id,
            now: self.given.moment.now,
        };
        plan_service::ensure_attached(self.store, key, request).await
    }

    /// The title of the session's own plan: the user's last prompt before the plan was created.
    fn title_of(&self, sub_agent: &str) -> String {
        let is_own = sub_agent.is_empty() && self.name(sub_agent).is_none();
        self.session.memory.prompt.clone().filter(|_| is_own).unwrap_or_default()
    }

    /// The whole plan; `None` if there is none yet.
    pub(crate) async fn whole(&self, sub_agent: &str) -> Result<Option<Plan>, Error> {
        if self.name(sub_agent).is_none() {
            return self.store.whole_attached(self.key(sub_agent)).await;
        }
        match self.attached(sub_agent).await? {
            None => Ok(None),
            Some(plan) => self.store.whole(plan).await.map(Some),
        }
    }

    /// The processes that hold claims in this plan and are known to have ended.
    pub(crate) fn gone(&self, plan: &Slice) -> Vec<Process> {
        let claims = plan.in_progress().filter_map(|item| item.claim.as_ref());
        let processes = claims.filter_map(|claim| claim.holder.process.as_ref());
        processes.filter(|it| self.has_ended(it)).cloned().collect()
    }

    /// Records that the session has been shown its plan up to its own change. If somebody else
    /// wrote in between, nothing is recorded, and the next whole-list write is still reconciled
    /// with the revision that the session was shown.
    pub(crate) async fn note_shown(
        &self,
        attachment: &Attachment,
        now: Revision,
    ) -> Result<(), Error> {
        if now.0 <= attachment.shown.0.saturating_add(1) {
            self.store.shown(attachment.key.clone(), now).await?;
        }
        Ok(())
    }
}
