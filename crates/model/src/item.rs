//! One item of a plan, and the values that its fields take.
//!
//! Plain data. What may become of it is in [`mod@crate::decide`]; what follows from it (ready, blocked,
//! verification) is computed in [`crate::plan`] and never stored.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::actor::{Holder, Process};
use crate::id::{Attempt, ItemId, Number, Position};

/// The key of an item's metadata under which a run keeps what it knows of the plan file: where it lies, and
/// with that where the item's commands run. Nobody else sets or removes it.
pub const RESERVED: &str = "plan_file";

/// What the engine knows of one thing to do.
///
/// Written down, a field that says nothing is left out: most of them do, and the journal has each new
/// item. What was written with all of them reads the same.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the specification's own names, explained there")]
pub struct Item {
    pub id: ItemId,
    pub number: Number,
    /// `None` once superseded: the number stays, the place goes.
    pub position: Option<Position>,
    /// What to do, in the imperative.
    pub title: String,
    /// The same in the present continuous, shown while in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub completion_criteria: String,
    /// Who should do it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub status: Status,
    /// 0 comes first; an item without one comes after all that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub depends_on: BTreeSet<Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Number>,
    /// The person or event that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_on: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// A person must say yes before `run` runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approve: bool,
    /// How often `run` may be tried again by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<u32>,
    /// Seconds after which `run` is ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// The last attempt number that was given out; survives release.
    #[serde(default, skip_serializing_if = "Attempt::is_none")]
    pub attempt: Attempt,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub marks: BTreeSet<Mark>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// An agent's own whole list has brought it, so the next one may take it away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_list: bool,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_at: Option<Timestamp>,
}

impl Item {
    /// What an item waits for whose completion only lacks a person's approval. That it is given ends the wait.
    pub const APPROVAL: &str = "a person's approval";

    /// The key of the metadata of an item that was under way when the run that did it was ended from outside.
    /// Nobody knows how far it came. It stays until the item is done again, completed or cancelled.
    pub const INTERRUPTED: &str = "interrupted";

    /// The key of the metadata of an entry of a list that a worker keeps for itself under the item that it
    /// does. It names the worker.
    pub const WORKER: &str = "worker";

    /// A pending item with nothing but a title.
    pub fn new(id: ItemId, number: Number, title: impl Into<String>, at: Timestamp) -> Self {
        Self {
            id,
            number,
            position: None,
            title: title.into(),
            active_form: None,
            context: String::new(),
            completion_criteria: String::new(),
            agent_type: None,
            owner: None,
            status: Status::Pending,
            priority: None,
            outcome: None,
            depends_on: BTreeSet::new(),
            parent: None,
            waiting_on: None,
            check: None,
            run: None,
            approve: false,
            retry: None,
            timeout: None,
            evidence: Vec::new(),
            claim: None,
            attempt: Attempt(0),
            marks: BTreeSet::new(),
            metadata: None,
            from_list: false,
            created_at: at,
            started_at: None,
            completed_at: None,
            superseded_at: None,
        }
    }

    /// Whether it has been replaced and is only history now.
    pub fn is_superseded(&self) -> bool {
        self.superseded_at.is_some()
    }

    /// Whether a run that did it was ended from outside, and nothing has settled since what came of it.
    pub fn is_interrupted(&self) -> bool {
        self.metadata.as_ref().is_some_and(|it| it.contains_key(Self::INTERRUPTED))
    }

    /// Whether it stands on a list that a worker keeps for itself, and is nothing that the plan asks for.
    pub fn is_workers(&self) -> bool {
        self.metadata.as_ref().is_some_and(|it| it.contains_key(Self::WORKER))
    }

    /// Whether work on it is left: pending or in progress, and still on the list.
    pub fn is_open(&self) -> bool {
        self.status.is_open() && !self.is_superseded()
    }

    /// What to show for it now: the active form while it is in progress, else the title.
    pub fn label(&self) -> &str {
        match (self.status, &self.active_form) {
            (Status::InProgress, Some(active)) if !active.trim().is_empty() => active,
            _ => &self.title,
        }
    }

    /// The strongest evidence that it has and that did not fail.
    pub fn evidence_level(&self) -> Option<Level> {
        self.evidence.iter().filter(|it| it.passed()).map(|it| it.level).max()
    }
}

/// Where an item stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun.
    Pending,
    /// Somebody is at it.
    InProgress,
    /// Done.
    Completed,
    /// Will not be done; the outcome says why.
    Cancelled,
}

impl Status {
    /// All of them, in their natural order.
    pub const ALL: [Self; 4] = [Self::Pending, Self::InProgress, Self::Completed, Self::Cancelled];

    /// Whether work is left.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress)
    }

    /// The name in stores, JSON and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The name in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::InProgress => "in progress",
            Self::Pending | Self::Completed | Self::Cancelled => self.as_str(),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that is no status.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown status {0:?}: use pending, in_progress, completed or cancelled")]
