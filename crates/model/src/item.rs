//! One item of a plan, and the types of its fields.
//!
//! Plain data. The rules are in [`mod@crate::decide`]. What is derived from an item (ready,
//! blocked, verification) is computed in [`crate::plan`] and never stored.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::actor::{Holder, Process};
use crate::id::{Attempt, ItemId, Number, Position};

/// The metadata key under which a run stores the item's plan file and its directory, in which the
/// item's commands run. Callers can neither set nor remove it.
pub const RESERVED: &str = "plan_file";

/// One thing to do.
///
/// Empty fields are left out when an item is serialised, because the journal contains every new
/// item. JSON with all fields reads the same.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the specification's own names, explained there")]
pub struct Item {
    pub id: ItemId,
    pub number: Number,
    /// `None` once the item is superseded; its number stays.
    pub position: Option<Position>,
    /// What to do, in the imperative.
    pub title: String,
    /// The title in the present continuous, shown while the item is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub completion_criteria: String,
    /// Which type of agent should do the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub status: Status,
    /// 0 comes first; items without a priority come last.
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
    /// A person must approve before `run` starts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approve: bool,
    /// How often a failed `run` may be retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<u32>,
    /// The timeout of `run`, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// The number of the last attempt. It survives a release.
    #[serde(default, skip_serializing_if = "Attempt::is_none")]
    pub attempt: Attempt,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub marks: BTreeSet<Mark>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// The item came from a whole-list write of an agent, so the next such write may supersede it.
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
    /// The wait reason of an item that lacks only a person's approval. The approval ends the wait.
    pub const APPROVAL: &str = "a person's approval";

    /// The metadata key of an item whose run was killed while it executed. Nobody knows how far it
    /// came. The key stays until the item runs again, is completed or is cancelled. Its value is how often
    /// this happened in a row, or [`Self::ASKED`].
    pub const INTERRUPTED: &str = "interrupted";

    /// The value of [`Self::INTERRUPTED`] once the item waits for a person. When the person ends the wait, the
    /// item may run again.
    pub const ASKED: &str = "asked";

    /// The metadata key of an item on a worker's own list, under the item that the worker does. The
    /// value is the worker's name.
    pub const WORKER: &str = "worker";

    /// A pending item with only a title.
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

    /// Whether the item has left the list and is only history.
    pub fn is_superseded(&self) -> bool {
        self.superseded_at.is_some()
    }

    /// Whether the item's run was killed, and the item has not been run again or closed since.
    pub fn is_interrupted(&self) -> bool {
        self.metadata.as_ref().is_some_and(|it| it.contains_key(Self::INTERRUPTED))
    }

    /// How often in a row the item was interrupted; 0 if it is not interrupted.
    pub fn interruptions(&self) -> u32 {
        let value = self.metadata.as_ref().and_then(|it| it.get(Self::INTERRUPTED));
        let count = |it: &serde_json::Value| it.as_u64().and_then(|it| u32::try_from(it).ok());
        value.map_or(0, |it| count(it).unwrap_or(1))
    }

    /// Counts an interruption.
    pub(crate) fn interrupt(&mut self) {
        let times = self.interruptions().saturating_add(1);
        let metadata = self.metadata.get_or_insert_default();
        metadata.insert(Self::INTERRUPTED.to_owned(), times.into());
    }

    /// Whether doing the item a second time may do harm: it has a command, or an agent does it.
    pub fn can_harm(&self) -> bool {
        self.run.is_some() || self.agent_type.is_some()
    }

    /// Whether the item is on a worker's own list and not part of the plan itself.
    pub fn is_workers(&self) -> bool {
        self.metadata.as_ref().is_some_and(|it| it.contains_key(Self::WORKER))
    }

    /// Whether work is left: pending or in progress, and still on the list.
    pub fn is_open(&self) -> bool {
        self.status.is_open() && !self.is_superseded()
    }

    /// The text to show: the active form while in progress, otherwise the title.
    pub fn label(&self) -> &str {
        match (self.status, &self.active_form) {
            (Status::InProgress, Some(active)) if !active.trim().is_empty() => active,
            _ => &self.title,
        }
    }

