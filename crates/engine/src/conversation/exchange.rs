//! One event of a conversation: what the answer depends on, and what is stored about the session.

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

/// The value of [`Memory::written_with`] if the list was last written with the agent's task tools.
pub const TASKS: &str = "tasks";
/// The value for the agent's whole-list tool.
pub const TODOWRITE: &str = "todowrite";
/// The value for Codex's whole-list tool.
pub const UPDATE_PLAN: &str = "update_plan";
/// The value for Gemini CLI's whole-list tool.
pub const WRITE_TODOS: &str = "write_todos";
/// The value for Gemini CLI's task tools.
pub const TRACKER: &str = "tracker";
/// The value for the tools of our MCP server.
pub const TURN: &str = "turn";

/// The value for a list that was recorded by watching the session from outside.
pub const WATCHED: &str = "watched";

/// Everything that an answer depends on, besides the event and the store.
pub struct Given<'a> {
    /// When and where the event happens.
    pub moment: Moment<'a>,
    /// The agent.
    pub agent: AgentFacts<'a>,
    /// The plan that the conversation works on.
    pub plan: PlanFacts<'a>,
    /// The user's settings.
    pub settings: Settings<'a>,
    /// Reads a task from the agent's own files, by the id of its list and its own id.
    pub task: &'a (dyn Fn(&str, &str) -> Option<Task> + Sync),
    /// The command with which the agent's shell calls our program.
    pub program: &'a (dyn Fn() -> String + Sync),
    /// The version of this program.
    pub version: &'a str,
}

/// When and where an event happens.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The time.
    pub now: Timestamp,
    /// The source of ids for new items.
    pub ids: IdSource,
    /// This machine's name.
    pub host: &'a str,
}

/// What is known of the agent.
#[derive(Clone, Debug)]
pub struct AgentFacts<'a> {
    /// The agent's name: `claude`, `codex`, `gemini`, or another agent that is watched.
    pub name: &'a str,
    /// Whether the agent has the tools of our server.
    pub has_server: bool,
    /// The tools of a program that runs the model itself, without our server; `None` for a hook.
    pub tools: Option<&'static Tools>,
    /// The agent's process.
    pub process: Option<Process>,
    /// Whether the session is interactive, if known.
    pub interactive: Option<bool>,
    /// Whether the agent was started in plan mode.
    pub planning: bool,
    /// The list that holds the agent's tasks, if it is not named after the session.
    pub task_list: Option<&'a str>,
}

/// Which plan a conversation works on.
#[derive(Clone, Copy, Debug)]
pub struct PlanFacts<'a> {
    /// The project of the event's directory.
    pub project: &'a str,
    /// The name of the plan that the session works on instead of its own plan.
    pub name: Option<&'a str>,
    /// The id for a new plan, if one has to be created.
    pub new_id: PlanId,
}

/// The user's settings.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The gate setting, if the user set one.
    pub gate: Option<Gate>,
    /// When reminders are given.
    pub reminders: &'a Policy,
    /// The tag around texts for the model.
    pub tag: &'a Tag,
    /// Limits on sizes and counts.
    pub limits: Limits,
}

/// One event of a session that has been recorded.
pub(crate) struct Exchange<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) given: &'a Given<'a>,
    pub(crate) session: Session,
    /// That the session was seen, if this is not stored yet.
    pub(crate) sighting: Option<Sighting>,
    /// The sub-agent of the event, or empty.
    pub(crate) sub_agent: &'a str,
}

/// A sighting of a session that is not stored yet. It is stored together with the result of the
/// event, because each write to the database waits for the disk.
pub(crate) struct Sighting {
    pub(crate) seen: Seen,
    pub(crate) written: AtomicBool,
}

