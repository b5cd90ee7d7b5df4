//! What a store that stays remembers of its last answers: a server asks the same at every call.
//!
//! All of it is remembered until another connection has written anything, which SQLite counts; what
//! this one writes is noted here by whoever writes it. Nothing here is needed, and a store that is there
//! for a call or two remembers nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use punchlist_model::session::{Session as Agent, SessionFilter, SessionKey};
use punchlist_model::store::{Applied, Attachment, AttachmentKey, Error};
use punchlist_model::{Plan, PlanId};

use crate::journal::Place;
use crate::load::Failure;
use crate::rows::PlanKey;
use crate::session::Session;
use crate::sessions;

/// The largest plan that is remembered, in items.
const LARGEST: usize = 500;

/// The last answers.
#[derive(Default)]
pub(crate) struct Recent {
    /// When they were given, by what SQLite counts.
    version: Option<i64>,
    /// Another one whenever what is remembered of sessions may not be so any more.
    moment: Option<u64>,
    sessions: Option<(SessionFilter, Vec<Agent>)>,
    session: Option<(SessionKey, Option<Agent>)>,
    attachment: Option<Attachment>,
    header: Option<Header>,
    plan: Option<Plan>,
}

/// A plan without its items, none of which is in progress.
#[derive(Clone)]
pub(crate) struct Header {
    pub(crate) key: PlanKey,
    pub(crate) plan: Plan,
    /// Who has seen it, as `attachments::name` has it.
    pub(crate) seen_by: Option<String>,
    /// Where its journal ends.
    pub(crate) last: Option<Place>,
}

/// A number that no other store in this process has had either.
fn another_moment() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

impl Recent {
    /// Forgets what may not be so any more; whether anything is to be remembered.
    pub(crate) fn refresh(&mut self, conn: &Session<'_>) -> rusqlite::Result<bool> {
        if !conn.keeps() {
            return Ok(false);
        }
        let version = Some(sessions::version(conn)?);
        if self.version != version {
            *self = Self { version, moment: Some(another_moment()), ..Self::default() };
        }
        Ok(true)
    }

    /// As long as this stays, so does what is remembered of sessions.
    pub(crate) fn moment(&self) -> Option<u64> {
        self.moment
    }

    /// When the answers were given, by what SQLite counts.
    pub(crate) fn version(&self) -> Option<i64> {
        self.version
    }

    pub(crate) fn sessions(&self, filter: &SessionFilter) -> Option<&Vec<Agent>> {
        self.sessions.as_ref().filter(|it| it.0 == *filter).map(|it| &it.1)
    }

    pub(crate) fn keep_sessions(&mut self, filter: SessionFilter, sessions: Vec<Agent>) {
        self.sessions = Some((filter, sessions));
    }

    pub(crate) fn session(&self, key: &SessionKey) -> Option<&Option<Agent>> {
        self.session.as_ref().filter(|it| it.0 == *key).map(|it| &it.1)
    }

    pub(crate) fn keep_session(&mut self, key: SessionKey, session: Option<Agent>) {
        self.session = Some((key, session));
    }

    /// A session is about to be written.
    pub(crate) fn forget_sessions(&mut self) {
        self.sessions = None;
        self.session = None;
        self.moment = Some(another_moment());
    }

    pub(crate) fn attachment(&self, key: &AttachmentKey) -> Option<&Attachment> {
        self.attachment.as_ref().filter(|it| it.key == *key)
    }

    pub(crate) fn keep_attachment(&mut self, attachment: Option<Attachment>) {
        self.attachment = attachment;
    }

    /// Takes out what is remembered of an attachment while it may be written.
    pub(crate) fn take_attachment(&mut self) -> Option<Attachment> {
        self.attachment.take()
    }

    /// The header of a plan, if nobody has changed it since; asked inside the transaction that
    /// depends on it. If the transaction depends on answers from memory too, nobody may have written
    /// since they were given.
    pub(crate) fn header(
        &mut self,
        conn: &Session<'_>,
        plan: PlanId,
        recalls: bool,
    ) -> Result<Option<Header>, Failure> {
        let before = self.version;
        let keeps = self.refresh(conn)?;
        if recalls && (!keeps || before.is_none() || self.version != before) {
            return Err(Error::Outdated.into());
        }
        if !keeps {
            return Ok(None);
        }
        // Put back when the change is made.
        Ok(self.header.take_if(|it| it.plan.id == plan))
    }

    /// A whole plan.
    pub(crate) fn plan(&self, id: PlanId) -> Option<&Plan> {
        self.plan.as_ref().filter(|it| it.id == id)
    }

    pub(crate) fn keep_plan(&mut self, plan: &Plan) {
        self.plan = (plan.items.len() <= LARGEST).then(|| plan.clone());
    }

    /// The rows of plans are about to be written otherwise than by a change.
    pub(crate) fn forget_plan(&mut self) {
        self.header = None;
        self.plan = None;
    }

    /// A change was made: the plan goes along, if it was at the revision before.
    pub(crate) fn follow(
        &mut self,
        key: PlanKey,
        seen_by: Option<String>,
        last: Option<Place>,
        applied: &Applied,
    ) {
        // A slice has every item that is in progress.
        let runs = applied.plan.in_progress().next().is_some();
        self.header = (!runs).then(|| Header { key, plan: applied.plan.header(), seen_by, last });
        let events = &applied.decision.events;
        let next = |it: &Plan| it.revision.0.saturating_add(1) == applied.revision().0;
        let Some(mut plan) = self.plan.take_if(|it| it.id == applied.plan.id) else { return };
        if events.is_empty() {
            self.plan = Some(plan);
        } else if next(&plan) && plan.items.len() < LARGEST {
            events.iter().for_each(|event| plan.evolve(event));
            plan.revision = applied.plan.revision;
            plan.updated_at = applied.plan.updated_at;
            self.plan = Some(plan);
        }
    }
}
