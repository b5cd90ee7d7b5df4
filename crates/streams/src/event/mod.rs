//! The unified events as parsers emit them: texts are borrowed where possible.
//!
//! Input and output are both JSON, so a text that is only passed on stays the literal of the source
//! ([`Text::Raw`]) and is never unescaped. This file knows no agent.
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

/// The namespace for hashing the ids of agents. A constant random number, which must never change.
const NAMESPACE: Uuid = Uuid::from_u128(0x6b0f_3c51_9d5e_4c0c_8f0a_2b7d_51c4_e9a6);

/// The program that an event comes from.
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
    /// Punchlist itself.
    Punchlist,
}

impl AgentType {
    /// The name in JSON.
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

/// The status of a todo.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not started.
    Pending,
    /// In progress.
    InProgress,
    /// Completed.
    Completed,
    /// Cancelled.
    Cancelled,
}

impl Status {
    /// The name in JSON.
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
    /// The title: what is to be done. Never blank.
    pub text: Text<'a>,
    /// The status.
    pub status: Status,
    /// The source's id of the todo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Text<'a>>,
    /// The title while the todo is in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_form: Option<Text<'a>>,
    /// Whether another todo must be completed first.
    #[serde(skip_serializing_if = "Not::not")]
    pub blocked: bool,
    /// The person or event that the todo waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_on: Option<Text<'a>>,
    /// The id of the parent todo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Text<'a>>,
    /// Whether the status is a guess, because the agent did not report one.
    #[serde(skip_serializing_if = "Not::not")]
    pub assumed: bool,
    /// Whether the source never confirmed the list.
    #[serde(skip_serializing_if = "Not::not")]
    pub unconfirmed: bool,
    /// The source's own status, if it is none of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_status: Option<Text<'a>>,
}

impl<'a> Item<'a> {
    /// A todo with only a text and a status.
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

    /// Converts to a todo that owns its texts.
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

    /// The approximate size of its texts in bytes.
    pub fn size(&self) -> usize {
        let texts =
            [&self.id, &self.active_form, &self.waiting_on, &self.parent, &self.source_status];
        self.text.len() + texts.into_iter().flatten().map(Text::len).sum::<usize>()
    }
}

/// A source that a text refers to, as the model's provider names it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Citation<'a> {
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// Its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Text<'a>>,
    /// The cited text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<Text<'a>>,
}

/// Who wrote a `text`.
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
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Assistant => "assistant",
            Self::User => "user",
            Self::System => "system",
        }
    }
}

/// What happened to a message in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueChange {
    /// It waits.
    Queued,
    /// It waits with another text.
    Edited,
    /// It was removed.
    Removed,
    /// The agent works on it now.
    Taken,
}

impl QueueChange {
    /// Whether the message was queued. This is not written.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_queued(&self) -> bool {
        *self == Self::Queued
    }
}

/// How a tool call or a turn ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It succeeded.
    Success,
    /// It failed or was refused.
    Error,
    /// It was stopped.
    Cancelled,
}

impl Outcome {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The usage of a message, a turn or a session.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens that the model read, including cached ones if the source counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens that the model wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Tokens that were read from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Tokens of the model's reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Tokens in the model's context after its last call, if the source counts calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// How many tokens the model's context may have, if the source says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// The cost in US dollars.
    #[serde(skip_serializing_if = "is_no_number")]
    pub cost_usd: Option<f64>,
    /// Whether this is the sum since the session started, and not only this turn's part.
    #[serde(skip_serializing_if = "Not::not")]
    pub cumulative: bool,
}

/// Whether the value is missing or has no representation in JSON.
#[expect(clippy::ref_option, reason = "serde calls it so")]
fn is_no_number(value: &Option<f64>) -> bool {
    value.is_none_or(|it| !it.is_finite())
}

