//! Records of work in progress: runs, calls, questions to a person, and queued messages.
//!
//! The scheduler decides how a call moves from state to state. These records outlive the process
//! that works, and let any other process answer a question. This module has the data and the
//! contract of its store; nothing here asks, runs or waits.

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

pub use message::{BadMessage, Message, MessageOutcome, NewMessage};
pub use question::{
    Answer, AnswerOutcome, Answered, Asked, Offer, Permit, Printed, Question, QuestionFilter,
    Reach, Standing,
};

/// A run: one process that executes calls, for a plan or without one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunRecord {
    /// The run's id.
    pub id: RunId,
    /// The project that the run works in.
    pub project: String,
    /// The plan that the run works on.
    pub plan: Option<PlanId>,
    /// A description for people: the plan file, the task.
    pub what: String,
    /// The process behind the run, so that others can find out whether it is alive.
    pub process: Option<Process>,
    /// When the run began.
    pub begun_at: Timestamp,
    /// When the run ended. A run that was killed has no end.
    pub ended_at: Option<Timestamp>,
}

impl RunRecord {
    /// The run as stores keep it: times to the millisecond.
    #[must_use]
    pub fn kept(self) -> Self {
        Self { begun_at: kept(self.begun_at), ended_at: self.ended_at.map(kept), ..self }
    }

    /// The error for a second start of the same run.
    pub fn begun_already(id: RunId) -> Error {
        Error::Unusable { what: format!("run {id} has already begun"), source: None }
    }
}

/// Which runs to return.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunFilter {
    /// Only runs of this project.
    pub project: Option<String>,
    /// Only runs on this plan.
    pub plan: Option<PlanId>,
    /// Only runs without a recorded end.
    pub running: bool,
    /// The maximum number of runs; `None` means all.
    pub most: Option<u32>,
}

/// The state of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// The tool and its arguments are being checked.
    Validating,
    /// The call waits for other calls, for a free slot, or for the next attempt.
    Scheduled,
    /// The call waits for a person's answer.
    AwaitingApproval,
    /// The call is running.
    Executing,
    /// The call succeeded.
    Success,
    /// The call failed.
    Error,
    /// The call was stopped, or was never allowed to begin.
    Cancelled,
}

impl CallState {
    /// All states.
    pub const ALL: [Self; 7] = [
        Self::Validating,
        Self::Scheduled,
        Self::AwaitingApproval,
        Self::Executing,
        Self::Success,
        Self::Error,
        Self::Cancelled,
    ];

    /// The name in the store and in JSON.
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

    /// Whether no other state can follow.
    pub fn has_ended(self) -> bool {
        match self {
            Self::Success | Self::Error | Self::Cancelled => true,
            Self::Validating | Self::Scheduled | Self::AwaitingApproval | Self::Executing => false,
        }
    }

    /// Whether a call in this state may move to `next`.
    ///
    /// The scheduler keeps to this table. A store checks it again, because two processes may both
    /// believe that they own a call: once one process has ended the call, the other cannot move it.
    pub fn may_become(self, next: Self) -> bool {
        match self {
            Self::Validating => matches!(next, Self::Scheduled | Self::Error | Self::Cancelled),
            // Scheduled to scheduled: the call was allowed while it waited.
            Self::Scheduled => matches!(
                next,
                Self::Scheduled | Self::AwaitingApproval | Self::Executing | Self::Cancelled
            ),
            Self::AwaitingApproval => {
                matches!(next, Self::Scheduled | Self::Validating | Self::Cancelled)
            }
            // Executing to executing: the call is being stopped. Executing to scheduled: the call
            // is retried.
            Self::Executing => matches!(
                next,
                Self::Executing | Self::Scheduled | Self::Success | Self::Error | Self::Cancelled
            ),
            Self::Success | Self::Error | Self::Cancelled => false,
        }
    }

    /// Fails with [`Error::CallMoved`] if the call may not move to `next`.
    pub fn check(self, run: RunId, call: u32, next: Self) -> Result<(), Error> {
        if self.may_become(next) {
            return Ok(());
        }
        Err(Error::CallMoved { run, call, from: self, to: next })
    }
}

/// A call in its current state, or in the state after one transition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CallRecord {
    /// The call's number in its run. Numbers count up in the order in which calls were scheduled.
    pub number: u32,
    /// The item that the call is for.
    pub item: Option<Number>,
    /// The tool's name.
    pub tool: String,
    /// The request, as the scheduler encodes it. It changes only when a person modifies the call.
    /// Null once it was forgotten; it then stays null.
    pub request: Value,
    /// The call's state.
    pub state: CallState,
    /// The number of the attempt; 0 before the first.
    pub attempt: Attempt,
    /// Details of the state, as the scheduler encodes them: the output, the error, or why the call
    /// was cancelled.
    pub detail: Option<Value>,
    /// When the call got this state.
    pub at: Timestamp,
}

/// The reason in the detail of a call that was executing when its run crashed. The scheduler uses
/// the same text.
pub const INTERRUPTED: &str = "interrupted";

impl CallRecord {
    /// The call as stores keep it: times to the millisecond, and values no deeper than JSON readers
    /// accept.
    #[must_use]
    pub fn kept(self) -> Self {
        Self {
            request: shallow(self.request),
            detail: self.detail.map(shallow),
            at: kept(self.at),
            ..self
        }
    }

