//! A session that the program of another agent leads: Claude Code, Codex or Gemini CLI, as the user has
//! it, with its own account and settings.
//!
//! The program runs headless, with the plan tools and the hooks that its caller gives it. Its stream
//! becomes the events of a session ([`Event`]), so every front end shows it like a session of our own. The
//! plan comes from the store, where the program's calls and hooks write it; the hooks also record the
//! session and refuse an early end. Nothing of the session is recorded here.

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
use punchlist_engine::workers::{Agent, Ended as StreamEnd, WorkerStream, WorkerUsage};
use punchlist_engine::{Around, Engine, Which, around};
use punchlist_formats::text::{mask, one_line};
use punchlist_model::guard::Turn;
use punchlist_model::store::turns::Used;
use punchlist_model::store::{Change, Cursor, Following, Scope};
use punchlist_model::{Ctx, Op, Plan, SessionKey, Status, Timestamp};
use punchlist_sched::Processes;
use punchlist_sched::output::Stream;
use punchlist_sched::process::{Command, Exit};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, sleep_until};

use crate::session::{Allowance, Ended, Event, FrontEnd, Input};
use crate::turn::{Abort, Ending};
use crate::workers::WorkerEnd;
use translate::Translator;

/// How often a usage limit is waited for.
const MOST_WAITS: u32 = 20;
/// The prompt after a usage limit.
const GO_ON: &str = "The usage limit is over. Go on with the task.";
/// How many bytes of standard error are kept, for when the program fails.
const KEPT: usize = 8 << 10;

/// Makes the command line of the program, the program first: for a new session or for the one with this id,
/// with this prompt.
pub type CommandLine = Arc<dyn Fn(Option<&str>, &str) -> Vec<String> + Send + Sync>;

/// What a led session needs.
pub struct Leader {
    /// The agent.
    pub agent: Agent,
    /// The command line of its program.
    pub command_line: CommandLine,
    /// The environment of its program.
    pub environment: Vec<(OsString, OsString)>,
    /// Starts it.
    pub processes: Processes,
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
    /// The plan to work on, if it is not a new one.
    pub plan: Option<Which>,
    /// What may be used.
    pub allowance: Allowance,
    /// Whether the session waits when a usage limit is reached.
    pub wait_for_quota: bool,
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
    /// Lets the program work on a prompt until it is done.
    pub async fn lead(&self, prompt: &str, front: &mut dyn FrontEnd) -> Result<Led, Fail> {
        let store = self.engine.store();
        let minutes = self.allowance.minutes.map(|it| Duration::from_secs(it.saturating_mul(60)));
        let mut work = LedWork {
            leader: self,
            translator: Translator::default(),
            session: None,
            shown: None,
            refusals: 0,
            earlier: Used::default(),
            used: Used::default(),
            abort: None,
            deadline: minutes.and_then(|it| Instant::now().checked_add(it)),
            changes: Some(store.follow(Cursor::Now, Scope::All).await?),
        };
        work.show_plan(front).await?;
        let mut prompt = prompt.to_owned();
        let mut waits = 0;
        let (ending, answer, said) = loop {
            let command = self.command(work.session.as_deref(), &prompt);
            let ran = work.run(command, front).await?;
            let end = work.end(&ran);
            if let (WorkerEnd::UsageLimit { until: Some(until) }, None) = (&end, &work.abort)
                && self.wait_for_quota
                && waits < MOST_WAITS
            {
                waits += 1;
                let on = format!("the usage limit of {}", self.agent.title());
                front.event(Event::Waiting { until: Some(*until), on });
                work.wait(*until, front).await?;
                if work.abort.is_none() {
                    work.abort = work.over_budget().map(Abort::Budget);
                }
                if work.abort.is_none() {
                    if work.session.is_some() {
                        GO_ON.clone_into(&mut prompt);
                    }
                    continue;
                }
            }
            let said = [ran.stream.errors.join("\n"), ran.stderr.clone()].join("\n");
            break (work.ending(end), ran.stream.answer, mask(&said).trim().to_owned());
        };
        if ending == Ending::Answered
            && let Some(why) = work.over_budget()
        {
            front.event(Event::Info(format!("over the budget: {why}")));
        }
        work.release().await?;
        work.show_plan(front).await?;
        let LedWork { session, shown, used, .. } = work;
        let is_open = shown.as_ref().is_some_and(|it| it.listed().iter().any(|it| it.is_open()));
        let ending = if ending == Ending::Answered && is_open { Ending::LetGo } else { ending };
        let ended = Ended { ending, answer, plan: shown, used };
        front.event(Event::Ended(Box::new(ended.clone())));
        Ok(Led { ended, session, said })
    }
}

