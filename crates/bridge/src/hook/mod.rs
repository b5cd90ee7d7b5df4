//! The engine behind `punchlist hook`: an event of an agent's session in, what is said to it out.
//!
//! It mirrors the agent's own list, answers whether a turn may end, puts the list back after a lost
//! context, and reminds. Everything from outside is handed in ([`Given`]); the store's futures are
//! awaited and nothing else, so with a store in a file the answer is there at the first poll. An
//! error is for whoever called: to the agent it means that there is nothing to say.

mod boundary;
pub mod failures;
mod gate;
mod mirror;
mod plan;
mod remind;
#[cfg(test)]
mod tests;
mod words;

use punchlist_formats::hook::{Answer, Event, Task, What};
use punchlist_model::guard::{self, Gate};
use punchlist_model::remind::{Agent, Policy};
use punchlist_model::session::{Memory, Session, SessionKey, Store};
use punchlist_model::store::Error;
use punchlist_model::{Ctx, IdSource, Limits, ListEntry, Mode, PlanId, Process, Timestamp};

use crate::process;
use crate::session::{Seen, record, update_from};

/// What [`Memory::written_with`] says where the agent's tasks were the last to write.
pub const TASKS: &str = "tasks";
/// The same for its whole lists.
pub const TODOWRITE: &str = "todowrite";
/// The same for the tools of our server.
pub const TURN: &str = "turn";

/// The same for somebody who watched the session from outside.
pub const WATCHED: &str = "watched";

/// Everything that an answer depends on besides the event and the store.
pub struct Given<'a> {
    /// The agent whose hook it is: `claude`.
    pub agent: &'a str,
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
    /// How often a stop may be refused, where the user said so.
    pub gate: Option<Gate>,
    /// When to remind.
    pub policy: &'a Policy,
    /// How much of anything.
    pub limits: Limits,
    /// A task as the agent itself keeps it, by the id of its list and its own.
    pub task: &'a (dyn Fn(&str, &str) -> Option<Task> + Sync),
    /// The list that the agent keeps its tasks in, if it is not named after the session.
    pub task_list: Option<&'a str>,
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
    let session = record(store, seen).await?;
    let call = Call { store, given, session, sub_agent: event.sub_agent.as_deref().unwrap_or("") };
    match &event.what {
        What::Begins(source) => call.begins(*source).await,
        What::Prompt => call.prompt().await,
        What::Wrote(write) => call.mirror(write).await,
        What::Creating(task) => call.creating(task).await,
        What::NotCreated(task) => call.not_created(task).await,
        What::Completing(task) => call.completing(task).await,
        What::Turn(tools) => call.turn(tools).await,
        What::Stop(stop) => call.stop(stop, event.plan_mode).await,
        What::SubBegins => call.sub_begins().await,
        What::SubStop(stop) => call.sub_stop(stop, event.plan_mode).await,
        What::Ends | What::Doctor => Ok(Answer::Nothing),
    }
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
    Call { store, given, session, sub_agent }.list(entries, WATCHED).await.map(|_| ())
}

/// One event of a session that has been recorded.
struct Call<'a> {
    store: &'a dyn Store,
    given: &'a Given<'a>,
    session: Session,
    /// The sub-agent that it happened in, or empty.
    sub_agent: &'a str,
}

impl Call<'_> {
    /// Changes what is remembered of the session.
    async fn remember<T: Default>(
        &self,
        step: impl Fn(&mut Memory) -> T + Send + Sync,
    ) -> Result<T, Error> {
        let came = update_from(self.store, self.session.clone(), step).await?;
        // A session that vanished since it was recorded has nothing to remember.
        Ok(came.map(|(_, came)| came).unwrap_or_default())
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
        }
    }

    /// How often this session's stops may be refused.
    fn bounds(&self, memory: &Memory) -> Option<guard::Bounds> {
        // Where nobody knows, somebody may sit there, who is to be asked rather than looped over.
        let interactive = self.session.interactive.unwrap_or(true);
        let gate = memory.gate.or(self.given.gate);
        gate.unwrap_or_else(|| Gate::default_for(interactive)).bounds()
    }

    fn has_ended(&self, process: &Process) -> bool {
        process::has_ended(self.given.host, process)
    }

    /// The agent as reminders see it. It reminds itself of its own tools, and says by itself that it
    /// has them.
    fn profile(&self) -> Agent {
        Agent {
            has_tools: true,
            reminds_itself: self.session.memory.written_with.as_deref() != Some(TURN),
            echoes_changes: false,
            hears_compaction: true,
        }
    }
}