/// The kind of an event, with its fields.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum Kind<'a> {
    /// A session started or was resumed.
    #[serde(rename = "session.started")]
    SessionStarted {
        /// The requested model.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<Text<'a>>,
        /// The working directory.
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd: Option<Text<'a>>,
        /// The version of the agent's program.
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<Text<'a>>,
    },
    /// The agent's turn starts.
    #[serde(rename = "turn.started")]
    TurnStarted {
        /// The user's prompt.
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt: Option<Text<'a>>,
        /// The source's id of the turn.
        #[serde(skip_serializing_if = "Option::is_none")]
        turn_id: Option<Text<'a>>,
    },
    /// A message.
    #[serde(rename = "text")]
    Text {
        /// Who wrote it.
        role: Role,
        /// The text.
        text: Text<'a>,
        /// Whether it continues the previous text.
        #[serde(skip_serializing_if = "Not::not")]
        delta: bool,
        /// The sources that the text refers to.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        citations: &'a [Citation<'a>],
    },
    /// The model's reasoning.
    #[serde(rename = "thinking")]
    Thinking {
        /// The text.
        text: Text<'a>,
        /// Whether it continues the previous text.
        #[serde(skip_serializing_if = "Not::not")]
        delta: bool,
    },
    /// The agent's program says how far it is.
    #[serde(rename = "info")]
    Info {
        /// The text.
        text: Text<'a>,
    },
    /// The model requested a tool call.
    #[serde(rename = "tool.scheduled")]
    ToolScheduled {
        /// The source's id of the call.
        call_id: Text<'a>,
        /// The tool.
        name: Text<'a>,
        /// The arguments.
        #[serde(skip_serializing_if = "Option::is_none")]
        input: Option<RawJson<'a>>,
    },
    /// A call waits for the user's answer.
    #[serde(rename = "tool.waiting")]
    ToolWaiting {
        /// The source's id of the call.
        call_id: Text<'a>,
        /// The question.
        question: Text<'a>,
    },
    /// The user answered.
    #[serde(rename = "tool.answered")]
    ToolAnswered {
        /// The source's id of the call.
        call_id: Text<'a>,
        /// The answer.
        answer: Text<'a>,
        /// Who answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<Text<'a>>,
    },
    /// A call started.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// The source's id of the call.
        call_id: Text<'a>,
        /// The tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<Text<'a>>,
        /// The arguments, if no `tool.scheduled` had them.
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
        /// How it ended.
        status: Outcome,
        /// The output.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<Text<'a>>,
    },
    /// The queue of the user's messages changed.
    #[serde(rename = "message.queued")]
    MessageQueued {
        /// The message.
        text: Text<'a>,
        /// What happened to it.
        #[serde(skip_serializing_if = "QueueChange::is_queued")]
        change: QueueChange,
        /// The source's id of the message.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<Text<'a>>,
        /// Whether the model hears it at its next call, before the turn has ended.
        #[serde(skip_serializing_if = "Not::not")]
        steers: bool,
    },
    /// The whole list, after a change.
    #[serde(rename = "todo_list")]
    TodoList {
        /// The id of the list.
        todo_id: Cow<'a, str>,
        /// The todos. An empty list was cleared.
        items: &'a [Item<'a>],
        /// Whether the source never confirmed the list.
        #[serde(skip_serializing_if = "Not::not")]
        unconfirmed: bool,
    },
    /// The usage.
    #[serde(rename = "usage")]
    Usage(Usage),
    /// The agent's turn ended.
    #[serde(rename = "turn.completed")]
    TurnCompleted {
        /// How it ended.
        status: Outcome,
        /// The source's reason.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Text<'a>>,
    },
    /// An error.
    #[serde(rename = "error")]
    Error {
        /// The message.
        message: Text<'a>,
        /// The source's error code.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<Text<'a>>,
        /// Whether the agent continues by itself.
        #[serde(skip_serializing_if = "Not::not")]
        recoverable: bool,
    },
    /// Something could not be parsed, or is implausible.
    #[serde(rename = "warning")]
    Warning {
        /// The line number, from 1.
        line: u64,
        /// The reason.
        why: Cow<'a, str>,
    },
}

impl Kind<'_> {
    /// The name of the kind.
    pub fn name(&self) -> KindName {
        match self {
            Self::SessionStarted { .. } => KindName::SessionStarted,
            Self::TurnStarted { .. } => KindName::TurnStarted,
            Self::Text { .. } => KindName::Text,
            Self::Thinking { .. } => KindName::Thinking,
            Self::Info { .. } => KindName::Info,
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

/// An agent's id, with the namespace for the ids of its events. Created once and used for many
/// events.
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
    /// The agent.
    pub agent: &'a AgentId,
    /// The agent's program.
    pub agent_type: AgentType,
    /// Milliseconds since 1970, if the source has a time.
    pub timestamp: Option<i64>,
    /// The number of the source line, from 1. Events that only the end of the stream reveals have
    /// the line after the last.
    pub line: u64,
    /// The number of the event within its line, from 0, counting unwanted events too. Lists are
    /// counted apart from other events, so that a list has the same id whichever kinds are wanted.
    pub index: u32,
    /// The kind, with its fields.
    pub kind: Kind<'a>,
}
