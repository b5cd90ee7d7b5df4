//! Who acts: the author of a change, and the holder of a claim.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The author of a change, as the journal names it. `undo` reverts changes of an equal actor.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Actor {
    /// What kind of author.
    pub kind: ActorKind,
    /// The name that views show: `user@host`, an agent's session, or a worker.
    pub name: String,
}

/// The kinds of authors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// A person at a keyboard.
    Person,
    /// A model, through a tool or through the mirror of its own list.
    Agent,
    /// Punchlist itself.
    Engine,
}

impl ActorKind {
    /// The name in the store and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
            Self::Engine => "engine",
        }
    }
}

impl Actor {
    /// A person at a keyboard.
    pub fn person(name: impl Into<String>) -> Self {
        Self { kind: ActorKind::Person, name: name.into() }
    }

    /// A model.
    pub fn agent(name: impl Into<String>) -> Self {
        Self { kind: ActorKind::Agent, name: name.into() }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Who holds a claim: a name and, if known, the process behind it.
///
/// Two holders are the same worker if their names are equal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Holder {
    /// `--as`, else the session, else `user@host`.
    pub name: String,
    /// The claim ends early when this process ends. It is never the process of a verb, which ends
    /// at once.
    pub process: Option<Process>,
}

impl Holder {
    /// A holder that is only a name.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), process: None }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A process. Host, boot and start time tell it apart from other processes with the same pid.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what the kernel calls them")]
pub struct Process {
    pub host: String,
    pub boot_id: String,
    pub pid_namespace: u64,
    pub pid: u32,
    pub start_time: u64,
}