impl Exchange<'_> {
    /// Stores that the session was seen, unless another write stored it already.
    pub(crate) async fn store_sighting(&self) -> Result<(), Error> {
        if let Some(sighting) = self.unstored_sighting() {
            write(self.store, &sighting.seen, self.session.clone()).await?;
        }
        Ok(())
    }

    /// The sighting of the session, if it is not stored yet.
    pub(crate) fn unstored_sighting(&self) -> Option<&Sighting> {
        self.sighting.as_ref().filter(|it| !it.written.load(Ordering::Relaxed))
    }

    /// Notes that the sighting is stored.
    pub(crate) fn mark_stored(&self) {
        if let Some(sighting) = &self.sighting {
            sighting.written.store(true, Ordering::Relaxed);
        }
    }

    /// Changes the session's memory.
    pub(crate) async fn remember<T: Default>(
        &self,
        step: impl Fn(&mut Memory) -> T + Send + Sync,
    ) -> Result<T, Error> {
        let mut next = self.session.clone();
        let result = step(&mut next.memory);
        let sighting = self.unstored_sighting();
        if sighting.is_none() && next.memory == self.session.memory {
            return Ok(result);
        }
        let stored = match (self.store.keep(next).await?, sighting) {
            (Kept::Stored(_), _) => {
                self.mark_stored();
                return Ok(result);
            }
            (Kept::Stale(stored), None) => stored.map(|it| *it),
            (Kept::Stale(_), Some(sighting)) => {
                let session = record(self.store, sighting.seen.clone()).await?;
                self.mark_stored();
                Some(session)
            }
        };
        // A session that was deleted since it was recorded has no memory.
        let Some(stored) = stored else { return Ok(T::default()) };
        let result = update_from(self.store, stored, step).await?;
        Ok(result.map(|(_, result)| result).unwrap_or_default())
    }

    /// Changes a plan and the session's memory, in one write unless another process writes the
    /// session at the same time.
    pub(crate) async fn change_and_remember(
        &self,
        plan: PlanId,
        change: Change,
        step: impl Fn(&mut Memory) + Send + Sync,
    ) -> Result<Applied, Error> {
        let mut next = self.session.clone();
        step(&mut next.memory);
        if self.unstored_sighting().is_none() && next.memory == self.session.memory {
            return self.store.change(plan, change).await;
        }
        let (applied, kept) = self.store.change_and_keep(plan, change, next).await?;
        match kept {
            Kept::Stored(_) => self.mark_stored(),
            Kept::Stale(_) => self.remember(step).await?,
        }
        Ok(applied)
    }

    /// The context of a recorded change: it has already happened, so it is not refused.
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

    /// How often the gate may refuse this session's stops.
    pub(crate) fn bounds(&self, memory: &Memory) -> Option<guard::Bounds> {
        let gate = memory.gate.or(self.given.settings.gate);
        gate.unwrap_or_else(|| Gate::default_for(self.is_attended())).bounds()
    }

    /// Whether a person watches the session. If that is not known, a person may be there, and
    /// asking that person is better than refusing again and again.
    pub(crate) fn is_attended(&self) -> bool {
        self.session.interactive.unwrap_or(true)
    }

    pub(crate) fn has_ended(&self, process: &Process) -> bool {
        process::has_ended(self.given.moment.host, process)
    }

    /// The agent's profile for reminders. Claude Code reminds itself of its own tools and announces
    /// them; the other agents do neither.
    pub(crate) fn profile(&self) -> Profile {
        let writes_ours = self.session.memory.written_with.as_deref() == Some(TURN);
        Profile {
            has_tools: self.given.agent.has_server || self.session.memory.written_with.is_some(),
            reminds_itself: self.agent() == Some(Agent::Claude) && !writes_ours,
            echoes_changes: false,
            hears_compaction: true,
        }
    }

    /// The agent, if its hooks are supported.
    pub(crate) fn agent(&self) -> Option<Agent> {
        Agent::named(self.given.agent.name)
    }

    /// The value of [`Memory::written_with`] for the agent's own whole-list tool.
    pub(crate) fn list_tool(&self) -> &'static str {
        match self.agent() {
            Some(Agent::Claude) => TODOWRITE,
            Some(Agent::Codex) => UPDATE_PLAN,
            Some(Agent::Gemini) => WRITE_TODOS,
            None => WATCHED,
        }
    }

    /// The value of [`Memory::written_with`] for the agent's own task tools. Codex has none.
    pub(crate) fn task_tools(&self) -> &'static str {
        match self.agent() {
            Some(Agent::Claude | Agent::Codex) | None => TASKS,
            Some(Agent::Gemini) => TRACKER,
        }
    }
}
