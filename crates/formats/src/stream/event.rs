//! The unified events, as parsers hand them out: every text borrowed where it can be.
//!
//! Our output is JSON as the input was, so a text that is only passed on stays the literal that it
//! came as ([`Text::Raw`]) and is never unescaped. How they are written stands in
//! `write`; nothing here knows an agent.

use std::borrow::Cow;

use uuid::Uuid;

use super::json::{self, Str};
pub use super::kinds::{KindName, KindSet};

/// The namespace that ids of agents are hashed in. Drawn once; it never changes.
const NAMESPACE: Uuid = Uuid::from_u128(0x6b0f_3c51_9d5e_4c0c_8f0a_2b7d_51c4_e9a6);

/// Whose stream an event came from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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

/// A text: as the source wrote it, or as we know it. Two are equal if they say the same.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    /// A valid JSON string literal with its quotes. Only `Text::raw` and the scanner make one.
    Raw(RawText<'a>),
    /// The text itself.
    Plain(Cow<'a, str>),
}

/// A JSON string literal with its quotes, known to be valid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawText<'a>(Cow<'a, str>);

impl<'a> Text<'a> {
    /// A literal out of a scanned line.
    pub(crate) fn raw(literal: Str<'a>) -> Self {
        Self::Raw(RawText(Cow::Borrowed(literal.literal())))
    }

    /// The text without quotes and escapes.
    pub fn to_str(&self) -> Cow<'_, str> {
        match self {
            Self::Raw(literal) => json::unescape(&literal.0),
            Self::Plain(text) => Cow::Borrowed(text),
        }
    }

    /// Whether there is nothing to see in it.
    pub fn is_blank(&self) -> bool {
        match self {
            // Most texts begin with a letter, and then nothing need be unescaped.
            Self::Raw(literal)
                if literal.0.as_bytes().get(1).is_some_and(u8::is_ascii_alphanumeric) =>
            {
                false
            }
            Self::Raw(_) | Self::Plain(_) => self.to_str().trim().is_empty(),
        }
    }

    /// The same text, borrowed from this one.
    pub fn borrowed(&self) -> Text<'_> {
        match self {
            Self::Raw(literal) => Text::Raw(RawText(Cow::Borrowed(&literal.0))),
            Self::Plain(text) => Text::Plain(Cow::Borrowed(text)),
        }
    }

    /// The same text, free of the line that it came from.
    pub fn into_owned(self) -> Text<'static> {
        match self {
            Self::Raw(literal) => Text::Raw(RawText(Cow::Owned(literal.0.into_owned()))),
            Self::Plain(text) => Text::Plain(Cow::Owned(text.into_owned())),
        }
    }

    /// How many bytes it takes, about.
    pub fn len(&self) -> usize {
        match self {
            Self::Raw(literal) => literal.0.len(),
            Self::Plain(text) => text.len(),
        }
    }

    /// Whether it has no characters at all.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Raw(literal) => literal.0.len() <= 2,
            Self::Plain(text) => text.is_empty(),
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Raw(literal) => out.extend_from_slice(literal.0.as_bytes()),
            Self::Plain(text) => json::write_string(text, out),
        }
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Raw(one), Self::Raw(other)) if one == other => true,
            (Self::Raw(_) | Self::Plain(_), Self::Raw(_) | Self::Plain(_)) => {
                self.to_str() == other.to_str()
            }
        }
    }
}

impl Eq for Text<'_> {}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self::Plain(Cow::Borrowed(text))
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self::Plain(Cow::Owned(text))
    }
}

