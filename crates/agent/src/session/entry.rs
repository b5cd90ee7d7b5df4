//! What happens in a turn, as it is recorded: one entry for each thing, in the order in which it
//! happened. From the entries alone a session can be shown, exported and continued.

use punchlist_model::Timestamp;
use punchlist_model::store::turns::{NewEntry, TurnEntry, Used};
use serde::{Deserialize, Serialize};

use crate::provider::{Assistant, CallResult, Citation, Stop, TokenUsage};
use crate::turn::{Ending, Purpose};

/// One thing that happened.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Entry {
    /// The user's request, which began the turn, or the reply to a question that suspended it.
    User {
        /// What the user said.
        text: String,
    },
    /// A message that the user sent while the turn ran.
    Steering {
        /// What the user said.
        text: String,
    },
    /// A whole answer of the model.
    Answer(Answer),
    /// The result of one call of an answer.
    Result(CallEnd),
    /// A message of the runtime to the model: a refused answer, or what a validation found.
    Told {
        /// What the model reads.
        text: String,
    },
    /// A line for the user.
    Info {
        /// What the user reads.
        text: String,
    },
    /// A summary that takes the place of older entries in what the model reads.
    Summary {
        /// The summary.
        text: String,
        /// The last entry that it covers.
        through: u64,
    },
    /// A worker, or the program that leads the session, has used something.
    Used {
        /// Who.
        by: String,
        /// What it has used since the last such entry.
        used: Used,
    },
    /// The turn ended, or was suspended.
    Ended {
        /// How it ended.
        ending: Ending,
    },
}

impl Entry {
    /// The kind of [`Self::Used`]. Whoever reads only the last entries leaves it out: a worker may cause many.
    pub const USED: &str = "used";
}

/// A whole answer of the model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// What the model was called for.
    pub purpose: Purpose,
    /// What it said, thought and called.
    pub message: Assistant,
    /// Why the answer ended.
    #[serde(default)]
    pub stop: Stop,
    /// What it refers to.
    #[serde(default)]
    pub citations: Vec<Citation>,
    /// The tokens.
    #[serde(default)]
    pub usage: TokenUsage,
}

/// The result of one call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CallEnd {
    /// What the model reads. Text that did not come from us is fenced already.
    #[serde(flatten)]
    pub result: CallResult,
    /// Where the whole output is kept, if the text is only a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
}

/// An entry with its place in the conversation.
#[derive(Clone, PartialEq, Debug)]
pub struct Recorded {
    /// Its number in the conversation.
    pub number: u64,
    /// The number of its turn.
    pub turn: u32,
    /// When it was recorded.
    pub at: Timestamp,
    /// What happened.
    pub entry: Entry,
}

impl Entry {
    /// The word by which a store and an export name the kind of entry.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::User { .. } => "user",
            Self::Steering { .. } => "steering",
            Self::Answer(_) => "answer",
            Self::Result(_) => "result",
            Self::Told { .. } => "told",
            Self::Info { .. } => "info",
            Self::Summary { .. } => "summary",
            Self::Used { .. } => Self::USED,
            Self::Ended { .. } => "ended",
        }
    }

    /// The entry as a store keeps it.
    pub fn to_new(&self, used: Used) -> serde_json::Result<NewEntry> {
        Ok(NewEntry { kind: self.kind().to_owned(), body: serde_json::to_string(self)?, used })
    }
}

impl Recorded {
    /// An entry as a store returned it.
    pub fn read(entry: &TurnEntry) -> serde_json::Result<Self> {
        let TurnEntry { number, turn, at, body, .. } = entry;
        Ok(Self { number: *number, turn: *turn, at: *at, entry: serde_json::from_str(body)? })
    }
}