    /// The transition to "cancelled" for a call that was executing when its process ended; `None`
    /// for other calls. `outputs` has the output of such calls up to that moment.
    pub fn interrupted(&self, now: Timestamp, outputs: &Said) -> Option<Self> {
        let detail = match outputs.get(&self.number) {
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

    /// Erases the texts of the call. The record of the call stays.
    pub fn forget(&mut self) {
        self.request = Value::Null;
        self.detail = None;
    }
}

/// The output of interrupted calls by call number, as the scheduler encodes outputs.
pub type Said = BTreeMap<u32, Value>;

/// The deepest nesting that is stored. JSON readers stop at 128 levels, and a value may be stored
/// inside another.
const DEEPEST: u32 = 100;

/// Replaces a value that is nested too deeply by its JSON text, so that it can be read again.
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

/// Wakes up when something may have changed. The reader then queries the store.
pub type News = BoxStream<'static, Result<(), Error>>;

/// The store of runs, calls, questions and messages.
///
/// It makes the same promises as [`crate::store::PlanStore`]: each method is one transaction, and
/// it returns only after the change is durable. Calls are not part of a plan: they are not in its
/// journal, and are neither exported nor imported with it. But `forget` reaches them: forgetting an
/// item erases the texts of its calls and questions; forgetting a plan erases the texts of all its
/// runs, and the messages of the conversations that are attached to it.
pub trait CallStore: Send + Sync {
    /// Records the start of a run. Fails with [`Error::NoPlan`] if its plan is unknown.
    fn begin_run(&self, run: RunRecord) -> BoxFuture<'_, Result<(), Error>>;

    /// Records the end of a run. A second end is ignored. The caller has already ended the run's
    /// calls, so none of its questions is left waiting.
    fn end_run(&self, run: RunId, now: Timestamp) -> BoxFuture<'_, Result<(), Error>>;

    /// The runs that match, newest first.
    fn runs(&self, filter: RunFilter) -> BoxFuture<'_, Result<Vec<RunRecord>, Error>>;

    /// Records the current states of calls, in order, the questions that they ask, and a change of
    /// a plan: all of it or nothing.
    ///
    /// The change is decided as by [`crate::store::PlanStore::change`], and its result is returned;
    /// if it is refused, nothing is recorded. If a call may not move to its new state
    /// ([`CallState::may_become`]), this fails with [`Error::CallMoved`]: another process has ended
    /// the call. Each question belongs to a call of this run, recorded now or earlier.
    fn record(
        &self,
        run: RunId,
        calls: Vec<CallRecord>,
        asked: Vec<Asked>,
        change: Option<(PlanId, Change)>,
    ) -> BoxFuture<'_, Result<Option<Applied>, Error>>;

    /// The calls of a run in their current states, by number.
    fn calls(&self, run: RunId) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>>;

    /// Every transition of a run's calls, in the order in which they were recorded.
    fn story(&self, run: RunId) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>>;

    /// Cancels the calls that were executing when their run crashed, with the reason
    /// [`INTERRUPTED`] and their output in `outputs`, and returns them by number. Other calls and all
    /// questions stay unchanged. The caller has made sure that the run's process is gone.
    fn interrupt(
        &self,
        run: RunId,
        now: Timestamp,
        outputs: Said,
    ) -> BoxFuture<'_, Result<Vec<CallRecord>, Error>>;

    /// The questions that match, oldest first: their ids begin with the time.
    fn questions(&self, filter: QuestionFilter) -> BoxFuture<'_, Result<Vec<Question>, Error>>;

    /// Answers a question. Only the first answer counts; later callers learn who was first
    /// ([`Question::answered`]). The question itself never changes. Fails with
    /// [`Error::NoQuestion`] if there is none.
    fn answer(
        &self,
        question: QuestionId,
        answered: Answered,
    ) -> BoxFuture<'_, Result<AnswerOutcome, Error>>;

    /// Appends a message to its conversation's queue. Fails with [`Error::Message`] if the text
    /// does not pass [`Message::check`] or the queue is full.
    fn queue(&self, message: NewMessage) -> BoxFuture<'_, Result<(), Error>>;

    /// The waiting messages of a conversation, in the order of the queue. A message leaves the queue with
    /// the record of the turn that contains it ([`crate::store::turns::TurnRecord::taken`]).
    fn messages(&self, conversation: String) -> BoxFuture<'_, Result<Vec<Message>, Error>>;

    /// One message, even if it was taken; `None` if there is none, or if it was removed.
    fn message(&self, message: MessageId) -> BoxFuture<'_, Result<Option<Message>, Error>>;

    /// Replaces the text of a waiting message, which must pass [`Message::check`]. The message
    /// keeps its place.
    fn edit_message(
        &self,
        message: MessageId,
        text: String,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>>;

    /// Removes a waiting message from the queue and from the store.
    fn remove_message(&self, message: MessageId) -> BoxFuture<'_, Result<MessageOutcome, Error>>;

    /// Moves a waiting message before another one of its conversation; see [`Message::moved`].
    fn move_message(
        &self,
        message: MessageId,
        before: Option<MessageId>,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>>;

    /// Sets whether a waiting message steers the work in progress. The message keeps its place.
    fn steer_message(
        &self,
        message: MessageId,
        steer: bool,
    ) -> BoxFuture<'_, Result<MessageOutcome, Error>>;

    /// Wakes up when something may have changed, in this process or another: at least once after
    /// every change of a plan, call, question or message that is acknowledged after this future
    /// completes. Several changes may cause one wake-up, and a wake-up may come without a change.
    fn news(&self) -> BoxFuture<'_, Result<News, Error>>;
}
