//! Runs the tool calls of an answer and waits for them. If the user steers, the turn stops waiting for a
//! delegated worker; the worker goes on.

use std::pin::pin;

use punchlist_engine::fail::Fail;
use punchlist_model::store::turns::Used;
use punchlist_sched::call::Outcome;

use super::attend::Until;
use super::driver::Driver;
use super::entry::{CallEnd, Entry};
use super::event::{Event, FrontEnd};
use crate::provider::{CallResult, ModelCall};
use crate::workers::WorkerEnd;
use crate::workers::delegate::Delegated;

/// What the model is told of a worker that nobody waits for.
const STILL_RUNNING: &str = "still running: the user sent a message meanwhile. The worker goes on. To wait \
                             for its result, call delegate again with the same todoId, or, without an item, \
                             with the same agentType and task.";

/// The results of the calls of an answer.
#[derive(Default)]
pub(super) struct Waited {
    /// The calls with their results.
    pub(super) ends: Vec<(ModelCall, CallEnd)>,
    /// The delegations that have ended.
    pub(super) delegations: Vec<Delegated>,
    /// The user ended the turn.
    pub(super) is_aborted: bool,
}

impl Driver<'_> {
    /// Runs calls and waits until they have ended. If the user steers, workers are left running, once
    /// every other call has ended.
    pub(super) async fn run_and_wait(
        &mut self,
        to_run: &[ModelCall],
        front: &mut dyn FrontEnd,
    ) -> Result<Waited, Fail> {
        let mut waited = Waited::default();
        if to_run.is_empty() {
            return Ok(waited);
        }
        let scheduled = self.calls.schedule(to_run, &self.attendant.sender(), None).await?;
        let (steering, running) = (self.attendant.steering(), self.plan.left_running().clone());
        let outcomes = {
            let mut work = pin!(scheduled.until_steered(steering, &running));
            match self.attendant.attend(front, work.as_mut()).await? {
                Until::Done(outcomes) => outcomes?,
                Until::Abort => {
                    waited.is_aborted = true;
                    scheduled.cancel().await;
                    let outcomes = scheduled.outcomes().await?;
                    to_run.iter().cloned().zip(outcomes.into_iter().map(Some)).collect()
                }
            }
        };
        if outcomes.iter().all(|(_, outcome)| outcome.is_some()) {
            scheduled.told().await;
        } else {
            self.left.push(scheduled);
        }
        for (call, outcome) in outcomes {
            let Some(outcome) = outcome else {
                let (id, text) = (call.id.clone(), STILL_RUNNING.to_owned());
                let result = CallResult { call: id, text, is_error: false };
                waited.ends.push((call, CallEnd { result, whole: None }));
                continue;
            };
            let (result, whole) = self.calls.result(&call, &outcome);
            if let Some(delegated) = delegated(&outcome) {
                if let Some(text) = kept_work(&delegated) {
                    self.attendant.sender().send(Event::Info(text)).ok();
                }
                waited.delegations.push(delegated);
            }
            waited.ends.push((call, CallEnd { result, whole }));
        }
        self.attendant.show(front);
        Ok(waited)
    }

    /// Ends the workers that were left running, because the turn ends. Returns what is recorded of them.
    pub(super) async fn end_left_running(&mut self) -> Result<Vec<(Entry, Used)>, Fail> {
        let mut happened = Vec::new();
        for scheduled in std::mem::take(&mut self.left) {
            scheduled.cancel().await;
            for outcome in scheduled.outcomes().await? {
                // If a worker had ended before and was waited for again, its result is recorded already.
                let Some(delegated) = delegated(&outcome) else { continue };
                if delegated.outcome.end == WorkerEnd::Cancelled {
                    let text = format!("{} was stopped: the turn has ended", delegated.worker);
                    happened.push((Entry::Info { text }, Used::default()));
                }
            }
        }
        Ok(happened)
    }

    /// Waits until the usage limits of workers are over, if the settings say so. Meanwhile the items of
    /// these workers are waiting. Returns whether the user ended the turn.
    pub(super) async fn wait_for_workers(
        &mut self,
        delegations: &[Delegated],
        front: &mut dyn FrontEnd,
    ) -> Result<bool, Fail> {
        for delegated in delegations {
            let WorkerEnd::UsageLimit { until: Some(until) } = delegated.outcome.end else {
                continue;
            };
            if !self.settings.wait_for_quota {
                continue;
            }
            let on = format!("the usage limit of {}", delegated.worker);
            if matches!(self.wait(until, on, front).await?, Until::Abort) {
                return Ok(true);
            }
            if let Some(item) = delegated.item {
                self.plan.end_wait(item).await?;
            }
        }
        Ok(false)
    }
}

/// Where the work of a worker is, if that is not the project.
fn kept_work(delegated: &Delegated) -> Option<String> {
    let Delegated { worker, outcome, .. } = delegated;
    let (branch, worktree) = (outcome.branch.as_ref()?, outcome.worktree.as_ref()?);
    Some(format!(
        "{worker}: the changes are on branch {branch}, in {worktree}; they are not merged"
    ))
}

fn delegated(outcome: &Outcome) -> Option<Delegated> {
    outcome.output().and_then(Delegated::of)
}
