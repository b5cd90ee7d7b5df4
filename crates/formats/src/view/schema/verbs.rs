//! The output of each verb.

use std::collections::BTreeMap;

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use super::define;
use super::plan::{Aim, End, Item, Level, PlanHeader, Progress, Time, Verification};

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
    define::<Error>,
    define::<Warning>,
];

/// What came of a change
#[derive(Serialize, JsonSchema)]
pub struct Change {
    /// The plan's revision after it
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
        /// What the last command or agent of a run for it came to
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

/// The next item, or what came of taking it
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Next {
    Shown { plan: PlanHeader, item: Item },
    Taken(Change),
}

/// The plans, or what came of changing one
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Plans {
    Shown { plans: Vec<Summary>, folded: Folded },
    Changed(Change),
}

/// A plan at a glance
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
struct Summary {
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
    /// `adopt`: the session that left it
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// `adopt`: when that was last seen
    #[serde(skip_serializing_if = "Option::is_none")]
    seen_at: Option<Time>,
}

/// The goal, and what came of changing it
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

/// What checks came to, or whether an agent's may be run
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Verify {
    Ran { revision: u64, changed: Vec<Item>, checks: Vec<Checked>, warnings: Vec<String> },
    Consent { project: String, consent: bool },
}

/// What one check came to
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
    /// How many files it speaks for
    covered: u64,
    worktree: String,
    verification: Verification,
}

/// A plan that was taken in, or a checklist that was merged
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Import {
    Plan {
        plan: String,
        revision: u64,
        items: u64,
        /// The commands that a person is said to have typed
        commands: Vec<String>,
        /// Whether that counts here
        believed: bool,
    },
    Known {
        plan: String,
        revision: u64,
        items: u64,
        /// It was here already, with all that the file has
        known: bool,
    },
    Checklist(Change),
}

/// What was adopted, or what there is to adopt
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

/// One change, as the journal has it, with its own names; one a line
#[derive(Serialize, JsonSchema)]
struct Entry {
    plan: String,
    revision: u64,
    at: Time,
    actor: Actor,
    kind: String,
    undoes: Option<u64>,
    /// What happened, each with `event` and what was before and is after
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

/// A question to a person, and how it stands
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
struct Question {
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
    /// What the steps before have printed
    printed: Vec<Value>,
    why: String,
    arguments: Value,
    offers: Vec<Offer>,
    asked_at: Time,
    standing: QuestionStanding,
    answer: Option<Answer>,
}

/// How a question stands
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum QuestionStanding {
    Waiting,
    Answered,
    Settled,
}

/// What may be answered, besides a refusal
#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct Offer {
    answer: String,
}

/// What was answered
#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct Answer {
    answer: String,
    by: Actor,
    at: Time,
}

/// What holds an agent that wants to stop
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

/// What reminders have cost and brought
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

/// Reminders, counted
#[derive(Serialize, JsonSchema)]
struct Tally {
    given: u64,
    tokens: u64,
    acted: u64,
    ignored: u64,
}

/// What is wired and working
#[derive(Serialize, JsonSchema)]
struct Doctor {
    well: bool,
    findings: Vec<Finding>,
}

/// One thing that was looked at
#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct Finding {
    of: String,
    about: String,
    state: String,
    said: String,
    fix: Option<String>,
}

/// A database of the project's own
#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
struct Init {
    database: String,
    made: bool,
    trusted: Vec<String>,
}

/// What an installation changed, of one agent or of several
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Install {
    One(Installed),
    All { agents: Vec<Installed> },
}

/// What an installation changed
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

/// A tool as a model is given it
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
struct Tool {
    name: String,
    description: String,
    input_schema: Value,
}

/// What a run would do
#[derive(Serialize, JsonSchema)]
struct DryRun {
    plan: String,
    title: String,
    progress: Progress,
    steps: Vec<Step>,
    /// What cannot be done
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

/// An item that a run cannot do
#[derive(Serialize, JsonSchema)]
struct Left {
    item: u32,
    title: String,
    why: String,
}

/// What the rules would do with a call
#[derive(Serialize, JsonSchema)]
struct Policy {
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
}

/// What a rule says
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Allow,
    Ask,
    Deny,
}

/// A rule, and where it stands
#[derive(Serialize, JsonSchema)]
struct PlacedRule {
    rule: Rule,
    file: Option<String>,
    line: Option<u64>,
}

/// A rule as it is written in a configuration: what it does not name, it does not look at
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

/// One command of a command line, and what the rules say of it
#[derive(Serialize, JsonSchema)]
struct CommandPart {
    words: Vec<String>,
    /// Whether words follow that cannot be told
    more: bool,
    decision: Decision,
    rule: Option<PlacedRule>,
    /// Rules that look as if they were about it, and why they are not
    notes: Vec<String>,
}

/// Plans that now belong to another directory
#[derive(Serialize, JsonSchema)]
struct MoveProject {
    from: String,
    to: String,
    /// Their ids
    plans: Vec<String>,
    /// Those whose name was taken at the new place
    renamed: Vec<RenamedPlan>,
}

/// A plan, and how it is called now
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
    /// Numbers of the items that it is about
    items: Vec<u32>,
    /// What to do next
    hint: Option<String>,
}

/// What the caller should know besides the result, on stderr
#[derive(Serialize, JsonSchema)]
struct Warning {
    warning: String,
}
