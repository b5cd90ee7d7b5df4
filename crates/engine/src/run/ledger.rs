//! What a run writes down before anything follows from it: where its calls stand, what it asks, and what
//! that means for the plan, in one transaction.
//!
//! An item is started when its call begins, completed with its evidence when the call succeeds, and
//! released when it fails or is stopped. What somebody else did to an item meanwhile is not overwritten:
//! the item is left to them, and the run goes on without it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_model::call::{Asked, CallRecord, CallState, Printed};
use punchlist_model::needs::Needs;
use punchlist_model::session::Store;
use punchlist_model::store::{Applied, Change, Error};
use punchlist_model::{
    ActorKind, Ctx, Holder, Item, ItemRef, Level, Number, Op, Patch, PlanId, Refusal, RunId,
    Timestamp,
};
use punchlist_sched::call::{Call, CallError, CallId, CancelReason, Live, Outcome, State};
use punchlist_sched::policy::TO_ALLOW;
use punchlist_sched::run::{Ledger, LedgerError, Page};

use super::proof::Proof;
use super::schedule::Tree;
use super::state::Shared;
use super::step::BY_HAND;
use super::{left, printed, sub_lists};
use crate::around::Around;

/// Where a run writes.
pub(crate) struct RunLedger {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) around: Arc<dyn Around>,
    pub(crate) run: RunId,
    pub(crate) plan: PlanId,
    /// The item of each call, by the call's number.
    pub(crate) items: Arc<Vec<Number>>,
    pub(crate) tree: Arc<Tree>,
    pub(crate) shared: Shared,
    /// Who asks; the time and the ids are new each time.
    pub(crate) ctx: Ctx,
    /// Where items stand in their file: `release.md:12`.
    pub(crate) spots: BTreeMap<Number, String>,
    /// What steps have printed, in this run and before.
    pub(crate) printed: BTreeMap<Number, Printed>,
}

/// What is to be done to an item.
struct Deed {
    item: Number,
    ops: Vec<Op>,
}

impl Ledger for RunLedger {
    fn record<'a>(&'a mut self, mut page: Page<'a>) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move {
            self.heard(&page);
            let mut calls = Vec::new();
            for (id, state) in page.moved() {
                if let Some(call) = page.call(id) {
                    calls.push(self.call(call, state, page.at)?);
                }
            }
            self.describe(&mut page);
            let asked = page.asked.to_vec();
            let shared = self.shared.clone();
            let _turn = shared.turn().await;
            let deeds = self.deeds(&page);
            self.write(page.at, calls, asked, deeds).await.map_err(failed)
        })
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> LedgerError {
    LedgerError::new(error)
}

impl RunLedger {
    fn item(&self, call: CallId) -> Option<Number> {
        self.items.get(usize::try_from(call.0).ok()?).copied()
    }

    /// Remembers what steps printed that have ended: whoever is asked next is shown it.
    fn heard(&mut self, page: &Page<'_>) {
        for (call, state) in page.moved() {
            let Some(output) = state.outcome().and_then(Outcome::output) else { continue };
            let Some(item) = self.item(call) else { continue };
            let title = self.shared.lock().plan.get(item).map(|it| it.title.clone());
            let printed = printed::of(&title.unwrap_or_default(), output);
            self.printed.extend(printed.map(|it| (item, it)));
        }
    }

    fn call(&self, call: &Call, state: &State, at: Timestamp) -> Result<CallRecord, LedgerError> {
        Ok(CallRecord {
            number: call.id.0,
            item: self.item(call.id),
            tool: call.request.tool.clone(),
            request: serde_json::to_value(&call.request).map_err(failed)?,
            state: kept(state),
            attempt: attempt(state),
            detail: detail(state).map_err(failed)?,
            at,
        })
    }

    /// Adds to what people are asked what the plan says about it.
    fn describe(&self, page: &mut Page<'_>) {
        let known = self.shared.lock();
        for asked in page.asked.iter_mut() {
            let number = self.item(CallId(asked.call));
            let Some(item) = number.and_then(|it| known.plan.get(it)) else { continue };
            let what = format!("item {} of {}", item.number, known.plan.title);
            asked.item = number;
            asked.title.clone_from(&item.title);
            asked.place = [what].into_iter().chain(self.spots.get(&item.number).cloned()).collect();
            asked.context.clone_from(&item.context);
            asked.printed = printed::before(&known.plan, &self.printed, item);
        }
    }

