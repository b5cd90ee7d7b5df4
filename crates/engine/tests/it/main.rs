//! Tests of the crate from outside, with real shells.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop there")]

mod acts;
mod consequences;
mod examples;
mod shell;
