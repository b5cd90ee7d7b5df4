//! Sessions of other agents: which one is meant, and keeping what is known of it.
//!
//! Hooks, tool server and verbs of one session are processes of their own that share the agent
//! above them. A hook is told the session's id and writes the agent's process down; the others look
//! for that process among their ancestors. What a session does to its plan is not decided here.

mod actor;
mod adopt;
mod agent;
mod choice;
mod gate;
mod left;
#[cfg(test)]
mod tests;
mod written;

use punchlist_model::session::{
    Kept, Memory, Session, SessionFilter, SessionKey, SessionStore, current as newest, live,
};
use punchlist_model::store::Error;
use punchlist_model::{Process, Timestamp};

use punchlist_bridge::process::{self, Fate};

pub use actor::actor;
pub use adopt::{Adopted, adopt, give_back};
pub use agent::{
    AGENTS, agent_of, agent_process, attended, is_called, is_known, known_agent, only_plans, reach,
};
pub use choice::{SessionQuery, choose, in_environment, is_id};
pub use gate::HoldingGate;
pub use left::{Left, left_open, may_adopt, only};
pub use written::written;

/// How often a session is written before it is given up: so many hooks of one session do not run
/// side by side.
const TRIES: u32 = 20;

/// For how long it need not be written down that a session was seen again.
const FRESH_MS: i64 = 5 * 60_000;

/// For how long a session of which nothing else is known is taken for live.
const A_DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What a hook was told, or found out, of its session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Which session.
    pub key: SessionKey,
    /// The project of the directory that it works in. Counts when the session is seen for the first
    /// time: an agent that goes elsewhere in mid-session keeps its plan.
    pub project: String,
    /// The directory that it works in.
    pub directory: String,
    /// The agent's process, where it was found.
    pub process: Option<Process>,
    /// Whether somebody sits before it, where that is known.
    pub interactive: Option<bool>,
    /// When.
    pub now: Timestamp,
    /// It said that it ends.
    pub ended: bool,
}

/// A session that was seen, as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Met {
    /// There is nothing to write down.
    Known(Session),
    /// There is: this has not been stored yet.
    News(Session),
}

/// Writes down that a session was seen, if that is news, and gives the session as it is now.
pub async fn record(store: &dyn SessionStore, seen: Seen) -> Result<Session, Error> {
    match meet(store, &seen).await? {
        Met::Known(session) => Ok(session),
        Met::News(next) => write(store, &seen, next).await,
    }
}

/// Looks whether it is news that a session was seen, and writes nothing.
///
/// It is news if anything about it changed, if another session of the same process was seen since,
/// or if the last time was some time ago: hooks are many, and writing takes turns.
pub async fn meet(store: &dyn SessionStore, seen: &Seen) -> Result<Met, Error> {
    let there = store.session(seen.key.clone()).await?;
    meet_there(store, seen, there).await
}

async fn meet_there(
    store: &dyn SessionStore,
    seen: &Seen,
    there: Option<Session>,
) -> Result<Met, Error> {
    let rival = match &seen.process {
        Some(process) if !seen.ended => {
            store.seen_beside(seen.key.clone(), process.clone()).await?
        }
        Some(_) | None => None,
    };
    let Some(mut session) = there else {
        let mut new = Session::new(seen.key.clone(), seen.project.clone(), seen.now);
        seen.onto(&mut new, rival);
        return Ok(Met::News(new));
    };
    let before = session.seen_at;
    let overtaken = rival.is_some_and(|rival| rival >= before);
    let changed = seen.onto(&mut session, rival);
    if changed || overtaken || millis_between(before, session.seen_at) >= FRESH_MS {
        return Ok(Met::News(session));
    }
    session.seen_at = before;
    Ok(Met::Known(session))
}

/// Writes down that a session was seen, as [`meet`] gave it, and gives the session as it is then.
pub async fn write(
    store: &dyn SessionStore,
    seen: &Seen,
    mut next: Session,
) -> Result<Session, Error> {
    for _ in 0..TRIES {
        let there = match store.keep(next.clone()).await? {
            Kept::Stored(1) => {
                sweep(store, &next, seen.now).await?;
                return Ok(next.kept());
            }
            Kept::Stored(_) => return Ok(next.kept()),
            Kept::Stale(there) => there.map(|it| *it),
        };
        match meet_there(store, seen, there).await? {
            Met::Known(session) => return Ok(session),
            Met::News(again) => next = again,
        }
    }
    Err(crowded(&seen.key))
}

/// Writes down of the other sessions of a project which of them are over without a word, so that
/// they need not be looked at for ever. Once a session is enough.
async fn sweep(store: &dyn SessionStore, new: &Session, now: Timestamp) -> Result<(), Error> {
    // Only who sees its own process run can say that others do not.
    let own = new.process.as_ref().filter(|it| process::fate(&it.host, it) == Fate::Runs);
    let Some(host) = own.map(|it| &it.host) else { return Ok(()) };
    let filter = SessionFilter {
        project: Some(new.project.clone()),
        running: true,
        ..SessionFilter::default()
    };
    for session in store.sessions(filter).await? {
        if session.key != new.key && is_over(&session, host, now) {
            let ended_at = Some(session.seen_at);
            // Whoever wrote it meanwhile knows better.
            store.keep(Session { ended_at, ..session }).await?;
        }
    }
    Ok(())
}

