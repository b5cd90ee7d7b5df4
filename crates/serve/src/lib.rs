//! Front ends for programs: the MCP server.
//!
//! A front end converts requests to operations of the model, and results to answers of its
//! protocol. It contains no rule, and keeps no state that the store does not keep.

#![forbid(unsafe_code)]

pub mod mcp;

/// The future that a [`mcp::Surroundings`] returns, so that other crates need not name the library
/// behind it.
pub use futures_core::future::BoxFuture;
