//! Hooks of agents: takes an event of an agent's session and returns the answer.
//!
//! `mirror` mirrors the agent's own list, `absent` handles tasks that the agent no longer has,
//! [`spool`] keeps events that could not be applied, [`UnderWay`] makes sure that they are kept,
//! [`failures`] records failed calls. [`event`] decides one event, or applies those of the spool.
//! What a conversation may do is in [`crate::conversation`]. The caller passes in everything from
//! outside ([`Given`]). Only the store's futures are awaited, so with a store in a file the answer
//! is ready at the first poll. An error is for the caller: the agent then gets no answer.

mod absent;
pub mod event;
pub mod failures;
pub(crate) mod mirror;
pub mod spool;
#[cfg(test)]
mod tests;
mod under_way;

use std::sync::atomic::AtomicBool;

use punchlist_formats::hook::{Answer, Event, What};
use punchlist_model::ListEntry;
use punchlist_model::session::{Session, SessionKey, Store};
use punchlist_model::store::Error;

pub use crate::conversation::{
    AgentFacts, Given, Moment, PlanFacts, Settings, TASKS, TODOWRITE, TRACKER, TURN, UPDATE_PLAN,
    WATCHED, WRITE_TODOS,
};
use crate::conversation::{Exchange, Sighting};
use crate::session::{Met, Seen, meet, write};
pub use under_way::UnderWay;

/// The answer to the agent.
pub async fn answer(store: &dyn Store, event: &Event, given: &Given<'_>) -> Result<Answer, Error> {
    if event.what == What::Doctor {
        return Ok(Answer::Message(format!("punchlist {}", given.version)));
    }
    let seen = Seen {
        key: SessionKey { agent: given.agent.name.to_owned(), id: event.session.clone() },
        project: given.plan.project.to_owned(),
        directory: event.directory.clone(),
        process: given.agent.process.clone(),
        interactive: given.agent.interactive,
        now: given.moment.now,
        ended: event.what == What::Ends,
    };
    let (session, sighting) = match meet(store, &seen).await? {
        Met::Known(session) => (session, None),
        // A new session is stored at once, because other sessions are compared with its stored
        // record.
        Met::News(next) if next.version == 0 || matches!(event.what, What::Begins(_)) => {
            (write(store, &seen, next).await?, None)
        }
        Met::News(next) => (next, Some(Sighting { seen, written: AtomicBool::new(false) })),
    };
    let sub_agent = event.sub_agent.as_deref().unwrap_or("");
    let call = Exchange { store, given, session, sighting, sub_agent };
    let answer = call.answer(event).await;
    let stored = call.store_sighting().await;
    answer.and_then(|answer| stored.map(|()| answer))
}

/// Records a whole list of a session or of one of its sub-agents that was observed from outside, as
/// the session's own hook would.
pub async fn keep_list(
    store: &dyn Store,
    given: &Given<'_>,
    session: Session,
    sub_agent: &str,
    entries: &[ListEntry],
) -> Result<(), Error> {
    let call = Exchange { store, given, session, sighting: None, sub_agent };
    call.list(entries, WATCHED).await.map(|_| ())
}

impl Exchange<'_> {
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
}
