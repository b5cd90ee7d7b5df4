//! The interface between a run and its front end, which shows what happens and passes on a person's
//! input.
//!
//! A terminal, a web page or a program implements [`FrontEnd`]. The run calls it from one task. It
//! never calls the run, but returns an [`Input`].

use std::path::Path;

use futures_core::future::BoxFuture;
use punchlist_model::call::{Answer, Answered, Asked};
use punchlist_model::{Number, Plan, QuestionId, RunId, Timestamp};
use punchlist_streams::event::Outcome;
use serde_json::Value;

use super::board::Board;
use crate::fail::Fail;

/// Shows a run and passes on a person's input.
pub trait FrontEnd: Send {
    /// Shows a warning, before the run begins.
    fn warn(&mut self, text: &str);

    /// Shows a message.
    fn say(&mut self, text: &str, now: Timestamp) -> Result<(), Fail>;

    /// Asks for a yes, before the run begins. It is only called if a person is there.
    fn confirm<'a>(&'a mut self, question: &'a str) -> BoxFuture<'a, bool>;

    /// Handles an event. The board is already up to date.
    fn event(&mut self, event: Event<'_>, board: &Board, now: Timestamp) -> Result<(), Fail>;

    /// Draws the run. It is called after the front end has returned [`Input::Draw`], and when
    /// something should be shown at once.
    fn draw(&mut self, board: &Board, now: Timestamp) -> Result<(), Fail>;

    /// Waits for input. The future may be dropped and created again at any time, so it must not
    /// lose anything.
    fn input(&mut self) -> BoxFuture<'_, Result<Input, Fail>>;
}

/// Input from a person or from the display.
#[derive(Clone, PartialEq, Debug)]
pub enum Input {
    /// A person answers a question.
    Answer(QuestionId, Answer),
    /// Stop the run; a second time, stop it at once.
    Stop,
    /// It is time to draw.
    Draw,
}

/// An event of a run.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The run begins.
    Begins {
        /// The run's id.
        run: RunId,
        /// The directory in which its commands run.
        directory: &'a Path,
        /// The plan file, as the user named it.
        name: &'a str,
    },
    /// The plan has changed.
    Plan(&'a Plan),
    /// The call for an item is known.
    Planned {
        /// The item.
        item: Number,
        /// The tool.
        tool: &'a str,
        /// The arguments.
        arguments: &'a Value,
    },
    /// An item will not be done in this run.
    Held(Number),
    /// An item is scheduled and starts as soon as there is capacity.
    Scheduled(Number),
    /// An item failed and will be retried.
    Retries(Number),
    /// An item starts.
    Starts(Number),
    /// An item is being stopped.
    Stops(Number),
    /// An item's call has ended.
    Completed {
        /// The item.
        item: Number,
        /// The outcome.
        status: Outcome,
        /// The output, and why the call did not succeed.
        text: &'a str,
    },
    /// A step printed a line.
    Printed {
        /// The item's title.
        title: &'a str,
        /// The line.
        line: &'a str,
    },
    /// This many lines came too fast to be shown.
    Lost(u64),
    /// An item needs a person's answer.
    Asked {
        /// The item.
        item: Number,
        /// What would be done.
        what: &'a str,
    },
    /// A question waits for an answer, from a person at the front end or elsewhere.
    Question(&'a Asked),
    /// A question was answered.
    Answered {
        /// The question.
        asked: &'a Asked,
        /// The answer, and who gave it.
        answered: &'a Answered,
        /// Whether somebody other than the user of this run answered.
        is_by_other: bool,
    },
    /// A question was withdrawn without an answer.
    Withdrawn(QuestionId),
    /// Somebody changed the arguments of an item's call.
    Changed {
        /// The item.
        item: Number,
        /// The new arguments.
        arguments: &'a Value,
    },
    /// The run is over.
    Over,
}
