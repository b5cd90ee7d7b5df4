//! What a store keeps of our own agent's conversations: their turns, and everything that happened in
//! each, as it happens. The file `rules` has what all stores do the same way.
//!
//! A *conversation* has *turns*, a turn has *entries*. What an entry says is JSON that only the crate
//! `agent` reads; a store keeps it as sent.

mod rules;

use futures_core::future::BoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::rules::TextSearch;
use super::Error;
use crate::actor::Process;
use crate::call::Message;
use crate::id::{ConversationId, PlanId};

/// The store of our own agent's conversations. It makes the same promises as [`super::PlanStore`]: each
/// method is one transaction, and it returns only after the change is durable. Whoever waits for
/// [`crate::call::CallStore::news`] is woken by each change. A method that is given the id of an unknown
/// conversation fails with [`Error::NoConversation`], except [`Self::let_go`].
///
/// [`super::PlanStore::forget`] does not touch conversations, even those that worked on the plan:
/// [`Self::forget_conversation`] deletes them.
pub trait TurnStore: Send + Sync {
    /// Creates a conversation without turns; `turns` and `used` of `new` are ignored. Fails with
    /// [`Error::ConversationExists`] if the id is taken.
    fn create_conversation(&self, new: Conversation) -> BoxFuture<'_, Result<(), Error>>;

    /// One conversation.
    fn conversation(&self, id: ConversationId) -> BoxFuture<'_, Result<Conversation, Error>>;

    /// The conversations that match, most recently changed first.
    fn conversations(
        &self,
        filter: ConversationFilter,
    ) -> BoxFuture<'_, Result<Vec<Conversation>, Error>>;

    /// Makes `runner` the only one that may record in the conversation until `until`, or extends its
    /// lease. Fails with [`Error::Held`] if another runner's lease has not ended at `now`; `gone` names
    /// runners that are known to have ended, whose leases do not count.
    fn hold(
        &self,
        id: ConversationId,
        runner: Runner,
        now: Timestamp,
        gone: Vec<String>,
    ) -> BoxFuture<'_, Result<(), Error>>;

    /// Ends the lease of this runner. Nothing happens if it has none, or if there is no such conversation.
    fn let_go(&self, id: ConversationId, runner: String) -> BoxFuture<'_, Result<(), Error>>;

    /// Writes a turn and appends entries to it: all of it or nothing. A turn whose number is not stored
    /// yet is created. Fails with [`Error::Held`] unless `runner` holds the conversation (even if its
    /// lease has ended, as long as nobody else took it), and with [`Error::NoPlan`] if there is no such
    /// plan. Returns the number of the last entry of the conversation, 0 if it has none.
    ///
    /// The messages in [`TurnRecord::taken`] leave the queue in the same transaction. If one of them no
    /// longer waits, or was changed since it was read, this fails with [`Error::MessageChanged`] and
    /// nothing is written. A record that ends the turn turns the steering messages that still wait into
    /// the first messages of the queue ([`Message::after_turn`]).
    fn record_turn(
        &self,
        id: ConversationId,
        runner: String,
        record: TurnRecord,
    ) -> BoxFuture<'_, Result<u64, Error>>;

    /// The turns of a conversation, oldest first.
    fn turns(&self, id: ConversationId) -> BoxFuture<'_, Result<Vec<Turn>, Error>>;

    /// The entries of a conversation that match, oldest first, with the number of each.
    fn entries(
        &self,
        id: ConversationId,
        filter: EntryFilter,
    ) -> BoxFuture<'_, Result<Vec<TurnEntry>, Error>>;

    /// What all model calls since `since` have used, in all conversations that are not forgotten.
    fn used_since(&self, since: Timestamp) -> BoxFuture<'_, Result<Used, Error>>;

    /// How many turns have worked on a plan and what they have used, in all conversations that are not
    /// forgotten.
    fn used_on(&self, plan: PlanId) -> BoxFuture<'_, Result<(u32, Used), Error>>;

    /// Asks whoever runs the conversation to end its turn. The runner sees it in
    /// [`Conversation::stop_asked_at`]. The record that creates the next turn clears it.
    fn ask_to_stop(&self, id: ConversationId, now: Timestamp) -> BoxFuture<'_, Result<(), Error>>;

    /// Pauses the queue of a conversation, or takes it up again. Whoever runs the conversation begins no
    /// turn from a paused queue.
    fn pause_queue(&self, id: ConversationId, is_paused: bool) -> BoxFuture<'_, Result<(), Error>>;

    /// Deletes a conversation with all its turns, entries and messages. No copy remains in the store's
    /// files. Its plans stay. Fails with [`Error::Held`] while a runner's lease lasts.
    fn forget_conversation(
        &self,
        id: ConversationId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), Error>>;
}

/// A conversation of our own agent.
#[derive(Clone, PartialEq, Debug)]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// The project that it works in.
    pub project: String,
    /// The directory that it works in.
    pub directory: String,
    /// What it is about: the beginning of its first request.
    pub title: String,
    /// The model, the strategy and the other settings of its turns, as JSON of the crate `agent`.
    pub settings: String,
    /// Who runs it, if anybody does.
    pub runner: Option<Runner>,
    /// What it does, as of the last record.
    pub state: ConversationState,
    /// When somebody last asked for the end of the turn that runs.
    pub stop_asked_at: Option<Timestamp>,
    /// Whether the queue is paused: no queued message begins a turn.
    pub queue_paused: bool,
    /// How many turns it has.
    pub turns: u32,
    /// What its model calls have used.
    pub used: Used,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last recorded.
    pub changed_at: Timestamp,
}

