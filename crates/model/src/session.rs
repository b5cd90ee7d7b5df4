//! Sessions of agents: where they run, and their state between two hooks.
//!
//! A session does not own a plan; it is tied to one by an [`crate::store::Attachment`]. A session
//! record has the agent's process, so that a hook, an MCP server and a verb under the same agent
//! find the same session, and the state of the gate and of the reminders. This module has the data
//! and the contract of the store; other modules find out when a session begins or ends.

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
use crate::store::access::AccessStore;
use crate::store::maintenance::MaintenanceStore;
use crate::store::notices::NoticeStore;
use crate::store::turns::TurnStore;
use crate::store::work::WorkStore;
use crate::store::{Applied, AttachmentKey, Change, Error, PlanStore, kept};

/// A session's key: the agent's name, and the id that the agent gave the session.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SessionKey {
    /// The agent: `claude`, `codex`, `gemini`.
    pub agent: String,
    /// The session's id.
    pub id: String,
}

impl SessionKey {
    /// The key of the session's attachment in a project.
    pub fn attachment(&self, project: &str, sub_agent: &str) -> AttachmentKey {
        AttachmentKey {
            project: project.to_owned(),
            agent: self.agent.clone(),
            conversation: self.id.clone(),
            sub_agent: sub_agent.to_owned(),
            turn: String::new(),
        }
    }

    /// The name under which the session or one of its sub-agents acts: the agent and a short form
    /// of the session's id, which views have room for.
    pub fn actor_name(&self, sub_agent: &str) -> String {
        let name = format!("{}:{}", brief(&self.agent), brief(&self.id));
        match sub_agent {
            "" => name,
            _ => format!("{name}/{}", brief(sub_agent)),
        }
    }
}

/// A short form of an id, for names. A short id stays as it is; a longer one is shortened so that
/// different ids stay different.
fn brief(id: &str) -> String {
    /// The longest id that stays as it is, in characters.
    const SHORT: usize = 20;
    if let Ok(uuid) = Uuid::try_parse(id) {
        // The end of the UUID: some UUIDs begin with the time, which sessions may share.
        let mut room = Uuid::encode_buffer();
        return uuid.simple().encode_lower(&mut room)[20..].to_owned();
    }
    if id.chars().count() <= SHORT && !id.contains(char::is_control) {
        return id.to_owned();
    }
    // FNV-1a. The ids are not secret; their hashes only have to differ.
    let digest = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{digest:016x}")[4..].to_owned()
}

/// A session, as the store keeps it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Session {
    /// The session's key.
    pub key: SessionKey,
    /// The project that the session works in.
    pub project: String,
    /// The last known working directory.
    pub directory: String,
    /// The agent's process, if known. A process may have several sessions, one after the other; the
    /// current one is the one that was seen last.
    pub process: Option<Process>,
    /// Whether a person uses the session interactively, if known.
    pub interactive: Option<bool>,
    /// When the session was first seen.
    pub begun_at: Timestamp,
    /// When the session was last seen.
    pub seen_at: Timestamp,
    /// When the session reported its end. A killed session reports none; once that is noticed, this
    /// is when the session was last seen.
    pub ended_at: Option<Timestamp>,
    /// The state of gate, reminders and mirrored list.
    pub memory: Memory,
    /// How often the record was written; 0 before the first time.
    pub version: u64,
}

impl Session {
    /// A new session.
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

    /// The key of the session's attachment.
    pub fn attachment(&self) -> AttachmentKey {
        self.key.attachment(&self.project, "")
    }

    /// The name under which the session or one of its sub-agents acts; `""` means no sub-agent.
    pub fn actor_name(&self, sub_agent: &str) -> String {
        self.key.actor_name(sub_agent)
    }

    /// The author of the session's changes.
    pub fn actor(&self, sub_agent: &str) -> Actor {
        Actor::agent(self.actor_name(sub_agent))
    }

    /// The holder of the session's claims: its name and, if known, the agent's process.
    pub fn holder(&self, sub_agent: &str) -> Holder {
        Holder { name: self.actor_name(sub_agent), process: self.process.clone() }
    }

