//! A worker on a plan: adds, claims, completes, approves.

use punchlist_model::needs::Needs;
use punchlist_model::store::{Applied, Change, Error};
use punchlist_model::{
    Actor, Attempt, Broken, Ctx, Evidence, Item, ItemRef, Level, Number, Op, Problem, Refusal,
};

use super::draft::{self, Draft};
use super::{Inner, PlanHandle};
use crate::around;

/// A worker on a plan.
#[derive(Clone)]
pub struct Worker {
    plan: PlanHandle,
    actor: Actor,
}

impl Worker {
    pub(super) fn new(plan: PlanHandle, actor: Actor) -> Self {
        Self { plan, actor }
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
        let picked = applied.decision.picked.and_then(|number| applied.plan.get(number));
        Ok(picked.map(|item| Claim {
            attempt: item.claim.as_ref().map(|claim| claim.attempt),
            item: item.clone(),
            worker: self.clone(),
        }))
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
        let Inner { store, around, options } = &*self.plan.engine.inner;
        let now = around.now();
        let needs_claims = ops.iter().any(|op| !matches!(op, Op::Add(_)));
        let gone = if needs_claims {
            around::gone(&**around, &store.read(self.plan.id(), Needs::header()).await?)
        } else {
            Vec::new()
        };
        let ctx = Ctx {
            actor: self.actor.clone(),
            attempt,
            limits: options.limits,
            gone,
            ..Ctx::new(self.actor.name.clone(), now, around.ids(now)?)
        };
        store.change(self.plan.id(), Change::new(ops, ctx)).await
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

    fn named(&self) -> ItemRef {
        ItemRef::Number(self.item.number)
    }

    async fn act(self, op: Op) -> Result<Applied, Error> {
        self.worker.change_under(vec![op], self.attempt).await
    }
}
