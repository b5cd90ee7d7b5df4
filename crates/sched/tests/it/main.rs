//! Tests of the driver with tools that do what a test tells them, without processes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should stop there"
)]

mod driver;
mod example;
mod stage;
