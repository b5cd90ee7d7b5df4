//! The unified events as plain data, for reading them and for the published JSON Schema.
//!
//! [`super::Event`] writes the same lines without owning anything; a test compares the two.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// One event of one agent: one JSON object per line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentEvent {
    /// UUIDv5 of agent, line and index: the same input gives the same output.
    pub event_id: Uuid,
    /// The team member's name, else the id of the session or thread; with `/agent` for a sub-agent.
    pub agent_id: String,
    /// The agent's program.
    pub agent_type: AgentType,
    /// Milliseconds since 1970, from the source; null if the source has no time.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schemars(required)]
    pub timestamp: Option<i64>,
    /// What happened.
    #[serde(flatten)]
    pub kind: Kind,
}

/// The agent's program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AgentType {
    /// Claude Code
    ClaudeCode,
    /// Codex CLI
    OpenaiCodex,
    /// Gemini CLI
    GoogleGemini,
    /// An agent that speaks the Agent Client Protocol
    Acp,
    /// Punchlist itself
    Punchlist,
}

/// Who wrote a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The agent
    Assistant,
    /// The user
    User,
    /// The agent's program or one of its hooks, in the user's place
    System,
}

/// A source that a text refers to, as the model's provider names it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Citation {
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its address. Nobody has checked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The cited text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
}

/// What happened to a message in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueChange {
    /// It waits.
    #[default]
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It succeeded
    Success,
    /// It failed or was refused
    Error,
    /// It was stopped
    Cancelled,
}

/// The status of a todo.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not started
    Pending,
    /// In progress
    InProgress,
    /// Completed
    Completed,
    /// Cancelled
    Cancelled,
}

/// One todo of a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Item {
    /// The title: what is to be done.
    #[schemars(length(min = 1))]
    pub text: String,
    /// The status.
    pub status: Status,
    /// The source's id of the todo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The title while the todo is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// Whether another todo must be completed first.
    #[serde(default, skip_serializing_if = "is_false")]
    pub blocked: bool,
    /// The person or event that the todo waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_on: Option<String>,
    /// The id of the parent todo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Whether the status is a guess, because the agent did not report one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub assumed: bool,
    /// Whether the source never confirmed the list.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unconfirmed: bool,
    /// The source's own status, if it is none of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_status: Option<String>,
}

/// What happened.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum Kind {
    /// A session started or was resumed.
    #[serde(rename = "session.started")]
    SessionStarted {
        /// The requested model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The working directory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// The version of the agent's program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
    /// The agent's turn starts.
    #[serde(rename = "turn.started")]
    TurnStarted {
        /// The user's prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// The source's id of the turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_id: Option<String>,
    },
    /// A message.
    #[serde(rename = "text")]
    Text {
        /// Who wrote it.
        role: Role,
        /// The text.
        text: String,
        /// Whether it continues the previous text.
        #[serde(default, skip_serializing_if = "is_false")]
        delta: bool,
        /// The sources that the text refers to. With `delta` and an empty text, they belong to the previous
        /// text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        citations: Vec<Citation>,
    },
    /// The model's reasoning.
    #[serde(rename = "thinking")]
    Thinking {
        /// The text.
        text: String,
        /// Whether it continues the previous text.
        #[serde(default, skip_serializing_if = "is_false")]
        delta: bool,
    },
    /// The agent's program says how far it is.
    #[serde(rename = "info")]
    Info {
        /// The text.
        text: String,
    },
    /// The model requested a tool call.
    #[serde(rename = "tool.scheduled")]
    ToolScheduled {
        /// The source's id of the call.
        call_id: String,
        /// The tool.
        name: String,
        /// The arguments.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<serde_json::Value>,
    },
    /// A call waits for the user's answer.
    #[serde(rename = "tool.waiting")]
    ToolWaiting {
        /// The source's id of the call.
        call_id: String,
        /// The question.
        question: String,
    },
    /// The user answered.
    #[serde(rename = "tool.answered")]
    ToolAnswered {
        /// The source's id of the call.
        call_id: String,
        /// The answer.
        answer: String,
        /// Who answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A call started.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// The source's id of the call.
        call_id: String,
        /// The tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The arguments, if no `tool.scheduled` had them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<serde_json::Value>,
    },
    /// A call ended.
    #[serde(rename = "tool.completed")]
    ToolCompleted {
        /// The source's id of the call.
        call_id: String,
        /// The tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// How it ended.
        status: Outcome,
        /// The output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
    },
    /// The queue of the user's messages changed.
    #[serde(rename = "message.queued")]
    MessageQueued {
        /// The message.
        text: String,
        /// What happened to it; `queued` if this is left out.
        #[serde(default, skip_serializing_if = "QueueChange::is_queued")]
        change: QueueChange,
        /// The source's id of the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
        /// Whether the model hears it at its next call, before the turn has ended.
        #[serde(default, skip_serializing_if = "is_false")]
        steers: bool,
    },
    /// The whole list, after a change.
    #[serde(rename = "todo_list")]
    TodoList {
        /// The id of the list: the source's id, else the agent's id and a running number.
        todo_id: String,
        /// The todos. An empty list was cleared.
        items: Vec<Item>,
        /// Whether the source never confirmed the list.
        #[serde(default, skip_serializing_if = "is_false")]
        unconfirmed: bool,
    },
    /// The usage.
    #[serde(rename = "usage")]
    Usage {
        /// Tokens that the model read, including cached ones if the source counts them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input_tokens: Option<u64>,
        /// Tokens that the model wrote.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_tokens: Option<u64>,
        /// Tokens that were read from the cache.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cached_tokens: Option<u64>,
        /// Tokens of the model's reasoning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning_tokens: Option<u64>,
        /// Tokens in the model's context after its last call, if the source counts calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_tokens: Option<u64>,
        /// How many tokens the model's context may have, if the source says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_window: Option<u64>,
        /// The cost in US dollars.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
        /// Whether this is the sum since the session started, and not only this turn's part.
        #[serde(default, skip_serializing_if = "is_false")]
        cumulative: bool,
    },
    /// The agent's turn ended.
    #[serde(rename = "turn.completed")]
    TurnCompleted {
        /// How it ended.
        status: Outcome,
        /// The source's reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// An error.
    #[serde(rename = "error")]
    Error {
        /// The message.
        message: String,
        /// The source's error code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// Whether the agent continues by itself.
        #[serde(default, skip_serializing_if = "is_false")]
        recoverable: bool,
    },
    /// Something could not be parsed, or is implausible.
    #[serde(rename = "warning")]
    Warning {
        /// The line number, from 1.
        line: u64,
        /// The reason.
        why: String,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The published JSON Schema of one line.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(AgentEvent).to_value();
    // The timestamp is always present but may be null, which attributes cannot express.
    if let Some(timestamp) = schema.pointer_mut("/properties/timestamp/type") {
        *timestamp = serde_json::json!(["integer", "null"]);
    }
    schema
}
