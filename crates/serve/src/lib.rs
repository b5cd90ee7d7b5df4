//! Front ends for programs and browsers: the MCP server, the ACP agent for editors, and the HTTP server.
//!
//! A front end converts requests to operations of the model, and results to answers of its
//! protocol. It contains no rule, and keeps no state that the store does not keep.

#![forbid(unsafe_code)]

pub mod acp;
pub mod http;
mod lines;
pub mod mcp;
pub mod pages;
mod skim;

/// The future that a [`mcp::Surroundings`] returns, so that other crates need not name the library
/// behind it.
pub use futures_core::future::BoxFuture;
