//! Sessions of agents: where they run, and what is remembered of them between two hooks.
//!
//! A session attaches to a plan and never owns it; that tie is an [`crate::store::Attachment`]. Here
//! is the rest: which process it runs in, so that a hook, a tool server and a verb under the same
//! agent find the same session, and how its gate and its reminders stand. Data and the contract of
//! its store only; who ends or begins when is found out elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use futures_core::future::BoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::actor::{Actor, Holder, Process};
use crate::call::CallStore;
use crate::guard::{Gate, Turn};
use crate::id::{Number, PlanId, Revision};
use crate::remind::Watch;
use crate::store::maintenance::MaintenanceStore;
use crate::store::{Applied, AttachmentKey, Change, Error, PlanStore, kept};

/// Which session: what the agent is called, and what it calls its session.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SessionKey {
    /// Which agent: `claude`, `codex`, `gemini`.
    pub agent: String,
    /// The id that it gave its session.
    pub id: String,
}

impl SessionKey {
    /// What the session's attachment in a project is called.
    pub fn attachment(&self, project: &str, sub_agent: &str) -> AttachmentKey {
        AttachmentKey {
            project: project.to_owned(),
            agent: self.agent.clone(),
            conversation: self.id.clone(),
            sub_agent: sub_agent.to_owned(),
            turn: String::new(),
        }
    }

    /// The name that the session, or one of its sub-agents, acts under: the agent, and as much of the id
    /// that it gave its session as no other session has. Short, since screens show it.
    pub fn actor_name(&self, sub_agent: &str) -> String {
        let name = format!("{}:{}", brief(&self.agent), brief(&self.id));
        match sub_agent {
            "" => name,
            _ => format!("{name}/{}", brief(sub_agent)),
        }
    }
}

/// An id as part of a name. Ids come from agents: a short one is what it is, and of any other as much is
/// taken as tells it from all others.
fn brief(id: &str) -> String {
    /// The longest id that is shown as it is, in characters.
    const SHORT: usize = 20;
    if let Ok(uuid) = Uuid::try_parse(id) {
        // Its end: the beginning of some is the time, and two that begin together share it.
        let mut room = Uuid::encode_buffer();
        return uuid.simple().encode_lower(&mut room)[20..].to_owned();
    }
    if id.chars().count() <= SHORT && !id.contains(char::is_control) {
        return id.to_owned();
    }
    // FNV-1a: ids are not secret, they only have to differ.
    let digest = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{digest:016x}")[4..].to_owned()
}

/// A session, as the store keeps it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Session {
    /// Which.
    pub key: SessionKey,
    /// The project that it works in.
    pub project: String,
    /// The directory that it was last seen in.
    pub directory: String,
    /// The agent's process, where it is known. One process may have had several sessions, one after
    /// the other; the one that was seen last is its current one.
    pub process: Option<Process>,
    /// Whether somebody sits before it, where that is known.
    pub interactive: Option<bool>,
    /// When it was first seen.
    pub begun_at: Timestamp,
    /// When it was last seen.
    pub seen_at: Timestamp,
    /// When it said that it ended. One that was killed never says so; when somebody comes upon it,
    /// this is when it was last seen.
    pub ended_at: Option<Timestamp>,
    /// How its gate, reminders and mirrored list stand.
    pub memory: Memory,
    /// How often it was written; 0 before the first time.
    pub version: u64,
}

impl Session {
    /// A session that is seen for the first time.
    pub fn new(key: SessionKey, project: impl Into<String>, now: Timestamp) -> Self {
        Self {
            key,
            project: project.into(),
            directory: String::new(),
            process: None,
            interactive: None,
            begun_at: now,
            seen_at: now,
            ended_at: None,
            memory: Memory::default(),
            version: 0,
        }
    }

    /// What its attachment is called.
    pub fn attachment(&self) -> AttachmentKey {
        self.key.attachment(&self.project, "")
    }

    /// The name that it, or one of its sub-agents, acts under; `""` is no sub-agent.
    pub fn actor_name(&self, sub_agent: &str) -> String {
        self.key.actor_name(sub_agent)
    }

    /// The author of what it does.
    pub fn actor(&self, sub_agent: &str) -> Actor {
        Actor::agent(self.actor_name(sub_agent))
    }

    /// The holder of what it starts: its name, and the agent's process where that is known.
    pub fn holder(&self, sub_agent: &str) -> Holder {
        Holder { name: self.actor_name(sub_agent), process: self.process.clone() }
    }

