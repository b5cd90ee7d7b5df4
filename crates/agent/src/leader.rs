//! A session that the program of another agent leads: Claude Code, Codex or Gemini CLI, as the user has
//! it, with its own account and settings.
//!
//! The program runs headless, with the plan tools and the hooks that its caller gives it. Its stream
//! becomes the events of a session ([`Event`]), so every front end shows it like a session of our own. The
//! plan comes from the store, where the program's calls and hooks write it; the hooks also refuse an early
//! end. `record` stores the session among those of our own agent.

pub mod options;
mod record;
mod translate;

use std::ffi::OsString;
use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use jiff::Zoned;
use jiff::tz::TimeZone;
use punchlist_engine::fail::Fail;
use punchlist_engine::tool_service::{self, Caller};
use punchlist_engine::workers::{Agent, Ended as StreamEnd, WorkerStream, lead};
use punchlist_engine::{Around, Engine, Which, around};
use punchlist_formats::text::{mask, one_line};
use punchlist_model::goal::Goal;
use punchlist_model::guard::Turn;
use punchlist_model::store::turns::{Conversation, ConversationState, Used};
use punchlist_model::store::{Change, Cursor, Error, Following, Scope};
use punchlist_model::{
    Actor, Ctx, Item, Op, Plan, PlanPatch, Process, SessionKey, Status, Timestamp,
};
use punchlist_sched::Processes;
use punchlist_sched::output::Stream;
use punchlist_sched::process::{Command, Exit};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

use crate::session::{Allowance, Budget, Ended, Event, FrontEnd, Input, day_reached};
use crate::turn::{Abort, Ending};
use crate::workers::{WorkerEnd, used};
pub use record::LedBy;
use record::{LedRecord, stop_asked};
use translate::Translator;

/// How often a usage limit is waited for.
const MOST_WAITS: u32 = 20;
/// The prompt after a usage limit.
const GO_ON: &str = "The usage limit is over. Go on with the task.";
/// How often the budget of the day is looked at while the program says nothing.
const DAY_LOOK: Duration = Duration::from_secs(60);
/// How many bytes of standard error are kept, for when the program fails.
const KEPT: usize = 8 << 10;

/// Makes the command line of the program, the program first: for a new session or for the one with this id,
/// with this prompt.
pub type CommandLine = Arc<dyn Fn(Option<&str>, &str) -> Vec<String> + Send + Sync>;

/// What a led session needs.
pub struct Leader {
    /// The program that leads.
    pub program: LeadingProgram,
    /// Where it works, and for whom.
    pub place: LeaderPlace,
    /// The plan to work on, if it is not a new one.
    pub plan: Option<Which>,
    /// What must be true in the end: the goal of the plan, if the plan has none.
    pub goal: Option<String>,
    /// The stored session to go on with, if it is not a new one.
    pub continues: Option<Conversation>,
    /// What may be used.
    pub budget: Budget,
    /// Whether the session waits when a usage limit is reached.
    pub wait_for_quota: bool,
}

/// The program of an agent that leads a session.
pub struct LeadingProgram {
    /// The agent.
    pub agent: Agent,
    /// The command line of its program.
    pub command_line: CommandLine,
    /// The model that the user chose, as the program names it.
    pub model: Option<String>,
    /// The environment of its program.
    pub environment: Vec<(OsString, OsString)>,
    /// Starts it.
    pub processes: Processes,
}

/// Where a led session runs, and for whom.
pub struct LeaderPlace {
    /// The engine, which has the store.
    pub engine: Engine,
    /// Clock and ids.
    pub around: Arc<dyn Around>,
    /// The time zone in which programs say when a limit ends.
    pub time_zone: TimeZone,
    /// The project.
    pub project: String,
    /// The directory that the program works in.
    pub directory: PathBuf,
    /// This process.
    pub process: Option<Process>,
    /// Who set the goal.
    pub person: Actor,
}

/// A led session that is over.
#[derive(Clone, Debug)]
pub struct Led {
    /// How it ended.
    pub ended: Ended,
    /// The program's id of it, if it got that far.
    pub session: Option<String>,
    /// What the program said last on standard error or as errors, if it failed.
    pub said: String,
}

