//! What a slash command asks for: one of eight results. Whoever runs the terminal UI performs it.

use punchlist_formats::text::Line;
use serde_json::Value;

use super::custom::CustomShell;
use punchlist_engine::custom_commands::CustomCommand;
use std::sync::Arc;

/// The result of a slash command.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// Schedule a tool call.
    Schedule(ToolRequest),
    /// Show a message.
    Message(Message),
    /// Quit.
    Quit,
    /// Open a dialog.
    Dialog(Dialog),
    /// Load the history of a session.
    LoadHistory(History),
    /// Submit a prompt to the model. While the agent is busy, it is queued like a message.
    Submit(Prompt),
    /// Run shell commands after the person confirmed all of them.
    ConfirmShell(ShellQuestion),
    /// Do something after the person confirmed it.
    Confirm(Deed),
}

/// A tool call.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolRequest {
    /// The tool's name.
    pub tool: &'static str,
    /// Its arguments.
    pub input: Value,
}

/// A message to show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// These lines.
    Lines(Vec<Line>),
    /// The to-do list.
    Todo,
    /// The queue, after a change to it if there is one.
    Queue(QueueChange),
    /// The tools that the model has.
    Tools,
    /// The MCP servers and their state.
    Mcp,
    /// What doctor finds.
    Doctor,
    /// What was found when the custom commands were read again.
    Reload,
}

/// A change to the queue. Numbers are those that the person sees, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueChange {
    /// None: only show it.
    Show,
    /// Take a paused queue up again.
    Go,
    /// Take a message out of the queue, into the input.
    Edit(usize),
    /// Remove a message.
    Remove(usize),
    /// Move a message to another place.
    Move {
        /// The message.
        number: usize,
        /// Its new number.
        to: usize,
    },
    /// Send a message now. It is refused, and the message kept, while the agent is busy.
    Send(usize),
}

/// A dialog to open. With a name, what the name says is chosen at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Dialog {
    /// The plan.
    Plan,
    /// A new plan with this title.
    NewPlan(String),
    /// The models.
    Model(Option<String>),
    /// Open questions and rules.
    Approvals,
    /// The sessions.
    Sessions,
    /// All agents on this machine.
    Watch,
    /// The themes.
    Theme(Option<String>),
    /// The team.
    Team,
}

/// A history to load.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum History {
    /// An earlier session: the named one, or the latest.
    Session(Option<String>),
    /// An empty one: a new conversation.
    Empty,
}

/// A prompt to submit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Prompt {
    /// Summarise the conversation, with what to keep if the person said so.
    Compact(Option<String>),
    /// Work towards this goal.
    Goal(String),
    /// The text of a custom command.
    Custom(String),
}

/// Shell commands that are confirmed before they run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShellQuestion {
    /// The checks of an item, or of all items.
    Checks(Option<String>),
    /// The shell commands in a custom command.
    Custom(CustomShell),
}

/// An action that is confirmed before it happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Deed {
    /// Erase the texts of these items for ever.
    Forget(String),
    /// Allow a command of the project, then run it.
    AllowCommand {
        /// The command, with the text to show.
        command: Arc<CustomCommand>,
        /// What was typed behind it.
        arguments: String,
    },
}
