//! What the terminal UI wants to be done.

use std::sync::Arc;

use punchlist_agent::session::Input;
use punchlist_engine::custom_commands::CustomCommand;
use punchlist_engine::engine::PlanAct;
use punchlist_engine::policy::given::Given;
use punchlist_engine::policy::rules::Placed;
use punchlist_formats::text::Line;
use punchlist_model::call::{Answer, Question};
use punchlist_model::{ConversationId, MessageId, Number, PlanId, QuestionId};

use super::complete::Choices;
use super::perform::Choice;
use crate::commands::AllowedShell;

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Intent {
    /// Write finished lines into the scrollback.
    Print(Vec<Line>),
    /// Tell the session something.
    Session(Input),
    /// Change the queue.
    Queue(QueueAct),
    /// Store the answer to a question.
    Answer(QuestionId, Answer),
    /// Store the answer to a question of any agent.
    AnswerAgent(Box<Question>, Box<Answer>),
    /// Send a reply to a session that asks its user something.
    ReplyAgent(ConversationId, String),
    /// Keep what the person typed.
    Remember(String),
    /// Keep the theme that the person chose.
    ChooseTheme(String),
    /// Remove a rule from the user's file.
    ForgetRule(Box<Placed>),
    /// Take back what the person has allowed.
    TakeBack(Given),
    /// Run a plan file inside the UI, from the beginning or from where it was.
    RunFile(String, bool),
    /// Stop that run; a second time, at once.
    StopRun,
    /// Watch all agents, in a dialog.
    Watch,
    /// The dialog shows this agent, or none.
    WatchAgent(Option<String>),
    /// Watch the agents no longer.
    EndWatch,
    /// Run a person's own shell command at the terminal.
    Shell(String),
    /// Run one of our own verbs at the terminal.
    Verb(Vec<String>),
    /// Write the session to a file.
    Export(ConversationId, Option<String>),
    /// Read what a dialog shows, and open it.
    Load(Load),
    /// Perform an act on a plan.
    Plan(PlanId, PlanAct),
    /// Read the journal of a plan.
    Journal(PlanId),
    /// Read the output of an item's last call.
    Output(PlanId, Number),
    /// Open another session.
    Open(Choice),
    /// Go on with the session that this names, or the newest.
    Resume(Option<String>),
    /// Delete a stored session.
    ForgetSession(ConversationId),
    /// Show this plan from now on.
    ChoosePlan(PlanId),
    /// Make a plan with this title.
    NewPlan(String),
    /// Read the custom commands again.
    ReadCommands,
    /// Remember that a command of the project may be used, and run it with this text.
    AllowCommand(Arc<CustomCommand>, String),
    /// Run shell commands of a custom command, and submit its prompt.
    RunShell(AllowedShell),
    /// Read what the argument of a command can be.
    ReadChoices(Choices),
    /// Show the tools of the model.
    ShowTools,
    /// Show the MCP servers.
    ShowServers,
    /// Draw everything again.
    Redraw,
    /// Give the terminal back until the process is continued.
    Suspend,
    /// Leave.
    Quit,
}

/// A change of the queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum QueueAct {
    /// Take a message out.
    Remove(MessageId),
    /// Take a message out, and put it into the input.
    Edit(MessageId),
    /// Move a message before another one, or to the end.
    Move(MessageId, Option<MessageId>),
    /// Work on the queue, although it is paused. The message goes first, if one is named.
    Go(Option<MessageId>),
}

/// A dialog whose contents are read first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Load {
    /// The plans of the project.
    Plans,
    /// The models.
    Models,
    /// The questions that wait, and the rules.
    Approvals,
    /// The stored sessions.
    Sessions,
    /// The members of the team.
    Team,
}