impl Leader {
    /// Lets the program work on the user's request until it is done. `prompt` is what the program is told.
    pub async fn lead(
        &self,
        request: &str,
        prompt: &str,
        front: &mut dyn FrontEnd,
    ) -> Result<Led, Fail> {
        let store = self.place.engine.store();
        let minutes = self.budget.run.minutes.map(|it| Duration::from_secs(it.saturating_mul(60)));
        let record = self.record_of_stored(request).await?;
        let led_by = self.continues.as_ref().and_then(LedBy::of);
        let mut work = LedWork {
            leader: self,
            request,
            record,
            translator: Translator::default(),
            has_answered: led_by.is_some(),
            session: led_by.map(|it| it.session),
            shown: None,
            refusals: 0,
            earlier: Used::default(),
            used: Used::default(),
            counted: Used::default(),
            abort: None,
            deadline: minutes.and_then(|it| Instant::now().checked_add(it)),
            looks_at_day: day_look(&self.budget.day),
            changes: Some(store.follow(Cursor::Now, Scope::All).await?),
        };
        work.refusals = work.refused().await?;
        work.show_plan(front).await?;
        let mut prompt = prompt.to_owned();
        let mut waits = 0;
        let (ending, answer, said) = loop {
            if let Some(why) = work.day_reached().await? {
                work.abort = Some(Abort::Budget(why));
                break (work.ending(WorkerEnd::Cancelled), String::new(), String::new());
            }
            let command = self.command(work.session.as_deref(), &prompt);
            let ran = work.run(command, front).await?;
            let end = work.end(&ran);
            if let (WorkerEnd::UsageLimit { until: Some(until) }, None) = (&end, &work.abort)
                && self.wait_for_quota
                && waits < MOST_WAITS
            {
                waits += 1;
                let on = format!("the usage limit of {}", self.program.agent.title());
                front.event(Event::Waiting { until: Some(*until), on: on.clone() });
                let state = ConversationState::Waiting { until: Some(*until), on: on.clone() };
                work.set_state(state).await?;
                work.mark_waiting(Some(&on)).await?;
                work.wait(*until, front).await?;
                work.mark_waiting(None).await?;
                work.set_state(ConversationState::Working).await?;
                if work.abort.is_none() {
                    work.abort = work.over_budget().map(Abort::Budget);
                }
                if work.abort.is_none() {
                    work.leave_unanswered().await?;
                    if work.session.is_some() {
                        GO_ON.clone_into(&mut prompt);
                    }
                    continue;
                }
            }
            let said = [ran.stream.errors.join("\n"), ran.stderr.clone()].join("\n");
            break (work.ending(end), ran.stream.answer, mask(&said).trim().to_owned());
        };
        if ending == Ending::Answered {
            let over = work.over_budget().map(|why| format!("over the budget: {why}"));
            let over = match over {
                Some(over) => Some(over),
                None => work.day_reached().await?,
            };
            if let Some(over) = over {
                front.event(Event::Info(over));
            }
        }
        work.release().await?;
        work.show_plan(front).await?;
        let LedWork { session, record, shown, used, .. } = work;
        let is_open = shown.as_ref().is_some_and(|it| it.listed().iter().any(|it| it.is_open()));
        let ending = if ending == Ending::Answered && is_open { Ending::LetGo } else { ending };
        let ended = Ended { ending, answer, citations: Vec::new(), plan: shown, used };
        if let Some(mut record) = record {
            record.set_plan(ended.plan.as_ref().map(|it| it.id));
            record.end(&ended).await?;
        }
        front.event(Event::Ended(Box::new(ended.clone())));
        Ok(Led { ended, session, said })
    }
}

impl Leader {
    /// Records the next turn of the stored session, if there is one.
    async fn record_of_stored(&self, request: &str) -> Result<Option<LedRecord>, Fail> {
        let Some(stored) = &self.continues else { return Ok(None) };
        let Some(led_by) = LedBy::of(stored) else {
            return Err(Fail::ours("a session of our own agent has no other leader"));
        };
        LedRecord::open(self, stored, led_by, request).await.map(Some)
    }

    fn command(&self, session: Option<&str>, prompt: &str) -> Command {
        let mut words = (self.program.command_line)(session, prompt).into_iter();
        let program = words.next().unwrap_or_default();
        Command {
            arguments: words.map(OsString::from).collect(),
            environment: self.program.environment.clone(),
            apart: true,
            ..Command::new(program, &self.place.directory)
        }
    }
}

