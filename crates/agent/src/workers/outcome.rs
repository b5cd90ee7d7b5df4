//! How a worker ended.

use std::fmt;
use std::time::Duration;

use jiff::{Timestamp, Zoned};
use punchlist_engine::workers::WorkerUsage;
use punchlist_model::store::turns::Used;
use punchlist_model::{ListEntry, Status};
use punchlist_streams::limit::{UsageLimit, usage_limit};
use serde::{Deserialize, Serialize};

use crate::provider::TokenUsage;

/// What came of a task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// What the worker said at the end; after a failure, what it was doing or printed last.
    pub text: String,
    /// How it ended.
    pub end: WorkerEnd,
    /// The list that it kept for itself, as it was at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<OwnItem>,
    /// Its id of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The branch with its work, if it worked in a worktree and changed something there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The directory of that worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The tokens, as far as it says.
    #[serde(default)]
    pub usage: TokenUsage,
    /// Whether the session has counted the tokens already, as they were used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_counted: bool,
    /// The cost in US dollars, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// An entry of the list that a worker kept for itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OwnItem {
    /// What was to be done.
    pub title: String,
    /// How far it got.
    pub status: Status,
}

impl From<&ListEntry> for OwnItem {
    fn from(entry: &ListEntry) -> Self {
        Self { title: entry.title.clone(), status: entry.status }
    }
}

/// How a worker ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerEnd {
    /// It says that it is done.
    Well,
    /// It failed, for this reason.
    Failed(String),
    /// It was ended because it took longer than this many seconds.
    TimedOut(u64),
    /// Its account has reached a usage limit.
    UsageLimit {
        /// When it may be used again, if it said so.
        until: Option<Timestamp>,
    },
    /// The call was cancelled.
    Cancelled,
}

impl WorkerEnd {
    /// The end of a worker that took too long.
    pub fn timed_out(after: Duration) -> Self {
        Self::TimedOut(after.as_secs())
    }

    /// The end of a worker that failed with these messages: a usage limit, if one of them is about
    /// it, else the failure.
    pub fn of_failure<'a>(
        why: &'a str,
        messages: impl IntoIterator<Item = &'a str>,
        now: &Zoned,
    ) -> Self {
        let messages = messages.into_iter().chain([why]);
        let limits = messages.filter_map(|it| usage_limit(it, now));
        // Of several messages, the one with the latest time counts.
        match limits.max_by_key(|it| it.until) {
            Some(UsageLimit { until }) => Self::UsageLimit { until },
            None => Self::Failed(why.to_owned()),
        }
    }
}

/// Fits after the worker's name: `timed out after 60 s`.
impl fmt::Display for WorkerEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Well => f.write_str("is done"),
            Self::Failed(why) => write!(f, "failed: {why}"),
            Self::TimedOut(after) => write!(f, "timed out after {after} s"),
            Self::UsageLimit { until: Some(until) } => {
                write!(f, "has reached its usage limit; try again at {until}")
            }
            Self::UsageLimit { until: None } => f.write_str("has reached its usage limit"),
            Self::Cancelled => f.write_str("was stopped"),
        }
    }
}

impl Outcome {
    /// An outcome without anything else.
    pub fn new(text: impl Into<String>, end: WorkerEnd) -> Self {
        Self {
            text: text.into(),
            end,
            list: Vec::new(),
            session: None,
            branch: None,
            worktree: None,
            usage: TokenUsage::default(),
            cost_usd: None,
            is_counted: false,
        }
    }

    /// A failure before the worker did anything.
    pub fn failed(why: impl Into<String>) -> Self {
        Self::new("", WorkerEnd::Failed(why.into()))
    }

    /// What it used, as far as it says.
    pub(super) fn in_all(&self) -> Used {
        used(WorkerUsage {
            input_tokens: self.usage.input,
            output_tokens: self.usage.output,
            cached_tokens: self.usage.cache_read,
            cost_usd: self.cost_usd.unwrap_or_default(),
        })
    }

    /// Adds what a program said that it used.
    #[must_use]
    pub(super) fn used(self, used: WorkerUsage) -> Self {
        let usage = TokenUsage {
            input: used.input_tokens,
            cache_read: used.cached_tokens,
            output: used.output_tokens,
            ..TokenUsage::default()
        };
        Self { usage, cost_usd: Some(used.cost_usd).filter(|it| *it > 0.0), ..self }
    }
}

/// What a program says that it used, as it is counted. Nobody knows how many calls that were.
pub(crate) fn used(usage: WorkerUsage) -> Used {
    // The cast makes 0 of what is negative or no number, and the largest number of what does not fit.
    let cost_micros = (usage.cost_usd * 1e6).round() as u64;
    Used { calls: 0, input: usage.input_tokens, output: usage.output_tokens, cost_micros }
}
