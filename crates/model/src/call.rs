//! What stores keep of work under way: runs, calls, questions to a person, messages that wait.
//!
//! How a call moves is decided by the scheduler; here is only what is written down of it, so that it
//! outlives the process that works, and so that any other process can answer a question. Data and the
//! contract of its store only: nothing here asks, runs or waits.

mod message;
mod question;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::actor::Process;
use crate::id::{Attempt, MessageId, Number, PlanId, QuestionId, RunId};
use crate::store::{Applied, Change, Error, kept};

pub use message::{BadMessage, Message, MessageOutcome, NewMessage, Take};
pub use question::{
    Answer, AnswerOutcome, Answered, Asked, Offer, Permit, Printed, Question, QuestionFilter,
    Reach, Standing,
};

/// A run: one process that works calls off, for a plan or without one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunRecord {
    /// Which.
    pub id: RunId,
    /// The project that it works in.
    pub project: String,
    /// The plan that it works on.
    pub plan: Option<PlanId>,
    /// What it is, in words: the plan file, the task.
    pub what: String,
    /// The process behind it, so that others can tell whether it still lives.
    pub process: Option<Process>,
    /// When it began.
    pub begun_at: Timestamp,
    /// When it ended. One that was killed never says so.
    pub ended_at: Option<Timestamp>,
}

impl RunRecord {
    /// As a store keeps it: times to the millisecond.
    #[must_use]
    pub fn kept(self) -> Self {
        Self { begun_at: kept(self.begun_at), ended_at: self.ended_at.map(kept), ..self }
    }

    /// Why a run does not begin a second time.
    pub fn begun_already(id: RunId) -> Error {
        Error::Unusable { what: format!("run {id} has begun already"), source: None }
    }
}

/// Which runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunFilter {
    /// Of this project only.
    pub project: Option<String>,
    /// On this plan only.
    pub plan: Option<PlanId>,
    /// Those only that have not said that they ended.
    pub running: bool,
    /// At most so many; `None` means all.
    pub most: Option<u32>,
}

/// Where a call stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// Its tool and arguments are looked at.
    Validating,
    /// It waits for other calls, for its turn, or for the next attempt.
    Scheduled,
    /// A person is asked.
    AwaitingApproval,
    /// It runs.
    Executing,
    /// It did what it was asked.
    Success,
    /// It did not.
    Error,
    /// It was not allowed to come to an end, or to begin.
    Cancelled,
}

impl CallState {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Validating,
        Self::Scheduled,
        Self::AwaitingApproval,
        Self::Executing,
        Self::Success,
        Self::Error,
        Self::Cancelled,
    ];

    /// The name in stores and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Validating => "validating",
            Self::Scheduled => "scheduled",
            Self::AwaitingApproval => "awaiting_approval",
            Self::Executing => "executing",
            Self::Success => "success",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state with that name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Whether nothing can follow.
    pub fn has_ended(self) -> bool {
        match self {
            Self::Success | Self::Error | Self::Cancelled => true,
            Self::Validating | Self::Scheduled | Self::AwaitingApproval | Self::Executing => false,
        }
    }

    /// Whether `next` may be recorded of a call that stands here.
    ///
    /// The scheduler sees to it; a store holds it once more, because two processes may believe that a
    /// call is theirs: what one has ended, the other cannot move any more.
    pub fn may_become(self, next: Self) -> bool {
        match self {
            Self::Validating => matches!(next, Self::Scheduled | Self::Error | Self::Cancelled),
            // Scheduled again: it was allowed while it waited.
            Self::Scheduled => matches!(
                next,
                Self::Scheduled | Self::AwaitingApproval | Self::Executing | Self::Cancelled
            ),
            Self::AwaitingApproval => {
                matches!(next, Self::Scheduled | Self::Validating | Self::Cancelled)
            }
            // Executing again: it is being stopped. Scheduled: it is tried again.
            Self::Executing => matches!(
                next,
                Self::Executing | Self::Scheduled | Self::Success | Self::Error | Self::Cancelled
            ),
            Self::Success | Self::Error | Self::Cancelled => false,
        }
    }

    /// The same for a call of a run, as an error.
    pub fn check(self, run: RunId, call: u32, next: Self) -> Result<(), Error> {
        if self.may_become(next) {
            return Ok(());
        }
        Err(Error::CallMoved { run, call, from: self, to: next })
    }
}