    /// What the page means for the plan.
    fn deeds(&self, page: &Page<'_>) -> Vec<Deed> {
        let mut known = self.shared.lock();
        let mut closed = BTreeSet::new();
        let mut deeds = Vec::new();
        for (call, state) in page.moved() {
            let Some(item) = self.item(call) else { continue };
            let is_begun = known.begun.contains(&item);
            let by = ItemRef::Number(item);
            let ops = match state {
                State::Live(Live::Executing { stopping: None, .. }) if !is_begun => {
                    known.begun.insert(item);
                    // That it was interrupted stays until it is known what comes of it now.
                    let was_interrupted = known.plan.get(item).is_some_and(Item::is_interrupted);
                    let forget = (!was_interrupted).then(|| forget_failure(item));
                    forget.into_iter().chain([Op::Start(by)]).collect()
                }
                State::Live(_) => continue,
                State::Done(_) if known.taken.contains_key(&item) => continue,
                State::Done(outcome) => match &**outcome {
                    Outcome::Success(output) => {
                        known.begun.remove(&item);
                        let is_marked = known.plan.get(item).is_some_and(Item::is_interrupted);
                        let proof = Proof::of(Some(output));
                        let evidence = proof.evidence.into_iter();
                        let mut ops: Vec<Op> = evidence
                            .map(|it| Op::Prove { item: by.clone(), evidence: Box::new(it) })
                            .collect();
                        ops.extend(is_marked.then(|| left::unmarked(item)));
                        if let Some(agent) =
                            known.plan.get(item).and_then(|it| it.agent_type.clone())
                        {
                            ops.extend(sub_lists::left_open(&known.plan, item, &agent));
                        }
                        let complete =
                            |item, outcome| Op::Complete { item, outcome, with_children: false };
                        ops.push(complete(by, proof.outcome.map(|it| self.within_limits(&it))));
                        for group in self.tree.finished_by(&known.plan, item, &mut closed) {
                            ops.push(complete(ItemRef::Number(group), None));
                        }
                        ops
                    }
                    outcome @ (Outcome::Error(_) | Outcome::Cancelled { .. }) => {
                        let was_begun = known.begun.remove(&item);
                        let evidence = Proof::of(outcome.output()).evidence;
                        let mut ops: Vec<Op> = evidence
                            .into_iter()
                            .map(|it| Op::Prove { item: by.clone(), evidence: Box::new(it) })
                            .collect();
                        ops.extend(sub_lists::let_go(&known.plan, item));
                        ops.extend(was_begun.then(|| Op::Release(by.clone())));
                        ops.extend(known.retried.remove(&item).then(|| left::unmarked(item)));
                        // A person who says that it is not done yet has refused nothing.
                        let is_by_hand =
                            page.call(call).is_some_and(|it| it.request.tool == BY_HAND);
                        if let Some(what) = failure(outcome).filter(|_| !is_by_hand) {
                            let patch = Patch { outcome: Some(Some(what)), ..Patch::default() };
                            ops.push(Op::Edit { item: by, patch: Box::new(patch) });
                        }
                        ops
                    }
                },
            };
            deeds.push(Deed { item, ops });
        }
        deeds
    }

    /// As much of a text as an item may have.
    fn within_limits(&self, text: &str) -> String {
        let most = usize::try_from(self.ctx.limits.text).unwrap_or(usize::MAX);
        text.chars().filter(|it| *it != '\0').take(most).collect()
    }