    /// The strongest evidence that the item has; failed checks do not count.
    pub fn evidence_level(&self) -> Option<Level> {
        self.evidence.iter().filter(|it| it.passed()).map(|it| it.level).max()
    }
}

/// The status of an item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun.
    Pending,
    /// A worker is working on it.
    InProgress,
    /// Done.
    Completed,
    /// Will not be done; the outcome says why.
    Cancelled,
}

impl Status {
    /// All statuses, in their natural order.
    pub const ALL: [Self; 4] = [Self::Pending, Self::InProgress, Self::Completed, Self::Cancelled];

    /// Whether work is left.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress)
    }

    /// The name in the store, in JSON and in messages.
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

/// A text that is no status.
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

/// Who wrote a command. It matters because Punchlist runs commands outside the agent's sandbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A person typed it, or it is in a file that a person named: trusted.
    Person,
    /// An agent or a mirror wrote it: it runs only if a policy rule of the user allows it.
    Agent,
}

/// A command that shows whether an item is done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Check {
    /// The shell command; exit 0 means passed.
    pub command: String,
    /// Globs of the files that the check speaks for. When they change, the evidence is stale.
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

/// The levels of evidence, from weak to strong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The worker said so.
    #[serde(alias = "claimed")]
    Reported,
    /// Punchlist ran the item's check.
    Checked,
    /// A person approved it.
    Approved,
}

impl Level {
    /// The name in the store, in JSON and in views.
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
    /// The level.
    pub level: Level,
    /// When it was recorded.
    pub at: Timestamp,
    /// Who recorded it.
    pub by: String,
    /// The run of the check, for `checked`.
    pub run: Option<CheckRun>,
}

impl Evidence {
    /// Whether it is evidence for the item, not against it.
    pub fn passed(&self) -> bool {
        self.run.as_ref().is_none_or(|run| run.exit_code == Some(0))
    }
}

/// One run of a check.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CheckRun {
    /// The command that ran.
    pub command: String,
    /// The exit code; `None` if the check was killed.
    pub exit_code: Option<i32>,
    /// SHA-256 of the output.
    pub output_digest: String,
    /// The covered files at that time.
    pub covered: Vec<CoveredFile>,
    /// The worktree in which the check ran.
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

/// A worker's claim on an item.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Claim {
    /// Who holds the claim.
    pub holder: Holder,
    /// The number of this claim. It exposes writes under an older claim.
    pub attempt: Attempt,
    /// When the lease expires, unless it is renewed.
    pub expires_at: Timestamp,
}

impl Claim {
    /// Whether the claim no longer protects its holder: the lease has expired, or the process is in
    /// `gone`.
    pub fn has_lapsed(&self, now: Timestamp, gone: &[Process]) -> bool {
        self.expires_at <= now || self.holder.process.as_ref().is_some_and(|it| gone.contains(it))
    }
}

/// Which rule a recorded change broke. Stored with the item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Started while another item was in progress.
    TwoInProgress,
    /// The title was blank.
    EmptyTitle,
    /// A text was too long, or the list had too many open items.
    OverLimit,
    /// A transition that the transition table does not have.
    IllegalTransition,
    /// Completed while a sub-item was open.
    OpenChild,
    /// Started or completed while a dependency was not completed.
    Blocked,
    /// Completed without the required verification.
    Unverified,
    /// A dependency or parent that cannot be: unknown, circular, or of another plan.
    BadLink,
    /// Written while another worker held the item.
    HeldByOther,
    /// Overwrote a change of somebody else that the writer had not seen.
    Conflict,
    /// A NUL was removed from a text.
    NulRemoved,
    /// Part of the stored item cannot be read.
    Unreadable,
    /// The governor let a turn end with this item open. It holds no further stop until it changes.
    Parked,
}

/// The verification of an item, derived from its evidence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    /// No evidence is required.
    None,
    /// Evidence is required and missing.
    Required,
    /// The required evidence is there.
    Passed,
    /// The last check failed.
    Failed,
    /// The check passed, but covered files have changed since.
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
