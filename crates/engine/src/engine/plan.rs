//! One plan: reading it, following it, and acting on it under a name.

use punchlist_model::store::{Cursor, Entry, Error, Scope};
use punchlist_model::{Actor, Plan, PlanId, Revision};

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

    /// Which.
    pub fn id(&self) -> PlanId {
        self.id
    }

    /// All of it, as it is now.
    pub async fn whole(&self) -> Result<Plan, Error> {
        self.engine.inner.store.whole(self.id).await
    }

    /// What happened to it after a revision, at most `most` entries.
    pub async fn journal(&self, after: Revision, most: u32) -> Result<Vec<Entry>, Error> {
        self.engine.inner.store.journal(self.id, after, most).await
    }

    /// Changes from now on, whoever makes them, in this process or another.
    pub async fn follow(&self) -> Result<News, Error> {
        let store = &self.engine.inner.store;
        let entries = store.follow(Cursor::Now, Scope::Plan(self.id)).await?;
        Ok(News::new(self.clone(), entries))
    }

    /// A worker of this name: what it does is journaled as an agent's. It may claim items, and
    /// cannot approve anything.
    pub fn by(&self, name: impl Into<String>) -> Worker {
        Worker::new(self.clone(), Actor::agent(name))
    }

    /// A person of this name, whose word is an approval. The program vouches for it.
    pub fn by_person(&self, name: impl Into<String>) -> Worker {
        Worker::new(self.clone(), Actor::person(name))
    }
}
