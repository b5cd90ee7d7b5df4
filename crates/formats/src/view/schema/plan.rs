//! Plans and items as `--json` shows them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// A moment: RFC 3339, UTC, with milliseconds
#[derive(Serialize, JsonSchema)]
#[schemars(extend("pattern" = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"))]
pub(crate) struct Time(String);

/// The status of an item
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// Not started
    Pending,
    /// In progress
    InProgress,
    /// Done
    Completed,
    /// Cancelled
    Cancelled,
}

/// The level of evidence, from weak to strong
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Level {
    /// The worker reported it
    Reported,
    /// Its check passed
    Checked,
    /// A person approved it
    Approved,
}

/// Whether an item has the evidence that it needs
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verification {
    /// It needs no check
    None,
    /// Its check has not run yet
    Required,
    /// Its check passed
    Passed,
    /// Its check failed
    Failed,
    /// Its check passed, but covered files have changed since
    Stale,
}

/// The state of a plan as a whole
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// Items are open, or there are none
    Open,
    /// Every item is completed or cancelled
    Drained,
    /// A turn ended with open items
    Stopped,
}

/// Who wrote a command
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Origin {
    /// A person, or a file that a person named
    Person,
    /// An agent
    Agent,
}

/// How far a plan has come
#[derive(Serialize, JsonSchema)]
pub struct Progress {
    completed: u32,
    total: u32,
    /// Rounded; 0 when there is nothing to do
    percent: u32,
}

/// A plan without its items
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanHeader {
    id: String,
    title: String,
    /// Goes up by one with each change
    revision: u64,
    /// The project's root directory
    project: String,
    /// The conversation that is attached to it
    conversation: Option<String>,
    turn: Option<String>,
    agent: Option<String>,
    /// The name that a person gave it
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Missing while it is open
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<End>,
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<PlanGoal>,
    /// Missing if only the default rules apply
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<PlanRules>,
}

/// Rules of one plan
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PlanRules {
    max_in_progress: Option<u32>,
    demand: Option<Level>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    archived: bool,
    /// Whether workers take its items
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shared: bool,
}

/// The goal of a plan
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PlanGoal {
    statement: String,
    /// Numbers of the acceptance items
    acceptance: Vec<u32>,
    budget: Budget,
    since: Option<Time>,
    /// Numbers of the items that were given up since
    given_up: Vec<u32>,
    met: Option<Met>,
    /// person, agent or engine; null if unknown
    author: Option<String>,
}

/// The budget of a goal
#[derive(Serialize, JsonSchema)]
struct Budget {
    tokens: Option<u64>,
    turns: Option<u32>,
    minutes: Option<u32>,
}

/// A statement that a goal is met
#[derive(Serialize, JsonSchema)]
struct Met {
    at: Time,
    by: String,
    level: Level,
}

/// A goal and its state
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Aim {
    statement: String,
    acceptance: Vec<u32>,
    budget: Budget,
    since: Option<Time>,
    given_up: Vec<u32>,
    met: Option<Met>,
    /// person, agent or engine; null if unknown
    author: Option<String>,
    standing: AimStanding,
    missing: Vec<Missing>,
    spent: Spent,
}

/// The state of a goal
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AimStanding {
    /// Items are open
    Open,
    /// No item is open, but the goal is not met
    Unmet,
    /// It is met
    Met,
}

/// What is missing for a goal
#[derive(Serialize, JsonSchema)]
struct Missing {
    item: Option<u32>,
    why: String,
    /// The command that fixes it
    next: String,
}

/// What a goal has cost; null if it is not counted
#[derive(Serialize, JsonSchema)]
struct Spent {
    minutes: Option<u64>,
    turns: Option<u32>,
    tokens: Option<u64>,
    over: bool,
}

/// One item of a plan
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    id: String,
    /// Names the item; never reused
    number: u32,
    /// Its position from 1; null if it is superseded
    position: Option<u32>,
    title: String,
    active_form: Option<String>,
    context: String,
    completion_criteria: String,
    agent_type: Option<String>,
    owner: Option<String>,
    status: Status,
    /// 0 comes first
    priority: Option<u32>,
    outcome: Option<String>,
    /// Numbers
    depends_on: Vec<u32>,
    parent: Option<u32>,
    waiting_on: Option<String>,
    check: Option<Check>,
    run: Option<Run>,
    approve: bool,
    retry: Option<u32>,
    /// Seconds
    timeout: Option<u32>,
    evidence: Vec<Evidence>,
    claim: Option<Claim>,
    /// The rules that a recorded change broke
    marks: Vec<String>,
    metadata: Option<Map<String, Value>>,
    created_at: Time,
    started_at: Option<Time>,
    completed_at: Option<Time>,
    /// When it was superseded
    superseded_at: Option<Time>,
    /// Pending, not waiting, all dependencies completed, no open sub-item
    ready: bool,
    /// A dependency is open or cancelled
    blocked: bool,
    verification: Verification,
}

/// A command that shows whether an item is done
#[derive(Serialize, JsonSchema)]
struct Check {
    command: String,
    covers: Vec<String>,
    origin: Origin,
}

/// The command that does an item
#[derive(Serialize, JsonSchema)]
struct Run {
    command: String,
    origin: Origin,
}

/// Why an item is believed to be done
#[derive(Serialize, JsonSchema)]
struct Evidence {
    level: Level,
    at: Time,
    by: String,
    run: Option<CheckRun>,
}

/// One run of a check
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CheckRun {
    command: String,
    /// Null if it was killed
    exit_code: Option<i32>,
    output_digest: String,
    covered: Vec<CoveredFile>,
    worktree: String,
}

/// A covered file as it was when the check ran
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CoveredFile {
    path: String,
    digest: String,
    size: u64,
    mtime_ms: i64,
    inode: u64,
}

/// A lease on an item
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Claim {
    holder: Holder,
    attempt: u32,
    expires_at: Time,
}

/// Who holds an item
#[derive(Serialize, JsonSchema)]
struct Holder {
    name: String,
    process: Option<Process>,
}

/// A process whose end releases the claim early
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Process {
    host: String,
    boot_id: String,
    pid_namespace: u64,
    pid: u32,
    start_time: u64,
}
