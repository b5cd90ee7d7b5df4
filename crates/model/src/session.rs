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

use crate::actor::Process;
use crate::guard::{Gate, Turn};
use crate::id::Number;
use crate::remind::Watch;
use crate::store::{AttachmentKey, Error, PlanStore, kept};

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
    /// When it said that it ended. One that was killed never says so.
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
    /// Its sub-agents, by their ids.
    pub sub_agents: BTreeMap<String, SubAgent>,
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
    /// At most so many; `None` means all.
    pub most: Option<u32>,
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

    /// Writes a session if nobody has since it was read: the stored version must be the one that it
    /// carries, 0 for one that is new. Whoever comes too late looks at what is there and tries again.
    fn keep(&self, session: Session) -> BoxFuture<'_, Result<Kept, Error>>;
}

/// Plans and sessions in one place.
pub trait Store: PlanStore + SessionStore {}

impl<T: PlanStore + SessionStore> Store for T {}
