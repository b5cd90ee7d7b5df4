//! The server before programs that others wrote, over HTTP on loopback; its two ways for a call; and lines
//! that are none.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on should stop there, and says what it saw"
)]

mod conformance;
mod lanes;
mod lines;
mod world;
