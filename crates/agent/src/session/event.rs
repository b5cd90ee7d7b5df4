//! What a session tells a front end, and what a front end tells a session.

use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use punchlist_model::call::{Answer as Permission, Answered, Asked};
use punchlist_model::store::turns::Used;
use punchlist_model::{Plan, QuestionId, Timestamp};
use punchlist_sched::output::Line;
use punchlist_streams::event::Usage;

use super::queue::Queued;
use crate::provider::{Citation, ModelCall, TokenUsage};
use crate::turn::{Ending, Purpose};

/// What happens in a session, as it happens.
#[derive(Clone, Debug)]
pub enum Event {
    /// A turn begins or goes on.
    Began {
        /// The number of the turn.
        turn: u32,
        /// Its id.
        id: String,
        /// What the user said, with which it begins or goes on; empty if it was cut off.
        request: String,
        /// Whether it goes on after it was cut off or suspended.
        is_resumed: bool,
        /// The plan so far, if it goes on with one.
        plan: Option<Box<Plan>>,
    },
    /// The model is being called, for this purpose.
    Calling(Purpose),
    /// More text of the answer.
    Text(String),
    /// More of the model's thinking.
    Thinking(String),
    /// The model call failed and is repeated after a while. The text so far is void.
    Retry {
        /// What went wrong.
        why: String,
        /// How long until the next attempt.
        wait: Duration,
    },
    /// An answer is complete.
    Answered {
        /// Its text.
        text: String,
        /// What the text refers to.
        citations: Vec<Citation>,
        /// Its calls.
        calls: Vec<ModelCall>,
        /// Its tokens.
        usage: TokenUsage,
        /// Its cost in millionths of the currency of the price, if a price is configured.
        cost_micros: Option<u64>,
    },
    /// A call begins to run.
    CallStarted(ModelCall),
    /// A running call printed a line.
    CallOutput {
        /// The call.
        call: ModelCall,
        /// The line.
        line: Line,
    },
    /// A call has ended.
    CallEnded {
        /// The call.
        call: ModelCall,
        /// Whether it failed or was cancelled.
        is_error: bool,
        /// Whether it was cancelled.
        is_cancelled: bool,
        /// What the model is told.
        text: String,
    },
    /// A person is asked.
    Asked {
        /// The question.
        asked: Arc<Asked>,
        /// The call that it is about.
        call: ModelCall,
    },
    /// A question waits no longer.
    Settled {
        /// The question.
        question: QuestionId,
        /// The answer, if somebody answered.
        answered: Option<Box<Answered>>,
    },
    /// The plan has changed.
    Plan {
        /// As it was, if there was one.
        before: Option<Box<Plan>>,
        /// As it is.
        now: Box<Plan>,
    },
    /// The model's answer was not accepted.
    Refused {
        /// How many items are open.
        open: usize,
        /// Which refusal it is, from 1.
        refusal: u32,
    },
    /// A message of the user reached the model.
    Steered(String),
    /// The queue has changed.
    Queued(Box<Queued>),
    /// A message was not queued. The user may want it back.
    NotQueued {
        /// The message.
        text: String,
        /// Why not.
        why: String,
    },
    /// A line for the user.
    Info(String),
    /// The model is summarising the conversation, because the user asked for it.
    Compacting,
    /// Older parts of the conversation were summarised.
    Compacted,
    /// The session waits, for example until a usage limit is over.
    Waiting {
        /// Until when, if that is known.
        until: Option<Timestamp>,
        /// For what.
        on: String,
    },
    /// What a worker with a model of its own does: its answers and its calls.
    Worker {
        /// Its name.
        worker: String,
        /// What it does.
        event: Box<Self>,
    },
    /// What else is heard of an agent's program that leads the session.
    Leader(LeaderEvent),
    /// The turn has ended, or was suspended.
    Ended(Box<Ended>),
}

impl Event {
    /// The event as one of a worker. Questions are put to the user, whoever asks.
    pub(super) fn of_worker(self, worker: &str) -> Self {
        if matches!(self, Self::Asked { .. } | Self::Settled { .. }) {
            return self;
        }
        Self::Worker { worker: worker.to_owned(), event: Box::new(self) }
    }
}

/// What is heard of an agent's program that leads a session.
#[derive(Clone, PartialEq, Debug)]
pub enum LeaderEvent {
    /// Its session has begun.
    Began {
        /// Its id of the session.
        session: String,
        /// Its model, if it says so.
        model: Option<String>,
        /// Its version, if it says so.
        version: Option<String>,
    },
    /// Its model wants this call.
    Call(ModelCall),
    /// What was used.
    Used(Usage),
}

/// How a turn ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How.
    pub ending: Ending,
    /// The answer, with what stays open.
    pub answer: String,
    /// What the answer refers to.
    pub citations: Vec<Citation>,
    /// The plan at the end.
    pub plan: Option<Plan>,
    /// What the turn's model calls have used.
    pub used: Used,
}

/// What a front end wants.
#[derive(Clone, Debug)]
pub enum Input {
    /// The answer to a question.
    Answer(QuestionId, Permission),
    /// A message for the model, at its next call. It begins a turn if there is none.
    Steer(String),
    /// A message that waits until the turn has ended. It begins a turn if there is none.
    Queue(String),
    /// The turn is to end.
    Abort,
    /// An idle session is to summarise the conversation, and to keep what the text says.
    Compact(Option<String>),
    /// An idle session is to begin a turn that works towards this goal.
    Goal(String),
}

impl Input {
    /// The text that the user wrote for it, as it can be entered again.
    pub fn into_text(self) -> Option<String> {
        match self {
            Self::Steer(text) | Self::Queue(text) => Some(text),
            Self::Goal(goal) => Some(format!("/goal {goal}")),
            Self::Answer(..) | Self::Abort | Self::Compact(_) => None,
        }
    }
}

/// What an idle session was woken by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Idle {
    /// A message in the queue can be taken.
    Message,
    /// The user said this.
    Request(String),
    /// The user wants the conversation summarised; the summary is to keep what the text says.
    Compact(Option<String>),
    /// The user sets this goal.
    Goal(String),
    /// The user leaves.
    Left,
}

/// Who shows a session and steers it.
pub trait FrontEnd: Send {
    /// Shows what happened.
    fn event(&mut self, event: Event);

    /// Waits for the next wish. Cancel-safe.
    fn input(&mut self) -> BoxFuture<'_, Input>;
}
