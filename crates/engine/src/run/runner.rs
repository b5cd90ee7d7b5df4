//! The loop of a run: passes the scheduler's events to the board and to the front end, and a
//! person's input to the scheduler.

mod questions;
pub(crate) mod reports;
pub(crate) mod start;

use std::collections::BTreeSet;
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::time::Duration;

use punchlist_model::call::{Asked, News, RunRecord};
use punchlist_model::session::Store;
use punchlist_model::{Actor, Ctx, ItemRef, Mode, Number, Op, Plan, RunId, Timestamp};
use punchlist_sched::call::{CallError, CallId, CancelReason, Live, Outcome, Output, State};
use punchlist_sched::machine::Target;
use punchlist_sched::policy::Policy;
use punchlist_sched::run::{self, Run};
use punchlist_streams::event::Outcome as CallStatus;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};

use super::board::Board;
use super::end::{self, Ended};
use super::front_end::{Event, FrontEnd, Input};
use super::lease::{Lease, Renewal};
use super::ledger::{RunLedger, RunProgress};
use super::lock::Lock;
use super::options::{Options, Permissions, Surroundings};
use super::prepare::earlier_runs::Late;
use super::prepare::{self, Prepared};
use super::printed;
use super::schedule::{Attendance, Schedule, Task, Tree};
use super::steps;
use super::workplace::Workplace;
use crate::fail::{Code, Fail};
use crate::outputs;
use crate::plan_service::LivePlan;
use crate::workers::{sub_lists, worker_session};
use reports::{Report, Reports};
use start::Basis;

/// Runs a prepared plan.
pub(crate) async fn work(
    workplace: &Workplace<'_>,
    options: &Options,
    surroundings: &Surroundings,
    permissions: &Permissions,
    prepared: Prepared,
    lock: &Lock,
    front_end: &mut dyn FrontEnd,
) -> Result<Ended, Fail> {
    let Surroundings { store, caller, .. } = surroundings;
    let Prepared { plan: mut live, mut cannot_run, resumed, late, notes, chosen } = prepared;
    let plan = live.plan();
    cannot_run.extend(prepare::unchecked(permissions, plan, surroundings.caller.person.reader()));
    notes.iter().for_each(|it| front_end.warn(it));
    let tree = Arc::new(Tree::of(plan));
    let is_attended = caller.person.is_there || options.wait;
    let attendance =
        Attendance { person: is_attended, yes: options.yes, answered: late.answered() };
    let schedule = Schedule::build(plan, &tree, &chosen, &attendance, &cannot_run);
    let begun = caller.around.now();
    let id = RunId(caller.around.ids(begun)?.nth(0));
    let mut ctx = prepare::ctx(caller, caller.process.clone());
    if workplace.claimed.is_some() {
        // A worker holds its items under its own name.
        ctx.holder = caller.ctx.holder.clone();
    }
    let record = RunRecord {
        id,
        project: plan.project.clone(),
        plan: Some(plan.id),
        what: workplace.what.clone(),
        process: caller.process.clone(),
        begun_at: begun,
        ended_at: None,
    };
    let printed = printed::earlier(&**store, &surroundings.outputs(), plan, &schedule).await?;
    store.begin_run(record).await?;
    let jobs = options.jobs.get();
    let how = vec![
        if jobs == 1 { "1 job".to_owned() } else { format!("{jobs} jobs") },
        format!("plan {}", plan.id.short()),
    ];
    let mut board = Board::new(plan, &tree, &schedule, how, begun.as_millisecond());
    let spots = workplace.file.map(|it| it.spots(plan)).unwrap_or_default();
    let mut jobs = start::jobs(&schedule, plan, &resumed, caller.person);
    let claimed = workplace.claimed.as_ref();
    if claimed.is_some_and(|it| !it.is_trusted) {
        jobs.values_mut().for_each(|it| (it.asks, it.is_foreign) = (true, true));
    }
    close_finished_groups(&mut live, &tree, &mut board, &ctx).await?;
    let items: Arc<Vec<Number>> = Arc::new(schedule.planned.iter().map(|it| it.number).collect());
    let (reports, received) = Reports::channel();
    let ledger = RunLedger {
        store: Arc::clone(store),
        around: Arc::clone(&caller.around),
        run: id,
        items: Arc::clone(&items),
        tree,
        plan: live.clone(),
        reports: reports.clone(),
        ctx: ctx.clone(),
        spots,
        printed,
        progress: claimed.map(|it| RunProgress::holding(it.item)).unwrap_or_default(),
        claimed: claimed.map(|it| (it.item, it.attempt)),
    };
    let lease = claimed.map(|it| {
        let (store, around) = (Arc::clone(store), Arc::clone(&caller.around));
        Lease::keep(Renewal { store, around, plan: live.plan().id, ctx: ctx.clone() }, it)
    });
    let policy = &permissions.steps;
    let basis = Basis { workplace, surroundings, policy, plan: live.plan(), ctx: &ctx, run: id };
    let place = start::place(&basis, jobs, reports, lease.as_ref());
    let runner = Runner {
        workplace,
        options,
        surroundings,
        front_end,
        run: id,
        plan: live,
        reports: received,
        board,
        items,
        begun: BTreeSet::new(),
        schedule,
        ctx,
        late,
        is_attended,
        policy: policy.clone(),
        waiting: Vec::new(),
        stopping: 0,
        outputs: Vec::new(),
        notes: Vec::new(),
        listed: None,
    };
    runner.run(&place, lock, ledger).await
}