    /// The session as a store writes it: with the next version, and times to the millisecond.
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

/// The state of a session between two hooks.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// The governor's state for the current prompt.
    pub turn: Turn,
    /// The user's gate setting for this session.
    pub gate: Option<Gate>,
    /// The state and the costs of reminders.
    pub watch: Watch,
    /// The items of the mirror, by the agent's own ids.
    pub mirrored: BTreeMap<String, Number>,
    /// Ids of items that were mirrored before the agent's tool confirmed the write.
    pub unconfirmed: BTreeSet<String>,
    /// The tools that last wrote the list, as the mirror calls them.
    pub written_with: Option<String>,
    /// Whether the agent is in plan mode, for agents that report only changes of mode.
    pub planning: bool,
    /// The first line of the user's last prompt before the session had a plan: the plan's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Whether the agent's last action was a tool that asks the user something.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// The session's sub-agents, by their ids.
    pub sub_agents: BTreeMap<String, SubAgent>,
    /// The plan and revision for which an unmet goal was last reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_against: Option<(PlanId, Revision)>,
}

/// The state of a sub-agent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SubAgent {
    /// The governor's state for the sub-agent's run.
    pub turn: Turn,
    /// The items of the session's list that the sub-agent added or claimed.
    pub own: BTreeSet<Number>,
}

/// Which sessions to return.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionFilter {
    /// Only sessions of this project.
    pub project: Option<String>,
    /// Only sessions of one of these processes.
    pub processes: Option<Vec<Process>>,
    /// Only sessions without a recorded end.
    pub running: bool,
    /// The maximum number of sessions; `None` means all.
    pub most: Option<u32>,
}

/// The session of the nearest process. `processes` has the nearest first.
///
/// A process has one session at a time: the one that was seen last among those that have not ended;
/// if all have ended, the one that was seen last.
pub fn current<'a>(sessions: &'a [Session], processes: &[Process]) -> Option<&'a Session> {
    processes.iter().find_map(|process| {
        sessions
            .iter()
            .filter(|it| it.process.as_ref() == Some(process))
            .max_by_key(|it| (it.ended_at.is_none(), it.seen_at, &it.key))
    })
}

/// The live sessions among these, in the same order: those without a recorded end for which
/// `is_over`, which looks at their processes, is false.
///
/// A session whose process has started another session is over, even if it did not report its end.
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

/// The result of writing a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kept {
    /// The session was stored with this version.
    Stored(u64),
    /// Somebody else has written the session since; nothing was stored. `None` if it does not
    /// exist.
    Stale(Option<Box<Session>>),
}

/// The store of sessions. It makes the same promises as [`PlanStore`]: each method is one
/// transaction, and it returns only after the change is durable. Sessions have no journal and no
/// revision, and cannot be followed.
pub trait SessionStore: Send + Sync {
    /// One session.
    fn session(&self, key: SessionKey) -> BoxFuture<'_, Result<Option<Session>, Error>>;

    /// The sessions that match, most recently seen first.
    fn sessions(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Vec<Session>, Error>>;

    /// When the process was last seen in a session other than this one.
    fn seen_beside(
        &self,
        key: SessionKey,
        process: Process,
    ) -> BoxFuture<'_, Result<Option<Timestamp>, Error>>;

    /// Writes a session if nobody has written it since it was read: its version must equal the
    /// stored one, or be 0 for a new session. Otherwise the caller reads the session again and
    /// retries.
    fn keep(&self, session: Session) -> BoxFuture<'_, Result<Kept, Error>>;

    /// Changes a plan as [`PlanStore::change`] does and writes a session as [`Self::keep`] does, in
    /// one transaction. If the change fails, neither is written. If the session is stale, only the
    /// change is.
    fn change_and_keep(
        &self,
        plan: PlanId,
        change: Change,
        session: Session,
    ) -> BoxFuture<'_, Result<(Applied, Kept), Error>>;
}

/// Plans, sessions, calls, conversations, notices and grants in one place.
pub trait Store:
    PlanStore
    + SessionStore
    + CallStore
    + MaintenanceStore
    + TurnStore
    + NoticeStore
    + AccessStore
    + WorkStore
{
}

impl<T> Store for T where
    T: PlanStore
        + SessionStore
        + CallStore
        + MaintenanceStore
        + TurnStore
        + NoticeStore
        + AccessStore
        + WorkStore
{
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32) -> Process {
        let (host, boot_id) = ("here".to_owned(), "boot".to_owned());
        Process { host, boot_id, pid_namespace: 1, pid, start_time: 1 }
    }

    /// A session with an id, a pid (0 for none), when it was seen, and whether it ended.
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
        // The first session was cleared and has ended.
        check_current(&[("a", 10, 1, true), ("b", 10, 2, false)], &[10], Some("b"));
        // The end of the first session was reported after the second had begun.
        check_current(&[("a", 10, 3, true), ("b", 10, 2, false)], &[10], Some("b"));
        // Both have ended, but the process that asks still runs below their process.
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
            // UUIDs of the same minute begin with the same time.
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
