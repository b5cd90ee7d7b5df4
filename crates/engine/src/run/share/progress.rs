//! What is shown of an item of a shared plan: derived from the plan alone, because the worker is another
//! process, perhaps on another machine. Pure.

use punchlist_model::{Item, Number, Status};
use punchlist_sched::call::Output;
use punchlist_streams::event::Outcome;

use crate::run::board::Board;
use crate::run::claimed;
use crate::run::front_end::Event;

/// What is shown of an item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    Open,
    Running,
    Done,
    Skipped,
    /// A worker failed, for this reason.
    Failed(String),
    /// A person refused it.
    Refused(String),
    /// It was interrupted, or waits for something else.
    Held(String),
}

impl Shown {
    pub(super) fn of(item: &Item) -> Self {
        let outcome = item.outcome.clone().unwrap_or_default();
        match (item.status, item.waiting_on.as_deref()) {
            (Status::Completed, _) => Self::Done,
            (Status::Cancelled, _) => Self::Skipped,
            (Status::InProgress, _) => Self::Running,
            (Status::Pending, Some(claimed::FAILED)) => {
                let why = outcome.strip_prefix("failed: ").unwrap_or(&outcome);
                Self::Failed(why.to_owned())
            }
            (Status::Pending, Some(claimed::REFUSED)) => Self::Refused(outcome),
            (Status::Pending, Some(claimed::INTERRUPTED)) => Self::Held(outcome),
            (Status::Pending, Some(on)) => Self::Held(format!("waiting for: {on}")),
            (Status::Pending, None) if item.is_interrupted() => Self::Held(outcome),
            (Status::Pending, None) => Self::Open,
        }
    }

    /// Whether a call for the item has ended.
    pub(super) fn has_ended(&self) -> bool {
        match self {
            Self::Done | Self::Failed(_) | Self::Refused(_) => true,
            Self::Open | Self::Running | Self::Skipped | Self::Held(_) => false,
        }
    }

    /// Puts it on the board.
    pub(super) fn put(&self, board: &mut Board, item: &Item, now: i64) {
        let number = item.number;
        match self {
            Self::Open => board.waits(number, "waits for a worker"),
            Self::Running => board.begins(number, now),
            Self::Done => board.done(number, item.evidence_level(), now),
            Self::Skipped => board.left(number, "skipped", now),
            Self::Failed(why) => board.failed(number, why, None, now),
            Self::Refused(why) => board.refused(number, Some(why.clone()), now),
            Self::Held(why) => board.left(number, why.clone(), now),
        }
    }

    /// The text that goes with the end of a call.
    pub(super) fn text(&self, output: &Output) -> String {
        match self {
            Self::Failed(why) | Self::Refused(why) if output.text.is_empty() => why.clone(),
            Self::Failed(why) | Self::Refused(why) => format!("{why}\n{}", output.text),
            Self::Open | Self::Running | Self::Done | Self::Skipped | Self::Held(_) => {
                output.text.clone()
            }
        }
    }

    /// The event for the front end.
    pub(super) fn event<'a>(&self, item: Number, text: &'a str) -> Option<Event<'a>> {
        let completed = |status| Some(Event::Completed { item, status, text });
        match self {
            Self::Open => Some(Event::Retries(item)),
            Self::Running => Some(Event::Starts(item)),
            Self::Done => completed(Outcome::Success),
            Self::Failed(_) => completed(Outcome::Error),
            Self::Refused(_) => completed(Outcome::Cancelled),
            Self::Held(_) => Some(Event::Held(item)),
            Self::Skipped => None,
        }
    }
}
