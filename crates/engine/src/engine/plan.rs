//! A handle for one plan: read, follow, and act under a name.

use std::sync::Arc;

use punchlist_model::session::Store;
use punchlist_model::store::{Cursor, Entry, Error, Scope};
use punchlist_model::{Actor, Limits, Plan, PlanId, Revision};

use super::{Engine, News, Worker};

/// A plan in a store.
#[derive(Clone)]
pub struct PlanHandle {
    pub(super) engine: Engine,
    id: PlanId,
}

impl PlanHandle {
    pub(super) fn new(engine: Engine, id: PlanId) -> Self {
        Self { engine, id }
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.engine.inner.store
    }

    /// The limits on this plan's items, besides its own rules.
    pub fn limits(&self) -> Limits {
        self.engine.inner.options.limits
    }

    /// The plan's id.
    pub fn id(&self) -> PlanId {
        self.id
    }

    /// The whole plan, as it is now.
    pub async fn whole(&self) -> Result<Plan, Error> {
        self.engine.inner.store.whole(self.id).await
    }

    /// The journal after a revision, at most `most` entries.
    pub async fn journal(&self, after: Revision, most: u32) -> Result<Vec<Entry>, Error> {
        self.engine.inner.store.journal(self.id, after, most).await
    }

    /// Changes from now on, by anybody, in this process or another.
    pub async fn follow(&self) -> Result<News, Error> {
        let store = &self.engine.inner.store;
        let entries = store.follow(Cursor::Now, Scope::Plan(self.id)).await?;
        Ok(News::new(self.clone(), entries))
    }

    /// A worker with this name. Its changes are recorded in the journal as an agent's. It can claim
    /// items but not approve them.
    pub fn by(&self, name: impl Into<String>) -> Worker {
        Worker::new(self.clone(), Actor::agent(name))
    }

    /// A person with this name, who can approve items. The program vouches that it is a person.
    pub fn by_person(&self, name: impl Into<String>) -> Worker {
        Worker::new(self.clone(), Actor::person(name))
    }
}
