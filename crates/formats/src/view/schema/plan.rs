//! Plans and items as `--json` shows them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// A moment: RFC 3339, UTC, with milliseconds
#[derive(Serialize, JsonSchema)]
#[schemars(extend("pattern" = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"))]
pub(super) struct Time(String);

/// Where an item stands
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    /// Not begun
    Pending,
    /// Somebody works on it
    InProgress,
    /// Done
    Completed,
    /// It will not be done
    Cancelled,
}

/// How much a piece of evidence is worth, from weak to strong
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Level {
    /// Whoever did it said so
    Reported,
    /// Its check passed
    Checked,
    /// A person said so
    Approved,
}

/// Whether what an item must show has been shown
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verification {
    /// Nothing need be shown
    None,
    /// Its check has not run yet
    Required,
    /// Its check passed
    Passed,
    /// Its check failed
    Failed,
    /// Its check passed, and the files have changed since
    Stale,
}

/// How a plan stands as a whole
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// Work is left, or none was ever put down
    Open,
    /// Every item is completed or cancelled
    Drained,
    /// A turn ended although items were open
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
    /// How people call it
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Missing while it is open
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<End>,
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<PlanGoal>,
    /// Missing where only the common rules hold
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
}

/// What a list is for
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PlanGoal {
    statement: String,
    /// Numbers of the items that it is accepted by
    acceptance: Vec<u32>,
    budget: Budget,
    since: Option<Time>,
    /// Numbers of the items that were cancelled or dropped since
    given_up: Vec<u32>,
    met: Option<Met>,
    /// person, agent or engine; null where that is not known
    author: Option<String>,
}

/// What a goal may cost
#[derive(Serialize, JsonSchema)]
struct Budget {
    tokens: Option<u64>,
    turns: Option<u32>,
    minutes: Option<u32>,
}

/// A word that a goal is met
#[derive(Serialize, JsonSchema)]
struct Met {
    at: Time,
    by: String,
    level: Level,
}

/// A goal and how the plan stands towards it
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Aim {
    statement: String,
    acceptance: Vec<u32>,
    budget: Budget,
    since: Option<Time>,
    given_up: Vec<u32>,
    met: Option<Met>,
    /// person, agent or engine; null where that is not known
    author: Option<String>,
    standing: AimStanding,
    missing: Vec<Missing>,
    spent: Spent,
}

/// How a plan stands towards its goal
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AimStanding {
    /// Items are open
    Open,
    /// Nothing is open, and something is missing
    Unmet,
    /// It is met
    Met,
}

/// What keeps a goal from being met
#[derive(Serialize, JsonSchema)]
struct Missing {
    item: Option<u32>,
    why: String,
    /// The command that mends it
    next: String,
}

/// What a goal has cost; what is not counted is null
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
    /// Never reused; what is typed and shown
    number: u32,
    /// Where it stands, from 1; null for what was dropped
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
    /// What a recorded change broke
    marks: Vec<String>,
    metadata: Option<Map<String, Value>>,
    created_at: Time,
    started_at: Option<Time>,
    completed_at: Option<Time>,
    /// When it was dropped
    superseded_at: Option<Time>,
    /// Pending, waits for nobody, and nothing is before or under it
    ready: bool,
    /// Something that it depends on is open or cancelled
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

/// A process whose end frees the claim early
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Process {
    host: String,
    boot_id: String,
    pid_namespace: u64,
    pid: u32,
    start_time: u64,
}
