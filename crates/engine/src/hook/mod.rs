//! The engine behind `punchlist hook`: an event of an agent's session in, what is said to it out.
//!
//! It mirrors the agent's own list, answers whether a turn may end, puts the list back after a lost
//! context, and reminds. Everything from outside is handed in ([`Given`]); the store's futures are
//! awaited and nothing else, so with a store in a file the answer is there at the first poll. An
//! error is for whoever called: to the agent it means that there is nothing to say.

mod absent;
mod boundary;
pub mod failures;
mod gate;
mod mirror;
mod plan;
mod remind;
pub mod spool;
#[cfg(test)]
mod tests;
mod words;

use std::sync::atomic::{AtomicBool, Ordering};

use punchlist_formats::hook::{Agent, Answer, Event, Task, What};
use punchlist_formats::prompt::Tag;
use punchlist_model::guard::{self, Gate};
use punchlist_model::remind::{Agent as Profile, Policy};
use punchlist_model::session::{Kept, Memory, Session, SessionKey, Store};
use punchlist_model::store::{Applied, Change, Error};
use punchlist_model::{Ctx, IdSource, Limits, ListEntry, Mode, PlanId, Process, Timestamp};

use crate::session::{Met, Seen, meet, record, update_from, write};
use punchlist_bridge::process;

/// What [`Memory::written_with`] says where the agent's tasks were the last to write.
pub const TASKS: &str = "tasks";
/// The same for its whole lists.
pub const TODOWRITE: &str = "todowrite";
/// The same for Codex's whole lists.
pub const UPDATE_PLAN: &str = "update_plan";
/// The same for Gemini CLI's whole lists.
pub const WRITE_TODOS: &str = "write_todos";
/// The same for Gemini CLI's tasks.
pub const TRACKER: &str = "tracker";
/// The same for the tools of our server.
pub const TURN: &str = "turn";

/// The same for somebody who watched the session from outside.
pub const WATCHED: &str = "watched";

/// Everything that an answer depends on besides the event and the store.
pub struct Given<'a> {
    /// The agent whose hook it is: `claude`, `codex`, `gemini`, or another that somebody watches.
    pub agent: &'a str,
    /// Whether the agent has the tools of our server.
    pub has_server: bool,
    /// The time.
    pub now: Timestamp,
    /// Where ids of new items come from.
    pub ids: IdSource,
    /// The id of a plan that has to be made under a name.
    pub plan_id: PlanId,
    /// The project of the event's directory.
    pub project: &'a str,
    /// The plan that the session shall work on instead of one of its own.
    pub plan: Option<&'a str>,
    /// This machine's name.
    pub host: &'a str,
    /// The agent's process.
    pub process: Option<Process>,
    /// Whether somebody sits before it.
    pub interactive: Option<bool>,
    /// The agent was started to plan only.
    pub planning: bool,
    /// How often a stop may be refused, where the user said so.
    pub gate: Option<Gate>,
    /// When to remind.
    pub policy: &'a Policy,
    /// In what the model is told something.
    pub tag: &'a Tag,
    /// How much of anything.
    pub limits: Limits,
    /// A task as the agent itself keeps it, by the id of its list and its own.
    pub task: &'a (dyn Fn(&str, &str) -> Option<Task> + Sync),
    /// The list that the agent keeps its tasks in, if it is not named after the session.
    pub task_list: Option<&'a str>,
    /// How our program is called in the agent's shell.
    pub program: &'a (dyn Fn() -> String + Sync),
    /// This version, for whoever asks.
    pub version: &'a str,
}

/// What to say to the agent.
pub async fn answer(store: &dyn Store, event: &Event, given: &Given<'_>) -> Result<Answer, Error> {
    if event.what == What::Doctor {
        return Ok(Answer::Message(format!("punchlist {}", given.version)));
    }
    let seen = Seen {
        key: SessionKey { agent: given.agent.to_owned(), id: event.session.clone() },
        project: given.project.to_owned(),
        directory: event.directory.clone(),
        process: given.process.clone(),
        interactive: given.interactive,
        now: given.now,
        ended: event.what == What::Ends,
    };
    let (session, news) = match meet(store, &seen).await? {
        Met::Known(session) => (session, None),
        // What begins is told from other sessions by what is stored of it.
        Met::News(next) if next.version == 0 || matches!(event.what, What::Begins(_)) => {
            (write(store, &seen, next).await?, None)
        }
        Met::News(next) => (next, Some(News { seen, written: AtomicBool::new(false) })),
    };
    let sub_agent = event.sub_agent.as_deref().unwrap_or("");
    let call = Call { store, given, session, news, sub_agent };
    let answer = call.answer(event).await;
    let told = call.tell_news().await;
    answer.and_then(|answer| told.map(|()| answer))
}

/// Keeps the whole list of a session, or of one of its sub-agents, that somebody saw from outside, as the
/// session's own hook would.
pub async fn keep_list(
    store: &dyn Store,
    given: &Given<'_>,
    session: Session,
    sub_agent: &str,
    entries: &[ListEntry],
) -> Result<(), Error> {
    let call = Call { store, given, session, news: None, sub_agent };
    call.list(entries, WATCHED).await.map(|_| ())
}

/// One event of a session that has been recorded.
struct Call<'a> {
    store: &'a dyn Store,
    given: &'a Given<'a>,
    session: Session,
    /// That it was seen is yet to be written down.
    news: Option<News>,
    /// The sub-agent that it happened in, or empty.
    sub_agent: &'a str,
}

/// What is yet to be written down of a session. It is written along with what the event comes to, if
/// that is written: each write waits for the disk.
struct News {
    seen: Seen,
    written: AtomicBool,
}

