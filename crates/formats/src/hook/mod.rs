//! The hook events of agents, and the answers to them, as types of Punchlist.
//!
//! One file per agent converts its JSON to an [`Event`] and an [`Answer`] to its JSON. Nothing here
//! returns an error, because an error could block the agent: unknown input is no event, and an
//! answer that an event does not accept is not written.

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

use crate::text::last_sentence;

pub use asks::asks_user;
pub use version::Version;

/// An agent whose hooks Punchlist can read.
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
    /// All agents.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Gemini];

    /// The agent's name in commands and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// The agent's full name.
    pub fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
        }
    }

    /// The agent with this name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str().eq_ignore_ascii_case(name))
    }

    /// The event in these bytes; `None` if there is none that Punchlist uses.
    ///
    /// `event` overrides the name of the event in the bytes. Case does not matter.
    pub fn read(self, bytes: &[u8], event: Option<&str>) -> Option<Event> {
        match self {
            Self::Claude => claude::read(bytes, event),
            Self::Codex => codex::read(bytes, event),
            Self::Gemini => gemini::read(bytes, event),
        }
    }

    /// The JSON of an answer, on one line; `None` if the answer is empty or the event does not
    /// accept it. `version` is the version of the agent, if it is known.
    pub fn write(self, answer: &Answer, to: &What, version: Option<Version>) -> Option<String> {
        match self {
            Self::Claude => claude::write_for(answer, to, version),
            Self::Codex => codex::write(answer, to),
            Self::Gemini => gemini::write(answer, to),
        }
    }

    /// The agent's name of an event.
    pub fn event(self, what: &What) -> &'static str {
        match self {
            Self::Claude => claude::name(what),
            Self::Codex => codex::name(what),
            Self::Gemini => gemini::name(what),
        }
    }
}

/// An event in an agent's session.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// The id that the agent gave its session; empty only for [`What::Doctor`].
    pub session: String,
    /// The directory that the session works in.
    pub directory: String,
    /// The file in which the agent stores the conversation; empty if the agent did not name it.
    pub transcript: String,
    /// The sub-agent in which the event happened.
    pub sub_agent: Option<String>,
    /// The agent is in plan mode.
    pub plan_mode: bool,
    /// The user's prompt as one line that can be a title; only for [`What::Prompt`].
    pub prompt: Option<String>,
    /// What happened.
    pub what: What,
}

/// What happened. Secrets in texts are already masked.
#[derive(Clone, PartialEq, Debug)]
pub enum What {
    /// The session begins, or its context is rebuilt.
    Begins(Source),
    /// The session ends.
    Ends,
    /// The user sent a prompt.
    Prompt,
    /// The conversation was compacted. This event accepts no answer.
    Compacted,
    /// A call of the agent's own list tools has returned.
    Wrote(Write),
    /// A task that was announced was refused.
    NotCreated(Task),
    /// A task is being created; the tool has not returned yet.
    Creating(Task),
    /// A task is about to be completed.
    Completing(Task),
    /// A model turn is over, with these tool calls.
    Turn(Vec<Called>),
    /// The agent entered (`true`) or left (`false`) plan mode.
    Planning(bool),
    /// The agent wants to end its turn.
    Stop(Stop),
    /// A sub-agent begins.
    SubBegins,
    /// A sub-agent wants to end.
    SubStop(Stop),
    /// `punchlist doctor` tests whether the hook works.
    Doctor,
}

/// Why a session's context is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// A new session.
    Startup,
    /// An old session is resumed.
    Resume,
    /// The user cleared the conversation.
    Clear,
    /// The conversation was compacted.
    Compact,
}

/// What a call of the agent's own list tools did, taken from its result.
#[derive(Clone, PartialEq, Debug)]
pub enum Write {
    /// The whole list.
    List(Vec<ListEntry>),
    /// A new task.
    Created(Task),
    /// Changed fields of a task, and its dependencies in both directions.
    Updated(Task),
    /// The task was deleted.
    Deleted(String),
    /// The task does not exist.
    Absent(String),
    /// Tasks that were shown. Others may have changed them at the same moment, so this says that
    /// they exist and not which status they have.
    Seen(Vec<Task>),
}

/// A task of the agent's own list, with the fields that were given.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Task {
    /// The agent's id of the task; empty if it was refused before it had one.
    pub id: String,
    /// What to do.
    pub subject: Option<String>,
    /// More about it.
    pub description: Option<String>,
    /// The title in the present continuous.
    pub active_form: Option<String>,
    /// Who works on it; an empty text removes the owner.
    pub owner: Option<String>,
    /// Its status.
    pub status: Option<Status>,
    /// Tasks that depend on this one.
    pub blocks: Vec<String>,
    /// Tasks that this one depends on.
    pub blocked_by: Vec<String>,
    /// The parent task.
    pub parent: Option<String>,
    /// Whether it waits for somebody, if that was given.
    pub waits: Option<bool>,
    /// Metadata keys that change; null removes a key.
    pub metadata: Map<String, Value>,
}

/// A tool call in a model turn.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Called {
    /// The agent's name of the tool.
    pub tool: String,
    /// Punchlist's name of the tool, if it is a tool of Punchlist's server.
    pub ours: Option<String>,
    /// The agent has no such tool.
    pub missing: bool,
    /// The items that a call of a Punchlist tool created or started. Only this shows which
    /// sub-agent they belong to.
    pub took: Vec<ItemId>,
}

/// An agent's attempt to stop.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stop {
    /// The answer ends with a question to the user.
    pub asks: bool,
    /// The last sentence of the answer; empty if the agent does not tell its answer.
    pub said: String,
    /// Background work is running, and its end wakes the agent.
    pub background: bool,
    /// The agent reports that a hook already refused a stop in this turn. The governor keeps its
    /// own count, because another hook may have refused.
    pub again: bool,
}

impl Stop {
    /// The longest sentence that is kept, in characters.
    const LONGEST: usize = 1_000;

    /// A stop after this answer, as far as the agent tells it.
    fn after(answer: Option<&str>) -> Self {
        let answer = answer.unwrap_or_default();
        Self {
            asks: asks_user(answer),
            said: last_sentence(answer).chars().take(Self::LONGEST).collect(),
            ..Self::default()
        }
    }
}

/// A hook's answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Answer {
    /// No answer: the agent continues as if there were no hook.
    #[default]
    Nothing,
    /// A text for the model.
    Context(String),
    /// A refusal, with its reason.
    Refuse(String),
    /// A text for the user.
    Message(String),
}