impl Seen {
    /// Puts this into the session; whether anything changed but when it was seen.
    fn onto(&self, next: &mut Session, rival: Option<Timestamp>) -> bool {
        let mut changed = false;
        if next.project.is_empty() {
            changed |= put(&mut next.project, &self.project);
        }
        if !self.directory.is_empty() {
            changed |= put(&mut next.directory, &self.directory);
        }
        // A process that cannot be seen from here may still be the one that was written down, as
        // long as nothing speaks against it.
        let ended = |it: &Process| process::has_ended(&it.host, it);
        if self.process.is_some() || next.process.as_ref().is_some_and(ended) {
            changed |= put(&mut next.process, &self.process);
        }
        if self.interactive.is_some() {
            changed |= put(&mut next.interactive, &self.interactive);
        }
        next.seen_at = next.seen_at.max(self.now);
        if self.ended {
            let said = next.ended_at.or(Some(self.now));
            return changed | put(&mut next.ended_at, &said);
        }
        changed |= put(&mut next.ended_at, &None);
        // The process has gone over to this session: it must come before the other, also where both
        // were seen in the same moment or the clock was set back.
        if let Some(rival) = rival.filter(|it| *it >= next.seen_at) {
            let later = rival.as_millisecond().saturating_add(1);
            next.seen_at = Timestamp::from_millisecond(later).unwrap_or(rival);
        }
        changed
    }
}

/// Puts a value in its place; whether it is another than what was there.
fn put<T: Clone + PartialEq>(place: &mut T, value: &T) -> bool {
    let changed = *place != *value;
    if changed {
        place.clone_from(value);
    }
    changed
}

/// The session that a process below it is in.
///
/// `processes` are those above it as [`reach`] gives them; `told` is what the environment says,
/// which counts only where no process does: it may be from before the agent began a new session.
pub async fn current(
    store: &dyn SessionStore,
    processes: &[Process],
    told: Option<&SessionKey>,
) -> Result<Option<Session>, Error> {
    if !processes.is_empty() {
        let filter =
            SessionFilter { processes: Some(processes.to_vec()), ..SessionFilter::default() };
        let sessions = store.sessions(filter).await?;
        if let Some(session) = newest(&sessions, processes) {
            return Ok(Some(session.clone()));
        }
    }
    match told {
        Some(key) => store.session(key.clone()).await,
        None => Ok(None),
    }
}

/// The live sessions of a project, the one that was seen last first.
pub async fn live_sessions(
    store: &dyn SessionStore,
    project: &str,
    host: &str,
    now: Timestamp,
) -> Result<Vec<Session>, Error> {
    let filter = SessionFilter {
        project: Some(project.to_owned()),
        running: true,
        ..SessionFilter::default()
    };
    let sessions = store.sessions(filter).await?;
    let live = live(&sessions, |it| is_over(it, host, now));
    Ok(live.into_iter().cloned().collect())
}

/// Whether a session is live: it has not said that it ended, and its process is not known to have.
/// One whose process cannot be seen from here is live for a day after it was last seen.
///
/// That its process has gone over to another session is not seen here; see
/// [`punchlist_model::session::live`].
pub fn is_live(session: &Session, host: &str, now: Timestamp) -> bool {
    session.ended_at.is_none() && !is_over(session, host, now)
}

fn is_over(session: &Session, host: &str, now: Timestamp) -> bool {
    let fate = session.process.as_ref().map_or(Fate::Unknown, |it| process::fate(host, it));
    match fate {
        Fate::Runs => false,
        Fate::Ended => true,
        Fate::Unknown => millis_between(session.seen_at, now) >= A_DAY_MS,
    }
}

fn millis_between(then: Timestamp, now: Timestamp) -> i64 {
    now.as_millisecond().saturating_sub(then.as_millisecond())
}

/// Changes what is remembered of a session and gives what `step` gave; `None` if there is no such
/// session. `step` may be called several times, each time on what is there now, and only its last
/// call counts. Nothing is written if it changed nothing.
pub async fn update<T>(
    store: &dyn SessionStore,
    key: &SessionKey,
    step: impl Fn(&mut Memory) -> T + Send,
) -> Result<Option<(Session, T)>, Error> {
    match store.session(key.clone()).await? {
        Some(session) => update_from(store, session, step).await,
        None => Ok(None),
    }
}

/// The same for a session that was read a moment ago: it is read again only if somebody has written
/// it since.
pub async fn update_from<T>(
    store: &dyn SessionStore,
    session: Session,
    step: impl Fn(&mut Memory) -> T + Send,
) -> Result<Option<(Session, T)>, Error> {
    let key = session.key.clone();
    let mut there = Some(session);
    for _ in 0..TRIES {
        let Some(session) = there else { return Ok(None) };
        let mut next = session.clone();
        let came = step(&mut next.memory);
        if next == session {
            return Ok(Some((session, came)));
        }
        match store.keep(next.clone()).await? {
            Kept::Stored(_) => return Ok(Some((next.kept(), came))),
            Kept::Stale(now) => there = now.map(|it| *it),
        }
    }
    Err(crowded(&key))
}

fn crowded(key: &SessionKey) -> Error {
    let what = format!("session {} is written by too many at once", key.actor_name(""));
    Error::Unusable { what, source: None }
}