    /// As a store keeps it when it writes it: the next version, times to the millisecond.
    #[must_use]
    pub fn kept(self) -> Self {
        Self {
            begun_at: kept(self.begun_at),
            seen_at: kept(self.seen_at),
            ended_at: self.ended_at.map(kept),
            version: self.version.saturating_add(1),
            ..self
        }
    }
}

/// What is remembered of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// The governor of its current prompt.
    pub turn: Turn,
    /// What the user set for this session alone.
    pub gate: Option<Gate>,
    /// Its reminders, and what they cost.
    pub watch: Watch,
    /// The agent's own names for mirrored items.
    pub mirrored: BTreeMap<String, Number>,
    /// Mirrored before the agent's tool had answered.
    pub unconfirmed: BTreeSet<String>,
    /// Which kind of tools the list was last written with, as the writer calls it.
    pub written_with: Option<String>,
    /// The agent may only plan, where it says so once and not each time.
    pub planning: bool,
    /// What the user last said before it had a plan, in a line: the plan's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The last that it did was to call a tool that asks the user something.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// Its sub-agents, by their ids.
    pub sub_agents: BTreeMap<String, SubAgent>,
    /// The settled list that was last held against its goal: which plan, and as of when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_against: Option<(PlanId, Revision)>,
}

/// What is remembered of a sub-agent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SubAgent {
    /// The governor of its run.
    pub turn: Turn,
    /// The items of the session's list that it made or claimed.
    pub own: BTreeSet<Number>,
}

/// Which sessions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionFilter {
    /// Of this project only.
    pub project: Option<String>,
    /// Of one of these processes only.
    pub processes: Option<Vec<Process>>,
    /// Those only that have not said that they ended.
    pub running: bool,
    /// At most so many; `None` means all.
    pub most: Option<u32>,
}

/// The session that runs in the nearest of these processes, which stand nearest first.
///
/// A process has one session at a time: the one that was seen last, or, if that has said that it
/// ended, the last that has not.
pub fn current<'a>(sessions: &'a [Session], processes: &[Process]) -> Option<&'a Session> {
    processes.iter().find_map(|process| {
        sessions
            .iter()
            .filter(|it| it.process.as_ref() == Some(process))
            .max_by_key(|it| (it.ended_at.is_none(), it.seen_at, &it.key))
    })
}

/// Those of these sessions that are live, in the same order: they have not said that they ended, and
/// `is_over`, which has looked at their processes, does not know better.
///
/// A session whose process went on to another one is over, whether it said so or not.
pub fn live(sessions: &[Session], is_over: impl Fn(&Session) -> bool) -> Vec<&Session> {
    let is_current = |it: &Session| {
        it.process.as_ref().is_none_or(|process| {
            let now = current(sessions, std::slice::from_ref(process));
            now.is_some_and(|now| now.key == it.key)
        })
    };
    let is_live = |it: &&Session| it.ended_at.is_none() && is_current(it) && !is_over(it);
    sessions.iter().filter(is_live).collect()
}

/// What came of writing a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kept {
    /// It is stored, under this version.
    Stored(u64),
    /// Somebody wrote it since; nothing was stored. `None` if it is not there.
    Stale(Option<Box<Session>>),
}

/// Where sessions are kept. The promises are those of [`PlanStore`]: one transaction each, and an
/// answer only once it would survive. Sessions are no plans: they have no journal and no revision,
/// and nobody follows them.
pub trait SessionStore: Send + Sync {
    /// One session.
    fn session(&self, key: SessionKey) -> BoxFuture<'_, Result<Option<Session>, Error>>;

