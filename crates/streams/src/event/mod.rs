//! The unified events, as parsers hand them out: every text borrowed where it can be.
//!
//! Our output is JSON as the input was, so a text that is only passed on stays the literal that it
//! came as ([`Text::Raw`]) and is never unescaped. Nothing here knows an agent.
//!
//! [`owned`] has the same events as plain data, and their JSON Schema.

mod kinds;
pub mod owned;
mod text;
mod write;

use std::borrow::Cow;
use std::ops::Not;

use serde::Serialize;
use uuid::Uuid;

pub use kinds::{KindName, KindSet};
pub(crate) use text::joined;
pub use text::{RawJson, RawText, Text};

/// The namespace that ids of agents are hashed in. Drawn once; it never changes.
const NAMESPACE: Uuid = Uuid::from_u128(0x6b0f_3c51_9d5e_4c0c_8f0a_2b7d_51c4_e9a6);

/// Whose stream an event came from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentType {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    OpenaiCodex,
    /// Gemini CLI.
    GoogleGemini,
    /// Any agent that speaks the Agent Client Protocol.
    Acp,
    /// Ourselves.
    Punchlist,
}

impl AgentType {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::OpenaiCodex => "openai-codex",
            Self::GoogleGemini => "google-gemini",
            Self::Acp => "acp",
            Self::Punchlist => "punchlist",
        }
    }
}

/// How a todo stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
}

impl Status {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One todo of a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item<'a> {
    /// What is to be done. Never blank.
    pub text: Text<'a>,
    /// How it stands.
    pub status: Status,
    /// The source's id of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Text<'a>>,
    /// What it is called while it is worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_form: Option<Text<'a>>,
    /// Whether something else must be done first.
    #[serde(skip_serializing_if = "Not::not")]
    pub blocked: bool,
    /// Whom or what it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_on: Option<Text<'a>>,
    /// The id of the todo that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Text<'a>>,
    /// Whether the status is a guess of ours, and no word of the agent.
    #[serde(skip_serializing_if = "Not::not")]
    pub assumed: bool,
    /// Whether the source never said that the list was taken.
    #[serde(skip_serializing_if = "Not::not")]
    pub unconfirmed: bool,
    /// The source's own status where it is none of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_status: Option<Text<'a>>,
}

impl<'a> Item<'a> {
    /// A todo with nothing but a text and a status.
    pub fn new(text: Text<'a>, status: Status) -> Self {
        Self {
            text,
            status,
            id: None,
            active_form: None,
            blocked: false,
            waiting_on: None,
            parent: None,
            assumed: false,
            unconfirmed: false,
            source_status: None,
        }
    }

    /// The same todo, free of the line that it came from.
    pub fn into_owned(self) -> Item<'static> {
        Item {
            text: self.text.into_owned(),
            status: self.status,
            id: self.id.map(Text::into_owned),
            active_form: self.active_form.map(Text::into_owned),
            blocked: self.blocked,
            waiting_on: self.waiting_on.map(Text::into_owned),
            parent: self.parent.map(Text::into_owned),
            assumed: self.assumed,
            unconfirmed: self.unconfirmed,
            source_status: self.source_status.map(Text::into_owned),
        }
    }

    /// How many bytes its texts take, about.
    pub fn size(&self) -> usize {
        let texts =
            [&self.id, &self.active_form, &self.waiting_on, &self.parent, &self.source_status];
        self.text.len() + texts.into_iter().flatten().map(Text::len).sum::<usize>()
    }
}

/// Who speaks in a `text`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The agent.
    Assistant,
    /// The user.
    User,
    /// The agent's program or one of its hooks, in the user's place.
    System,
}

impl Role {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Assistant => "assistant",
            Self::User => "user",
            Self::System => "system",
        }
    }
}

/// How a tool call or a turn ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Well.
    Success,
    /// It failed or was refused.
    Error,
    /// Somebody stopped it.
    Cancelled,
}

impl Outcome {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What was spent.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens that the model read, cached ones included where the source counts them so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens that the model wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Tokens that were read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Tokens that the model thought with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// What it cost, in US dollars.
    #[serde(skip_serializing_if = "is_no_number")]
    pub cost_usd: Option<f64>,
    /// Whether this is the sum since the session began, and not this turn's part.
    #[serde(skip_serializing_if = "Not::not")]
    pub cumulative: bool,
}

/// Whether there is no number that JSON can have.
#[expect(clippy::ref_option, reason = "serde calls it so")]
fn is_no_number(value: &Option<f64>) -> bool {
    value.is_none_or(|it| !it.is_finite())
}

