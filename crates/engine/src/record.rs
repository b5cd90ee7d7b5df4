//! Records lists that were observed in agents' streams as durable plans, as the agents' own hooks
//! would.
//!
//! What happened is recorded and never refused. A session whose hooks or tools record its list is
//! skipped, because two mirrors of one list would undo each other. Recording the same list again
//! changes nothing.

use punchlist_formats::text::mask;
use punchlist_model::session::{SessionKey, Store};
use punchlist_model::store::Error;
use punchlist_model::{ListEntry, Timestamp};
use punchlist_streams::watch::join::name;
use punchlist_streams::watch::{Life, Seen};

use crate::hook::{self, Given, WATCHED};
use crate::session;

/// What recording depends on, besides the observed session.
pub struct Recording<'a> {
    /// The facts that a hook would have.
    pub given: Given<'a>,
    /// What is known of the process.
    pub life: Life,
}

/// The result of recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// The plan now equals the list.
    Kept,
    /// The session's own hooks or tools record the list.
    NotOurs,
    /// There is nothing to record.
    Nothing,
}

/// Records a session's list.
pub async fn record(
    store: &dyn Store,
    seen: &Seen,
    recording: &Recording<'_>,
) -> Result<Recorded, Error> {
    // This includes a list that the agent never confirmed: a refused list is not here, and scripts
    // confirm nothing.
    let Some(list) = seen.list.as_ref() else { return Ok(Recorded::Nothing) };
    let (id, sub_agent) = seen.names();
    let sub_agent = sub_agent.unwrap_or_default().to_owned();
    let key = SessionKey { agent: name(seen.agent_type).to_owned(), id: id.to_owned() };
    let stored = store.session(key.clone()).await?;
    let writer = stored.as_ref().and_then(|it| it.memory.written_with.as_deref());
    if writer.is_some_and(|it| it != WATCHED) {
        return Ok(Recorded::NotOurs);
    }
    if stored.is_none() && list.items.is_empty() {
        return Ok(Recorded::Nothing);
    }
    // The session existed before it is recorded, and may be over already.
    let last = Timestamp::from_millisecond(seen.last).unwrap_or(recording.given.moment.now);
    let seen = session::Seen {
        key,
        project: recording.given.plan.project.to_owned(),
        directory: seen.directory.clone().unwrap_or_default(),
        process: None,
        interactive: None,
        now: last,
        ended: match recording.life {
            Life::Ended | Life::Died => true,
            Life::Runs { .. } | Life::Unknown => false,
        },
    };
    let session = session::record(store, seen).await?;
    let entries: Vec<ListEntry> = list
        .items
        .iter()
        .map(|todo| {
            let masked = |text: &String| mask(text).into_owned();
            ListEntry {
                item: None,
                title: masked(&todo.text),
                active_form: todo.active_form.as_ref().map(masked),
                status: todo.status,
                waiting_on: Some(todo.waiting_on.as_ref().map(masked).unwrap_or_default()),
            }
        })
        .collect();
    hook::keep_list(store, &recording.given, session, &sub_agent, &entries).await?;
    Ok(Recorded::Kept)
}
