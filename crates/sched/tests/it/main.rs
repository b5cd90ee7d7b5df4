//! The driver as its callers meet it, with tools that do what a test tells them and no processes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should stop there"
)]

mod driver;
mod example;
mod stage;
