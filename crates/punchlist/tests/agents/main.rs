//! Real agents with a scripted model, after nothing but `punchlist install AGENT --yes`; and what
//! `punchlist events` makes of the words of Claude Code, Codex and Gemini CLI.
//!
//! `cargo xtask test agents` installs the programs, shuts the tests into a network namespace with
//! loopback alone and runs them; by themselves they are ignored. Tests of Codex and Gemini CLI are in
//! the modules of those names, those of all at once in `mixed`, and the others are Claude Code's. A
//! test is a scenario: what the model does, and then what it was told, what the store holds, and how
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
mod evidence;
mod gemini;
mod install;
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
