//! Tests of the server: the conformance suite over HTTP on loopback, calls over connections, and
//! lines that are not messages.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on should stop there, and says what it saw"
)]

mod calls;
mod conformance;
mod example;
mod http;
mod lines;
mod world;
