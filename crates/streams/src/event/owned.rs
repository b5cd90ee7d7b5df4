//! The unified events as plain data: what the published JSON Schema is made from, and what reads them.
//!
//! [`super::Event`] writes the same lines without owning anything; a test holds the two together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// One event of one agent: one JSON object on a line of its own.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentEvent {
    /// UUIDv5 of agent, line and index: the same input gives the same output.
    pub event_id: Uuid,
    /// The team member's name, else the session's or thread's id; with `/agent` for a sub-agent.
    pub agent_id: String,
    /// Which program it is.
    pub agent_type: AgentType,
    /// Milliseconds since 1970, as the source says; null where it says nothing.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schemars(required)]
    pub timestamp: Option<i64>,
    /// What happened.
    #[serde(flatten)]
    pub kind: Kind,
}

/// Which program it is.
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

/// Who speaks.
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

/// How a tool call or a turn ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Well
    Success,
    /// It failed or was refused
    Error,
    /// Somebody stopped it
    Cancelled,
}

/// How a todo stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun
    Pending,
    /// Being worked on
    InProgress,
    /// Done
    Completed,
    /// Given up
    Cancelled,
}

/// One todo of a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Item {
    /// What is to be done.
    #[schemars(length(min = 1))]
    pub text: String,
    /// How it stands.
    pub status: Status,
    /// The source's id of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What it is called while it is worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// Whether something else must be done first.
    #[serde(default, skip_serializing_if = "is_false")]
    pub blocked: bool,
    /// Whom or what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_on: Option<String>,
    /// The id of the todo that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Whether the status is a guess, and no word of the agent.
    #[serde(default, skip_serializing_if = "is_false")]
    pub assumed: bool,
    /// Whether the source never said that the list was taken.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unconfirmed: bool,
    /// The source's own status where it is none of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_status: Option<String>,
}

/// What happened.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum Kind {
    /// A session began, or was taken up again.
    #[serde(rename = "session.started")]
    SessionStarted {
        /// The model that was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The directory that it works in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// The version of the agent's program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
    /// The user's turn is over, and the agent's begins.
    #[serde(rename = "turn.started")]
    TurnStarted {
        /// What the user said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
    },
    /// Something was said.
    #[serde(rename = "text")]
    Text {
        /// By whom.
        role: Role,
        /// What.
        text: String,
        /// Whether it goes on where the last one ended.
        #[serde(default, skip_serializing_if = "is_false")]
        delta: bool,
    },
    /// The model thought aloud.
    #[serde(rename = "thinking")]
    Thinking {
        /// What.
        text: String,
        /// Whether it goes on where the last one ended.
        #[serde(default, skip_serializing_if = "is_false")]
        delta: bool,
    },
    /// The model asked for a tool.
    #[serde(rename = "tool.scheduled")]
    ToolScheduled {
        /// The source's id of the call.
        call_id: String,
        /// The tool.
        name: String,
        /// Its arguments.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<serde_json::Value>,
    },
    /// A call waits for an answer of the user.
    #[serde(rename = "tool.waiting")]
    ToolWaiting {
        /// The source's id of the call.
        call_id: String,
        /// What is asked.
        question: String,
    },
    /// The user answered.
    #[serde(rename = "tool.answered")]
    ToolAnswered {
        /// The source's id of the call.
        call_id: String,
        /// What.
        answer: String,
        /// Who it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A call runs.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// The source's id of the call.
        call_id: String,
        /// The tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Its arguments, where no `tool.scheduled` told them.
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
        /// How.
        status: Outcome,
        /// What it answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
    },
    /// The user said something that waits.
    #[serde(rename = "message.queued")]
    MessageQueued {
        /// What.
        text: String,
    },
    /// The list as it is now, whole.
    #[serde(rename = "todo_list")]
    TodoList {
        /// Which list: the source's id of it, else the agent and a running number.
        todo_id: String,
        /// Its todos. None: it was cleared.
        items: Vec<Item>,
        /// Whether the source never said that it was taken.
        #[serde(default, skip_serializing_if = "is_false")]
        unconfirmed: bool,
    },
    /// What was spent.
    #[serde(rename = "usage")]
    Usage {
        /// Tokens that the model read, cached ones included where the source counts them so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input_tokens: Option<u64>,
        /// Tokens that the model wrote.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_tokens: Option<u64>,
        /// Tokens that were read from a cache.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cached_tokens: Option<u64>,
        /// Tokens that the model thought with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning_tokens: Option<u64>,
        /// What it cost, in US dollars.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
        /// Whether this is the sum since the session began, and not this turn's part.
        #[serde(default, skip_serializing_if = "is_false")]
        cumulative: bool,
    },
    /// The agent's turn is over.
    #[serde(rename = "turn.completed")]
    TurnCompleted {
        /// How it ended.
        status: Outcome,
        /// The source's word for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Something failed.
    #[serde(rename = "error")]
    Error {
        /// What.
        message: String,
        /// The source's code or word for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// Whether the agent goes on by itself.
        #[serde(default, skip_serializing_if = "is_false")]
        recoverable: bool,
    },
    /// Something could not be read, or not be believed.
    #[serde(rename = "warning")]
    Warning {
        /// The line, counted from 1.
        line: u64,
        /// Why.
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
    // The time is always there, but may be null; that cannot be said with attributes.
    if let Some(timestamp) = schema.pointer_mut("/properties/timestamp/type") {
        *timestamp = serde_json::json!(["integer", "null"]);
    }
    schema
}
