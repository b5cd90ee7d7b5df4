//! Tests with real agents and a scripted model, after only `punchlist install AGENT --yes`; and
//! what `punchlist events` reads from Claude Code, Codex and Gemini CLI.
//!
//! `cargo xtask test agents` installs the programs, and runs the tests in a network namespace that
//! has only loopback; otherwise they are ignored. The tests of Codex and Gemini CLI are in the
//! modules of those names, tests with all agents in `mixed`, and the others are Claude Code's. Each
//! test is a scenario: what the model does, then what it was told, what the store contains, and how
//! the program ended.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should stop there"
)]

mod answers;
mod broken;
mod claude;
mod codex;
mod cut_short;
mod delegating;
mod evidence;
mod gemini;
mod install;
mod leading;
mod letting_go;
mod lists;
mod live;
mod memory;
mod mixed;
mod place;
mod project;
mod questions;
mod refusals;
mod reminders;
mod run;
mod screen;
mod search;
mod server;
mod shown;
mod stops;
mod streams;
mod sub_agents;
mod terminal;
mod together;
mod weather;
mod workers;