/// A call as it stands, or as it stood after one transition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CallRecord {
    /// Which of its run: counts up in the order in which calls were scheduled.
    pub number: u32,
    /// The item that it is for.
    pub item: Option<Number>,
    /// The tool's name.
    pub tool: String,
    /// What is asked for, as the scheduler writes it. Another one only after a modification; null
    /// once it was forgotten, and from then on.
    pub request: Value,
    /// Where it stands.
    pub state: CallState,
    /// Which attempt; 0 before the first.
    pub attempt: Attempt,
    /// What belongs to the state, as the scheduler writes it: the output, what went wrong, why it
    /// was cancelled.
    pub detail: Option<Value>,
    /// Since when.
    pub at: Timestamp,
}

/// Why a call was cancelled that was found executing after a crash, as its detail says it: the
/// scheduler's own word for that reason.
pub const INTERRUPTED: &str = "interrupted";

impl CallRecord {
    /// As a store keeps it: times to the millisecond, values no deeper than they can be read again.
    #[must_use]
    pub fn kept(self) -> Self {
        Self {
            request: shallow(self.request),
            detail: self.detail.map(shallow),
            at: kept(self.at),
            ..self
        }
    }

    /// The transition of a call whose process is gone, if it was found executing. `said` has what such
    /// calls gave back until then.
    pub fn interrupted(&self, now: Timestamp, said: &Said) -> Option<Self> {
        let detail = match said.get(&self.number) {
            Some(output) => {
                serde_json::json!({"cancelled": {"reason": INTERRUPTED, "output": output}})
            }
            None => Value::from(INTERRUPTED),
        };
        (self.state == CallState::Executing).then(|| Self {
            state: CallState::Cancelled,
            detail: Some(shallow(detail)),
            at: kept(now),
            ..self.clone()
        })
    }

    /// Erases what somebody wrote; that there was a call stays.
    pub fn forget(&mut self) {
        self.request = Value::Null;
        self.detail = None;
    }
}

/// What calls that were cut short gave back until then, by their number, as the scheduler writes outputs.
pub type Said = BTreeMap<u32, Value>;

/// How deep a value may be. Reading JSON ends at 128, and a value may stand within another.
const DEEPEST: u32 = 100;

/// A value that can be read again: one that is too deep is kept as its text.
fn shallow(value: Value) -> Value {
    if is_deeper(&value, DEEPEST) { Value::from(value.to_string()) } else { value }
}

fn is_deeper(value: &Value, than: u32) -> bool {
    let Some(left) = than.checked_sub(1) else { return true };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        Value::Array(values) => values.iter().any(|value| is_deeper(value, left)),
        Value::Object(fields) => fields.values().any(|value| is_deeper(value, left)),
    }
}

/// Something has changed; what, is to be looked up.
pub type News = BoxStream<'static, Result<(), Error>>;

/// Where runs, calls, questions and messages are kept.
///
/// The promises are those of [`crate::store::PlanStore`]: one transaction each, and an answer only once
/// it would survive. Calls are no plans: they are not in a plan's journal, and neither exported nor
/// imported with it. But what is forgotten of a plan is forgotten of them too: with an item the texts
/// of its calls and questions, with a plan those of all its runs, and the messages of the conversations
/// that are attached to it.
pub trait CallStore: Send + Sync {
    /// Notes that a run has begun. Fails with [`Error::NoPlan`] if its plan is unknown.
    fn begin_run(&self, run: RunRecord) -> BoxFuture<'_, Result<(), Error>>;

