//! The output of each verb.

use std::collections::BTreeMap;

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use super::define;
use super::plan::{Aim, End, Item, Level, PlanHeader, Progress, Time, Verification};
use super::sessions::Sessions;

/// All types with a definition of their own.
pub(super) const ALL: &[fn(&mut SchemaGenerator)] = &[
    define::<Change>,
    define::<List>,
    define::<Show>,
    define::<Next>,
    define::<Plans>,
    define::<Goal>,
    define::<Verify>,
    define::<Import>,
    define::<Adopt>,
    define::<Entry>,
    define::<Question>,
    define::<Questions>,
    define::<Gate>,
    define::<Reminders>,
    define::<Doctor>,
    define::<Init>,
    define::<Install>,
    define::<Tools>,
    define::<DryRun>,
    define::<Policy>,
    define::<MoveProject>,
    define::<Sessions>,
    define::<Models>,
    define::<Error>,
    define::<Warning>,
];

/// The result of a change
#[derive(Serialize, JsonSchema)]
pub struct Change {
    /// The plan's revision after the change
    revision: u64,
    /// The items that changed, as they are now
    changed: Vec<Item>,
    warnings: Vec<String>,
}

/// One list, or with `--all-plans` all of them
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum List {
    One(OneList),
    All { plans: Vec<OneList>, folded: Folded },
}

/// One list
#[derive(Serialize, JsonSchema)]
struct OneList {
    /// Null where there is no plan yet
    plan: Option<PlanHeader>,
    items: Vec<Item>,
    progress: Progress,
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<Aim>,
}

/// How many plans are left out
#[derive(Serialize, JsonSchema)]
struct Folded {
    finished: u64,
    archived: u64,
    deleted: u64,
}

/// One item, or the plan itself
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("additionalProperties" = true))]
enum Show {
    Item {
        plan: PlanHeader,
        item: Item,
        /// The last call that a run made for the item
        #[serde(rename = "lastCall")]
        last_call: Option<Value>,
    },
    Plan {
        plan: PlanHeader,
        progress: Progress,
        #[serde(skip_serializing_if = "Option::is_none")]
        goal: Option<Aim>,
    },
}

/// The next item, or the result of claiming it
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Next {
    Shown { plan: PlanHeader, item: Item },
    Taken(Change),
}

/// The plans, or the result of changing one
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Plans {
    Shown { plans: Vec<Summary>, folded: Folded },
    Changed(Change),
}

/// A summary of a plan
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
pub(crate) struct Summary {
    id: String,
    title: String,
    name: Option<String>,
    revision: u64,
    project: String,
    conversation: Option<String>,
    turn: Option<String>,
    agent: Option<String>,
    end: End,
    archived: bool,
    /// How many items are open
    open: u32,
    progress: Progress,
    created_at: Time,
    updated_at: Time,
    /// `plans`: whether a live session works on it
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<bool>,
    /// `adopt`: the session that ended with it
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// `adopt`: when that session was last seen
    #[serde(skip_serializing_if = "Option::is_none")]
    seen_at: Option<Time>,
}

/// The goal, and the result of changing it
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Goal {
    Shown {
        plan: PlanHeader,
        goal: Option<Aim>,
        demand: Option<Level>,
    },
    Changed {
        revision: u64,
        changed: Vec<Item>,
        warnings: Vec<String>,
        goal: Option<Aim>,
        demand: Option<Level>,
    },
}

/// The results of checks, or the consent for agents' checks
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Verify {
    Ran { revision: u64, changed: Vec<Item>, checks: Vec<Checked>, warnings: Vec<String> },
    Consent { project: String, consent: bool },
}

/// The result of one check
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
struct Checked {
    number: u32,
    command: String,
    passed: bool,
    exit_code: Option<i32>,
    output_digest: String,
    output: String,
    /// How many files it covers
    covered: u64,
    worktree: String,
    verification: Verification,
}

/// An imported plan, or a merged checklist
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Import {
    Plan {
        plan: String,
        revision: u64,
        items: u64,
        /// The commands that a person typed, according to the file
        commands: Vec<String>,
        /// Whether these commands are trusted
        believed: bool,
    },
    Known {
        plan: String,
        revision: u64,
        items: u64,
        /// The plan existed already, with everything in the file
        known: bool,
    },
    Checklist(Change),
}