/// Completes groups whose sub-items were all closed before the run.
async fn close_finished_groups(
    plan: &mut LivePlan,
    tree: &Tree,
    board: &mut Board,
    ctx: &Ctx,
) -> Result<(), Fail> {
    let groups = tree.finished_groups(plan.plan());
    let done = |it: &Number| Op::Complete {
        item: ItemRef::Number(*it),
        outcome: None,
        with_children: false,
    };
    plan.change(ctx, |plan| tree.finished_groups(plan).iter().map(done).collect()).await?;
    groups.iter().for_each(|it| board.done(*it, None, ctx.now.as_millisecond()));
    Ok(())
}

/// A run in progress.
struct Runner<'a> {
    workplace: &'a Workplace<'a>,
    options: &'a Options,
    surroundings: &'a Surroundings,
    front_end: &'a mut dyn FrontEnd,
    run: RunId,
    plan: LivePlan,
    /// Reports from the ledger and the tools.
    reports: UnboundedReceiver<Report>,
    board: Board,
    /// The item of each call.
    items: Arc<Vec<Number>>,
    /// Items that this run has in progress.
    begun: BTreeSet<Number>,
    schedule: Schedule,
    ctx: Ctx,
    /// Questions of earlier runs.
    late: Late,
    /// Whether somebody answers questions, here or elsewhere.
    is_attended: bool,
    /// The policy at the start of the run.
    policy: Policy,
    /// Waiting questions, oldest first.
    waiting: Vec<Asked>,
    /// How often a stop was requested.
    stopping: u32,
    /// The outputs of failed items.
    outputs: Vec<(Number, Output)>,
    /// Notes for a person.
    notes: Vec<String>,
    /// The revision of the plan that the front end was told last.
    listed: Option<u64>,
}

