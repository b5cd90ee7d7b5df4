//! What is kept of the worker that does a claimed item: its own list, and its session.
//!
//! The list is stored in recorded mode, because the worker has it already. Nothing is stored any
//! more once the claim has ended.

use std::sync::Arc;

use punchlist_model::session::SessionKey;
use punchlist_model::store::Error;
use punchlist_model::{Actor, Ctx, Item, ListEntry, Mode, Number, Op, Plan};

use super::sub_lists::{self, Entry};
use super::worker_session::{self, Destination};
use crate::engine::{Claim, PlanHandle};
use crate::plan_service::LivePlan;

impl PlanHandle {
    /// Releases the items that workers of this agent hold (`NAME/1`, `NAME/2`, …), and cancels what
    /// those left open on their own lists: their call was cut off and will not do it. Returns the
    /// items.
    pub async fn release_delegated(&self, agent: &str) -> Result<Vec<Number>, Error> {
        let mut plan = LivePlan::new(Arc::clone(self.store()), self.whole().await?);
        let held: Vec<(Number, String)> = plan
            .plan()
            .in_progress()
            .filter_map(|it| Some((it.number, delegate(it, agent)?)))
            .collect();
        for (number, holder) in &held {
            let ctx = Ctx { mode: Mode::Recorded, ..self.by(holder).ctx()? };
            plan.change(&ctx, |plan| {
                let is_held = |it: &Item| delegate(it, agent).as_ref() == Some(holder);
                if !plan.get(*number).is_some_and(is_held) {
                    return Vec::new();
                }
                let mut ops = sub_lists::left_open(plan, *number, holder);
                ops.push(Op::Release((*number).into()));
                ops
            })
            .await?;
        }
        Ok(held.into_iter().map(|it| it.0).collect())
    }
}

/// The delegation of this agent that holds an item of the plan.
fn delegate(item: &Item, agent: &str) -> Option<String> {
    let holder = &item.claim.as_ref().filter(|_| !item.is_workers())?.holder.name;
    let is_its = holder.strip_prefix(agent).is_some_and(|rest| rest.starts_with('/'));
    is_its.then(|| holder.clone())
}

impl Claim {
    /// Stores the list that a worker keeps for itself, as entries under the item.
    pub async fn keep_list(&self, worker: &str, list: &[ListEntry]) -> Result<(), Error> {
        let entry = |it: &ListEntry| Entry { title: it.title.clone(), status: it.status };
        let list: Vec<Entry> = list.iter().map(entry).collect();
        self.record(worker, |plan| sub_lists::ops(plan, self.item.number, worker, &list)).await
    }

    /// Cancels what the worker left open on its own list, so that the item can be completed.
    pub async fn close_list(&self, worker: &str) -> Result<(), Error> {
        self.record(worker, |plan| sub_lists::left_open(plan, self.item.number, worker)).await
    }

    /// Stores which session does the item, and takes over the list from the plan that Punchlist's
    /// own hooks and tools made for that session, if they did.
    pub async fn keep_session(&self, worker: &str, session: SessionKey) -> Result<(), Error> {
        let noted = worker_session::noted(self.item.number, &session.id);
        self.record(worker, |_| vec![noted.clone()]).await?;
        let plan = self.plan().whole().await?;
        let to = Destination { plan: plan.id, title: &plan.title, item: self.item.number };
        let store = Arc::clone(self.plan().store());
        let list = worker_session::taken_over(&*store, session, to, &self.ctx()?).await?;
        if list.is_empty() {
            return Ok(());
        }
        self.record(worker, |plan| sub_lists::ops(plan, self.item.number, worker, &list)).await
    }

    /// Stores the operations that `ops` computes from the current plan, unless the claim has ended.
    async fn record(&self, worker: &str, ops: impl Fn(&Plan) -> Vec<Op>) -> Result<(), Error> {
        let ctx = Ctx { actor: Actor::agent(worker), mode: Mode::Recorded, ..self.ctx()? };
        let store = Arc::clone(self.plan().store());
        let mut plan = LivePlan::new(store, self.plan().whole().await?);
        plan.change(&ctx, |plan| {
            let claim = plan.get(self.item.number).and_then(|it| it.claim.as_ref());
            let is_held = claim.map(|it| it.attempt) == self.attempt();
            if is_held { ops(plan) } else { Vec::new() }
        })
        .await
    }
}
