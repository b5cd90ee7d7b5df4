//! The server before programs that others wrote, over HTTP on loopback; and its two ways for a call.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on should stop there, and says what it saw"
)]

mod conformance;
mod lanes;
mod world;