    /// The sessions that fit, the one that was seen last first.
    fn sessions(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Vec<Session>, Error>>;

    /// When a process was last seen in another session than this one.
    fn seen_beside(
        &self,
        key: SessionKey,
        process: Process,
    ) -> BoxFuture<'_, Result<Option<Timestamp>, Error>>;

    /// Writes a session if nobody has since it was read: the stored version must be the one that it
    /// carries, 0 for one that is new. Whoever comes too late looks at what is there and tries again.
    fn keep(&self, session: Session) -> BoxFuture<'_, Result<Kept, Error>>;

    /// Changes a plan as [`PlanStore::change`] does and writes a session as [`Self::keep`] does, in one
    /// transaction. A change that fails writes neither; a session that somebody wrote meanwhile does not
    /// hold up the change.
    fn change_and_keep(
        &self,
        plan: PlanId,
        change: Change,
        session: Session,
    ) -> BoxFuture<'_, Result<(Applied, Kept), Error>>;
}

/// Plans, sessions and calls in one place.
pub trait Store: PlanStore + SessionStore + CallStore + MaintenanceStore {}

impl<T: PlanStore + SessionStore + CallStore + MaintenanceStore> Store for T {}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32) -> Process {
        let (host, boot_id) = ("here".to_owned(), "boot".to_owned());
        Process { host, boot_id, pid_namespace: 1, pid, start_time: 1 }
    }

    /// A session by its id, process (0 for none), when it was seen, and whether it ended.
    fn session((id, pid, seen, ended): (&str, u32, i64, bool)) -> Session {
        let at = Timestamp::from_second(seen).unwrap();
        let key = SessionKey { agent: "claude".to_owned(), id: id.to_owned() };
        Session {
            process: (pid > 0).then(|| process(pid)),
            ended_at: ended.then_some(at),
            ..Session::new(key, "/p", at)
        }
    }

    #[track_caller]
    fn check_current(sessions: &[(&str, u32, i64, bool)], pids: &[u32], expected: Option<&str>) {
        let sessions: Vec<Session> = sessions.iter().copied().map(session).collect();
        let processes: Vec<Process> = pids.iter().copied().map(process).collect();
        assert_eq!(current(&sessions, &processes).map(|it| it.key.id.as_str()), expected);
    }

    #[test]
    fn the_nearest_process_that_has_a_session_decides() {
        let sessions = [("outer", 10, 9, false), ("inner", 20, 5, false), ("other", 30, 8, false)];
        check_current(&sessions, &[99, 20, 10, 1], Some("inner"));
        check_current(&sessions, &[99, 10, 1], Some("outer"));
        check_current(&sessions, &[99, 1], None);
        check_current(&sessions, &[], None);
    }

    #[test]
    fn a_process_has_the_session_that_was_seen_last() {
        check_current(&[("a", 10, 1, false), ("b", 10, 2, false)], &[10], Some("b"));
        // It was cleared: the first is over.
        check_current(&[("a", 10, 1, true), ("b", 10, 2, false)], &[10], Some("b"));
        // The end of the first was told after the second had begun.
        check_current(&[("a", 10, 3, true), ("b", 10, 2, false)], &[10], Some("b"));
        // Whoever asks still runs below that process.
        check_current(&[("a", 10, 1, true), ("b", 10, 2, true)], &[10], Some("b"));
    }

    #[test]
    fn a_session_is_live_until_it_or_its_process_ends_or_another_takes_its_place() {
        let sessions = [
            ("runs", 10, 9, false),
            ("was cleared", 10, 8, false),
            ("said so", 20, 7, true),
            ("was killed", 30, 6, false),
            ("has no process", 0, 5, false),
        ]
        .map(session);
        let live = live(&sessions, |it| it.process == Some(process(30)));
        let ids: Vec<&str> = live.into_iter().map(|it| it.key.id.as_str()).collect();
        assert_eq!(ids, ["runs", "has no process"]);
    }

    #[test]
    fn no_two_sessions_have_the_same_name() {
        let name = |id: &str| session((id, 10, 1, false)).actor_name("");
        for (one, other) in [
            // Begun in the same minute, these share their beginning: it is the time.
            ("019a8f2c-1f3a-7000-8000-aaaaaaaaaaaa", "019a8f2c-1f3b-7000-8000-bbbbbbbbbbbb"),
            ("a-session-with-a-long-name-1", "a-session-with-a-long-name-2"),
            ("1-a-session-with-a-long-name", "2-a-session-with-a-long-name"),
            ("a\u{1b}[31m", "a[31m"),
        ] {
            assert_ne!(name(one), name(other));
            assert!(name(one).chars().count() <= 27 && !name(one).contains(char::is_control));
        }
    }

    #[test]
    fn sessions_and_their_sub_agents_have_short_names() {
        for (id, sub_agent, expected) in [
            ("12345678-aaaa-4bbb-8ccc-0123456789ab", "", "claude:0123456789ab"),
            (
                "12345678-aaaa-4bbb-8ccc-0123456789AB",
                "a685f00d99",
                "claude:0123456789ab/a685f00d99",
            ),
            ("short", "x", "claude:short/x"),
            ("", "", "claude:"),
        ] {
            let session = session((id, 10, 1, false));
            assert_eq!(session.actor_name(sub_agent), expected);
            assert_eq!(session.actor(sub_agent), Actor::agent(expected));
            let holder = session.holder(sub_agent);
            assert_eq!((holder.name.as_str(), holder.process), (expected, Some(process(10))));
        }
    }
}
