//! Sessions of agents: finds the current session, and stores what is known of it.
//!
//! Hooks, tool server and verbs of one session are separate processes with the agent as a common
//! ancestor. A hook is told the session's id and records the agent's process; the others look for
//! that process among their ancestors. What a session does to its plan is decided elsewhere.

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

/// How often a write is retried. One session does not run more hooks than this in parallel.
const TRIES: u32 = 20;

/// How long a sighting of a session stays fresh, so that it need not be stored again.
const FRESH_MS: i64 = 5 * 60_000;

/// How long a session counts as live if nothing else is known of it.
const A_DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What a hook knows about its session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// The session.
    pub key: SessionKey,
    /// The project of the directory that the session works in. It only counts when the session is
    /// first seen: an agent that changes its directory later keeps its plan.
    pub project: String,
    /// The directory that the session works in.
    pub directory: String,
    /// The agent's process, if it was found.
    pub process: Option<Process>,
    /// Whether the session is interactive, if known.
    pub interactive: Option<bool>,
    /// The time.
    pub now: Timestamp,
    /// Whether the session reported its end.
    pub ended: bool,
}

/// A session after a sighting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Met {
    /// The stored session is up to date.
    Known(Session),
    /// This state is not stored yet.
    News(Session),
}

/// Stores a sighting of a session, if it is news, and returns the session.
pub async fn record(store: &dyn SessionStore, seen: Seen) -> Result<Session, Error> {
    match meet(store, &seen).await? {
        Met::Known(session) => Ok(session),
        Met::News(next) => write(store, &seen, next).await,
    }
}

/// Checks whether a sighting of a session is news. Stores nothing.
///
/// It is news if anything changed, if another session of the same process was seen since, or if the
/// last sighting is some time ago. There are many hooks, and each write needs the write lock.
pub async fn meet(store: &dyn SessionStore, seen: &Seen) -> Result<Met, Error> {
    let stored = store.session(seen.key.clone()).await?;
    meet_stored(store, seen, stored).await
}

async fn meet_stored(
    store: &dyn SessionStore,
    seen: &Seen,
    stored: Option<Session>,
) -> Result<Met, Error> {
    let other_seen_at = match &seen.process {
        Some(process) if !seen.ended => {
            store.seen_beside(seen.key.clone(), process.clone()).await?
        }
        Some(_) | None => None,
    };
    let Some(mut session) = stored else {
        let mut new = Session::new(seen.key.clone(), seen.project.clone(), seen.now);
        seen.apply_to(&mut new, other_seen_at);
        return Ok(Met::News(new));
    };
    let before = session.seen_at;
    let overtaken = other_seen_at.is_some_and(|other_seen_at| other_seen_at >= before);
    let changed = seen.apply_to(&mut session, other_seen_at);
    if changed || overtaken || millis_between(before, session.seen_at) >= FRESH_MS {
        return Ok(Met::News(session));
    }
    session.seen_at = before;
    Ok(Met::Known(session))
}

/// Stores the session that [`meet`] returned, and returns the stored session.
pub async fn write(
    store: &dyn SessionStore,
    seen: &Seen,
    mut next: Session,
) -> Result<Session, Error> {
    for _ in 0..TRIES {
        let stored = match store.keep(next.clone()).await? {
            Kept::Stored(1) => {
                sweep(store, &next, seen.now).await?;
                return Ok(next.kept());
            }
            Kept::Stored(_) => return Ok(next.kept()),
            Kept::Stale(stored) => stored.map(|it| *it),
        };
        match meet_stored(store, seen, stored).await? {
            Met::Known(session) => return Ok(session),
            Met::News(again) => next = again,
        }
    }
    Err(too_many_writers(&seen.key))
}

/// Records which other sessions of the project have ended without reporting it, so that later calls
/// need not examine them. It runs once per session.
async fn sweep(store: &dyn SessionStore, new: &Session, now: Timestamp) -> Result<(), Error> {
    // Only a caller that can see its own process can tell that others have ended.
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
            // If another process wrote the session meanwhile, its state counts.
            store.keep(Session { ended_at, ..session }).await?;
        }
    }
    Ok(())
}