    /// Writes it down. What a rule refuses is left to whoever made it so, and the rest is written.
    async fn write(
        &self,
        at: Timestamp,
        calls: Vec<CallRecord>,
        asked: Vec<Asked>,
        mut deeds: Vec<Deed>,
    ) -> Result<(), Error> {
        loop {
            let ops: Vec<Op> = deeds.iter().flat_map(|it| it.ops.clone()).collect();
            let change =
                if ops.is_empty() { None } else { Some((self.plan, self.change(at, ops)?)) };
            match self.store.record(self.run, calls.clone(), asked.clone(), change).await {
                Ok(None) => return Ok(()),
                Ok(Some(applied)) => return self.keep_up(&applied).await,
                Err(Error::Refused(refusal)) if !deeds.is_empty() => {
                    self.leave(&refusal, &mut deeds);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn change(&self, at: Timestamp, ops: Vec<Op>) -> Result<Change, Error> {
        let mut ctx = Ctx { now: at, ids: self.around.ids(at)?, ..self.ctx.clone() };
        // A person has answered; the run, which an agent may have started, only writes it down.
        let is_approved =
            |op: &Op| matches!(op, Op::Prove { evidence, .. } if evidence.level == Level::Approved);
        if ops.iter().any(is_approved) {
            ctx.actor.kind = ActorKind::Engine;
        }
        Ok(Change::new(ops, ctx))
    }

    /// Takes out what was refused. If nobody can tell what that is, everything.
    fn leave(&self, refusal: &Refusal, deeds: &mut Vec<Deed>) {
        let about: BTreeSet<Number> =
            refusal.problems.iter().filter_map(|it| it.item.as_ref()).map(|it| it.number).collect();
        let is_left =
            |it: &Deed| about.is_empty() || about.contains(&it.item) || touches(it, &about);
        let mut left: Vec<Deed> = deeds.extract_if(.., |it| is_left(it)).collect();
        if left.is_empty() {
            left.append(deeds);
        }
        let mut known = self.shared.lock();
        let said = refusal.to_string();
        for deed in left {
            known.begun.remove(&deed.item);
            known.taken.insert(deed.item, said.clone());
            known.notes.push(format!("item {} is left as it is: {said}", deed.item));
        }
    }

    /// Brings the plan that everybody looks at up to date.
    async fn keep_up(&self, applied: &Applied) -> Result<(), Error> {
        let is_next = {
            let mut known = self.shared.lock();
            let is_next = known.plan.revision.0.saturating_add(1) == applied.revision().0;
            if is_next {
                for event in &applied.decision.events {
                    known.plan.evolve(event);
                }
                known.plan.revision = applied.revision();
                known.plan.updated_at = applied.plan.updated_at;
            }
            is_next
        };
        // Somebody else has changed something in between.
        if !is_next && applied.revision() != self.shared.lock().plan.revision {
            let plan = self.store.read(self.plan, Needs::whole()).await?;
            self.shared.lock().plan = plan;
        }
        Ok(())
    }
}

/// Whether a deed changes one of these items besides its own: a group that it closes.
fn touches(deed: &Deed, about: &BTreeSet<Number>) -> bool {
    deed.ops.iter().any(|op| {
        matches!(op, Op::Complete { item: ItemRef::Number(number), .. } if about.contains(number))
    })
}

/// What an earlier run said of its failure does not stay when the item begins again.
fn forget_failure(item: Number) -> Op {
    let patch = Patch { outcome: Some(None), ..Patch::default() };
    Op::Edit { item: ItemRef::Number(item), patch: Box::new(patch) }
}

/// What a call that did not succeed leaves at its item: that a rule denied it, that nobody could be asked,
/// that a person refused, or that it failed.
fn failure(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Success(_) => None,
        Outcome::Error(error) => match error {
            CallError::Failed { .. }
            | CallError::TimedOut { .. }
            | CallError::Panicked(_)
            | CallError::Invalid(_)
            | CallError::Unknown(_)
            | CallError::Forgotten(_)
            | CallError::Circle(_) => Some(format!("failed: {error}")),
            CallError::Denied(_) => Some(error.to_string()),
            // Agents read the plan too, and rules are for people.
            CallError::NobodyToAsk(_) => {
                let error = error.to_string();
                Some(format!("not begun: {}", error.split(TO_ALLOW).next().unwrap_or(&error)))
            }
        },
        Outcome::Cancelled { reason, .. } => match reason {
            CancelReason::Refused(_) => Some(reason.to_string()),
            CancelReason::Asked(_)
            | CancelReason::Dependency(_)
            | CancelReason::Halted(_)
            | CancelReason::Beside(_)
            | CancelReason::Declined(_)
            | CancelReason::Interrupted => None,
        },
    }
}

fn kept(state: &State) -> CallState {
    match state {
        State::Live(Live::Validating { .. }) => CallState::Validating,
        State::Live(Live::Scheduled { .. }) => CallState::Scheduled,
        State::Live(Live::AwaitingApproval { .. }) => CallState::AwaitingApproval,
        State::Live(Live::Executing { .. }) => CallState::Executing,
        State::Done(outcome) => match **outcome {
            Outcome::Success(_) => CallState::Success,
            Outcome::Error(_) => CallState::Error,
            Outcome::Cancelled { .. } => CallState::Cancelled,
        },
    }
}

fn attempt(state: &State) -> punchlist_model::Attempt {
    match state {
        State::Live(Live::Executing { attempt, .. }) => *attempt,
        State::Live(Live::Scheduled { tried, .. }) => *tried,
        State::Live(Live::Validating { .. } | Live::AwaitingApproval { .. }) | State::Done(_) => {
            punchlist_model::Attempt(0)
        }
    }
}

/// What belongs to a state: how it ended, or why it is stopped.
fn detail(state: &State) -> serde_json::Result<Option<serde_json::Value>> {
    match state {
        State::Done(outcome) => serde_json::to_value(outcome).map(Some),
        State::Live(Live::Executing { stopping: Some(stop), .. }) => {
            serde_json::to_value(stop).map(Some)
        }
        State::Live(_) => Ok(None),
    }
}

/// Who holds what a run has in progress.
pub(crate) fn holder(process: Option<punchlist_model::Process>) -> Holder {
    Holder { name: "punchlist run".to_owned(), process }
}