impl Runner<'_> {
    async fn run(
        mut self,
        place: &Arc<steps::Place>,
        lock: &Lock,
        ledger: RunLedger,
    ) -> Result<Ended, Fail> {
        let is_attended = self.is_attended || self.options.yes;
        let attended = start::attended(is_attended, &self.schedule, &self.late.answered());
        let (jobs, policy) = (self.options.jobs.get(), self.policy.clone());
        let options = start::options(jobs, policy, attended, self.run, self.surroundings)?;
        let run = Run::builder(start::tools(place)?)
            .options(options)
            .processes(start::processes(lock, self.surroundings))
            .ledger(ledger)
            .start();
        let mut events = run.subscribe();
        let mut news: Option<News> = None;
        self.begin()?;
        if !self.schedule.planned.is_empty() {
            let requests =
                start::requests(self.options.on_failure, &self.schedule, self.plan.plan());
            for (item, it) in Arc::clone(&self.items).iter().zip(&requests) {
                let (tool, arguments) = (&*it.tool, &it.arguments);
                self.send(Event::Planned { item: *item, tool, arguments })?;
            }
            // If the run is over already, its error is reported below.
            drop(run.schedule(start::batch(&self.schedule, requests)).await);
            // A third of the lease: two attempts may fail.
            let pause = Duration::from_secs(u64::from(self.ctx.limits.lease_seconds)) / 3;
            let mut renew = Instant::now() + pause;
            loop {
                // Changes in the store only matter while a question waits for an answer. They
                // include the run's own changes, so the run does not subscribe while nothing is
                // asked.
                if self.waiting.is_empty() {
                    news = None;
                } else if news.is_none() {
                    news = Some(self.store().news().await?);
                    self.read_answers(&run).await?;
                }
                tokio::select! {
                    event = events.next() => {
                        // Reports of the ledger and of workers are handled before the event that a
                        // call ended.
                        self.read_reports().await?;
                        match event {
                            Some(run::Event::BatchDone(_)) | None => break,
                            Some(event) => self.happened(event, &run).await?,
                        }
                    }
                    Some(report) = self.reports.recv() => self.take(report).await?,
                    input = self.front_end.input() => self.input(input?, &run).await?,
                    () = changed(news.as_mut()) => self.read_answers(&run).await?,
                    () = sleep_until(renew) => {
                        renew = Instant::now() + pause;
                        self.renew().await?;
                    }
                }
            }
        }
        run.shut_down(CancelReason::Asked(None));
        let ended = run.ended().await;
        self.end(ended).await
    }

    fn store(&self) -> &dyn Store {
        &*self.surroundings.store
    }

    fn now(&self) -> Timestamp {
        self.surroundings.caller.around.now()
    }

    /// The context with the current time and new ids.
    fn ctx_now(&self) -> Result<Ctx, Fail> {
        let now = self.now();
        let ids = self.surroundings.caller.around.ids(now)?;
        Ok(Ctx { now, ids, ..self.ctx.clone() })
    }

    fn send(&mut self, event: Event<'_>) -> Result<(), Fail> {
        let now = self.now();
        self.front_end.event(event, &self.board, now)
    }

    /// Sends the events before anything runs.
    fn begin(&mut self) -> Result<(), Fail> {
        let (directory, name) = (&*self.workplace.directory, &*self.workplace.name);
        self.send(Event::Begins { run: self.run, directory, name })?;
        self.list()?;
        let held: Vec<Number> = self.schedule.held.keys().copied().collect();
        for item in held {
            self.send(Event::Held(item))?;
        }
        self.draw()
    }

    fn item(&self, call: CallId) -> Option<Number> {
        self.items.get(usize::try_from(call.0).ok()?).copied()
    }

    fn title(&self, call: CallId) -> String {
        let item = self.item(call).and_then(|it| self.plan.plan().get(it));
        item.map(|it| it.title.clone()).unwrap_or_default()
    }

    async fn happened(&mut self, event: run::Event, run: &Run) -> Result<(), Fail> {
        match event {
            run::Event::Moved { call, state } => {
                if let Some(item) = self.item(call) {
                    self.moved(item, state)?;
                }
                self.list()
            }
            run::Event::Asked(asked) => self.asked(&asked, run).await,
            run::Event::Output { call, line, .. } => {
                if let Some(item) = self.item(call) {
                    self.board.says(item, &line.text);
                    let title = self.title(call);
                    self.send(Event::Printed { title: &title, line: &line.text })?;
                }
                Ok(())
            }
            run::Event::Lost { lines } => self.send(Event::Lost(lines)),
            run::Event::BatchDone(_) => Ok(()),
        }
    }

    fn moved(&mut self, item: Number, state: State) -> Result<(), Fail> {
        let now = self.now().as_millisecond();
        match state {
            State::Live(Live::Validating { .. } | Live::AwaitingApproval { .. }) => Ok(()),
            State::Live(Live::Scheduled { again_at: Some(at), .. }) => {
                let wait = at.as_millisecond().saturating_sub(now).max(0) / 1_000;
                self.board.waits(item, &format!("failed; tried again in {wait} s"));
                self.send(Event::Retries(item))
            }
            State::Live(Live::Scheduled { again_at: None, .. }) => {
                self.send(Event::Scheduled(item))
            }
            State::Live(Live::Executing { stopping: Some(_), .. }) => {
                self.board.says(item, "stopping");
                self.send(Event::Stops(item))
            }
            State::Live(Live::Executing { stopping: None, .. }) => {
                self.begun.insert(item);
                self.board.begins(item, now);
                self.send(Event::Starts(item))
            }
            State::Done(outcome) => {
                self.begun.remove(&item);
                let (status, text) = self.ended(item, &outcome, now);
                self.send(Event::Completed { item, status, text: &text })
            }
        }
    }

    /// Updates the board after an item's call has ended. Returns the status and the text for the
    /// event.
    fn ended(&mut self, item: Number, outcome: &Outcome, now: i64) -> (CallStatus, String) {
        match outcome {
            Outcome::Success(output) => {
                let plan = self.plan.plan();
                let (done, parents) = (plan.get(item), end::closed_above(plan, item));
                let level = done.and_then(|it| it.evidence_level());
                let title = done.map(|it| it.title.clone()).unwrap_or_default();
                let printed = printed::of(&title, output);
                printed.into_iter().for_each(|it| self.board.printed(item, it));
                if output.whole.is_some() {
                    outputs::tidy(&self.surroundings.outputs(), self.now());
                }
                self.board.done(item, level, now);
                parents.into_iter().for_each(|it| self.board.done(it, None, now));
                (CallStatus::Success, output.text.clone())
            }
            Outcome::Error(error) => self.erred(item, error, now),
            Outcome::Cancelled { reason: CancelReason::Refused(reason), .. }
                if !self.is_by_hand(item) =>
            {
                self.board.refused(item, reason.clone(), now);
                (CallStatus::Cancelled, CancelReason::Refused(reason.clone()).to_string())
            }
            Outcome::Cancelled { reason, output } => {
                let words = match reason {
                    // The answer that a manual step is not done yet is no refusal.
                    CancelReason::Refused(said) => {
                        said.clone().unwrap_or_else(|| "not done yet".to_owned())
                    }
                    CancelReason::Dependency(call) => format!("after {}", self.title(*call)),
                    CancelReason::Halted(call) => {
                        format!("not begun: {} failed", self.title(*call))
                    }
                    CancelReason::Beside(call) => {
                        format!("stopped: {} was refused", self.title(*call))
                    }
                    CancelReason::Declined(_) | CancelReason::Interrupted => reason.to_string(),
                    CancelReason::Asked(why) => why.clone().unwrap_or_else(|| "stopped".to_owned()),
                };
                self.board.left(item, words.clone(), now);
                (CallStatus::Cancelled, with_output(words, output.as_deref()))
            }
        }
    }

    /// Whether a person does the item.
    fn is_by_hand(&self, item: Number) -> bool {
        let task = self.schedule.planned.iter().find(|it| it.number == item).map(|it| &it.task);
        task == Some(&Task::ByHand)
    }

    fn erred(&mut self, item: Number, error: &CallError, now: i64) -> (CallStatus, String) {
        let words = error.to_string();
        let output = match error {
            CallError::Failed { output, .. } | CallError::TimedOut { output, .. } => {
                (**output).clone()
            }
            CallError::NobodyToAsk(_) => {
                self.board.left(item, words.clone(), now);
                return (CallStatus::Error, words);
            }
            CallError::Denied(rule) => {
                self.board.denied(item, rule, now);
                return (CallStatus::Error, words);
            }
            CallError::Invalid(_)
            | CallError::Unknown(_)
            | CallError::Forgotten(_)
            | CallError::Circle(_)
            | CallError::Panicked(_) => Output::default(),
        };
        self.board.failed(item, &words, output.whole.clone(), now);
        self.outputs.push((item, output.clone()));
        (CallStatus::Error, with_output(words, Some(&output)))
    }

    /// Handles the reports that have come in.
    async fn read_reports(&mut self) -> Result<(), Fail> {
        while let Ok(report) = self.reports.try_recv() {
            self.take(report).await?;
        }
        Ok(())
    }

    async fn take(&mut self, report: Report) -> Result<(), Fail> {
        match report {
            Report::Changed(applied) => Ok(self.plan.follow(&applied).await?),
            Report::LeftToOthers(item, said) => {
                self.notes.push(format!("item {item} is left as it is: {said}"));
                Ok(())
            }
            Report::Note(note) => {
                self.notes.push(note);
                Ok(())
            }
            Report::Session(item, session) => {
                self.keep(item, |_, _| vec![worker_session::noted(item, &session)]).await
            }
            Report::List(item, list) => {
                self.keep(item, |plan, agent| sub_lists::ops(plan, item, agent, &list)).await
            }
        }
    }

    /// Stores what is known of the agent that does an item: its session, or its own list as entries
    /// under the item.
    async fn keep(
        &mut self,
        item: Number,
        ops: impl Fn(&Plan, &str) -> Vec<Op>,
    ) -> Result<(), Fail> {
        let agent = self.plan.plan().get(item).and_then(|it| it.agent_type.clone());
        let agent = agent.unwrap_or_default();
        // The run holds what its worker has in progress, so a kill of the run frees both.
        let ctx =
            Ctx { actor: Actor::agent(agent.clone()), mode: Mode::Recorded, ..self.ctx_now()? };
        self.plan.change(&ctx, |plan| ops(plan, &agent)).await?;
        // The item may have ended meanwhile.
        let ctx = Ctx { ids: self.ctx_now()?.ids, ..ctx };
        self.plan.change(&ctx, |plan| sub_lists::overtaken(plan, item, &agent)).await?;
        self.list()
    }

    /// Sends the plan to the front end, if it has changed.
    fn list(&mut self) -> Result<(), Fail> {
        let (plan, now) = (self.plan.plan(), self.now());
        if self.listed.replace(plan.revision.0) == Some(plan.revision.0) {
            return Ok(());
        }
        self.front_end.event(Event::Plan(plan), &self.board, now)
    }

    async fn input(&mut self, input: Input, run: &Run) -> Result<(), Fail> {
        match input {
            Input::Answer(id, answer) => self.answer_here(id, answer, run).await,
            Input::Stop => self.stop(run).await,
            Input::Draw => self.draw(),
        }
    }

    async fn stop(&mut self, run: &Run) -> Result<(), Fail> {
        self.stopping += 1;
        if self.stopping > 1 {
            // The guardian ends all processes as soon as this one is gone.
            return Err(Fail::new(Code::Interrupted, "stopped at once")
                .hint("run it again to go on; what was under way is verified or asked about."));
        }
        self.draw()?;
        let reason = CancelReason::Asked(Some("stopped".to_owned()));
        // A run that is over has nothing to stop.
        run.cancel(Target::All, reason).await.ok();
        Ok(())
    }

    /// Renews the leases of the items in progress, one by one, so that an item that has ended or
    /// was taken by another worker does not affect the others. The lease of a claimed item is renewed
    /// elsewhere.
    async fn renew(&mut self) -> Result<(), Fail> {
        if self.workplace.claimed.is_some() {
            return Ok(());
        }
        for item in self.begun.clone() {
            let ctx = self.ctx_now()?;
            let item = ItemRef::Number(item);
            let renew = |_: &Plan| vec![Op::Renew { item: item.clone(), attempt: None }];
            // If another worker has taken the item, this shows when it ends.
            drop(self.plan.change(&ctx, renew).await);
        }
        Ok(())
    }

    fn draw(&mut self) -> Result<(), Fail> {
        let now = self.now();
        self.board.progress = self.plan.plan().progress();
        self.front_end.draw(&self.board, now)
    }

    /// Ends the run: stores its end, cleans up, and returns the result.
    async fn end(mut self, ended: Result<(), run::Error>) -> Result<Ended, Fail> {
        self.read_reports().await?;
        let now = self.now();
        self.board.progress = self.plan.plan().progress();
        self.send(Event::Over)?;
        ended.map_err(|why| end::broken(&why))?;
        self.store().end_run(self.run, now).await?;
        let directory = self.surroundings.outputs();
        outputs::ended(&directory, self.run);
        outputs::tidy(&directory, now);
        self.list()?;
        let (plan, mut notes) = (self.plan.plan().clone(), self.notes);
        if let Some(file) = self.workplace.file.filter(|_| self.options.write_back) {
            notes.extend(end::write_back(file, &plan)?);
        }
        Ok(Ended {
            sum: self.board.sum(),
            aim: end::aim(&plan, now, self.surroundings.caller.person.reader()),
            plan,
            outputs: self.outputs,
            notes,
            is_idle: self.items.is_empty(),
            is_stopped: self.stopping > 0,
        })
    }
}

/// Waits for a change in the store; for ever without a subscription.
async fn changed(news: Option<&mut News>) {
    match news {
        Some(news) => drop(poll_fn(|context| news.as_mut().poll_next(context)).await),
        None => pending().await,
    }
}

/// Waits for news of the store. Returns whether there will be more.
pub(crate) async fn heard(news: Option<&mut News>) -> bool {
    match news {
        Some(news) => {
            matches!(poll_fn(|context| news.as_mut().poll_next(context)).await, Some(Ok(())))
        }
        None => pending().await,
    }
}

/// How a call ended, followed by its output.
fn with_output(words: String, output: Option<&Output>) -> String {
    match output.filter(|it| !it.text.is_empty()) {
        Some(output) => format!("{words}\n{}", output.text),
        None => words,
    }
}
