//! Executes one claimed item, as a run with one call, and hands it back if that is not possible.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_core::future::BoxFuture;
use punchlist_model::call::Asked;
use punchlist_model::{Ctx, ItemRef, Number, Op, PlanId, Timestamp};
use punchlist_streams::event::Outcome;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::front_end::Stopping;
use crate::fail::Fail;
use crate::plan_service::LivePlan;
use crate::run::{
    self, Board, Chosen, Claimed, Event, Input, Late, Lock, OnFailure, Permissions, Prepared,
    Resumed, Surroundings, Workplace, end_others, late_answers,
};

/// How long the processes of an item's last worker are waited for, and how often they are looked at.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// An item that this worker has claimed.
pub(crate) struct Taken {
    pub(crate) plan: LivePlan,
    pub(crate) claimed: Claimed,
    pub(crate) resumed: Option<Resumed>,
    /// The directory in which its command runs.
    pub(crate) directory: PathBuf,
}

/// How an item ended.
pub(crate) struct Finished {
    pub(crate) plan: PlanId,
    pub(crate) plan_title: String,
    pub(crate) item: Number,
    pub(crate) title: String,
    pub(crate) how: How,
    pub(crate) why: String,
    pub(crate) notes: Vec<String>,
    /// Whether it could not be executed here.
    pub(crate) is_broken: bool,
}

/// How an item ended, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    Done,
    Failed,
    HandedBack,
}

impl How {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::HandedBack => "handed back",
        }
    }
}

/// A question of an item.
pub(crate) struct Told {
    pub(crate) plan: String,
    pub(crate) asked: Asked,
}

/// What all items of a worker share.
#[derive(Clone)]
pub(crate) struct Shop {
    pub(crate) surroundings: Surroundings,
    pub(crate) permissions: Permissions,
    pub(crate) stopping: watch::Receiver<Stopping>,
    pub(crate) told: UnboundedSender<Told>,
}

impl Shop {
    /// Executes an item to its end.
    pub(crate) async fn execute(self, taken: Taken) -> Finished {
        let plan = taken.plan.plan();
        let number = taken.claimed.item;
        let item = plan.get(number);
        let mut finished = Finished {
            plan: plan.id,
            plan_title: plan.title.clone(),
            item: number,
            title: item.map(|it| it.title.clone()).unwrap_or_default(),
            how: How::HandedBack,
            why: String::new(),
            notes: Vec::new(),
            is_broken: false,
        };
        let may_repeat = item.is_some_and(|it| it.retry.is_some());
        let mut front_end = ItemFrontEnd {
            plan: finished.plan_title.clone(),
            told: self.told.clone(),
            stopping: self.stopping.clone(),
            may_repeat,
            is_executing: false,
            is_stopped: false,
            ended: None,
        };
        let (mut live, claimed) = (taken.plan.clone(), taken.claimed.clone());
        match self.run(taken, &mut front_end).await {
            Ok(notes) => finished.notes = notes,
            Err(why) => {
                finished.notes.push(why.message);
                finished.is_broken = true;
                // If the claim has ended too, nothing is left to hand back.
                drop(self.hand_back(&mut live, &claimed, front_end.is_executing).await);
            }
        }
        if let Some((status, text)) = front_end.ended {
            finished.how = match status {
                Outcome::Success => How::Done,
                Outcome::Error => How::Failed,
                Outcome::Cancelled => How::HandedBack,
            };
            finished.why = if status == Outcome::Success { String::new() } else { text };
        }
        finished
    }

    async fn run(&self, taken: Taken, front_end: &mut ItemFrontEnd) -> Result<Vec<String>, Fail> {
        let Taken { plan, claimed, resumed, directory } = taken;
        let surroundings = &self.surroundings;
        let (store, caller) = (&*surroundings.store, &surroundings.caller);
        let (number, id) = (claimed.item, plan.plan().id);
        let name = plan.plan().title.clone();
        let late = if claimed.attempt.0 > 1 {
            end_others(surroundings, id, number, caller.around.now()).await?;
            late_answers(false, store, plan.plan(), caller.around.now()).await?
        } else {
            Late::default()
        };
        // The guardian holds the lock as long as a process of the item lives. A worker on this machine that
        // takes the item over waits for that.
        let locks = surroundings.data.join("runs");
        let lock = lock(&locks, &format!("{id}-{number}"), &name).await?;
        let prepared = Prepared {
            plan,
            cannot_run: BTreeMap::new(),
            resumed: resumed.map(|it| (number, it)).into_iter().collect(),
            late,
            notes: Vec::new(),
            chosen: Chosen::Only(BTreeSet::from([number])),
        };
        let workplace = Workplace {
            what: format!("work by {}", caller.ctx.holder.name),
            name,
            directory,
            file: None,
            claimed: Some(claimed),
        };
        let options = run::Options {
            on_failure: OnFailure::Skip,
            // Questions are answered from elsewhere.
            wait: true,
            write_back: false,
            ..run::Options::default()
        };
        let permissions = &self.permissions;
        let ended = run::work_on(
            &workplace,
            &options,
            surroundings,
            permissions,
            prepared,
            &lock,
            front_end,
        );
        ended.await.map(|it| it.notes)
    }

