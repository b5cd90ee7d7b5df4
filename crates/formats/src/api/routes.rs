//! The routes of the API.

use punchlist_model::store::access::Role;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::request::{AnswerRequest, ChangeRequest, NewPlanRequest, UndoRequest};
use super::response as r;
use crate::view::schema;

/// A method of HTTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Reads.
    Get,
    /// Changes.
    Post,
}

/// A parameter in the query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Param {
    /// `cursor`: where the page begins.
    Cursor,
    /// `cursor` of a list that is counted: where the page begins.
    Count,
    /// `limit`: how many entries the page has.
    Limit,
    /// `project`: only of this project.
    Project,
    /// `name`: only plans with this name.
    Name,
    /// `status`: only items with this status.
    Status,
    /// `waiting`: only questions that wait.
    Waiting,
    /// `running`: only runs that have not ended.
    Running,
    /// `plan`: only of this plan.
    Plan,
    /// `q`: the text to find.
    Text,
    /// `after`: the id of the last event, for clients that cannot set a header.
    After,
}

/// The schema of a type.
pub type Shape = fn(&mut SchemaGenerator) -> Schema;

/// A route.
#[derive(Clone, Copy)]
pub struct Route {
    /// The name of the operation.
    pub id: &'static str,
    /// The method.
    pub method: Method,
    /// The path below [`super::PREFIX`].
    pub path: &'static str,
    /// The weakest role that may use it.
    pub role: Role,
    /// What it does.
    pub summary: &'static str,
    /// What the query may have.
    pub query: &'static [Param],
    /// What is sent.
    pub body: Option<Shape>,
    /// What is answered; `None` is a stream of events, or the document itself.
    pub answer: Option<Shape>,
}

const fn get(id: &'static str, path: &'static str, summary: &'static str, answer: Shape) -> Route {
    let (method, role) = (Method::Get, Role::Viewer);
    Route { id, method, path, role, summary, query: &[], body: None, answer: Some(answer) }
}

const fn post(
    id: &'static str,
    path: &'static str,
    summary: &'static str,
    role: Role,
    answer: Shape,
) -> Route {
    let method = Method::Post;
    Route { id, method, path, role, summary, query: &[], body: None, answer: Some(answer) }
}

impl Route {
    const fn with(self, query: &'static [Param]) -> Self {
        Self { query, ..self }
    }

    const fn taking(self, body: Shape) -> Self {
        Self { body: Some(body), ..self }
    }

    const fn other(self) -> Self {
        Self { answer: None, ..self }
    }
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const PAGE: &[Param] = &[Param::Cursor, Param::Limit];
const COUNTED: &[Param] = &[Param::Count, Param::Limit];

/// All routes of the API.
pub const ROUTES: &[Route] = &[
    get("me", "/me", "Who the caller is", of::<r::Me>),
    get("listProjects", "/projects", "The projects that have plans", of::<r::Projects>).with(PAGE),
    get("listPlans", "/plans", "The plans, the one that changed last first", of::<r::Plans>)
        .with(&[Param::Project, Param::Name, Param::Cursor, Param::Limit]),
    post("createPlan", "/plans", "Create a plan", Role::Worker, of::<r::Plan>)
        .taking(of::<NewPlanRequest>),
    get("getPlan", "/plans/{plan}", "A plan without its items", of::<r::Plan>),
    get("listItems", "/plans/{plan}/items", "The items of a plan", of::<r::Items>).with(&[
        Param::Status,
        Param::Cursor,
        Param::Limit,
    ]),
    get("getItem", "/plans/{plan}/items/{item}", "An item", of::<schema::Item>),
    post(
        "changePlan",
        "/plans/{plan}/changes",
        "Change a plan",
        Role::Worker,
        of::<schema::Change>,
    )
    .taking(of::<ChangeRequest>),
    post(
        "undo",
        "/plans/{plan}/undo",
        "Take back the caller's own last change",
        Role::Worker,
        of::<schema::Change>,
    )
    .taking(of::<UndoRequest>),
    post(
        "approveItem",
        "/plans/{plan}/items/{item}/approve",
        "Approve an item",
        Role::Admin,
        of::<schema::Change>,
    ),
    post(
        "verifyItem",
        "/plans/{plan}/items/{item}/verify",
        "Run the check of an item on the server's machine",
        Role::Admin,
        of::<r::Checked>,
    ),
    get("listJournal", "/plans/{plan}/journal", "The changes of a plan", of::<r::Journal>)
        .with(COUNTED),
    get("listQuestions", "/questions", "Questions to people", of::<r::Questions>).with(&[
        Param::Project,
        Param::Waiting,
        Param::Cursor,
        Param::Limit,
    ]),
    get("getQuestion", "/questions/{question}", "A question", of::<schema::Question>),
    post(
        "answerQuestion",
        "/questions/{question}/answer",
        "Answer a question",
        Role::Admin,
        of::<schema::Question>,
    )
    .taking(of::<AnswerRequest>),
    get("listSessions", "/sessions", "The sessions of Punchlist's own agent", of::<r::Sessions>)
        .with(&[Param::Project, Param::Cursor, Param::Limit]),
    get("getSession", "/sessions/{session}", "A session", of::<r::Session>),
    get(
        "listSessionEntries",
        "/sessions/{session}/entries",
        "What happened in a session",
        of::<r::SessionEntries>,
    )
    .with(COUNTED),
    get("listRuns", "/runs", "Runs, the newest first", of::<r::Runs>).with(&[
        Param::Project,
        Param::Plan,
        Param::Running,
        Param::Cursor,
        Param::Limit,
    ]),
    get("getRun", "/runs/{run}", "A run with its calls", of::<r::RunWithCalls>),
    get("listAgents", "/agents", "The agents on the server's machine", of::<r::Agents>).with(&[
        Param::Project,
        Param::Cursor,
        Param::Limit,
    ]),
    get("search", "/search", "Find items and sessions by their texts", of::<r::Found>).with(&[
        Param::Text,
        Param::Project,
        Param::Cursor,
        Param::Limit,
    ]),
    get("events", "/events", "What happens from now on, as server-sent events", of::<r::Me>)
        .with(&[Param::After])
        .other(),
    get("openapi", "/openapi.json", "This document", of::<r::Me>).other(),
];

/// Adds the definition of an error.
pub(super) fn problem(generator: &mut SchemaGenerator) -> Schema {
    of::<r::Problem>(generator)
}