/// What was adopted, or what can be adopted
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Adopt {
    Adopted {
        plan: PlanHeader,
        items: Vec<Item>,
        progress: Progress,
        adopted: Adopted,
    },
    Left {
        #[serde(rename = "leftOpen")]
        left_open: Vec<Summary>,
    },
}

/// Where adopted items came from
#[derive(Serialize, JsonSchema)]
struct Adopted {
    from: String,
    /// Whether they were moved into another plan
    moved: bool,
}

/// One journal entry, with the names of the store; one per line
#[derive(Serialize, JsonSchema)]
pub(crate) struct Entry {
    plan: String,
    revision: u64,
    at: Time,
    actor: Actor,
    kind: String,
    undoes: Option<u64>,
    /// The events, each with old and new values
    events: Vec<Event>,
}

/// Who made a change
#[derive(Serialize, JsonSchema)]
struct Actor {
    kind: String,
    name: String,
}

/// One thing that happened
#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct Event {
    event: EventName,
}

/// What kind of thing happened
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EventName {
    Added,
    Changed,
    Moved,
    Superseded,
    Restored,
    PlanChanged,
    Forgotten,
}

/// Questions to people
#[derive(Serialize, JsonSchema)]
struct Questions {
    questions: Vec<Question>,
}

/// A question to a person, and its state
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
pub(crate) struct Question {
    id: String,
    run: String,
    project: String,
    plan: Option<String>,
    call: u32,
    item: Option<u32>,
    title: String,
    place: Vec<String>,
    context: String,
    tool: String,
    server: Option<String>,
    what: String,
    command: Option<String>,
    diff: Option<String>,
    touches: Vec<String>,
    /// What the previous steps printed
    printed: Vec<Value>,
    why: String,
    arguments: Value,
    offers: Vec<Offer>,
    asked_at: Time,
    standing: QuestionStanding,
    answer: Option<Answer>,
}

/// The state of a question
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum QuestionStanding {
    Waiting,
    Answered,
    Settled,
}

/// A possible answer besides a refusal
#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct Offer {
    answer: String,
}

/// An answer
#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct Answer {
    answer: String,
    by: Actor,
    at: Time,
}

/// The gate of a session
#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct Gate {
    agent: Option<String>,
    session: Option<String>,
    interactive: Option<bool>,
    /// off, once or full
    gate: String,
    /// session, configuration or default
    from: String,
}

/// What reminders cost, and whether they helped
#[derive(Serialize, JsonSchema)]
struct Reminders {
    sessions: Vec<ReminderSession>,
    kinds: BTreeMap<String, Tally>,
    total: Tally,
}

/// The reminders of one session
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReminderSession {
    agent: String,
    session: String,
    project: String,
    live: bool,
    begun_at: Time,
    seen_at: Time,
    kinds: BTreeMap<String, Tally>,
    total: Tally,
}

/// Counts of reminders
#[derive(Serialize, JsonSchema)]
struct Tally {
    given: u64,
    tokens: u64,
    acted: u64,
    ignored: u64,
}

/// What is installed and whether it works
#[derive(Serialize, JsonSchema)]
struct Doctor {
    well: bool,
    findings: Vec<Finding>,
}

/// One finding
#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct Finding {
    of: String,
    about: String,
    state: String,
    said: String,
    fix: Option<String>,
}

/// The project's own database, or the trust in its instructions for agents
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Init {
    Database { database: String, made: bool, trusted: Vec<String> },
    Instructions { project: String, instructions: bool },
}

/// The changes of an installation, for one agent or several
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Install {
    One(Installed),
    All { agents: Vec<Installed> },
}

/// The changes of an installation
#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct Installed {
    agent: String,
    scope: String,
    files: Vec<ChangedFile>,
}

/// A file that an installation changed
#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct ChangedFile {
    path: String,
    /// made, changed or removed
    change: String,
}

/// The tools of a dialect
#[derive(Serialize, JsonSchema)]
struct Tools {
    dialect: String,
    surface: String,
    tools: Vec<Tool>,
    prompt: Option<String>,
}

/// A tool as it is offered to a model
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
struct Tool {
    name: String,
    description: String,
    input_schema: Value,
}

