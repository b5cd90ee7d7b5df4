//! The loop of a worker: looks for items, claims them, and waits for what comes next.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use punchlist_formats::planfile;
use punchlist_formats::view::Reader;
use punchlist_model::call::News;
use punchlist_model::session::Store;
use punchlist_model::store::work::Commands;
use punchlist_model::store::{Change, Error};
use punchlist_model::{Ctx, Item, ItemRef, Number, Op, Patch, Plan, PlanId, Process};
use punchlist_sched::policy::Verdict;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::Options;
use super::front_end::{Event, FrontEnd, Stopping};
use super::item::{Finished, How, Shop, Taken, Told};
use super::plans::Plans;
use super::ready::{self, Candidate};
use super::tidy;
use crate::around;
use crate::fail::{Code, Fail};
use crate::policy::checks;
use crate::run::{Claimed, Job, Judge, Slot, Surroundings, heard, job};

/// How often the processes of other workers on this machine are looked at.
const NEIGHBOURS: Duration = Duration::from_secs(2);
/// How long an item is left alone that could not be executed here, for example because a process of its
/// last worker still lives.
const REST: Duration = Duration::from_secs(10);
/// How long to wait after a failure of the store, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// What a worker did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ended {
    /// Items that it completed.
    pub done: usize,
    /// Items that failed.
    pub failed: usize,
    /// Items that it handed back.
    pub handed_back: usize,
}

/// Works until somebody stops the worker.
pub async fn work(
    options: Options,
    surroundings: Surroundings,
    front_end: &mut dyn FrontEnd,
) -> Result<Ended, Fail> {
    let (tell_stop, stopping) = watch::channel(Stopping::No);
    let (tell, told) = unbounded_channel();
    let store = Arc::clone(&surroundings.store);
    let plans = Plans::new(store, options.project.clone(), options.plan);
    let slots = usize::try_from(options.jobs.get()).unwrap_or(1);
    let permissions = options.permissions.clone();
    let shop = Shop { surroundings, permissions, stopping, told: tell };
    let worker = Worker {
        options,
        shop,
        plans,
        slots: Arc::new(Semaphore::new(slots)),
        running: JoinSet::new(),
        mine: BTreeMap::new(),
        skipped: BTreeSet::new(),
        resting: BTreeMap::new(),
        neighbours: Vec::new(),
        due: None,
        tell_stop,
        told,
        is_idle: false,
        pause: None,
        ended: Ended::default(),
        front_end,
    };
    worker.run().await
}

struct Worker<'a> {
    options: Options,
    shop: Shop,
    plans: Plans,
    slots: Arc<Semaphore>,
    running: JoinSet<Finished>,
    /// The items that this worker executes.
    mine: BTreeMap<PlanId, BTreeSet<Number>>,
    /// What was skipped and reported: the item and the reason.
    skipped: BTreeSet<(PlanId, Number, String)>,
    /// Items that are left alone for a while.
    resting: BTreeMap<(PlanId, Number), Instant>,
    /// The processes of other workers that may be on this machine.
    neighbours: Vec<Process>,
    /// When a lease of another worker ends.
    due: Option<Instant>,
    tell_stop: watch::Sender<Stopping>,
    told: UnboundedReceiver<Told>,
    /// Whether the front end was told that there is nothing to do.
    is_idle: bool,
    /// How long to wait before the store is tried again, while it cannot be used.
    pause: Option<Duration>,
    ended: Ended,
    front_end: &'a mut dyn FrontEnd,
}