    /// Hands an item back that could not be executed.
    async fn hand_back(
        &self,
        live: &mut LivePlan,
        claimed: &Claimed,
        was_executing: bool,
    ) -> Result<(), Fail> {
        let caller = &self.surroundings.caller;
        let now = caller.around.now();
        let ctx = Ctx { now, ids: caller.around.ids(now)?, ..caller.ctx.clone() };
        let item = ItemRef::Number(claimed.item);
        let renew = Op::Renew { item: item.clone(), attempt: Some(claimed.attempt) };
        let ops = |plan: &punchlist_model::Plan| {
            let cut_off = plan.get(claimed.item).filter(|_| was_executing);
            let mark = cut_off.map(run::cut_off);
            [renew.clone()].into_iter().chain(mark).chain([Op::Release(item.clone())]).collect()
        };
        Ok(live.change(&ctx, ops).await?)
    }
}

/// The lock of an item on this machine. Its last worker may be this process or one that still lives, so it
/// is waited for.
async fn lock(directory: &Path, of: &str, name: &str) -> Result<Lock, Fail> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match Lock::take(directory, of, name, || Ok(())).await {
            Err(_) if Instant::now() < deadline => sleep(PAUSE).await,
            taken => return taken,
        }
    }
}

/// Follows the run of one item for the worker.
struct ItemFrontEnd {
    /// The plan's title.
    plan: String,
    told: UnboundedSender<Told>,
    stopping: watch::Receiver<Stopping>,
    /// Whether the item may be executed a second time.
    may_repeat: bool,
    /// Whether its command has begun.
    is_executing: bool,
    /// Whether the run was told to stop.
    is_stopped: bool,
    /// How its call ended, and its output.
    ended: Option<(Outcome, String)>,
}

impl ItemFrontEnd {
    /// Whether the item must stop. What cannot be repeated is finished, unless all must stop at once.
    fn must_stop(&self, stopping: Stopping) -> bool {
        match stopping {
            Stopping::No => false,
            Stopping::Gracefully => self.may_repeat || !self.is_executing,
            Stopping::AtOnce => true,
        }
    }
}

impl run::FrontEnd for ItemFrontEnd {
    fn warn(&mut self, _text: &str) {}

    fn say(&mut self, _text: &str, _now: Timestamp) -> Result<(), Fail> {
        Ok(())
    }

    fn confirm<'a>(&'a mut self, _question: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(false))
    }

    fn event(&mut self, event: Event<'_>, _board: &Board, _now: Timestamp) -> Result<(), Fail> {
        match event {
            Event::Starts(_) => self.is_executing = true,
            Event::Completed { status, text, .. } => self.ended = Some((status, text.to_owned())),
            Event::Question(asked) => {
                let told = Told { plan: self.plan.clone(), asked: asked.clone() };
                // The worker listens as long as items run.
                drop(self.told.send(told));
            }
            Event::Begins { .. }
            | Event::Plan(_)
            | Event::Planned { .. }
            | Event::Held(_)
            | Event::Scheduled(_)
            | Event::Retries(_)
            | Event::Stops(_)
            | Event::Printed { .. }
            | Event::Lost(_)
            | Event::Asked { .. }
            | Event::Answered { .. }
            | Event::Withdrawn(_)
            | Event::Changed { .. }
            | Event::Over => {}
        }
        Ok(())
    }

    fn draw(&mut self, _board: &Board, _now: Timestamp) -> Result<(), Fail> {
        Ok(())
    }

    fn input(&mut self) -> BoxFuture<'_, Result<Input, Fail>> {
        Box::pin(async move {
            if self.is_stopped {
                return std::future::pending().await;
            }
            let mut stopping = self.stopping.clone();
            let stops = stopping.wait_for(|it| self.must_stop(*it)).await.is_ok();
            if !stops {
                // The worker has ended.
                return std::future::pending().await;
            }
            self.is_stopped = true;
            Ok(Input::Stop)
        })
    }
}
