//! The real Claude Code with a scripted model, after nothing but `punchlist install claude --yes`.
//!
//! `cargo xtask test agents` installs the program, shuts the tests into a network namespace with
//! loopback alone and runs them; by themselves they are ignored. A test is a scenario: what the
//! model does, and then what it was told, what the store holds, and how the program ended.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should stop there"
)]

mod broken;
mod claude;
mod install;
mod letting_go;
mod memory;
mod place;
mod questions;
mod reminders;
mod screen;
mod stops;
mod sub_agents;
mod together;
mod weather;