/// A program that ran to its end.
struct Ran {
    exit: Result<Exit, String>,
    stream: StreamEnd,
    stderr: String,
}

/// The state of a led session.
struct LedWork<'a> {
    leader: &'a Leader,
    /// What the user wants.
    request: &'a str,
    /// Records the session, once the program's id of it is known.
    record: Option<LedRecord>,
    translator: Translator,
    /// The program's id of the session.
    session: Option<String>,
    /// Whether its model has answered.
    has_answered: bool,
    /// The plan as it was last shown.
    shown: Option<Plan>,
    /// How many refused stops were shown.
    refusals: u32,
    /// What earlier runs of the program have used.
    earlier: Used,
    /// What all have used.
    used: Used,
    /// What is recorded of that.
    counted: Used,
    /// Why the program was ended, if it was.
    abort: Option<Abort>,
    /// When the minutes are over.
    deadline: Option<Instant>,
    /// Looks at the budget of the day, which other sessions use too.
    looks_at_day: Option<Interval>,
    /// The changes of all plans, until they cannot be followed.
    changes: Option<Following>,
}

impl LedWork<'_> {
    /// Runs the program to its end. It is ended when the user or the budget ends the session.
    async fn run(&mut self, command: Command, front: &mut dyn FrontEnd) -> Result<Ran, Fail> {
        let title = self.leader.program.agent.title();
        let running = self.leader.program.processes.spawn(command).await;
        let running =
            running.map_err(|why| Fail::usage(format!("{title} did not start: {why}")))?;
        let stopper = running.stopper();
        let (sender, mut pieces) = unbounded_channel();
        let mut finish = pin!(running.finish(move |from, bytes| {
            // The receiver lives as long as this.
            sender.send((from, bytes.to_vec())).ok();
        }));
        let directory = self.leader.place.directory.to_string_lossy();
        let mut stream = WorkerStream::new(self.leader.program.agent, &directory);
        let mut stderr = Vec::new();
        let exit = loop {
            let is_aborted = self.abort.is_some();
            tokio::select! {
                biased;
                Some((from, bytes)) = pieces.recv() => {
                    self.heard(from, &bytes, &mut stream, &mut stderr, front).await?;
                }
                exit = &mut finish => break exit,
                abort = aborted(front, self.deadline), if !is_aborted => {
                    self.abort = Some(abort.unwrap_or_else(|| self.time_is_over()));
                }
                stopped = stop_asked(self.record.as_mut()), if !is_aborted => {
                    stopped?;
                    self.abort = Some(Abort::User);
                }
                () = tick(self.looks_at_day.as_mut()), if !is_aborted && !stream.is_over() => {
                    self.abort = self.day_reached().await?.map(Abort::Budget);
                }
                is_ours = changed(self.changes.as_mut(), self.shown.as_ref()) => match is_ours {
                    Some(true) => {
                        self.show_refusal(front).await?;
                        self.show_plan(front).await?;
                    }
                    Some(false) => {}
                    None => self.changes = None,
                },
            }
            if self.abort.is_some() && !is_aborted {
                stopper.stop();
            }
        };
        while let Ok((from, bytes)) = pieces.try_recv() {
            self.heard(from, &bytes, &mut stream, &mut stderr, front).await?;
        }
        let code = exit.as_ref().ok().and_then(|it| it.code);
        let stream = stream.end(code);
        // The end of the stream may tell more.
        self.earlier += used(stream.usage);
        self.used = self.earlier;
        self.count().await?;
        let exit = exit.map_err(|why| why.to_string());
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        Ok(Ran { exit, stream, stderr })
    }

    async fn heard(
        &mut self,
        from: Stream,
        bytes: &[u8],
        stream: &mut WorkerStream,
        stderr: &mut Vec<u8>,
        front: &mut dyn FrontEnd,
    ) -> Result<(), Fail> {
        if from == Stream::Err {
            stderr.extend_from_slice(bytes);
            if stderr.len() > 2 * KEPT {
                stderr.drain(..stderr.len() - KEPT);
            }
            return Ok(());
        }
        let mut events = Vec::new();
        stream.push_telling(bytes, &mut |event| self.translator.translate(event, &mut events));
        if self.session.is_none() {
            self.session = stream.session().map(str::to_owned);
            if let Some(session) = &self.session {
                self.record = Some(LedRecord::create(self.leader, session, self.request).await?);
            }
        }
        self.show_refusal(front).await?;
        if !events.is_empty() {
            // What the text is about is shown before it.
            self.show_plan(front).await?;
        }
        for event in events {
            self.has_answered |= matches!(event, Event::Text(_) | Event::CallStarted(_));
            front.event(event);
        }
        self.used = self.earlier;
        self.used += used(stream.usage());
        let is_more = self.used != self.counted;
        self.count().await?;
        if self.abort.is_none() && !stream.is_over() {
            self.abort = self.over_budget().map(Abort::Budget);
            if self.abort.is_none() && is_more {
                self.abort = self.day_reached().await?.map(Abort::Budget);
            }
        }
        Ok(())
    }

    /// Leaves a session that the program cannot go on with; the next run begins another.
    async fn leave_unanswered(&mut self) -> Result<(), Fail> {
        let agent = self.leader.program.agent;
        if self.has_answered || lead::goes_on_unanswered(agent) {
            return Ok(());
        }
        self.session = None;
        let Some(record) = self.record.take() else { return Ok(()) };
        let why = format!("{} reached its usage limit and began a new session", agent.title());
        let ended = Ended {
            ending: Ending::Failed(why),
            answer: String::new(),
            citations: Vec::new(),
            plan: None,
            used: Used::default(),
        };
        record.end(&ended).await
    }

    /// Records what the session does now, if it is recorded.
    async fn set_state(&mut self, state: ConversationState) -> Result<(), Fail> {
        let Some(record) = &mut self.record else { return Ok(()) };
        record.set_plan(self.shown.as_ref().map(|it| it.id));
        record.set_state(state).await
    }

    /// Which budget of the day is used up.
    async fn day_reached(&self) -> Result<Option<String>, Fail> {
        let Leader { place: LeaderPlace { engine, around, .. }, budget, .. } = self.leader;
        day_reached(&budget.day, &**engine.store(), &**around, None).await
    }

    /// Records what was used since the last time, if the session is recorded.
    async fn count(&mut self) -> Result<(), Fail> {
        let more = self.used.beyond(self.counted);
        let Some(record) = self.record.as_mut().filter(|_| more != Used::default()) else {
            return Ok(());
        };
        record.count(more).await?;
        self.counted += more;
        Ok(())
    }

    /// Which allowance is used up, without the minutes.
    fn over_budget(&self) -> Option<String> {
        self.leader.budget.run.reached(&self.used, 0)
    }

    fn time_is_over(&self) -> Abort {
        let minutes = self.leader.budget.run.minutes.unwrap_or_default();
        let why = self.leader.budget.run.reached(&self.used, minutes);
        Abort::Budget(why.unwrap_or_else(|| format!("{minutes} minutes are over")))
    }

    /// The session's key, once its id is known.
    fn key(&self) -> Option<SessionKey> {
        let agent = self.leader.program.agent.as_str().to_owned();
        Some(SessionKey { agent, id: self.session.clone()? })
    }

    /// The plan that the session works on.
    async fn plan(&self) -> Result<Option<Plan>, Fail> {
        let Leader { place: LeaderPlace { engine, project, .. }, plan, .. } = self.leader;
        let store = engine.store();
        let id = match (self.key(), plan) {
            (Some(key), plan) => {
                let caller =
                    Caller { plan: plan.clone(), ..Caller::new(key.attachment(project, "")) };
                tool_service::current(&**store, &caller).await?
            }
            (None, Some(plan)) => engine.plan(plan.clone()).await?.map(|it| it.id()),
            (None, None) => None,
        };
        match id {
            Some(id) => Ok(Some(store.whole(id).await?)),
            None => Ok(None),
        }
    }

    /// Shows the plan if it has changed.
    async fn show_plan(&mut self, front: &mut dyn FrontEnd) -> Result<(), Fail> {
        let Some(mut now) = self.plan().await? else { return Ok(()) };
        if self.shown.is_none() && self.set_goal(&now).await? {
            now = self.leader.place.engine.store().whole(now.id).await?;
        }
        let before = self.shown.take().filter(|it| it.id == now.id);
        let is_new = before.as_ref().is_none_or(|it| it.revision != now.revision);
        if is_new && !(before.is_none() && now.listed().is_empty()) {
            let before = before.map(Box::new);
            front.event(Event::Plan { before, now: Box::new(now.clone()) });
        }
        self.shown = Some(now);
        Ok(())
    }

    /// Gives the plan the user's goal, if it has none. Returns whether it has changed.
    async fn set_goal(&self, plan: &Plan) -> Result<bool, Fail> {
        let Leader { place: LeaderPlace { engine, around, person, .. }, goal, .. } = self.leader;
        let Some(goal) = goal.as_ref().filter(|_| plan.goal.is_none()) else { return Ok(false) };
        let goal = Goal { statement: goal.trim().to_owned(), ..Goal::default() };
        let patch = PlanPatch { goal: Some(Some(goal)), ..PlanPatch::default() };
        let now = around.now();
        let ctx =
            Ctx { actor: person.clone(), ..Ctx::new(person.name.clone(), now, around.ids(now)?) };
        let change = Change::new(vec![Op::Plan(Box::new(patch))], ctx);
        engine.store().change(plan.id, change).await?;
        Ok(true)
    }

    /// Shows that the hooks refused the end of the turn, if they did since the last look.
    async fn show_refusal(&mut self, front: &mut dyn FrontEnd) -> Result<(), Fail> {
        let refusals = self.refused().await?;
        if refusals > self.refusals {
            if self.shown.is_none() {
                self.show_plan(front).await?;
            }
            let listed = self.shown.as_ref().map(|it| it.listed()).unwrap_or_default();
            let open = listed.iter().filter(|it| it.is_open()).count();
            front.event(Event::Refused { open, refusal: refusals });
        }
        self.refusals = refusals;
        Ok(())
    }

    /// How often the hooks have refused the end of the turn; 0 before the first time.
    async fn refused(&self) -> Result<u32, Fail> {
        let Some(key) = self.key() else { return Ok(0) };
        let session = self.leader.place.engine.store().session(key).await?;
        Ok(match session.map(|it| it.memory.turn) {
            Some(Turn::Refused(count)) => count.refusals,
            Some(Turn::Fresh | Turn::Stopped) | None => 0,
        })
    }

    /// How the program ended by itself.
    fn end(&self, ran: &Ran) -> WorkerEnd {
        let why = match (&ran.exit, &ran.stream.failure) {
            (Err(why), _) => return WorkerEnd::Failed(why.clone()),
            (Ok(_), None) => return WorkerEnd::Well,
            (Ok(_), Some(why)) => one_line(why),
        };
        let said = ran.stream.errors.iter().map(String::as_str);
        // Some programs say why in place of an answer, and those that print no line on standard error.
        let other = [ran.stream.answer.as_str(), ran.stderr.as_str()];
        let mut other = other.into_iter().filter(|_| ran.stream.errors.is_empty());
        let now: Zoned =
            self.leader.place.around.now().to_zoned(self.leader.place.time_zone.clone());
        let end = WorkerEnd::of_failure(&why, said.chain(other.clone()), &now);
        let last = other.find_map(|it| it.lines().rev().find(|it| !it.trim().is_empty()));
        match (end, last) {
            (WorkerEnd::Failed(why), Some(last)) => {
                WorkerEnd::Failed(format!("{why}: {}", one_line(mask(last).trim())))
            }
            (end, _) => end,
        }
    }

    fn ending(&self, end: WorkerEnd) -> Ending {
        let title = self.leader.program.agent.title();
        // A program that has a limit of its own may have ended because of it.
        let over_budget = || self.over_budget().map(Abort::Budget);
        let abort = match &end {
            WorkerEnd::Well => self.abort.clone(),
            WorkerEnd::Failed(_)
            | WorkerEnd::TimedOut(_)
            | WorkerEnd::UsageLimit { .. }
            | WorkerEnd::Cancelled => self.abort.clone().or_else(over_budget),
        };
        match (abort, end) {
            (Some(abort), _) => Ending::Aborted(abort),
            (None, WorkerEnd::Well) => Ending::Answered,
            (
                None,
                end @ (WorkerEnd::Failed(_)
                | WorkerEnd::TimedOut(_)
                | WorkerEnd::UsageLimit { .. }
                | WorkerEnd::Cancelled),
            ) => Ending::Failed(format!("{title} {end}")),
        }
    }

    /// Waits until a usage limit is over, or the session is ended.
    async fn wait(&mut self, until: Timestamp, front: &mut dyn FrontEnd) -> Result<(), Fail> {
        let left = until.as_millisecond() - self.leader.place.around.now().as_millisecond();
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0).max(1000));
        let Some(end) = Instant::now().checked_add(left) else { return Ok(()) };
        loop {
            tokio::select! {
                biased;
                abort = aborted(front, self.deadline) => {
                    self.abort = Some(abort.unwrap_or_else(|| self.time_is_over()));
                    return Ok(());
                }
                () = sleep_until(end) => return Ok(()),
                stopped = stop_asked(self.record.as_mut()) => {
                    stopped?;
                    self.abort = Some(Abort::User);
                    return Ok(());
                }
                is_ours = changed(self.changes.as_mut(), self.shown.as_ref()) => match is_ours {
                    Some(true) => {
                        self.show_refusal(front).await?;
                        self.show_plan(front).await?;
                    }
                    Some(false) => {}
                    None => self.changes = None,
                },
            }
        }
    }

    /// Puts back what the session has in progress: its program has ended.
    async fn release(&self) -> Result<(), Fail> {
        self.change_in_progress(|item| Some(Op::Release(item.number.into()))).await
    }

    /// Says of the items that the session has in progress what they wait for, or that they no longer do.
    async fn mark_waiting(&self, on: Option<&str>) -> Result<(), Fail> {
        let limit = format!("the usage limit of {}", self.leader.program.agent.title());
        self.change_in_progress(|item| match on {
            Some(on) => Some(Op::Wait { item: item.number.into(), on: on.to_owned() }),
            None if item.waiting_on.as_ref() == Some(&limit) => {
                Some(Op::Resume(item.number.into()))
            }
            None => None,
        })
        .await
    }

    /// Changes the items that the session has in progress.
    async fn change_in_progress(&self, op: impl Fn(&Item) -> Option<Op>) -> Result<(), Fail> {
        let (Some(key), Some(plan)) = (self.key(), self.plan().await?) else { return Ok(()) };
        let Leader { place: LeaderPlace { engine, around, .. }, plan: named, .. } = self.leader;
        let name = key.actor_name("");
        let sub_agents = format!("{name}/");
        for item in plan.listed().into_iter().filter(|it| it.status == Status::InProgress) {
            let holder = item.claim.as_ref().map(|it| it.holder.clone());
            let is_ours = match &holder {
                Some(it) => it.name == name || it.name.starts_with(&sub_agents),
                None => named.is_none(),
            };
            let Some(op) = op(item).filter(|_| is_ours) else { continue };
            let now = around.now();
            let mut ctx = Ctx::new(name.clone(), now, around.ids(now)?);
            ctx.gone = around::gone(&**around, &plan);
            ctx.holder = holder.unwrap_or(ctx.holder);
            let change = Change::new(vec![op], ctx);
            match engine.store().change(plan.id, change).await {
                // Somebody else was faster.
                Ok(_) | Err(Error::Refused(_)) => {}
                Err(why) => return Err(why.into()),
            }
        }
        Ok(())
    }
}