impl Seen {
    /// Applies the sighting to the session. Returns whether anything but the time changed.
    fn apply_to(&self, next: &mut Session, other_seen_at: Option<Timestamp>) -> bool {
        let mut changed = false;
        if next.project.is_empty() {
            changed |= set(&mut next.project, &self.project);
        }
        if !self.directory.is_empty() {
            changed |= set(&mut next.directory, &self.directory);
        }
        // A process that is not visible from here may still be the recorded one, unless that one
        // has ended.
        let ended = |it: &Process| process::has_ended(&it.host, it);
        if self.process.is_some() || next.process.as_ref().is_some_and(ended) {
            changed |= set(&mut next.process, &self.process);
        }
        if self.interactive.is_some() {
            changed |= set(&mut next.interactive, &self.interactive);
        }
        next.seen_at = next.seen_at.max(self.now);
        if self.ended {
            let said = next.ended_at.or(Some(self.now));
            return changed | set(&mut next.ended_at, &said);
        }
        changed |= set(&mut next.ended_at, &None);
        // The process has switched to this session, so it must sort before the other, even if both
        // were seen at the same time or the clock was set back.
        if let Some(other_seen_at) = other_seen_at.filter(|it| *it >= next.seen_at) {
            let later = other_seen_at.as_millisecond().saturating_add(1);
            next.seen_at = Timestamp::from_millisecond(later).unwrap_or(other_seen_at);
        }
        changed
    }
}

/// Sets a value. Returns whether it changed.
fn set<T: Clone + PartialEq>(place: &mut T, value: &T) -> bool {
    let changed = *place != *value;
    if changed {
        place.clone_from(value);
    }
    changed
}

/// The session that a process belongs to.
///
/// `processes` are its ancestors from [`reach`]. `named` is the session that the environment names. It
/// only counts if no process matches, because it may be older than the agent's current session.
pub async fn current(
    store: &dyn SessionStore,
    processes: &[Process],
    named: Option<&SessionKey>,
) -> Result<Option<Session>, Error> {
    if !processes.is_empty() {
        let filter =
            SessionFilter { processes: Some(processes.to_vec()), ..SessionFilter::default() };
        let sessions = store.sessions(filter).await?;
        if let Some(session) = newest(&sessions, processes) {
            return Ok(Some(session.clone()));
        }
    }
    match named {
        Some(key) => store.session(key.clone()).await,
        None => Ok(None),
    }
}

/// The live sessions of a project, most recently seen first.
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

/// Whether a session is live: it has not reported its end, and its process is not known to have
/// ended. A session whose process is not visible from here is live for a day after it was last
/// seen.
///
/// This does not notice that a process has switched to another session; see
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

/// Changes a session's memory and returns the result of `step`; `None` if there is no such session.
/// `step` may be called several times, each time with the current memory, and only its last call
/// counts. Nothing is stored if it changes nothing.
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

/// Like [`update`], for a session that was just read: it is read again only if another process has
/// written it since.
pub async fn update_from<T>(
    store: &dyn SessionStore,
    session: Session,
    step: impl Fn(&mut Memory) -> T + Send,
) -> Result<Option<(Session, T)>, Error> {
    let key = session.key.clone();
    let mut stored = Some(session);
    for _ in 0..TRIES {
        let Some(session) = stored else { return Ok(None) };
        let mut next = session.clone();
        let result = step(&mut next.memory);
        if next == session {
            return Ok(Some((session, result)));
        }
        match store.keep(next.clone()).await? {
            Kept::Stored(_) => return Ok(Some((next.kept(), result))),
            Kept::Stale(now) => stored = now.map(|it| *it),
        }
    }
    Err(too_many_writers(&key))
}

fn too_many_writers(key: &SessionKey) -> Error {
    let what = format!("session {} is written by too many processes at once", key.actor_name(""));
    Error::Unusable { what, source: None }
}