impl Worker<'_> {
    async fn run(mut self) -> Result<Ended, Fail> {
        let holder = self.surroundings().caller.ctx.holder.name.clone();
        let project = self.options.project.clone();
        self.send(Event::Begins { name: &holder, project: &project })?;
        let mut news: Option<News> = None;
        let mut looks = true;
        loop {
            let is_stopping = *self.tell_stop.borrow() > Stopping::No;
            if is_stopping && self.running.is_empty() {
                return Ok(self.ended);
            }
            if looks && !is_stopping {
                let looked = self.look(&mut news).await;
                self.looked(looked, &mut news)?;
            }
            looks = true;
            let wake = self.wake();
            tokio::select! {
                biased;
                () = self.front_end.stop() => self.stop()?,
                Some(finished) = self.running.join_next(), if !self.running.is_empty() => {
                    self.finished(finished)?;
                }
                Some(told) = self.told.recv() => {
                    self.send(Event::Asked { plan: &told.plan, asked: &told.asked })?;
                    // A question frees a slot.
                }
                heard = heard(news.as_mut()) => if !heard { news = None },
                () = sleep_until(wake) => looks = self.is_due(),
            }
        }
    }

    fn surroundings(&self) -> &Surroundings {
        &self.shop.surroundings
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.surroundings().store)
    }

    fn send(&mut self, event: Event<'_>) -> Result<(), Fail> {
        let now = self.surroundings().caller.around.now();
        self.front_end.event(event, now)
    }

    /// The worker's context with the current time and new ids.
    fn ctx(&self) -> Result<Ctx, Error> {
        let caller = &self.surroundings().caller;
        let now = caller.around.now();
        Ok(Ctx { now, ids: caller.around.ids(now)?, ..caller.ctx.clone() })
    }

    /// When to wake up without news.
    fn wake(&self) -> Instant {
        let now = Instant::now();
        let far = now + Duration::from_secs(24 * 60 * 60);
        let pause = self.pause.map(|it| now + it);
        let neighbours = (!self.neighbours.is_empty()).then(|| now + NEIGHBOURS);
        let rested = self.resting.values().min().copied();
        [pause, neighbours, self.due, rested].into_iter().flatten().min().unwrap_or(far)
    }

    /// Whether there is a reason to look, after the time to wake up has come.
    fn is_due(&self) -> bool {
        let around = &self.surroundings().caller.around;
        self.pause.is_some()
            || self.due.is_some_and(|it| it <= Instant::now())
            || self.resting.values().any(|it| *it <= Instant::now())
            || self.neighbours.iter().any(|it| around.has_ended(it))
    }

    fn stop(&mut self) -> Result<(), Fail> {
        let how = match *self.tell_stop.borrow() {
            Stopping::No => Stopping::Gracefully,
            Stopping::Gracefully => Stopping::AtOnce,
            Stopping::AtOnce => {
                // The guardians end all processes as soon as this one is gone.
                return Err(Fail::new(Code::Interrupted, "stopped at once")
                    .hint("the items that were executing are interrupted when their lease ends."));
            }
        };
        self.slots.close();
        self.tell_stop.send_replace(how);
        self.send(Event::Stops(how))
    }

    fn finished(&mut self, finished: Result<Finished, tokio::task::JoinError>) -> Result<(), Fail> {
        let finished =
            finished.map_err(|why| Fail::ours(format!("the execution of an item broke: {why}")))?;
        if let Some(mine) = self.mine.get_mut(&finished.plan) {
            mine.remove(&finished.item);
        }
        if finished.is_broken {
            self.resting.insert((finished.plan, finished.item), Instant::now() + REST);
        }
        *(match finished.how {
            How::Done => &mut self.ended.done,
            How::Failed => &mut self.ended.failed,
            How::HandedBack => &mut self.ended.handed_back,
        }) += 1;
        let Finished { plan_title, item, title, how, why, notes, .. } = finished;
        self.send(Event::Ended {
            plan: &plan_title,
            item,
            title: &title,
            how: how.as_str(),
            why: &why,
        })?;
        notes.iter().try_for_each(|it| self.send(Event::Note(it)))
    }

    /// Handles the result of looking at the store.
    fn looked(&mut self, looked: Result<bool, Error>, news: &mut Option<News>) -> Result<(), Fail> {
        match looked {
            Ok(is_busy) => {
                if self.pause.take().is_some() {
                    self.send(Event::Back)?;
                }
                let is_idle = !is_busy && self.running.is_empty();
                if is_idle && !self.is_idle {
                    self.send(Event::Idle)?;
                }
                self.is_idle = is_idle;
                Ok(())
            }
            // These do not get better by waiting.
            Err(
                error @ (Error::NewerSchema { .. } | Error::ReadOnly(_) | Error::Denied { .. }),
            ) => Err(error.into()),
            Err(error) => {
                *news = None;
                if self.pause.is_none() {
                    self.send(Event::Away(&error.to_string()))?;
                }
                let pause = self.pause.map_or(FIRST_PAUSE, |it| it * 2);
                self.pause = Some(pause.min(LONGEST_PAUSE));
                Ok(())
            }
        }
    }

    /// Looks at all shared plans and takes what it can. Returns whether it took anything.
    async fn look(&mut self, news: &mut Option<News>) -> Result<bool, Error> {
        if news.is_none() {
            // Before the plans are read, so that no change is missed.
            *news = Some(self.store().news().await?);
        }
        self.plans.update().await?;
        let now = Instant::now();
        self.resting.retain(|_, until| *until > now);
        (self.neighbours, self.due) = (Vec::new(), None);
        let (mut took, mut locked) = (false, Vec::new());
        for id in self.plans.order.clone() {
            self.tidy(id).await?;
            let found = self.take_from(id, IfLocked::Skip).await?;
            took |= found.took;
            locked.extend(found.is_locked.then_some(id));
        }
        // If nothing else can be done, plans that others change are worth waiting for.
        for id in locked {
            if took {
                break;
            }
            took = self.take_from(id, IfLocked::Wait).await?.took;
        }
        Ok(took)
    }

    /// Cleans up a plan, and remembers when to look again.
    async fn tidy(&mut self, id: PlanId) -> Result<(), Error> {
        let ctx = self.ctx()?;
        let mine = self.mine.get(&id).cloned().unwrap_or_default();
        let around = Arc::clone(&self.surroundings().caller.around);
        let Some(tracked) = self.plans.all.get_mut(&id) else { return Ok(()) };
        let gone = around::gone(&*around, tracked.live.plan());
        for item in tidy::lapsed(tracked.live.plan(), ctx.now, &gone, &mine) {
            let release = Op::Release(ItemRef::Number(item));
            let ctx = Ctx { gone: gone.clone(), ids: around.ids(ctx.now)?, ..ctx.clone() };
            let is_lapsed = |plan: &Plan| {
                let lapsed = tidy::lapsed(plan, ctx.now, &gone, &mine).contains(&item);
                lapsed.then(|| release.clone()).into_iter().collect()
            };
            match tracked.live.change(&ctx, is_lapsed).await {
                // By the clock of the store, the lease has not ended yet.
                Ok(()) | Err(Error::Refused(_)) => {}
                Err(error) => return self.unless_taken_back(id, error).await,
            }
        }
        let tree = Arc::clone(&tracked.tree);
        match tracked.live.change(&ctx, |plan| tidy::ops(plan, &tree)).await {
            // Somebody else was faster.
            Ok(()) | Err(Error::Refused(_)) => {}
            Err(error) => return self.unless_taken_back(id, error).await,
        }
        let plan = tracked.live.plan();
        self.neighbours.extend(tidy::neighbours(plan, &mine).cloned());
        if let Some(end) = tidy::first_end(plan, &mine) {
            let due = tidy::look_at(end, ctx.now);
            self.due = Some(self.due.map_or(due, |it| it.min(due)));
        }
        Ok(())
    }

    /// The error of a change, unless it failed because the plan is no longer shared: a server lets the role of
    /// a worker change nothing else.
    async fn unless_taken_back(&self, id: PlanId, error: Error) -> Result<(), Error> {
        if !matches!(error, Error::Denied { .. }) {
            return Err(error);
        }
        let shared = self.store().shared(self.options.project.clone()).await?;
        if shared.iter().any(|it| it.id == id) { Err(error) } else { Ok(()) }
    }

    /// Takes items of a plan as long as there are free slots.
    async fn take_from(&mut self, id: PlanId, if_locked: IfLocked) -> Result<Look, Error> {
        let mut look = Look { took: false, is_locked: false };
        let Some(tracked) = self.plans.all.get(&id) else { return Ok(look) };
        if !tracked.live.plan().rules.shared {
            return Ok(look);
        }
        let mut candidates =
            ready::candidates(tracked.live.plan(), &tracked.tree, &self.options.kinds);
        // Somebody may have released an item that this worker still executes.
        let mine = self.mine.get(&id);
        candidates.retain(|it| {
            let is_mine = mine.is_some_and(|mine| mine.contains(&it.number));
            !is_mine && !self.resting.contains_key(&(id, it.number))
        });
        if candidates.is_empty() || self.slots.available_permits() == 0 {
            return Ok(look);
        }
        let name = &self.surroundings().caller.ctx.holder.name;
        spread(&mut candidates, tracked.live.plan(), name);
        let numbers = candidates.iter().map(|it| it.number).collect();
        let publishers = self.store().publishers(id, numbers).await?;
        for candidate in candidates {
            let Some(tracked) = self.plans.all.get(&id) else { break };
            let Some(item) = tracked.live.plan().get(candidate.number).cloned() else { continue };
            let trusted = self.options.trust.check(&publishers, candidate.number);
            let place = match self.judge(&candidate, &item, trusted.as_ref().err()) {
                Ok(directory) => directory,
                Err(why) => {
                    self.skip(id, candidate.number, why)?;
                    continue;
                }
            };
            let Some(slot) = Slot::free(&self.slots) else { break };
            let claim = Claim { candidate, is_trusted: trusted.is_ok(), slot, directory: place };
            match self.claim(id, &item, claim, if_locked).await {
                Ok(Some(taken)) => {
                    self.begin(id, taken)?;
                    look.took = true;
                }
                Ok(None) => {}
                Err(Error::Busy(_)) if if_locked == IfLocked::Skip => {
                    look.is_locked = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(look)
    }

    /// Whether this machine may do an item; returns the directory for its command, or why not.
    /// `publisher` is set if they are not trusted.
    fn judge(
        &self,
        candidate: &Candidate,
        item: &Item,
        publisher: Option<&String>,
    ) -> Result<PathBuf, String> {
        let directory = directory(&self.options.checkout, item)?;
        let permissions = &self.options.permissions;
        if let Some(check) = &item.check
            && let Some(why) = checks::held(
                &permissions.checks,
                check,
                permissions.is_consent_given,
                Reader::Person,
            )
        {
            return Err(why.to_owned());
        }
        let person = self.surroundings().caller.person;
        let own = job(&candidate.task, item, candidate.resumed, person);
        let is_foreign = publisher.is_some();
        let own = Job { asks: own.asks || is_foreign, is_foreign, ..own };
        let judge = Judge { policy: permissions.steps.clone(), below: checks::below(&directory) };
        match (judge.verdict(&own, &candidate.task, item), publisher) {
            (Verdict::Deny(rule), _) => Err(format!("denied by {}", rule.told())),
            (Verdict::Ask(_), Some(publisher)) if publisher.is_empty() => {
                Err("nobody knows who published it, and no rule allows it".to_owned())
            }
            (Verdict::Ask(_), Some(publisher)) => Err(format!(
                "{publisher} published it, whom work.trust does not name, and no rule allows it"
            )),
            (Verdict::Allow, _) | (Verdict::Ask(_), None) => Ok(directory),
        }
    }

    /// Reports once that an item is skipped.
    fn skip(&mut self, id: PlanId, item: Number, why: String) -> Result<(), Error> {
        if !self.skipped.insert((id, item, why.clone())) {
            return Ok(());
        }
        let now = self.surroundings().caller.around.now();
        if let Some(tracked) = self.plans.all.get(&id) {
            let event = Event::Skipped { plan: tracked.live.plan(), item, why: &why };
            self.front_end.event(event, now).map_err(unusable)?;
        }
        Ok(())
    }

    /// Claims an item; `None` if another worker was faster, or if somebody has changed it.
    async fn claim(
        &mut self,
        id: PlanId,
        judged: &Item,
        claim: Claim,
        if_locked: IfLocked,
    ) -> Result<Option<Taken>, Error> {
        let Claim { candidate, is_trusted, slot, directory } = claim;
        let (since, ctx) = (Instant::now(), self.ctx()?);
        let lease = Duration::from_secs(u64::from(ctx.limits.lease_seconds));
        let number = candidate.number;
        let by = || ItemRef::Number(number);
        // The text of an earlier failure goes; that of an interruption stays until it is settled.
        let forgets = judged.outcome.is_some() && !judged.is_interrupted();
        let patch = Patch { outcome: Some(None), ..Patch::default() };
        let forget = forgets.then(|| Op::Edit { item: by(), patch: Box::new(patch) });
        let ops: Vec<Op> = [Op::Start(by())].into_iter().chain(forget).collect();
        let skip_locked = if_locked == IfLocked::Skip;
        let change = Change { skip_locked, ..Change::new(ops, ctx) };
        let applied = match self.store().change(id, change).await {
            Ok(applied) => applied,
            // Another worker was faster, or the item is no longer ready.
            Err(Error::Refused(_) | Error::NoPlan(_)) => return Ok(None),
            Err(error) => return self.unless_taken_back(id, error).await.map(|()| None),
        };
        let store = self.store();
        let Some(tracked) = self.plans.all.get_mut(&id) else { return Ok(None) };
        tracked.live.follow(&applied).await?;
        // The rows of the store count, to which the publisher belongs. The copy was made from the journal,
        // which every worker writes.
        let Some(item) = applied.plan.get(number) else { return Ok(None) };
        let attempt = item.attempt;
        let is_judged = |it: &Item| {
            Commands::of(it) == Commands::of(judged)
                && it.is_interrupted() == judged.is_interrupted()
        };
        let is_same = is_judged(item) && tracked.live.plan().get(number).is_some_and(is_judged);
        if !is_same || !applied.plan.rules.shared {
            let item = ItemRef::Number(number);
            let renew = Op::Renew { item: item.clone(), attempt: Some(attempt) };
            let change = Change::new(vec![renew, Op::Release(item)], self.ctx()?);
            match store.change(id, change).await {
                Ok(_) | Err(Error::Refused(_)) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        let slot = Arc::new(slot);
        let claimed = Claimed { item: number, attempt, is_trusted, lease, since, slot };
        let plan = tracked.live.clone();
        Ok(Some(Taken { plan, claimed, resumed: candidate.resumed, directory }))
    }

    /// Begins to execute a claimed item.
    fn begin(&mut self, id: PlanId, taken: Taken) -> Result<(), Error> {
        let (item, attempt) = (taken.claimed.item, taken.claimed.attempt);
        self.mine.entry(id).or_default().insert(item);
        let now = self.surroundings().caller.around.now();
        let event = Event::Took { plan: taken.plan.plan(), item, attempt };
        self.front_end.event(event, now).map_err(unusable)?;
        self.running.spawn(self.shop.clone().execute(taken));
        Ok(())
    }
}

/// What a worker does with a plan that another process is changing at this moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum IfLocked {
    /// It looks at other plans first.
    Skip,
    Wait,
}

/// The result of a look at a plan.
struct Look {
    /// Whether an item was taken.
    took: bool,
    /// Whether the plan was skipped because it was locked.
    is_locked: bool,
}

/// An item that is about to be claimed.
struct Claim {
    candidate: Candidate,
    is_trusted: bool,
    slot: Slot,
    directory: PathBuf,
}

/// An error of the front end, which ends the worker like an unusable store.
fn unusable(fail: Fail) -> Error {
    Error::ReadOnly(fail.message)
}

/// Lets workers begin at different items of equal priority, so that they do not all try the same one.
fn spread(candidates: &mut [Candidate], plan: &Plan, name: &str) {
    let priority = |it: &Candidate| plan.get(it.number).and_then(|it| it.priority);
    let Some(first) = candidates.first().map(priority) else { return };
    let equal = candidates.iter().take_while(|it| priority(it) == first).count();
    let hash = name
        .bytes()
        .fold(7_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
    if let Some(equal) = candidates.get_mut(..equal).filter(|it| it.len() > 1) {
        let by = hash % equal.len();
        equal.rotate_left(by);
    }
}

/// The directory in which an item's command runs on this machine.
fn directory(checkout: &Path, item: &Item) -> Result<PathBuf, String> {
    let below = planfile::below(item).unwrap_or_default();
    let is_inside = Path::new(below).components().all(|it| matches!(it, Component::Normal(_)));
    let directory = checkout.join(below);
    if is_inside && directory.is_dir() {
        return Ok(directory);
    }
    Err(format!("{} has no directory {below:?}", checkout.display()))
}