/// What happened.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum Kind<'a> {
    /// A session began, or was taken up again.
    #[serde(rename = "session.started")]
    SessionStarted {
        /// The model that was asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<Text<'a>>,
        /// The directory that it works in.
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd: Option<Text<'a>>,
        /// The version of the agent's program.
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<Text<'a>>,
    },
    /// The user's turn is over, and the agent's begins.
    #[serde(rename = "turn.started")]
    TurnStarted {
        /// What the user said.
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt: Option<Text<'a>>,
    },
    /// Something was said.
    #[serde(rename = "text")]
    Text {
        /// By whom.
        role: Role,
        /// What.
        text: Text<'a>,
        /// Whether it goes on where the last one ended.
        #[serde(skip_serializing_if = "Not::not")]
        delta: bool,
    },
    /// The model thought aloud.
    #[serde(rename = "thinking")]
    Thinking {
        /// What.
        text: Text<'a>,
        /// Whether it goes on where the last one ended.
        #[serde(skip_serializing_if = "Not::not")]
        delta: bool,
    },
    /// The model asked for a tool.
    #[serde(rename = "tool.scheduled")]
    ToolScheduled {
        /// The source's id of the call.
        call_id: Text<'a>,
        /// The tool.
        name: Text<'a>,
        /// Its arguments.
        #[serde(skip_serializing_if = "Option::is_none")]
        input: Option<RawJson<'a>>,
    },
    /// A call waits for an answer of the user.
    #[serde(rename = "tool.waiting")]
    ToolWaiting {
        /// The source's id of the call.
        call_id: Text<'a>,
        /// What is asked.
        question: Text<'a>,
    },
    /// The user answered.
    #[serde(rename = "tool.answered")]
    ToolAnswered {
        /// The source's id of the call.
        call_id: Text<'a>,
        /// What.
        answer: Text<'a>,
        /// Who it was.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<Text<'a>>,
    },
    /// A call runs.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// The source's id of the call.
        call_id: Text<'a>,
        /// The tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<Text<'a>>,
        /// Its arguments, where no `tool.scheduled` told them.
        #[serde(skip_serializing_if = "Option::is_none")]
        input: Option<RawJson<'a>>,
    },
    /// A call ended.
    #[serde(rename = "tool.completed")]
    ToolCompleted {
        /// The source's id of the call.
        call_id: Text<'a>,
        /// The tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<Text<'a>>,
        /// How.
        status: Outcome,
        /// What it answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<Text<'a>>,
    },
    /// The user said something that waits.
    #[serde(rename = "message.queued")]
    MessageQueued {
        /// What.
        text: Text<'a>,
    },
    /// The list as it is now, whole.
    #[serde(rename = "todo_list")]
    TodoList {
        /// Which list.
        todo_id: Cow<'a, str>,
        /// Its todos. None: it was cleared.
        items: &'a [Item<'a>],
        /// Whether the source never said that it was taken.
        #[serde(skip_serializing_if = "Not::not")]
        unconfirmed: bool,
    },
    /// What was spent.
    #[serde(rename = "usage")]
    Usage(Usage),
    /// The agent's turn is over.
    #[serde(rename = "turn.completed")]
    TurnCompleted {
        /// How it ended.
        status: Outcome,
        /// The source's word for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Text<'a>>,
    },
    /// Something failed.
    #[serde(rename = "error")]
    Error {
        /// What.
        message: Text<'a>,
        /// The source's code or word for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<Text<'a>>,
        /// Whether the agent goes on by itself.
        #[serde(skip_serializing_if = "Not::not")]
        recoverable: bool,
    },
    /// Something could not be read, or not be believed.
    #[serde(rename = "warning")]
    Warning {
        /// The line, counted from 1.
        line: u64,
        /// Why.
        why: Cow<'a, str>,
    },
}

impl Kind<'_> {
    /// Its name.
    pub fn name(&self) -> KindName {
        match self {
            Self::SessionStarted { .. } => KindName::SessionStarted,
            Self::TurnStarted { .. } => KindName::TurnStarted,
            Self::Text { .. } => KindName::Text,
            Self::Thinking { .. } => KindName::Thinking,
            Self::ToolScheduled { .. } => KindName::ToolScheduled,
            Self::ToolWaiting { .. } => KindName::ToolWaiting,
            Self::ToolAnswered { .. } => KindName::ToolAnswered,
            Self::ToolStarted { .. } => KindName::ToolStarted,
            Self::ToolCompleted { .. } => KindName::ToolCompleted,
            Self::MessageQueued { .. } => KindName::MessageQueued,
            Self::TodoList { .. } => KindName::TodoList,
            Self::Usage(_) => KindName::Usage,
            Self::TurnCompleted { .. } => KindName::TurnCompleted,
            Self::Error { .. } => KindName::Error,
            Self::Warning { .. } => KindName::Warning,
        }
    }
}

/// An agent's id, and the namespace that its events are named in. Made once and used for many events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentId {
    pub(super) id: String,
    pub(super) namespace: Uuid,
}

impl AgentId {
    /// The agent with that id.
    pub fn new(id: String) -> Self {
        let namespace = Uuid::new_v5(&NAMESPACE, id.as_bytes());
        Self { id, namespace }
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.id
    }
}

/// One event.
#[derive(Clone, PartialEq, Debug)]
pub struct Event<'a> {
    /// Whose it is.
    pub agent: &'a AgentId,
    /// Which program that is.
    pub agent_type: AgentType,
    /// When, in milliseconds since 1970, if the source said so.
    pub timestamp: Option<i64>,
    /// The line that it came from, counted from 1; what only the end told is on the line after the last.
    pub line: u64,
    /// Which of that line's events it is, counted from 0, wanted or not; lists are counted apart from all
    /// others, so that a list is the same event whatever else is wanted.
    pub index: u32,
    /// What happened.
    pub kind: Kind<'a>,
}
