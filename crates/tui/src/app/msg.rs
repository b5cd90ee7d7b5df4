//! What the terminal UI hears. Each message means one thing by the time it is handled.

use punchlist_agent::session::Report;
use punchlist_engine::custom_commands::CustomCommands;
use punchlist_engine::fail::Fail;
use punchlist_engine::overview::Overview;
use punchlist_model::call::Question;
use punchlist_model::store::Entry;
use punchlist_model::{Number, PlanId, Timestamp};

use super::complete::Choices;
use super::model::{Agent, SessionIs};
use super::plan_run::RunReport;
use crate::dialog::Dialog;
use crate::input::Mentions;
use crate::keys::Key;
use crate::terminal::frame::Size;
use crate::watch::AgentsSeen;

/// What happened.
#[derive(Debug)]
pub(crate) enum Msg {
    /// A key was pressed, or a text was pasted.
    Key(Key),
    /// The session reports something.
    Report(Report),
    /// The plan and the questions of the project, and the questions that were shown and wait no longer.
    Overview(Overview, Vec<Question>),
    /// The terminal has this size now.
    Resize(Size),
    /// Time has passed.
    Tick(Timestamp),
    /// Everything is on the screen.
    Drawn,
    /// A line for the person.
    Told(String),
    /// Something could not be done.
    Failed(Fail),
    /// This dialog is to be opened.
    Opened(Box<Dialog>),
    /// What became of an act on the plan in the dialog.
    PlanActed(Result<String, Fail>),
    /// A new plan was made.
    PlanMade(PlanId),
    /// The journal of the plan in the dialog.
    Journal(Vec<Entry>),
    /// The output of an item of the plan in the dialog.
    Output(Number, String),
    /// The custom commands were read.
    Commands(CustomCommands),
    /// What `@` can name.
    Mentions(Mentions),
    /// What the argument of a command can be, and what is said about it.
    Choices(Choices, Vec<(String, String)>),
    /// Another session is open now, or the same one with another model.
    Session(Box<Agent>, SessionIs),
    /// What was read of all agents.
    Agents(Result<AgentsSeen, Fail>),
    /// A line for the person, in the dialog with all agents.
    ToldAgents(String),
    /// A plan file that runs inside the UI reports something.
    Run(RunReport),
    /// A queued message that the person edits is out of the queue.
    Unqueued(String),
    /// A text is to be sent to the model.
    Submit(String),
    /// A command that is allowed now is to be run: what the person typed.
    Command(String),
    /// A person's own shell command has ended, with this code.
    ShellEnded(String, Result<i32, String>),
}
