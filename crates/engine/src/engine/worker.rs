//! A worker on a plan: adds, claims, completes, approves.

use punchlist_model::needs::Needs;
use punchlist_model::store::{Applied, Change, Error};
use punchlist_model::{
    Actor, Attempt, Broken, Ctx, Evidence, Holder, Item, ItemRef, Level, Number, Op, Problem,
    Process, Refusal,
};

use super::draft::{self, Draft};
use super::{Inner, PlanHandle};
use crate::around;

/// A worker on a plan.
#[derive(Clone)]
pub struct Worker {
    plan: PlanHandle,
    actor: Actor,
    /// The process whose end releases the worker's claims.
    process: Option<Process>,
    /// How long its claims last, if not as long as usual.
    lease_seconds: Option<u32>,
}

impl Worker {
    pub(super) fn new(plan: PlanHandle, actor: Actor) -> Self {
        Self { plan, actor, process: None, lease_seconds: None }
    }

    /// Makes claims that last this long, and end early if the process ends.
    #[must_use]
    pub fn holding(self, process: Option<Process>, lease_seconds: u32) -> Self {
        Self { process, lease_seconds: Some(lease_seconds), ..self }
    }

    /// The author of its changes.
    pub(crate) fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Adds items, all or none, and returns their numbers.
    pub async fn add(&self, drafts: impl IntoIterator<Item = Draft>) -> Result<Vec<Number>, Error> {
        let drafts: Vec<Draft> = drafts.into_iter().collect();
        let ops = draft::ops(&drafts).map_err(|title| {
            let broken = Broken::NotFound { what: format!("the item that {title:?} names") };
            let problems = vec![Problem { entry: 0, item: None, broken }];
            Error::Refused(Refusal { problems, entries: drafts.len() })
        })?;
        let applied = self.change(ops).await?;
        Ok(applied.items().iter().map(|item| item.number).collect())
    }

    /// Claims the next ready item, or returns the item that this worker has in progress; `None` if
    /// no item is ready.
    pub async fn next(&self) -> Result<Option<Claim>, Error> {
        let applied = self.change(vec![Op::Next]).await?;
        Ok(self.picked(&applied))
    }

    /// Claims this item; `None` if another change has claimed it since.
    pub async fn start(&self, item: Number) -> Result<Option<Claim>, Error> {
        let applied = self.change(vec![Op::Start(item.into())]).await?;
        Ok(self.picked(&applied))
    }

    fn picked(&self, applied: &Applied) -> Option<Claim> {
        let picked = applied.decision.picked.and_then(|number| applied.plan.get(number))?;
        Some(Claim {
            attempt: picked.claim.as_ref().map(|claim| claim.attempt),
            item: picked.clone(),
            worker: self.clone(),
        })
    }

    /// Approves an item. This is refused if the worker is an agent.
    pub async fn approve(&self, item: Number) -> Result<Applied, Error> {
        let at = self.plan.engine.inner.around.now();
        let by = self.actor.name.clone();
        let evidence = Box::new(Evidence { level: Level::Approved, at, by, run: None });
        self.change(vec![Op::Prove { item: item.into(), evidence }]).await
    }

    /// Applies any operations, all or none.
    pub async fn change(&self, ops: Vec<Op>) -> Result<Applied, Error> {
        self.change_under(ops, None).await
    }

    async fn change_under(&self, ops: Vec<Op>, attempt: Option<Attempt>) -> Result<Applied, Error> {
        let Inner { store, around, .. } = &*self.plan.engine.inner;
        let needs_claims = ops.iter().any(|op| !matches!(op, Op::Add(_)));
        let gone = if needs_claims {
            around::gone(&**around, &store.read(self.plan.id(), Needs::header()).await?)
        } else {
            Vec::new()
        };
        let ctx = Ctx { attempt, gone, ..self.ctx()? };
        store.change(self.plan.id(), Change::new(ops, ctx)).await
    }

    /// The context of a change by this worker.
    pub(crate) fn ctx(&self) -> Result<Ctx, Error> {
        let Inner { around, options, .. } = &*self.plan.engine.inner;
        let now = around.now();
        let mut limits = options.limits;
        limits.lease_seconds = self.lease_seconds.unwrap_or(limits.lease_seconds);
        let name = self.actor.name.clone();
        Ok(Ctx {
            actor: self.actor.clone(),
            holder: Holder { name: name.clone(), process: self.process.clone() },
            limits,
            ..Ctx::new(name, now, around.ids(now)?)
        })
    }
}

/// An item that a worker has claimed. Every change by the worker renews the lease.
#[derive(Clone)]
pub struct Claim {
    /// The item at the time of the claim.
    pub item: Item,
    worker: Worker,
    attempt: Option<Attempt>,
}

impl Claim {
    /// Completes the item with this outcome. This is refused if its check has not passed, if a
    /// sub-item is open, or if the lease expired and another worker has claimed the item.
    pub async fn complete(self, outcome: impl Into<String>) -> Result<Applied, Error> {
        let (item, outcome) = (self.named(), Some(outcome.into()));
        self.act(Op::Complete { item, outcome, with_children: false }).await
    }

    /// Cancels the item for this reason.
    pub async fn cancel(self, reason: impl Into<String>) -> Result<Applied, Error> {
        let (item, reason) = (self.named(), Some(reason.into()));
        self.act(Op::Cancel { item, reason }).await
    }

    /// Releases the claim, so that another worker can take the item.
    pub async fn release(self) -> Result<Applied, Error> {
        let item = self.named();
        self.act(Op::Release(item)).await
    }

    /// Applies any operations, all or none. This is refused if another worker has claimed the item
    /// since.
    pub async fn change(&self, ops: Vec<Op>) -> Result<Applied, Error> {
        self.worker.change_under(ops, self.attempt).await
    }

    /// The plan of the item.
    pub fn plan(&self) -> &PlanHandle {
        &self.worker.plan
    }

    /// The claim's number, which tells it from earlier and later claims of the item.
    pub(crate) fn attempt(&self) -> Option<Attempt> {
        self.attempt
    }

    /// The context of a change by the worker.
    pub(crate) fn ctx(&self) -> Result<Ctx, Error> {
        self.worker.ctx()
    }

    fn named(&self) -> ItemRef {
        ItemRef::Number(self.item.number)
    }

    async fn act(self, op: Op) -> Result<Applied, Error> {
        self.change(vec![op]).await
    }
}
