//! The output of `sessions`.

use schemars::JsonSchema;
use serde::Serialize;

use super::plan::Time;

/// The sessions of our own agent, one of them, or the result of `stop` or `forget`
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Sessions {
    List {
        sessions: Vec<AgentSession>,
    },
    Shown(AgentSession),
    Stopped {
        id: String,
        #[serde(rename = "stopAsked")]
        stop_asked: bool,
    },
    Forgotten {
        id: String,
        forgotten: bool,
    },
    /// With `sessions queue`
    Queue {
        session: String,
        paused: bool,
        /// In the order in which they are taken
        messages: Vec<QueuedMessage>,
    },
    /// With `sessions show --todos`
    Todos {
        session: String,
        turns: Vec<TurnTodos>,
    },
}

/// A message that waits in the queue of a session
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct QueuedMessage {
    id: String,
    text: String,
    /// Whether the next call of the model gets it
    steers: bool,
    queued_at: Time,
    edited_at: Option<Time>,
}

/// The to-dos of a turn
#[derive(Serialize, JsonSchema)]
pub(super) struct TurnTodos {
    /// The number of the turn
    turn: u32,
    id: String,
    counts: TodoCounts,
    todos: Vec<TurnTodo>,
}

/// How many to-dos of a turn have which status
#[derive(Serialize, JsonSchema)]
pub(super) struct TodoCounts {
    pending: u32,
    in_progress: u32,
    completed: u32,
    cancelled: u32,
}

/// A to-do of a turn, with the names of the view `turn_todos`
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TurnTodo {
    id: String,
    conversation_id: String,
    turn_id: String,
    title: String,
    context: String,
    completion_criteria: String,
    agent_type: Option<String>,
    status: String,
    priority: u32,
    outcome: Option<String>,
    created_at: Time,
    started_at: Option<Time>,
    completed_at: Option<Time>,
}

/// A session of our own agent
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
pub(super) struct AgentSession {
    id: String,
    project: String,
    title: String,
    /// What it does, in words
    state: String,
    running: bool,
    /// The agent that leads it, if it was begun by `do --agent`
    #[serde(skip_serializing_if = "Option::is_none")]
    leader: Option<SessionLeader>,
    turns: u32,
    used: Used,
    created_at: Time,
    changed_at: Time,
    /// All turns, with `sessions show`
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_list: Option<Vec<AgentTurn>>,
}

/// The agent that leads a session
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
pub(super) struct SessionLeader {
    /// claude, codex or gemini
    agent: String,
    /// The agent's id of the session
    session: String,
    /// The command that goes on with it in the agent's program
    resume: String,
}

/// A turn of a session
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
pub(super) struct AgentTurn {
    turn: u32,
    id: String,
    plan: Option<String>,
    /// answered, asked, planned, let_go, limit, stuck, planning_failed, not_validated, unfit, failed,
    /// aborted or budget; null while it runs
    ending: Option<String>,
    began_at: Time,
    ended_at: Option<Time>,
    used: Used,
}

/// What model calls have used
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
pub(crate) struct Used {
    /// How many model calls
    calls: u64,
    /// Tokens sent
    input: u64,
    /// Tokens received
    output: u64,
    /// Millionths of the currency of the configured prices
    cost_micros: u64,
}
