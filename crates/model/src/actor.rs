//! Who acts: the author of a change, and the holder of a claim.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The author of a change, as the journal names it. `undo` takes back changes of an equal actor.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Actor {
    /// What kind of author.
    pub kind: ActorKind,
    /// The name that screens show: `user@host`, an agent's session, a worker.
    pub name: String,
}

/// What kind of author a change has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// Somebody at a keyboard.
    Person,
    /// A model through a tool, or a mirror of what it did.
    Agent,
    /// Punchlist itself.
    Engine,
}

impl ActorKind {
    /// The name in stores and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
            Self::Engine => "engine",
        }
    }
}

impl Actor {
    /// Somebody at a keyboard.
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

/// Who holds a claim: a name, and the process behind it where one is known to live that long.
///
/// Two holders are the same worker if their names are equal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Holder {
    /// `--as`, else the session, else `user@host`.
    pub name: String,
    /// A process whose end frees the claim early. A verb's own process is never one.
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

/// A process, told apart from any other that has or had the same pid anywhere.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what the kernel calls them")]
pub struct Process {
    pub host: String,
    pub boot_id: String,
    pub pid_namespace: u64,
    pub pid: u32,
    pub start_time: u64,
}