impl Conversation {
    /// A conversation without turns, that nobody runs.
    pub fn new(id: ConversationId, project: impl Into<String>, at: Timestamp) -> Self {
        Self {
            id,
            project: project.into(),
            directory: String::new(),
            title: String::new(),
            settings: "{}".to_owned(),
            runner: None,
            state: ConversationState::Idle,
            stop_asked_at: None,
            queue_paused: false,
            turns: 0,
            used: Used::default(),
            created_at: at,
            changed_at: at,
        }
    }
}

/// Who runs a conversation, and for how long nobody else may.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Runner {
    /// A name that no other runner has.
    pub name: String,
    /// Its process.
    pub process: Option<Process>,
    /// When its lease ends.
    pub until: Timestamp,
}

/// What a conversation does.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConversationState {
    /// The last turn has ended, or there is none.
    #[default]
    Idle,
    /// A turn is being worked on.
    Working,
    /// The last answer asked the user something; the reply continues the turn.
    Asked,
    /// A turn waits, for example until a provider's usage limit is over.
    Waiting {
        /// Until when, if that is known.
        until: Option<Timestamp>,
        /// For what, in words.
        on: String,
    },
}

/// Which conversations to return.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConversationFilter {
    /// Only those of this project.
    pub project: Option<String>,
    /// Only those whose id begins or ends with this, in lower case.
    pub id: Option<String>,
    /// Only those where the title, or a string in the body of an entry, contains this text, whatever
    /// its case.
    pub text: Option<String>,
    /// Only those after this one in the list: the time of its last change, and its id.
    pub after: Option<(Timestamp, ConversationId)>,
    /// At most so many; 0 means all.
    pub most: u32,
}

/// One request of the user, and how far it has been worked on.
#[derive(Clone, PartialEq, Debug)]
pub struct Turn {
    /// Its number in the conversation, from 1.
    pub number: u32,
    /// The id that stands on everything that the turn causes.
    pub id: String,
    /// The plan that it works on, once there is one.
    pub plan: Option<PlanId>,
    /// The state of the turn machine, as JSON of the crate `agent`.
    pub machine: String,
    /// When it began.
    pub began_at: Timestamp,
    /// When it ended, if it has.
    pub ended_at: Option<Timestamp>,
    /// How it ended, in a word.
    pub ending: Option<String>,
    /// What its model calls have used. A store computes this from the entries; it ignores what is
    /// recorded here.
    pub used: Used,
}

/// What [`TurnStore::record_turn`] writes.
#[derive(Clone, PartialEq, Debug)]
pub struct TurnRecord {
    /// The turn, as it now stands.
    pub turn: Turn,
    /// What has happened since the last record.
    pub entries: Vec<NewEntry>,
    /// The queued messages that the entries contain, as they were read.
    pub taken: Vec<Message>,
    /// Pauses the queue or takes it up again; `None` leaves it as it is.
    pub queue_paused: Option<bool>,
    /// What the conversation does now.
    pub state: ConversationState,
    /// When.
    pub at: Timestamp,
}

/// One thing that happened in a turn, to be recorded.
#[derive(Clone, PartialEq, Debug)]
pub struct NewEntry {
    /// What kind of thing, in a word that the crate `agent` chose.
    pub kind: String,
    /// What happened, as JSON of the crate `agent`.
    pub body: String,
    /// What a model call has used, if this is its answer.
    pub used: Used,
}

/// One thing that happened in a turn.
#[derive(Clone, PartialEq, Debug)]
pub struct TurnEntry {
    /// Its number in the conversation: counts up from 1 without gaps.
    pub number: u64,
    /// The number of its turn.
    pub turn: u32,
    /// When it was recorded.
    pub at: Timestamp,
    /// What kind of thing.
    pub kind: String,
    /// What happened.
    pub body: String,
    /// What a model call has used, if this is its answer.
    pub used: Used,
}

/// Which entries to return.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EntryFilter {
    /// Only those after this number.
    pub after: u64,
    /// Only those of this turn.
    pub turn: Option<u32>,
    /// Only those of this kind.
    pub kind: Option<&'static str>,
    /// None of this kind.
    pub but: Option<&'static str>,
    /// Only the last so many of those; 0 means all.
    pub last: u32,
}

/// Tokens and money.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Used {
    /// How many model calls.
    pub calls: u64,
    /// Tokens sent.
    pub input: u64,
    /// Tokens received.
    pub output: u64,
    /// Cost in millionths of the currency in which prices are configured.
    pub cost_micros: u64,
}

impl Used {
    /// What this has more than `counted`.
    #[must_use]
    pub fn beyond(self, counted: Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(counted.calls),
            input: self.input.saturating_sub(counted.input),
            output: self.output.saturating_sub(counted.output),
            cost_micros: self.cost_micros.saturating_sub(counted.cost_micros),
        }
    }
}

impl std::ops::AddAssign for Used {
    fn add_assign(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
    }
}
