//! Front ends for programs: the MCP server, and the ACP agent for editors.
//!
//! A front end converts requests to operations of the model, and results to answers of its
//! protocol. It contains no rule, and keeps no state that the store does not keep.

#![forbid(unsafe_code)]

pub mod acp;
mod lines;
pub mod mcp;
mod skim;

/// The future that a [`mcp::Surroundings`] returns, so that other crates need not name the library
/// behind it.
pub use futures_core::future::BoxFuture;
