//! A copy of a whole plan that follows the changes that its owner writes or is told about.
//!
//! Each write expects the revision of the copy. If the plan has changed since, the store refuses
//! the write; then the plan is read again and the operations are computed again.

use std::sync::Arc;

use punchlist_model::session::Store;
use punchlist_model::store::{Applied, Change, Error};
use punchlist_model::{Ctx, Op, Plan};

/// A copy of a whole plan.
#[derive(Clone)]
pub(crate) struct LivePlan {
    store: Arc<dyn Store>,
    plan: Plan,
}

impl LivePlan {
    pub(crate) fn new(store: Arc<dyn Store>, plan: Plan) -> Self {
        Self { store, plan }
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Applies a stored change to the copy. If others have changed the plan in between, reads it
    /// again.
    pub(crate) async fn follow(&mut self, applied: &Applied) -> Result<(), Error> {
        let (known, written) = (self.plan.revision, applied.revision());
        if written <= known {
            return Ok(());
        }
        if written.0 > known.0.saturating_add(1) {
            return self.catch_up().await;
        }
        for event in &applied.decision.events {
            self.plan.evolve(event);
        }
        self.plan.revision = written;
        self.plan.updated_at = applied.plan.updated_at;
        Ok(())
    }

    /// Reads the plan again, because others have changed it.
    pub(crate) async fn read_again(&mut self) -> Result<(), Error> {
        self.plan = self.store.whole(self.plan.id).await?;
        Ok(())
    }

    /// Applies the changes that others have made since.
    pub(crate) async fn catch_up(&mut self) -> Result<(), Error> {
        /// How many changes are applied one by one.
        const MOST: u32 = 500;
        let entries = self.store.journal(self.plan.id, self.plan.revision, MOST).await?;
        if entries.len() >= usize::try_from(MOST).unwrap_or(usize::MAX) {
            return self.read_again().await;
        }
        for entry in entries {
            for event in &entry.events {
                self.plan.evolve(event);
            }
            (self.plan.revision, self.plan.updated_at) = (entry.revision, entry.at);
        }
        Ok(())
    }

    /// Stores the operations that `ops` computes from the current plan, if there are any.
    pub(crate) async fn change(
        &mut self,
        ctx: &Ctx,
        ops: impl Fn(&Plan) -> Vec<Op>,
    ) -> Result<(), Error> {
        loop {
            let ops = ops(&self.plan);
            if ops.is_empty() {
                return Ok(());
            }
            let expect = Some(self.plan.revision);
            let change = Change { expect, ..Change::new(ops, ctx.clone()) };
            match self.store.change(self.plan.id, change).await {
                Ok(applied) => return self.follow(&applied).await,
                Err(Error::Revision { .. }) => self.catch_up().await?,
                Err(error) => return Err(error),
            }
        }
    }
}
