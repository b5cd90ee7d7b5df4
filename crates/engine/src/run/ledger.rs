//! The ledger of a run: records the states of calls, questions and the resulting changes of the
//! plan before their effects happen, in one transaction.
//!
//! An item is started when its call begins, completed with its evidence when the call succeeds, and
//! released when it fails or is stopped. If somebody else changed an item meanwhile, the run does
//! not overwrite that: it leaves the item and continues without it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_core::future::BoxFuture;
use punchlist_model::call::{Asked, CallRecord, Printed};
use punchlist_model::session::Store;
use punchlist_model::store::{Change, Error};
use punchlist_model::{
    ActorKind, Attempt, Ctx, Holder, Item, ItemRef, Level, Number, Op, Patch, Refusal, RunId,
    Timestamp,
};
use punchlist_sched::call::{CallError, CallId, CancelReason, Live, Outcome, State};
use punchlist_sched::policy::TO_ALLOW;
use punchlist_sched::run::{Ledger, LedgerError, Page};

use super::prepare::earlier_runs;
use super::runner::reports::{Report, Reports};
use super::schedule::Tree;
use super::steps::BY_HAND;
use super::steps::proof::Proof;
use super::{claimed, printed};
use crate::around::Around;
use crate::ledger::call_record;
use crate::plan_service::LivePlan;
use crate::workers::sub_lists;

/// The ledger of a run.
pub(crate) struct RunLedger {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) around: Arc<dyn Around>,
    pub(crate) run: RunId,
    /// The item of each call, by the call's number.
    pub(crate) items: Arc<Vec<Number>>,
    pub(crate) tree: Arc<Tree>,
    pub(crate) plan: LivePlan,
    /// Reports to the run's loop what was written.
    pub(crate) reports: Reports,
    /// The run's context; each write gets a new time and new ids.
    pub(crate) ctx: Ctx,
    /// Where items are in their file: `release.md:12`.
    pub(crate) spots: BTreeMap<Number, String>,
    /// What steps have printed, in this run and before.
    pub(crate) printed: BTreeMap<Number, Printed>,
    pub(crate) progress: RunProgress,
    /// The item that a worker has claimed, and the attempt, if the run is about one.
    pub(crate) claimed: Option<(Number, Attempt)>,
}

/// The progress of a run's items.
#[derive(Clone, Default)]
pub(crate) struct RunProgress {
    /// Items that this run has in progress.
    begun: BTreeSet<Number>,
    /// Items whose command may have begun.
    executing: BTreeSet<Number>,
    /// Items that an earlier run left interrupted and that have begun again in this one.
    begun_again: BTreeSet<Number>,
    /// Items that somebody else took or closed while this run worked on them.
    left: BTreeSet<Number>,
}

/// The operations for an item after its call changed state.
struct ItemOps {
    call: CallId,
    item: Number,
    ops: Vec<Op>,
}

impl Ledger for RunLedger {
    fn record<'a>(&'a mut self, mut page: Page<'a>) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move {
            self.remember_outputs(&page);
            let mut calls = Vec::new();
            for (id, state) in page.moved() {
                if let Some(call) = page.call(id) {
                    calls.push(call_record(call, state, self.item(id), page.at)?);
                }
            }
            self.describe(&mut page);
            let asked = page.asked.to_vec();
            self.write(&mut page, calls, asked).await.map_err(failed)
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

    /// Remembers the output of steps that have ended, to show it with later questions.
    fn remember_outputs(&mut self, page: &Page<'_>) {
        for (call, state) in page.moved() {
            let Some(output) = state.outcome().and_then(Outcome::output) else { continue };
            let Some(item) = self.item(call) else { continue };
            let title = self.plan.plan().get(item).map(|it| it.title.as_str());
            let printed = printed::of(title.unwrap_or_default(), output);
            self.printed.extend(printed.map(|it| (item, it)));
        }
    }

    /// Adds what the plan says about an item to the questions.
    fn describe(&self, page: &mut Page<'_>) {
        let plan = self.plan.plan();
        for asked in page.asked.iter_mut() {
            let number = self.item(CallId(asked.call));
            let Some(item) = number.and_then(|it| plan.get(it)) else { continue };
            let what = format!("item {} of {}", item.number, plan.title);
            asked.item = number;
            asked.title.clone_from(&item.title);
            asked.place = [what].into_iter().chain(self.spots.get(&item.number).cloned()).collect();
            asked.context.clone_from(&item.context);
            asked.printed = printed::before(plan, &self.printed, item);
        }
    }

