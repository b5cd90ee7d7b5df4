//! The HTTP API: its routes, what programs send and get, and the OpenAPI document that says so.
//!
//! [`ROUTES`] is the table from which the server builds its router and its checks of roles, and from which
//! the document is generated. Nothing here knows HTTP beyond names.

mod openapi;
mod request;
#[expect(dead_code, reason = "the document is generated from these types; no value is created")]
mod response;
mod routes;
mod values;

pub use openapi::document;
pub use request::{AnswerRequest, ChangeRequest, ItemName, NewPlanRequest, OpRequest, UndoRequest};
pub use routes::{Method, Param, ROUTES, Route, Shape};
pub use values::{agent, call, conversation, run, turn_entry};

/// Where the API is mounted.
pub const PREFIX: &str = "/api/v1";

/// How many entries a page of a list has, if the caller does not say.
pub const PAGE: u32 = 50;

/// How many entries a page has at most.
pub const MOST: u32 = 200;
