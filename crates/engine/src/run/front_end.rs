//! What a front end does for a run: it shows what happens, and passes on what a person says.
//!
//! A terminal, a page or a program implements [`FrontEnd`]. The run calls it from one task; it never calls
//! into the run, but returns an [`Input`].

use std::path::Path;

use futures_core::future::BoxFuture;
use punchlist_model::call::{Answer, Answered, Asked};
use punchlist_model::{Number, Plan, QuestionId, RunId, Timestamp};
use punchlist_streams::event::Outcome;
use serde_json::Value;

use super::board::Board;
use crate::fail::Fail;

/// Shows a run, and passes on what a person says.
pub trait FrontEnd: Send {
    /// Warns of something, before the run begins.
    fn warn(&mut self, text: &str);

    /// Says something that a person may want to know.
    fn say(&mut self, text: &str, now: Timestamp) -> Result<(), Fail>;

    /// Asks for a yes, before the run begins. Called only where a person is there.
    fn confirm<'a>(&'a mut self, question: &'a str) -> BoxFuture<'a, bool>;

    /// Something happened. The board shows it already.
    fn event(&mut self, event: Event<'_>, board: &Board, now: Timestamp) -> Result<(), Fail>;

    /// Draws how the run stands. Called after the front end has returned [`Input::Draw`], and when something
    /// should be seen at once.
    fn draw(&mut self, board: &Board, now: Timestamp) -> Result<(), Fail>;

    /// Waits for what comes from outside. The future may be dropped and made again at any time: it must not
    /// lose anything.
    fn input(&mut self) -> BoxFuture<'_, Result<Input, Fail>>;
}

/// What comes from outside.
#[derive(Clone, PartialEq, Debug)]
pub enum Input {
    /// A person answers a question.
    Answer(QuestionId, Answer),
    /// The run is to stop; a second time, at once.
    Stop,
    /// It is time to draw.
    Draw,
}

/// What happened in a run.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The run begins.
    Begins {
        /// Its id.
        run: RunId,
        /// Where its commands run.
        directory: &'a Path,
        /// The plan file, as it was named.
        name: &'a str,
    },
    /// The plan has changed.
    Plan(&'a Plan),
    /// What will be called for an item.
    Planned {
        /// Which item.
        item: Number,
        /// The tool.
        tool: &'a str,
        /// Its arguments.
        arguments: &'a Value,
    },
    /// An item is not done in this run.
    Held(Number),
    /// An item is to be done as soon as there is room.
    Scheduled(Number),
    /// An item failed and is tried again later.
    Retries(Number),
    /// An item starts.
    Starts(Number),
    /// An item is being stopped.
    Stops(Number),
    /// An item's call has ended.
    Completed {
        /// Which item.
        item: Number,
        /// How.
        status: Outcome,
        /// What it said, and why it did not succeed.
        text: &'a str,
    },
    /// A step printed a line.
    Printed {
        /// The title of its item.
        title: &'a str,
        /// The line.
        line: &'a str,
    },
    /// So many lines came too fast to be shown.
    Lost(u64),
    /// An item needs a person's answer.
    Asked {
        /// Which item.
        item: Number,
        /// What would be done.
        what: &'a str,
    },
    /// This question waits: a person at the front end may answer it, or somebody elsewhere.
    Question(&'a Asked),
    /// A question was answered.
    Answered {
        /// What was asked.
        asked: &'a Asked,
        /// What was answered, and by whom.
        answered: &'a Answered,
        /// Somebody else answered than the one who runs this.
        is_by_other: bool,
    },
    /// A question waits no longer, and nobody answered it.
    Withdrawn(QuestionId),
    /// Somebody changed what will be called for an item.
    Changed {
        /// Which item.
        item: Number,
        /// The arguments as they are now.
        arguments: &'a Value,
    },
    /// Everything has ended.
    Over,
}