    /// The changes of the plan that follow from the page. `progress` is the items' progress before
    /// the page, and is updated to that after it.
    fn item_ops(&self, page: &Page<'_>, progress: &mut RunProgress) -> Vec<ItemOps> {
        let plan = self.plan.plan();
        let mut closed = BTreeSet::new();
        let mut item_ops = Vec::new();
        for (call, state) in page.moved() {
            let Some(item) = self.item(call) else { continue };
            let was_begun = progress.moved(item, state);
            let was_interrupted = plan.get(item).is_some_and(Item::is_interrupted);
            let by = ItemRef::Number(item);
            let ops = match state {
                State::Live(Live::Executing { stopping: None, .. }) if !was_begun => {
                    // The interrupted mark stays until the result of the new attempt is known.
                    let forget = (!was_interrupted).then(|| forget_failure(item));
                    forget.into_iter().chain([Op::Start(by)]).collect()
                }
                State::Live(_) => continue,
                State::Done(_) if progress.left.contains(&item) => continue,
                State::Done(outcome) => match &**outcome {
                    Outcome::Success(output) => {
                        let proof = Proof::of(Some(output));
                        let evidence = proof.evidence.into_iter();
                        let mut ops: Vec<Op> = evidence
                            .map(|it| Op::Prove { item: by.clone(), evidence: Box::new(it) })
                            .collect();
                        ops.extend(was_interrupted.then(|| earlier_runs::unmarked(item)));
                        if let Some(agent) = plan.get(item).and_then(|it| it.agent_type.as_ref()) {
                            ops.extend(sub_lists::left_open(plan, item, agent));
                        }
                        let complete =
                            |item, outcome| Op::Complete { item, outcome, with_children: false };
                        ops.push(complete(by, proof.outcome.map(|it| self.within_limits(&it))));
                        for group in self.tree.finished_by(plan, item, &mut closed) {
                            ops.push(complete(ItemRef::Number(group), None));
                        }
                        ops
                    }
                    outcome @ (Outcome::Error(_) | Outcome::Cancelled { .. })
                        if self.claimed.is_some() =>
                    {
                        let was_executing = progress.executing.contains(&item);
                        self.claimed_ops(item, outcome, was_executing)
                    }
                    outcome @ (Outcome::Error(_) | Outcome::Cancelled { .. }) => {
                        let evidence = Proof::of(outcome.output()).evidence;
                        let mut ops: Vec<Op> = evidence
                            .into_iter()
                            .map(|it| Op::Prove { item: by.clone(), evidence: Box::new(it) })
                            .collect();
                        ops.extend(sub_lists::let_go(plan, item));
                        ops.extend(was_begun.then(|| Op::Release(by.clone())));
                        ops.extend(
                            progress
                                .begun_again
                                .remove(&item)
                                .then(|| earlier_runs::unmarked(item)),
                        );
                        // If a person answers that a manual step is not done yet, that is no refusal.
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
            item_ops.push(ItemOps { call, item, ops });
        }
        item_ops
    }

    /// The operations for a claimed item whose call did not succeed.
    fn claimed_ops(&self, number: Number, outcome: &Outcome, was_executing: bool) -> Vec<Op> {
        let plan = self.plan.plan();
        let Some(item) = plan.get(number) else { return Vec::new() };
        let by = ItemRef::Number(number);
        let evidence = Proof::of(outcome.output()).evidence.into_iter();
        let prove = |it| Op::Prove { item: by.clone(), evidence: Box::new(it) };
        let mut ops: Vec<Op> = evidence.map(prove).collect();
        ops.extend(sub_lists::let_go(plan, number));
        ops.extend(claimed::ops(item, outcome, failure(outcome), was_executing));
        ops
    }

    /// Shortens a text to the limit for items.
    fn within_limits(&self, text: &str) -> String {
        let most = usize::try_from(self.ctx.limits.text).unwrap_or(usize::MAX);
        text.chars().filter(|it| *it != '\0').take(most).collect()
    }

    /// Writes a page to the store. Items whose operations a rule refuses are left out, and the rest
    /// is written. If the plan has changed, the operations are computed again.
    async fn write(
        &mut self,
        page: &mut Page<'_>,
        calls: Vec<CallRecord>,
        asked: Vec<Asked>,
    ) -> Result<(), Error> {
        let mut progress = self.progress.clone();
        let mut item_ops = self.item_ops(page, &mut progress);
        let mut left = Vec::new();
        loop {
            let ops: Vec<Op> = item_ops.iter().flat_map(|it| it.ops.clone()).collect();
            let change = if ops.is_empty() { None } else { Some(self.change(page.at, ops)?) };
            let change = change.map(|it| (self.plan.plan().id, it));
            match self.store.record(self.run, calls.clone(), asked.clone(), change).await {
                Ok(applied) => {
                    self.progress = progress;
                    for (call, item, said) in left {
                        page.decline(call, String::clone(&said));
                        self.reports.send(Report::LeftToOthers(item, said));
                    }
                    if let Some(applied) = applied {
                        self.plan.follow(&applied).await?;
                        self.reports.send(Report::Changed(Box::new(applied)));
                    }
                    return Ok(());
                }
                Err(Error::Revision { .. }) => {
                    self.plan.read_again().await?;
                    progress = self.progress.clone();
                    item_ops = self.item_ops(page, &mut progress);
                    left.clear();
                }
                Err(Error::Refused(refusal)) if !item_ops.is_empty() => {
                    for ItemOps { call, item, .. } in refused(&refusal, &mut item_ops) {
                        progress.leave(item);
                        left.push((call, item, refusal.to_string()));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn change(&self, at: Timestamp, mut ops: Vec<Op>) -> Result<Change, Error> {
        if let Some((item, attempt)) = self.claimed {
            // If the claim has ended, nothing of this is written.
            let (item, attempt) = (ItemRef::Number(item), Some(attempt));
            ops.insert(0, Op::Renew { item, attempt });
        }
        let mut ctx = Ctx { now: at, ids: self.around.ids(at)?, ..self.ctx.clone() };
        // A person gave the approval; the run only records it, even if an agent started the run.
        let is_approved =
            |op: &Op| matches!(op, Op::Prove { evidence, .. } if evidence.level == Level::Approved);
        if ops.iter().any(is_approved) {
            ctx.actor.kind = ActorKind::Engine;
        }
        Ok(Change { expect: Some(self.plan.plan().revision), ..Change::new(ops, ctx) })
    }
}

/// Takes out the operations that were refused; all of them if the refusal names no item.
fn refused(refusal: &Refusal, item_ops: &mut Vec<ItemOps>) -> Vec<ItemOps> {
    let about: BTreeSet<Number> =
        refusal.problems.iter().filter_map(|it| it.item.as_ref()).map(|it| it.number).collect();
    let is_refused =
        |it: &ItemOps| about.is_empty() || about.contains(&it.item) || touches(it, &about);
    let mut refused: Vec<ItemOps> = item_ops.extract_if(.., |it| is_refused(it)).collect();
    if refused.is_empty() {
        refused.append(item_ops);
    }
    refused
}

impl RunProgress {
    /// The progress of a run that begins with an item in progress.
    pub(crate) fn holding(item: Number) -> Self {
        Self { begun: BTreeSet::from([item]), ..Self::default() }
    }

    /// Leaves an item to somebody else.
    fn leave(&mut self, item: Number) {
        self.begun.remove(&item);
        self.left.insert(item);
    }

    /// Records a new state of an item's call. Returns whether the item was in progress before.
    fn moved(&mut self, item: Number, state: &State) -> bool {
        match state {
            State::Live(Live::Executing { stopping: None, .. }) => {
                self.executing.insert(item);
                !self.begun.insert(item)
            }
            State::Live(Live::Scheduled { said, .. }) => {
                // An attempt failed, and another will follow.
                if Proof::of(said.as_deref()).has_begun_again {
                    self.begun_again.insert(item);
                }
                self.begun.contains(&item)
            }
            State::Live(_) => self.begun.contains(&item),
            State::Done(outcome) => {
                if Proof::of(outcome.output()).has_begun_again {
                    self.begun_again.insert(item);
                }
                self.begun.remove(&item)
            }
        }
    }
}

/// Whether the operations also complete one of these items: a group that they close.
fn touches(ops_of_item: &ItemOps, about: &BTreeSet<Number>) -> bool {
    ops_of_item.ops.iter().any(|op| {
        matches!(op, Op::Complete { item: ItemRef::Number(number), .. } if about.contains(number))
    })
}

/// Removes the failure text of an earlier run when the item begins again.
fn forget_failure(item: Number) -> Op {
    let patch = Patch { outcome: Some(None), ..Patch::default() };
    Op::Edit { item: ItemRef::Number(item), patch: Box::new(patch) }
}

/// The text that a call without success leaves at its item: a rule denied it, nobody could be
/// asked, a person refused it, or it failed.
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
            // Agents read the plan too, and only people may add rules.
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

/// The holder of the items that a run has in progress.
pub(crate) fn holder(process: Option<punchlist_model::Process>) -> Holder {
    Holder { name: "punchlist run".to_owned(), process }
}
