//! Records a turn as it happens, and has in memory what is recorded.

use std::sync::Arc;

use punchlist_engine::Around;
use punchlist_engine::fail::Fail;
use punchlist_model::call::Message;
use punchlist_model::remind::Watch;
use punchlist_model::session::Store;
use punchlist_model::store::Error;
use punchlist_model::store::turns::{
    ConversationState, EntryFilter, NewEntry, Turn as Row, TurnRecord, Used,
};
use punchlist_model::{ConversationId, RunId};
use serde::{Deserialize, Serialize};

use super::entry::{Answer, Entry, Recorded};
use super::json_events::is_for_user;
use super::meter::Meter;
use super::turn_writer::TurnWriter;
use crate::provider::{Citation, ModelCallId};
use crate::turn::{Offered, Turn, VALIDATED};

/// What is stored of a turn besides its entries.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Machine {
    /// The turn machine.
    pub(super) turn: Turn,
    /// The run in which the scheduler records the calls.
    #[serde(default)]
    pub(super) run: Option<RunId>,
    /// What the last model call offered.
    pub(super) offered: Offered,
    /// How many answers the model has given.
    #[serde(default)]
    pub(super) answers: u32,
    /// How many changes of the plan the turn itself has made.
    #[serde(default)]
    pub(super) changes: u32,
    /// The plan's revision at which the model was told that the goal is not reached.
    #[serde(default)]
    pub(super) told_of_goal: Option<u64>,
    /// When the model was last reminded of its list.
    #[serde(default)]
    pub(super) watch: Watch,
}

/// Records one turn.
pub(super) struct Recorder {
    pub(super) around: Arc<dyn Around>,
    pub(super) conversation: ConversationId,
    pub(super) writer: TurnWriter,
    pub(super) row: Row,
    pub(super) machine: Machine,
    pub(super) meter: Meter,
    /// The entries of earlier turns.
    pub(super) earlier: Vec<Recorded>,
    /// The entries of this turn.
    pub(super) entries: Vec<Recorded>,
}

/// What a record says besides how the turn stands.
#[derive(Default)]
pub(super) struct Happened {
    pub(super) entries: Vec<(Entry, Used)>,
    /// The queued messages that the entries contain.
    pub(super) taken: Vec<Message>,
    /// Pauses the queue or takes it up again.
    pub(super) queue_paused: Option<bool>,
    pub(super) state: ConversationState,
}

impl Recorder {
    /// Records what happened, and how the turn now stands.
    pub(super) async fn record(
        &mut self,
        entries: Vec<(Entry, Used)>,
        state: ConversationState,
    ) -> Result<(), Fail> {
        // Nothing is taken, so nothing can have been changed.
        self.record_all(Happened { entries, state, ..Happened::default() }).await.map(drop)
    }

    /// Records what happened. Returns `false`, and records nothing, if a message that is taken was
    /// changed since it was read.
    pub(super) async fn record_all(&mut self, happened: Happened) -> Result<bool, Fail> {
        let Happened { entries: happened, taken, queue_paused, state } = happened;
        self.row.machine = serde_json::to_string(&self.machine).map_err(not_json)?;
        let at = self.around.now();
        let entries: Result<Vec<NewEntry>, _> =
            happened.iter().map(|(entry, used)| entry.to_new(*used)).collect();
        let (turn, entries) = (self.row.clone(), entries.map_err(not_json)?);
        let record = TurnRecord { turn, entries, taken, queue_paused, state, at };
        let last = match self.writer.write(record).await {
            Err(Error::MessageChanged(_)) => return Ok(false),
            recorded => recorded?,
        };
        let first = last.saturating_sub(happened.len() as u64).saturating_add(1);
        for (number, (entry, used)) in (first..).zip(happened) {
            self.meter.add(used);
            self.entries.push(Recorded { number, turn: self.row.number, at, entry });
        }
        Ok(true)
    }

    /// The last answer of the model, if the turn has one.
    pub(super) fn last_answer(&self) -> Option<&Answer> {
        self.entries.iter().rev().find_map(|it| match &it.entry {
            Entry::Answer(answer) => Some(answer),
            Entry::User { .. }
            | Entry::Steering { .. }
            | Entry::Result(_)
            | Entry::Told { .. }
            | Entry::Info { .. }
            | Entry::Summary { .. }
            | Entry::Used { .. }
            | Entry::Ended { .. } => None,
        })
    }

    /// The text of the last answer that is meant for the user, and what it refers to. What an item ended with
    /// is no answer to the whole task; its validation is.
    pub(super) fn last_words(&self) -> Option<(&str, &[Citation])> {
        self.entries.iter().rev().find_map(|it| match &it.entry {
            Entry::Answer(answer) if is_for_user(answer.purpose) => {
                Some((answer.message.text.as_str(), &answer.citations[..]))
            }
            Entry::Info { text } if text.starts_with(VALIDATED) => Some((text.as_str(), &[][..])),
            Entry::Info { .. }
            | Entry::Answer(_)
            | Entry::User { .. }
            | Entry::Steering { .. }
            | Entry::Result(_)
            | Entry::Told { .. }
            | Entry::Summary { .. }
            | Entry::Used { .. }
            | Entry::Ended { .. } => None,
        })
    }

    /// Whether a call has its result.
    pub(super) fn has_result(&self, call: &ModelCallId) -> bool {
        self.entries
            .iter()
            .any(|it| matches!(&it.entry, Entry::Result(it) if it.result.call == *call))
    }

    /// The next name of an answer. Its calls are named after it.
    pub(super) fn next_answer(&mut self) -> String {
        self.machine.answers = self.machine.answers.saturating_add(1);
        format!("t{}a{}", self.row.number, self.machine.answers)
    }
}

/// Reads the entries of a conversation.
pub(super) async fn entries(
    store: &dyn Store,
    conversation: ConversationId,
    filter: EntryFilter,
) -> Result<Vec<Recorded>, Fail> {
    let entries = store.entries(conversation, filter).await?;
    entries.iter().map(|it| Recorded::read(it).map_err(not_json)).collect()
}

pub(crate) fn not_json(why: serde_json::Error) -> Fail {
    Fail::ours(format!("what is stored of the session cannot be read: {why}"))
}
