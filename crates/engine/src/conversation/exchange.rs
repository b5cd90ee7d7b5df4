//! One event of a conversation: what is known around it, and what is written down of its session.

use std::sync::atomic::{AtomicBool, Ordering};

use punchlist_bridge::process;
use punchlist_formats::hook::{Agent, Task};
use punchlist_formats::prompt::{Tag, Tools};
use punchlist_model::guard::{self, Gate};
use punchlist_model::remind::{Agent as Profile, Policy};
use punchlist_model::session::{Kept, Memory, Session, Store};
use punchlist_model::store::{Applied, Change, Error};
use punchlist_model::{Ctx, IdSource, Limits, Mode, PlanId, Process, Timestamp};

use crate::session::{Seen, record, update_from, write};

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
    /// When it happens, and where.
    pub moment: Moment<'a>,
    /// The agent.
    pub agent: AgentFacts<'a>,
    /// Which plan is meant.
    pub plan: PlanFacts<'a>,
    /// What the user has set.
    pub settings: Settings<'a>,
    /// A task as the agent itself keeps it, by the id of its list and its own.
    pub task: &'a (dyn Fn(&str, &str) -> Option<Task> + Sync),
    /// How our program is called in the agent's shell.
    pub program: &'a (dyn Fn() -> String + Sync),
    /// This version, for whoever asks.
    pub version: &'a str,
}

/// When an event happens, and where.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The time.
    pub now: Timestamp,
    /// Where ids of new items come from.
    pub ids: IdSource,
    /// This machine's name.
    pub host: &'a str,
}

/// What is known of the agent.
#[derive(Clone, Debug)]
pub struct AgentFacts<'a> {
    /// The agent whose event it is: `claude`, `codex`, `gemini`, or another that somebody watches.
    pub name: &'a str,
    /// Whether the agent has the tools of our server.
    pub has_server: bool,
    /// The tools of the caller's own loop, which has no server between; `None` for a hook.
    pub tools: Option<&'static Tools>,
    /// The agent's process.
    pub process: Option<Process>,
    /// Whether somebody sits before it.
    pub interactive: Option<bool>,
    /// The agent was started to plan only.
    pub planning: bool,
    /// The list that the agent keeps its tasks in, if it is not named after the session.
    pub task_list: Option<&'a str>,
}

/// Which plan a conversation works on.
#[derive(Clone, Copy, Debug)]
pub struct PlanFacts<'a> {
    /// The project of the event's directory.
    pub project: &'a str,
    /// The plan that the session shall work on instead of one of its own.
    pub name: Option<&'a str>,
    /// The id of a plan that has to be made under a name.
    pub new_id: PlanId,
}

/// What the user has set.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// How often a stop may be refused, where the user said so.
    pub gate: Option<Gate>,
    /// When to remind.
    pub reminders: &'a Policy,
    /// In what the model is told something.
    pub tag: &'a Tag,
    /// How much of anything.
    pub limits: Limits,
}

/// One event of a session that has been recorded.
pub(crate) struct Exchange<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) given: &'a Given<'a>,
    pub(crate) session: Session,
    /// That it was seen is yet to be written down.
    pub(crate) news: Option<News>,
    /// The sub-agent that it happened in, or empty.
    pub(crate) sub_agent: &'a str,
}

/// What is yet to be written down of a session. It is written along with what the event comes to, if
/// that is written: each write waits for the disk.
pub(crate) struct News {
    pub(crate) seen: Seen,
    pub(crate) written: AtomicBool,
}

impl Exchange<'_> {
    /// Writes down that the session was seen, unless that was written along with something else.
    pub(crate) async fn tell_news(&self) -> Result<(), Error> {
        if let Some(news) = self.unwritten() {
            write(self.store, &news.seen, self.session.clone()).await?;
        }
        Ok(())
    }

    /// What is yet to be written down of the session.
    pub(crate) fn unwritten(&self) -> Option<&News> {
        self.news.as_ref().filter(|it| !it.written.load(Ordering::Relaxed))
    }

    /// Notes that it is written.
    pub(crate) fn has_told(&self) {
        if let Some(news) = &self.news {
            news.written.store(true, Ordering::Relaxed);
        }
    }

    /// Changes what is remembered of the session.
    pub(crate) async fn remember<T: Default>(
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
    pub(crate) async fn change_and_remember(
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
    pub(crate) fn ctx(&self) -> Ctx {
        Ctx {
            now: self.given.moment.now,
            ids: self.given.moment.ids,
            actor: self.session.actor(self.sub_agent),
            holder: self.session.holder(self.sub_agent),
            attempt: None,
            base: None,
            mode: Mode::Recorded,
            limits: self.given.settings.limits,
            gone: Vec::new(),
            anyway: false,
        }
    }

    /// How often this session's stops may be refused.
    pub(crate) fn bounds(&self, memory: &Memory) -> Option<guard::Bounds> {
        let gate = memory.gate.or(self.given.settings.gate);
        gate.unwrap_or_else(|| Gate::default_for(self.is_attended())).bounds()
    }

    /// Whether somebody sits before the agent. Where nobody knows, somebody may, who is to be asked
    /// rather than looped over.
    pub(crate) fn is_attended(&self) -> bool {
        self.session.interactive.unwrap_or(true)
    }

    pub(crate) fn has_ended(&self, process: &Process) -> bool {
        process::has_ended(self.given.moment.host, process)
    }

    /// The agent as reminders see it. Claude Code reminds itself of its own tools, and says by itself
    /// that it has them; the others do neither.
    pub(crate) fn profile(&self) -> Profile {
        let writes_ours = self.session.memory.written_with.as_deref() == Some(TURN);
        Profile {
            has_tools: self.given.agent.has_server || self.session.memory.written_with.is_some(),
            reminds_itself: self.agent() == Some(Agent::Claude) && !writes_ours,
            echoes_changes: false,
            hears_compaction: true,
        }
    }

    /// The agent, if its hooks are understood.
    pub(crate) fn agent(&self) -> Option<Agent> {
        Agent::named(self.given.agent.name)
    }

    /// What the agent's own tool for whole lists is called in [`Memory::written_with`].
    pub(crate) fn list_tool(&self) -> &'static str {
        match self.agent() {
            Some(Agent::Claude) => TODOWRITE,
            Some(Agent::Codex) => UPDATE_PLAN,
            Some(Agent::Gemini) => WRITE_TODOS,
            None => WATCHED,
        }
    }

    /// The same for its tools for single tasks. Codex has none.
    pub(crate) fn task_tools(&self) -> &'static str {
        match self.agent() {
            Some(Agent::Claude | Agent::Codex) | None => TASKS,
            Some(Agent::Gemini) => TRACKER,
        }
    }
}