impl Call<'_> {
    async fn answer(&self, event: &Event) -> Result<Answer, Error> {
        self.note_asking(&event.what).await?;
        match &event.what {
            What::Begins(source) => self.begins(*source).await,
            What::Prompt => self.prompt(event.prompt.as_deref()).await,
            What::Compacted => self.compacted().await,
            What::Wrote(write) => self.mirror(write).await,
            What::Creating(task) => self.creating(task).await,
            What::NotCreated(task) => self.not_created(task).await,
            What::Completing(task) => self.completing(task).await,
            What::Turn(tools) => self.turn(tools).await,
            What::Planning(planning) => self.planning(*planning).await,
            What::Stop(stop) => self.stop(stop, event.plan_mode).await,
            What::SubBegins => self.sub_begins().await,
            What::SubStop(stop) => self.sub_stop(stop, event.plan_mode).await,
            What::Ends | What::Doctor => Ok(Answer::Nothing),
        }
    }

    /// Writes down that the session was seen, unless that was written along with something else.
    async fn tell_news(&self) -> Result<(), Error> {
        if let Some(news) = self.unwritten() {
            write(self.store, &news.seen, self.session.clone()).await?;
        }
        Ok(())
    }

    /// What is yet to be written down of the session.
    fn unwritten(&self) -> Option<&News> {
        self.news.as_ref().filter(|it| !it.written.load(Ordering::Relaxed))
    }

    /// Notes that it is written.
    fn has_told(&self) {
        if let Some(news) = &self.news {
            news.written.store(true, Ordering::Relaxed);
        }
    }

    /// Changes what is remembered of the session.
    async fn remember<T: Default>(
        &self,
        step: impl Fn(&mut Memory) -> T + Send + Sync,
    ) -> Result<T, Error> {
        let mut next = self.session.clone();
        let came = step(&mut next.memory);
        let news = self.unwritten();
        if news.is_none() && next.memory == self.session.memory {
            return Ok(came);
        }
        let there = match (self.store.keep(next).await?, news) {
            (Kept::Stored(_), _) => {
                self.has_told();
                return Ok(came);
            }
            (Kept::Stale(there), None) => there.map(|it| *it),
            (Kept::Stale(_), Some(news)) => {
                let session = record(self.store, news.seen.clone()).await?;
                self.has_told();
                Some(session)
            }
        };
        // A session that vanished since it was recorded has nothing to remember.
        let Some(there) = there else { return Ok(T::default()) };
        let came = update_from(self.store, there, step).await?;
        Ok(came.map(|(_, came)| came).unwrap_or_default())
    }

    /// Changes a plan, and what is remembered of the session: both at once, if nobody else writes the
    /// session just now.
    async fn change_and_remember(
        &self,
        plan: PlanId,
        change: Change,
        step: impl Fn(&mut Memory) + Send + Sync,
    ) -> Result<Applied, Error> {
        let mut next = self.session.clone();
        step(&mut next.memory);
        if self.unwritten().is_none() && next.memory == self.session.memory {
            return self.store.change(plan, change).await;
        }
        let (applied, kept) = self.store.change_and_keep(plan, change, next).await?;
        match kept {
            Kept::Stored(_) => self.has_told(),
            Kept::Stale(_) => self.remember(step).await?,
        }
        Ok(applied)
    }

    /// What happened is recorded, not judged.
    fn ctx(&self) -> Ctx {
        Ctx {
            now: self.given.now,
            ids: self.given.ids,
            actor: self.session.actor(self.sub_agent),
            holder: self.session.holder(self.sub_agent),
            attempt: None,
            base: None,
            mode: Mode::Recorded,
            limits: self.given.limits,
            gone: Vec::new(),
            anyway: false,
        }
    }

    /// How often this session's stops may be refused.
    fn bounds(&self, memory: &Memory) -> Option<guard::Bounds> {
        let gate = memory.gate.or(self.given.gate);
        gate.unwrap_or_else(|| Gate::default_for(self.is_attended())).bounds()
    }

    /// Whether somebody sits before the agent. Where nobody knows, somebody may, who is to be asked
    /// rather than looped over.
    fn is_attended(&self) -> bool {
        self.session.interactive.unwrap_or(true)
    }

    fn has_ended(&self, process: &Process) -> bool {
        process::has_ended(self.given.host, process)
    }

    /// The agent as reminders see it. Claude Code reminds itself of its own tools, and says by itself
    /// that it has them; the others do neither.
    fn profile(&self) -> Profile {
        let writes_ours = self.session.memory.written_with.as_deref() == Some(TURN);
        Profile {
            has_tools: self.given.has_server || self.session.memory.written_with.is_some(),
            reminds_itself: self.agent() == Some(Agent::Claude) && !writes_ours,
            echoes_changes: false,
            hears_compaction: true,
        }
    }

    /// The agent, if its hooks are understood.
    fn agent(&self) -> Option<Agent> {
        Agent::named(self.given.agent)
    }

    /// What the agent's own tool for whole lists is called in [`Memory::written_with`].
    fn list_tool(&self) -> &'static str {
        match self.agent() {
            Some(Agent::Claude) => TODOWRITE,
            Some(Agent::Codex) => UPDATE_PLAN,
            Some(Agent::Gemini) => WRITE_TODOS,
            None => WATCHED,
        }
    }

    /// The same for its tools for single tasks. Codex has none.
    fn task_tools(&self) -> &'static str {
        match self.agent() {
            Some(Agent::Claude | Agent::Codex) | None => TASKS,
            Some(Agent::Gemini) => TRACKER,
        }
    }
}