/// The interval in which the budget of the day is looked at, if there is one.
fn day_look(day: &Allowance) -> Option<Interval> {
    (*day != Allowance::default()).then(|| {
        let mut looks = interval_at(Instant::now() + DAY_LOOK, DAY_LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        looks
    })
}

/// Waits for the next tick; for ever without an interval.
async fn tick(interval: Option<&mut Interval>) {
    match interval {
        Some(interval) => drop(interval.tick().await),
        None => std::future::pending().await,
    }
}

/// Waits until the user ends the session, or the time is over: then `None`. Other wishes have nobody who
/// could fulfil them.
async fn aborted(front: &mut dyn FrontEnd, deadline: Option<Instant>) -> Option<Abort> {
    let over = async {
        match deadline {
            Some(deadline) => sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    };
    let user = async {
        loop {
            if let Input::Abort = front.input().await {
                return;
            }
        }
    };
    tokio::select! {
        () = user => Some(Abort::User),
        () = over => None,
    }
}

/// Waits for the next change of a plan, and returns whether it may be the session's; `None` if changes
/// cannot be followed any more.
async fn changed(changes: Option<&mut Following>, shown: Option<&Plan>) -> Option<bool> {
    let Some(changes) = changes else { return std::future::pending().await };
    let next = poll_fn(|context| changes.as_mut().poll_next(context)).await;
    let (_, entry) = next?.ok()?;
    Some(shown.is_none_or(|it| it.id == entry.plan))
}
