//! Writes the records of a turn, one after the other: those of the turn itself, and what its workers use while
//! the turn waits for them.

use std::sync::Arc;

use punchlist_engine::Around;
use punchlist_model::ConversationId;
use punchlist_model::session::Store;
use punchlist_model::store::Error;
use punchlist_model::store::turns::{ConversationState, NewEntry, Turn as Row, TurnRecord};
use tokio::sync::Mutex;

/// Writes the records of a turn. Cheap to clone.
#[derive(Clone)]
pub(super) struct TurnWriter(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    around: Arc<dyn Around>,
    conversation: ConversationId,
    /// The name of the runner that holds the conversation.
    runner: String,
    /// How the turn was last recorded. Locked while a record is written.
    last: Mutex<(Row, ConversationState)>,
}

impl TurnWriter {
    /// The writer of a turn that stands like this.
    pub(super) fn new(
        store: Arc<dyn Store>,
        around: Arc<dyn Around>,
        conversation: ConversationId,
        runner: String,
        row: Row,
    ) -> Self {
        let last = Mutex::new((row, ConversationState::Working));
        Self(Arc::new(Inner { store, around, conversation, runner, last }))
    }

    /// Writes how the turn stands, and what happened. Returns the number of the last entry.
    pub(super) async fn write(&self, record: TurnRecord) -> Result<u64, Error> {
        let mut last = self.0.last.lock().await;
        let stands = (record.turn.clone(), record.state.clone());
        let number = self.0.record(record).await?;
        *last = stands;
        Ok(number)
    }

    /// Appends an entry to the turn, which stands as before.
    pub(super) async fn append(&self, entry: NewEntry) -> Result<(), Error> {
        let last = self.0.last.lock().await;
        let (turn, state) = last.clone();
        let at = self.0.around.now();
        let (taken, queue_paused) = (Vec::new(), None);
        let record = TurnRecord { turn, entries: vec![entry], taken, queue_paused, state, at };
        self.0.record(record).await.map(drop)
    }
}

impl Inner {
    async fn record(&self, record: TurnRecord) -> Result<u64, Error> {
        self.store.record_turn(self.conversation, self.runner.clone(), record).await
    }
}