pub struct UnknownStatus(pub String);

impl FromStr for Status {
    type Err = UnknownStatus;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| UnknownStatus(text.to_owned()))
    }
}

/// Who wrote a command down. The engine runs outside the agent's sandbox, so it matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Typed by a person, or standing in a file that a person named: trusted.
    Person,
    /// From an agent or a mirror: runs only under the user's own policy rule.
    Agent,
}

/// A command that shows whether an item is really done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Check {
    /// The shell command; exit 0 means passed.
    pub command: String,
    /// Globs of the files that it speaks for: when they change, the evidence is stale.
    pub covers: Vec<String>,
    /// Who wrote it.
    pub origin: Origin,
}

/// The command that does the item.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The shell command.
    pub command: String,
    /// Who wrote it.
    pub origin: Origin,
}

/// How much a piece of evidence is worth, from weak to strong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Whoever did it said so.
    #[serde(alias = "claimed")]
    Reported,
    /// The engine ran the item's check.
    Checked,
    /// A person said so.
    Approved,
}

impl Level {
    /// The name on every face.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Checked => "checked",
            Self::Approved => "approved",
        }
    }
}

/// Why an item is believed to be done.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Evidence {
    /// How much it is worth.
    pub level: Level,
    /// When it was recorded.
    pub at: Timestamp,
    /// Who recorded it.
    pub by: String,
    /// What the engine saw, for `checked`.
    pub run: Option<CheckRun>,
}

impl Evidence {
    /// Whether it speaks for the item rather than against it.
    pub fn passed(&self) -> bool {
        self.run.as_ref().is_none_or(|run| run.exit_code == Some(0))
    }
}

/// One run of a check.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CheckRun {
    /// What was run.
    pub command: String,
    /// How it ended; `None` if it was killed.
    pub exit_code: Option<i32>,
    /// SHA-256 of its output.
    pub output_digest: String,
    /// What the covered files were.
    pub covered: Vec<CoveredFile>,
    /// Where it ran.
    pub worktree: String,
}

/// A covered file as it was when the check ran.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are what stat(2) calls them")]
pub struct CoveredFile {
    pub path: String,
    pub digest: String,
    pub size: u64,
    pub mtime_ms: i64,
    pub inode: u64,
}

/// A lease on an item.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Claim {
    /// Who holds it.
    pub holder: Holder,
    /// Which claim of this item it is; a late writer is recognised by an older one.
    pub attempt: Attempt,
    /// When others may take it, unless renewed.
    pub expires_at: Timestamp,
}

impl Claim {
    /// Whether it no longer protects its holder: the lease is over, or the process is among those that
    /// are `gone`.
    pub fn has_lapsed(&self, now: Timestamp, gone: &[Process]) -> bool {
        self.expires_at <= now || self.holder.process.as_ref().is_some_and(|it| gone.contains(it))
    }
}

/// What a recorded change broke, kept beside what happened.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Begun while another was in progress.
    TwoInProgress,
    /// The title was blank.
    EmptyTitle,
    /// A text was longer, or the list fuller, than the limits allow.
    OverLimit,
    /// A move that the transition table does not have.
    IllegalTransition,
    /// Completed while a child was open.
    OpenChild,
    /// Begun or completed while something that it depends on was not completed.
    Blocked,
    /// Completed without the verification that was required.
    Unverified,
    /// A dependency or parent that could not be: unknown, circular, foreign.
    BadLink,
    /// Written while another worker held it.
    HeldByOther,
    /// Written over somebody else's change that the writer had not seen.
    Conflict,
    /// A NUL was taken out of a text.
    NulRemoved,
    /// Part of it cannot be read any more from where it is stored.
    Unreadable,
    /// The governor let the turn end with this item open; it holds no stop until it changes.
    Parked,
}

/// What evidence says of an item, derived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    /// Nothing is asked for.
    None,
    /// Something is asked for and nothing is there.
    Required,
    /// It is there.
    Passed,
    /// The last check failed.
    Failed,
    /// It passed, and the files have changed since.
    Stale,
}

impl Verification {
    /// The name in JSON and on screens.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Required => "required",
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Stale => "stale",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_round_trip_and_nothing_else_parses() {
        for status in Status::ALL {
            assert_eq!(status.as_str().parse::<Status>().unwrap(), status);
        }
        assert!("done".parse::<Status>().is_err());
        assert!("".parse::<Status>().is_err());
    }

    #[test]
    fn evidence_is_ordered_from_weak_to_strong() {
        let stored: Level = serde_json::from_str("\"claimed\"").unwrap();
        assert_eq!(stored, Level::Reported, "its name in databases that are older");
        assert!(Level::Reported < Level::Checked && Level::Checked < Level::Approved);
    }
}
