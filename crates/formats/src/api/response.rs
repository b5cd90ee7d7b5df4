//! What programs get, as types from which the document is generated. [`super::values`] and
//! [`crate::view::json`] write the values.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::view::schema::{
    Entry, Item, PlanHeader, Progress, Question, Status, Summary, Time, Used,
};

/// Who the caller is
#[derive(Serialize, JsonSchema)]
pub(super) struct Me {
    name: String,
    role: Role,
    /// The only project that the caller sees; null means all
    project: Option<String>,
}

/// What a caller may do
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Role {
    Viewer,
    Worker,
    Admin,
}

/// A page of projects
#[derive(Serialize, JsonSchema)]
pub(super) struct Projects {
    projects: Vec<Project>,
    next: Option<Next>,
}

/// The cursor of the next page; null at the end
#[derive(Serialize, JsonSchema)]
struct Next(String);

/// A project that has plans
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Project {
    project: String,
    /// How many plans it has
    plans: u32,
    /// How many items of them are open
    open: u32,
    updated_at: Time,
}

/// A page of plans, the one that changed last first
#[derive(Serialize, JsonSchema)]
pub(super) struct Plans {
    plans: Vec<Summary>,
    next: Option<Next>,
}

/// A plan without its items
#[derive(Serialize, JsonSchema)]
pub(super) struct Plan {
    plan: PlanHeader,
    progress: Progress,
}

/// A page of a plan's items, in the order of the list
#[derive(Serialize, JsonSchema)]
pub(super) struct Items {
    items: Vec<Item>,
    next: Option<Next>,
}

/// A page of a plan's journal, the oldest entry first
#[derive(Serialize, JsonSchema)]
pub(super) struct Journal {
    entries: Vec<Entry>,
    next: Option<Next>,
}

/// A page of questions to people, the oldest first
#[derive(Serialize, JsonSchema)]
pub(super) struct Questions {
    questions: Vec<Question>,
    next: Option<Next>,
}

/// The result of a check
#[derive(Serialize, JsonSchema)]
pub(super) struct Checked {
    passed: bool,
    /// How the command ended, in words
    ended: String,
    /// The last lines that it printed
    output: String,
    /// The plan's revision with the evidence
    revision: u64,
}

/// A page of sessions of Punchlist's own agent, the one that changed last first
#[derive(Serialize, JsonSchema)]
pub(super) struct Sessions {
    sessions: Vec<Session>,
    next: Option<Next>,
}

/// A session of Punchlist's own agent
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Session {
    id: String,
    project: String,
    directory: String,
    title: String,
    state: SessionState,
    /// Whether somebody runs it now
    running: bool,
    queue_paused: bool,
    turns: u32,
    used: Used,
    created_at: Time,
    changed_at: Time,
}

/// What a session does
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SessionState {
    Idle,
    Working,
    Asked,
    Waiting,
}

/// A page of what happened in a session, the oldest first
#[derive(Serialize, JsonSchema)]
pub(super) struct SessionEntries {
    entries: Vec<SessionEntry>,
    next: Option<Next>,
}

/// One thing that happened in a session
#[derive(Serialize, JsonSchema)]
struct SessionEntry {
    number: u64,
    turn: u32,
    at: Time,
    kind: String,
    /// What happened
    body: Value,
}

/// A page of runs, the newest first
#[derive(Serialize, JsonSchema)]
pub(super) struct Runs {
    runs: Vec<Run>,
    next: Option<Next>,
}

/// A run of a plan file, a check or a session
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Run {
    id: String,
    project: String,
    plan: Option<String>,
    what: String,
    begun_at: Time,
    ended_at: Option<Time>,
}

/// A run and its calls
#[derive(Serialize, JsonSchema)]
pub(super) struct RunWithCalls {
    run: Run,
    calls: Vec<Call>,
}

/// A tool call
#[derive(Serialize, JsonSchema)]
struct Call {
    number: u32,
    item: Option<u32>,
    tool: String,
    state: String,
    attempt: u32,
    request: Value,
    detail: Option<Value>,
    at: Time,
}

/// The agents on the server's machine: those that wait for a person first, then the newest
#[derive(Serialize, JsonSchema)]
pub(super) struct Agents {
    agents: Vec<Agent>,
    next: Option<Next>,
    /// What cannot be seen
    notes: Vec<String>,
}

/// An agent, or a plan that no session works on
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Agent {
    key: String,
    agent: String,
    sub_agent: Option<String>,
    project: String,
    place: String,
    model: String,
    state: AgentState,
    /// What it asks or waits for, or why it failed
    why: Option<String>,
    list: Option<AgentList>,
    /// The agent's last sentence
    said: String,
    /// The question that can be answered
    question: Option<String>,
    context_tokens: Option<u64>,
    context_window: Option<u64>,
    cost_micros: Option<u64>,
    at: Option<Time>,
    began_at: Option<Time>,
}

/// What an agent does
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AgentState {
    Asks,
    Working,
    Waits,
    Silent,
    Failed,
    Idle,
    Died,
}

/// An agent's list
#[derive(Serialize, JsonSchema)]
struct AgentList {
    done: u32,
    total: u32,
    open: u32,
    entries: Vec<AgentEntry>,
}

/// An entry of an agent's list
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AgentEntry {
    label: String,
    status: Status,
    waiting_on: Option<String>,
    depth: u32,
}

/// What was found: a page of items and a page of sessions, those that changed last first
#[derive(Serialize, JsonSchema)]
pub(super) struct Found {
    items: Vec<FoundItem>,
    sessions: Vec<Session>,
    next: Option<Next>,
}

/// An item that was found
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FoundItem {
    plan: String,
    project: String,
    plan_title: String,
    number: u32,
    title: String,
    status: Status,
}

/// An error, as RFC 9457 has it
#[derive(Serialize, JsonSchema)]
pub(super) struct Problem {
    /// `urn:punchlist:problem:` and the code
    r#type: String,
    title: String,
    status: u16,
    /// What is wrong
    detail: String,
    /// A word that programs compare
    code: String,
    /// What belongs to it
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Vec<String>>,
    /// The numbers of the items that it is about
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Vec<u32>>,
    /// What to do next
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}