    /// Notes that a run has ended. The first time counts. Its questions wait no longer than its calls
    /// do: whoever ends a run has ended its calls.
    fn end_run(&self, run: RunId, now: Timestamp) -> BoxFuture<'_, Result<(), Error>>;

    /// The runs that fit, the one that began last first.
    fn runs(&self, filter: RunFilter) -> BoxFuture<'_, Result<Vec<RunRecord>, Error>>;

    /// Writes down where calls stand now, in order, the questions that they ask, and the change of a
    /// plan that goes with them: all together or nothing.
    ///
    /// The change is decided as [`crate::store::PlanStore::change`] does, and what that came to is given back;
    /// if it is refused, nothing is recorded. A call that cannot become what is recorded of it
    /// ([`CallState::may_become`]) fails with [`Error::CallMoved`]: somebody else has ended it. A
    /// question belongs to a call of the run, one of these or an earlier one.
    fn record(
        &self,
        run: RunId,
        calls: Vec<CallRecord>,
        asked: Vec<Asked>,
        change: Option<(PlanId, Change)>,
    ) -> BoxFuture<'_, Result<Option<Applied>, Error>>;

    /// The calls of a run as they stand, by number.
    fn calls(&self, run: RunId) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>>;

    /// Every transition of a run's calls, in the order in which they were recorded.
    fn story(&self, run: RunId) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>>;

    /// After a crash: what was executing becomes cancelled, because it was [`INTERRUPTED`], and is
    /// given back by number. What such a call had `said` is kept with it. Other calls and all questions
    /// stay as they are. The caller knows that the run's process is gone.
    fn interrupt(
        &self,
        run: RunId,
        now: Timestamp,
        said: Said,
    ) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>>;

    /// The questions that fit, oldest first: by their ids, which begin with the time.
    fn questions(&self, filter: QuestionFilter) -> BoxFuture<'_, Result<Vec<Question>, Error>>;

    /// Answers a question, once: of several at the same time one is taken, and the others are told
    /// who was first ([`Question::answered`]). What was asked never changes. Fails with
    /// [`Error::NoQuestion`] if there is none.
    fn answer(
        &self,
        question: QuestionId,
        answered: Answered,
    ) -> BoxFuture<'_, Result<AnswerOutcome, Error>>;

    /// Puts a message at the end of its conversation's queue. One that [`Message::check`] does not pass, or
    /// for which there is no room, is [`Error::Message`].
    fn queue(&self, message: NewMessage) -> BoxFuture<'_, Result<(), Error>>;

    /// The messages of a conversation that wait, first in first.
    fn messages(&self, conversation: String) -> BoxFuture<'_, Result<Vec<Message>, Error>>;

    /// Gives a message that waits another text, which must pass [`Message::check`]. It keeps its place.
    fn edit_message(
        &self,
        message: MessageId,
        text: String,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>>;

    /// Takes a message that waits out of the queue; nothing of it is kept.
    fn remove_message(&self, message: MessageId) -> BoxFuture<'_, Result<MessageOutcome, Error>>;

    /// Moves a message that waits before another one of its conversation; see [`Message::moved`].
    fn move_message(
        &self,
        message: MessageId,
        before: Option<MessageId>,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>>;

    /// Says whether a message that waits steers the work under way. It keeps its place among the others.
    fn steer_message(
        &self,
        message: MessageId,
        steer: bool,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>>;

    /// Takes the next message to work on it. Of several takers each gets another one.
    fn take_message(
        &self,
        conversation: String,
        take: Take,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<Message>, Error>>;

    /// Tells when something may have changed, in this process or another: at least once after every
    /// change of a plan, call, question or message that is acknowledged after this future is done.
    /// Several changes may be one piece of news, and news may be of nothing.
    fn news(&self) -> BoxFuture<'_, Result<News, Error>>;
}
