//! What agents tell their hooks, and what a hook may answer, as data of ours.
//!
//! One file per agent turns its JSON into an [`Event`] and an [`Answer`] into its JSON. Nothing here
//! is ever an error that could hold an agent up: what is not understood is no event, and an answer
//! that an event does not take is not written.

mod asks;
pub mod claude;
pub mod codex;
mod fields;
pub mod gemini;
mod say;
#[cfg(test)]
mod tests;
mod version;

use punchlist_model::{ItemId, ListEntry, Status};
use serde_json::{Map, Value};

pub use asks::asks_user;
pub use version::Version;

/// An agent whose hooks are understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
}

impl Agent {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Gemini];

    /// What it is called in commands and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// What it calls itself.
    pub fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
        }
    }

    /// The agent with that name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str().eq_ignore_ascii_case(name))
    }

    /// The event that these bytes tell of; `None` if they tell of none that concerns us.
    ///
    /// `event` names it where the caller knows better than the bytes, in any case.
    pub fn read(self, bytes: &[u8], event: Option<&str>) -> Option<Event> {
        match self {
            Self::Claude => claude::read(bytes, event),
            Self::Codex => codex::read(bytes, event),
            Self::Gemini => gemini::read(bytes, event),
        }
    }

    /// The JSON of an answer, on one line; `None` if there is nothing to say, or if this event takes
    /// no such answer. `version` is that of the program that asks, where it is known.
    pub fn write(self, answer: &Answer, to: &What, version: Option<Version>) -> Option<String> {
        match self {
            Self::Claude => claude::write_for(answer, to, version),
            Self::Codex => codex::write(answer, to),
            Self::Gemini => gemini::write(answer, to),
        }
    }

    /// What it calls an event.
    pub fn event(self, what: &What) -> &'static str {
        match self {
            Self::Claude => claude::name(what),
            Self::Codex => codex::name(what),
            Self::Gemini => gemini::name(what),
        }
    }
}

/// Something that happened in an agent's session.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// The id that the agent gave its session; empty only for [`What::Doctor`].
    pub session: String,
    /// The directory that the session works in.
    pub directory: String,
    /// The file that the agent keeps the conversation in; empty where it told none.
    pub transcript: String,
    /// The sub-agent that it happened in.
    pub sub_agent: Option<String>,
    /// The agent may only plan.
    pub plan_mode: bool,
    /// What the user said, in a line that can be a title; only of [`What::Prompt`].
    pub prompt: Option<String>,
    /// What happened.
    pub what: What,
}

/// What happened. Texts are as they will be stored: known shapes of secrets are masked.
#[derive(Clone, PartialEq, Debug)]
pub enum What {
    /// The session begins, or its context begins anew.
    Begins(Source),
    /// The session ends.
    Ends,
    /// The user said something.
    Prompt,
    /// The conversation was compacted, at an event that takes no answer.
    Compacted,
    /// A tool of the agent's own list has answered.
    Wrote(Write),
    /// A task was refused after it had been announced.
    NotCreated(Task),
    /// A task is being created; the tool has not answered yet.
    Creating(Task),
    /// A task is about to be completed.
    Completing(Task),
    /// A model turn is over, with these tools called.
    Turn(Vec<Called>),
    /// From now on the agent may only plan, or may do more again.
    Planning(bool),
    /// The agent wants to end its turn.
    Stop(Stop),
    /// A sub-agent begins.
    SubBegins,
    /// A sub-agent wants to end.
    SubStop(Stop),
    /// Whoever installed us asks whether we are there.
    Doctor,
}

/// Why a session's context begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// A new session.
    Startup,
    /// An old one is taken up again.
    Resume,
    /// The user cleared the conversation.
    Clear,
    /// The conversation was compacted.
    Compact,
}

/// What a tool of the agent's own list came to, taken from its result.
#[derive(Clone, PartialEq, Debug)]
pub enum Write {
    /// The whole list.
    List(Vec<ListEntry>),
    /// A new task.
    Created(Task),
    /// These fields of a task, and edges from and to it.
    Updated(Task),
    /// The task is gone.
    Deleted(String),
    /// There is no such task, whoever was asked for it.
    Absent(String),
    /// Tasks that were shown. Others may have changed them at the same moment, so this tells that
    /// they are there and not how they stand.
    Seen(Vec<Task>),
}

/// A task of the agent's own list, as far as it was told.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Task {
    /// What the agent calls it; empty where it was refused before it had an id.
    pub id: String,
    /// What to do.
    pub subject: Option<String>,
    /// More about it.
    pub description: Option<String>,
    /// The same in the present continuous.
    pub active_form: Option<String>,
    /// Who does it; an empty one takes the owner away.
    pub owner: Option<String>,
    /// Where it stands.
    pub status: Option<Status>,
    /// Tasks that wait for it.
    pub blocks: Vec<String>,
    /// Tasks that it waits for.
    pub blocked_by: Vec<String>,
    /// The task that it is a part of.
    pub parent: Option<String>,
    /// Whether it waits for somebody, where that was told.
    pub waits: Option<bool>,
    /// Keys that change; null takes one away.
    pub metadata: Map<String, Value>,
}

/// A tool that was called in a model turn.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Called {
    /// What the agent calls it.
    pub tool: String,
    /// What we call it, if it is a tool of our server.
    pub ours: Option<String>,
    /// The agent has no such tool, or has it no longer.
    pub missing: bool,
    /// The items that it made or began, where it is a tool of our server: nothing else tells which
    /// sub-agent that was for.
    pub took: Vec<ItemId>,
}

/// An agent's wish to stop.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stop {
    /// Its answer ends by asking the user.
    pub asks: bool,
    /// Work goes on in the background, and its end wakes the agent.
    pub background: bool,
    /// A hook has refused a stop of this prompt before. Told, not believed: the governor counts
    /// by itself, since the refusal may have been another hook's.
    pub again: bool,
}

/// What a hook answers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Answer {
    /// Nothing to say: the agent goes on as if there were no hook.
    #[default]
    Nothing,
    /// Something for the model to read.
    Context(String),
    /// Not yet, and why.
    Refuse(String),
    /// Something for the user to read.
    Message(String),
}