/// How a todo stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item<'a> {
    /// What is to be done. Never blank.
    pub text: Text<'a>,
    /// How it stands.
    pub status: Status,
    /// The source's id of it.
    pub id: Option<Text<'a>>,
    /// What it is called while it is worked on.
    pub active_form: Option<Text<'a>>,
    /// Whether something else must be done first.
    pub blocked: bool,
    /// Whom or what it waits for.
    pub waiting_on: Option<Text<'a>>,
    /// The id of the todo that it belongs to.
    pub parent: Option<Text<'a>>,
    /// Whether the status is a guess of ours, and no word of the agent.
    pub assumed: bool,
    /// Whether the source never said that the list was taken.
    pub unconfirmed: bool,
    /// The source's own status where it is none of ours.
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Usage {
    /// Tokens that the model read, cached ones included where the source counts them so.
    pub input_tokens: Option<u64>,
    /// Tokens that the model wrote.
    pub output_tokens: Option<u64>,
    /// Tokens that were read from a cache.
    pub cached_tokens: Option<u64>,
    /// Tokens that the model thought with.
    pub reasoning_tokens: Option<u64>,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// Whether this is the sum since the session began, and not this turn's part.
    pub cumulative: bool,
}

/// A part of a raw JSON document, known to be valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawJson<'a>(pub(crate) &'a str);

impl<'a> RawJson<'a> {
    /// A text that is a JSON document.
    pub fn of(text: &'a str) -> Option<Self> {
        serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok().then_some(Self(text))
    }

    /// The JSON text.
    pub fn get(&self) -> &'a str {
        self.0
    }
}

/// What happened.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind<'a> {
    /// A session began, or was taken up again.
    SessionStarted {
        /// The model that was asked for.
        model: Option<Text<'a>>,
        /// The directory that it works in.
        cwd: Option<Text<'a>>,
        /// The version of the agent's program.
        version: Option<Text<'a>>,
    },
    /// The user's turn is over, and the agent's begins.
    TurnStarted {
        /// What the user said.
        prompt: Option<Text<'a>>,
    },
    /// Something was said.
    Text {
        /// By whom.
        role: Role,
        /// What.
        text: Text<'a>,
        /// Whether it goes on where the last one ended.
        delta: bool,
    },
    /// The model thought aloud.
    Thinking {
        /// What.
        text: Text<'a>,
        /// Whether it goes on where the last one ended.
        delta: bool,
    },
    /// The model asked for a tool.
    ToolScheduled {
        /// The source's id of the call.
        call_id: Text<'a>,
        /// The tool.
        name: Text<'a>,
        /// Its arguments.
        input: Option<RawJson<'a>>,
    },
    /// A call waits for an answer of the user.
    ToolWaiting {
        /// The source's id of the call.
        call_id: Text<'a>,
        /// What is asked.
        question: Text<'a>,
    },
    /// The user answered.
    ToolAnswered {
        /// The source's id of the call.
        call_id: Text<'a>,
        /// What.
        answer: Text<'a>,
        /// Who it was.
        by: Option<Text<'a>>,
    },
    /// A call runs.
    ToolStarted {
        /// The source's id of the call.
        call_id: Text<'a>,
        /// The tool.
        name: Option<Text<'a>>,
        /// Its arguments, where no `tool.scheduled` told them.
        input: Option<RawJson<'a>>,
    },
    /// A call ended.
    ToolCompleted {
        /// The source's id of the call.
        call_id: Text<'a>,
        /// The tool.
        name: Option<Text<'a>>,
        /// How.
        status: Outcome,
        /// What it answered.
        output: Option<Text<'a>>,
    },
    /// The user said something that waits.
    MessageQueued {
        /// What.
        text: Text<'a>,
    },
    /// The list as it is now, whole.
    TodoList {
        /// Which list.
        todo_id: Cow<'a, str>,
        /// Its todos. None: it was cleared.
        items: &'a [Item<'a>],
        /// Whether the source never said that it was taken.
        unconfirmed: bool,
    },
    /// What was spent.
    Usage(Usage),
    /// The agent's turn is over.
    TurnCompleted {
        /// How it ended.
        status: Outcome,
        /// The source's word for it.
        reason: Option<Text<'a>>,
    },
    /// Something failed.
    Error {
        /// What.
        message: Text<'a>,
        /// The source's code or word for it.
        code: Option<Text<'a>>,
        /// Whether the agent goes on by itself.
        recoverable: bool,
    },
    /// Something could not be read, or not be believed.
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
