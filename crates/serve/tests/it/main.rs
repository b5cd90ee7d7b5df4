//! The server over HTTP on loopback, before programs that others wrote.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on should stop there, and says what it saw"
)]

mod conformance;
mod world;
