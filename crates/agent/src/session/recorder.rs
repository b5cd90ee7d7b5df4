//! Records a turn as it happens, and has in memory what is recorded.

use std::sync::Arc;

use punchlist_engine::Around;
use punchlist_engine::fail::Fail;
use punchlist_model::session::Store;
use punchlist_model::store::turns::{
    ConversationState, EntryFilter, NewEntry, Turn as Row, TurnRecord, Used,
};
use punchlist_model::{ConversationId, RunId};
use serde::{Deserialize, Serialize};

use super::entry::{Answer, Entry, Recorded};
use crate::provider::ModelCallId;
use crate::turn::{Offered, Turn};

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
}

/// Records one turn.
pub(super) struct Recorder {
    pub(super) store: Arc<dyn Store>,
    pub(super) around: Arc<dyn Around>,
    pub(super) conversation: ConversationId,
    pub(super) runner: String,
    pub(super) row: Row,
    pub(super) machine: Machine,
    /// The entries of earlier turns.
    pub(super) earlier: Vec<Recorded>,
    /// The entries of this turn.
    pub(super) entries: Vec<Recorded>,
}

impl Recorder {
    /// Records what happened, and how the turn now stands.
    pub(super) async fn record(
        &mut self,
        happened: Vec<(Entry, Used)>,
        state: ConversationState,
    ) -> Result<(), Fail> {
        self.row.machine = serde_json::to_string(&self.machine).map_err(not_json)?;
        let at = self.around.now();
        let entries: Result<Vec<NewEntry>, _> =
            happened.iter().map(|(entry, used)| entry.to_new(*used)).collect();
        let record =
            TurnRecord { turn: self.row.clone(), entries: entries.map_err(not_json)?, state, at };
        let last = self.store.record_turn(self.conversation, self.runner.clone(), record).await?;
        let first = last.saturating_sub(happened.len() as u64).saturating_add(1);
        for (number, (entry, used)) in (first..).zip(happened) {
            self.row.used += used;
            self.entries.push(Recorded { number, turn: self.row.number, at, entry });
        }
        Ok(())
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

pub(super) fn not_json(why: serde_json::Error) -> Fail {
    Fail::ours(format!("what is stored of the session cannot be read: {why}"))
}
