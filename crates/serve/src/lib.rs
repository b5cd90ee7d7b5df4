//! Faces for programs: the MCP server.
//!
//! A face turns what it was asked into steps of the model and writes the answer in its protocol's
//! words. It contains no rule, and keeps nothing that the store does not keep.

#![forbid(unsafe_code)]

pub mod desk;
pub mod mcp;

/// What a [`mcp::Surroundings`] answers with, so that other crates need not name the library behind it.
pub use futures_core::future::BoxFuture;