impl Leader {
    fn command(&self, session: Option<&str>, prompt: &str) -> Command {
        let mut words = (self.command_line)(session, prompt).into_iter();
        let program = words.next().unwrap_or_default();
        Command {
            arguments: words.map(OsString::from).collect(),
            environment: self.environment.clone(),
            apart: true,
            ..Command::new(program, &self.directory)
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
    translator: Translator,
    /// The program's id of the session.
    session: Option<String>,
    /// The plan as it was last shown.
    shown: Option<Plan>,
    /// How many refused stops were shown.
    refusals: u32,
    /// What earlier runs of the program have used.
    earlier: Used,
    /// What all have used.
    used: Used,
    /// Why the program was ended, if it was.
    abort: Option<Abort>,
    /// When the minutes are over.
    deadline: Option<Instant>,
    /// The changes of all plans, until they cannot be followed.
    changes: Option<Following>,
}

impl LedWork<'_> {
    /// Runs the program to its end. It is ended when the user or the budget ends the session.
    async fn run(&mut self, command: Command, front: &mut dyn FrontEnd) -> Result<Ran, Fail> {
        let title = self.leader.agent.title();
        let running = self.leader.processes.spawn(command).await;
        let running =
            running.map_err(|why| Fail::usage(format!("{title} did not start: {why}")))?;
        let stopper = running.stopper();
        let (sender, mut pieces) = unbounded_channel();
        let mut finish = pin!(running.finish(move |from, bytes| {
            // The receiver lives as long as this.
            sender.send((from, bytes.to_vec())).ok();
        }));
        let directory = self.leader.directory.to_string_lossy();
        let mut stream = WorkerStream::new(self.leader.agent, &directory);
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
        self.earlier = self.used;
        let code = exit.as_ref().ok().and_then(|it| it.code);
        let exit = exit.map_err(|why| why.to_string());
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        Ok(Ran { exit, stream: stream.end(code), stderr })
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
        }
        self.show_refusal(front).await?;
        if !events.is_empty() {
            // What the text is about is shown before it.
            self.show_plan(front).await?;
        }
        for event in events {
            front.event(event);
        }
        self.used = self.earlier;
        self.used += used(stream.usage());
        if self.abort.is_none() && !stream.is_over() {
            self.abort = self.over_budget().map(Abort::Budget);
        }
        Ok(())
    }

    /// Which allowance is used up, without the minutes.
    fn over_budget(&self) -> Option<String> {
        self.leader.allowance.reached(&self.used, 0)
    }

    fn time_is_over(&self) -> Abort {
        let minutes = self.leader.allowance.minutes.unwrap_or_default();
        let why = self.leader.allowance.reached(&self.used, minutes);
        Abort::Budget(why.unwrap_or_else(|| format!("{minutes} minutes are over")))
    }

    /// The session's key, once its id is known.
    fn key(&self) -> Option<SessionKey> {
        let agent = self.leader.agent.as_str().to_owned();
        Some(SessionKey { agent, id: self.session.clone()? })
    }

    /// The plan that the session works on.
    async fn plan(&self) -> Result<Option<Plan>, Fail> {
        let Leader { engine, project, plan, .. } = self.leader;
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
        let Some(now) = self.plan().await? else { return Ok(()) };
        let before = self.shown.take().filter(|it| it.id == now.id);
        let is_new = before.as_ref().is_none_or(|it| it.revision != now.revision);
        if is_new && !(before.is_none() && now.listed().is_empty()) {
            let before = before.map(Box::new);
            front.event(Event::Plan { before, now: Box::new(now.clone()) });
        }
        self.shown = Some(now);
        Ok(())
    }

    /// Shows that the hooks refused the end of the turn, if they did since the last look.
    async fn show_refusal(&mut self, front: &mut dyn FrontEnd) -> Result<(), Fail> {
        let Some(key) = self.key() else { return Ok(()) };
        let session = self.leader.engine.store().session(key).await?;
        let Some(Turn::Refused(count)) = session.map(|it| it.memory.turn) else { return Ok(()) };
        if count.refusals > self.refusals {
            if self.shown.is_none() {
                self.show_plan(front).await?;
            }
            let listed = self.shown.as_ref().map(|it| it.listed()).unwrap_or_default();
            let open = listed.iter().filter(|it| it.is_open()).count();
            front.event(Event::Refused { open, refusal: count.refusals });
        }
        self.refusals = count.refusals;
        Ok(())
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
        let now: Zoned = self.leader.around.now().to_zoned(self.leader.time_zone.clone());
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
        let title = self.leader.agent.title();
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
        let left = until.as_millisecond() - self.leader.around.now().as_millisecond();
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
        let (Some(key), Some(plan)) = (self.key(), self.plan().await?) else { return Ok(()) };
        let Leader { engine, around, plan: named, .. } = self.leader;
        let name = key.actor_name("");
        let sub_agents = format!("{name}/");
        for item in plan.listed().into_iter().filter(|it| it.status == Status::InProgress) {
            let holder = item.claim.as_ref().map(|it| it.holder.clone());
            let is_ours = match &holder {
                Some(it) => it.name == name || it.name.starts_with(&sub_agents),
                None => named.is_none(),
            };
            if !is_ours {
                continue;
            }
            let now = around.now();
            let mut ctx = Ctx::new(name.clone(), now, around.ids(now)?);
            ctx.gone = around::gone(&**around, &plan);
            ctx.holder = holder.unwrap_or(ctx.holder);
            let change = Change::new(vec![Op::Release(item.number.into())], ctx);
            match engine.store().change(plan.id, change).await {
                // Somebody else was faster.
                Ok(_) | Err(punchlist_model::store::Error::Refused(_)) => {}
                Err(why) => return Err(why.into()),
            }
        }
        Ok(())
    }
}

fn used(usage: WorkerUsage) -> Used {
    // Not negative, and an amount that does not fit becomes the largest number.
    let cost_micros = (usage.cost_usd * 1e6).round() as u64;
    Used { calls: 0, input: usage.input_tokens, output: usage.output_tokens, cost_micros }
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