/// The providers, and the results of `--check`
#[derive(Serialize, JsonSchema)]
struct Models {
    /// The configured model
    model: Option<String>,
    providers: Vec<ModelProvider>,
    checks: Vec<ModelCheck>,
}

/// A provider
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
struct ModelProvider {
    name: String,
    kind: String,
    base_url: String,
    /// What must be configured before it can be used
    missing: Option<String>,
}

/// The result of calling a model
#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct ModelCheck {
    model: String,
    error: Option<String>,
}

/// What a run would do
#[derive(Serialize, JsonSchema)]
struct DryRun {
    plan: String,
    title: String,
    progress: Progress,
    steps: Vec<Step>,
    /// The items that cannot run
    left: Vec<Left>,
}

/// One step of a run
#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct Step {
    item: u32,
    title: String,
    worker: String,
    run: Option<String>,
    verify: Option<String>,
    approve: bool,
    after: Vec<u32>,
}

/// An item that cannot run
#[derive(Serialize, JsonSchema)]
struct Left {
    item: u32,
    title: String,
    why: String,
}

/// What the policy decides about a call; with `--consents` what a person has allowed; with
/// `--take-back` what was taken back
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Policy {
    Call(PolicyOfCall),
    Consents {
        consents: Vec<GivenConsent>,
    },
    TakenBack {
        project: String,
        #[serde(rename = "takenBack")]
        taken_back: String,
    },
}

/// Something that a person has allowed or refused
#[derive(Serialize, JsonSchema)]
struct GivenConsent {
    /// The name by which it is taken back: checks, instructions, mcp.NAME, or the path of a file
    name: String,
    /// Null for a file
    project: Option<String>,
    allowed: bool,
    /// What it means: a sentence, or the command line or address of a server
    what: String,
}

/// What the policy decides about a call
#[derive(Serialize, JsonSchema)]
struct PolicyOfCall {
    tool: String,
    /// The command line or the path
    asked: String,
    decision: Decision,
    /// Why, in sentences
    why: Vec<String>,
    rule: Option<PlacedRule>,
    /// The commands in a command line
    parts: Vec<CommandPart>,
    /// Rules that would allow it
    missing: Vec<Rule>,
    /// What the sandbox of `do` changes; null if it changes nothing
    sandbox: Option<InSandbox>,
}

/// What happens to a shell command in a session of `do`
#[derive(Serialize, JsonSchema)]
struct InSandbox {
    /// Whether there is a sandbox
    on: bool,
    decision: Decision,
    /// The same as a sentence
    why: String,
}

/// The decision of a rule
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Allow,
    Ask,
    Deny,
}

/// A rule and its file
#[derive(Serialize, JsonSchema)]
struct PlacedRule {
    rule: Rule,
    file: Option<String>,
    line: Option<u64>,
}

/// A rule as in a settings file; it matches everything that it does not name
#[derive(Serialize, JsonSchema)]
struct Rule {
    decision: Decision,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// What a command begins with, word by word
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<Vec<String>>,
    /// The name of an argument, and a pattern for its text
    #[serde(skip_serializing_if = "Option::is_none")]
    argument: Option<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// One command of a command line, and the rules for it
#[derive(Serialize, JsonSchema)]
struct CommandPart {
    words: Vec<String>,
    /// Whether unknown words follow
    more: bool,
    decision: Decision,
    rule: Option<PlacedRule>,
    /// Rules that look similar but do not match, and why
    notes: Vec<String>,
}

/// Plans that now belong to another directory
#[derive(Serialize, JsonSchema)]
struct MoveProject {
    from: String,
    to: String,
    /// Their ids
    plans: Vec<String>,
    /// Plans whose name was already used in the new directory
    renamed: Vec<RenamedPlan>,
}

/// A plan and its new name
#[derive(Serialize, JsonSchema)]
struct RenamedPlan {
    id: String,
    name: String,
}

/// Why a call failed, on stderr
#[derive(Serialize, JsonSchema)]
struct Error {
    error: Failure,
}

/// Why a call failed
#[derive(Serialize, JsonSchema)]
struct Failure {
    /// The exit code, as a word: see exit-codes.md
    code: String,
    message: String,
    /// Numbers of the items concerned
    items: Vec<u32>,
    /// What to do next
    hint: Option<String>,
}

/// A warning, on stderr
#[derive(Serialize, JsonSchema)]
struct Warning {
    warning: String,
}
