//! Tests of the crate from outside, with real shells, real files and a model server on loopback.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should stop there"
)]

mod crash;
mod mcp;
mod provider;
mod session;
mod tools;
mod workers;
