//! The binary: verbs, configuration, and the only place that connects all crates.
//!
//! It has no rules of the plan; those are in the model. Only [`mod@print`] writes to stdout and
//! stderr, and only [`clock`] reads the clock and gets random numbers.

#![forbid(unsafe_code)]

mod agent;
mod app;
mod args;
mod called;
mod change;
mod clock;
mod config;
mod current_session;
mod database;
mod editing;
mod hook_event;
mod identity;
mod items;
mod notify;
mod pager;
mod patience;
mod permission;
mod person;
mod places;
mod plan_choice;
mod print;
mod repository;
mod run;
mod server;
mod session;
mod terminal_ui;
mod verb;
mod watch;
mod work;

use punchlist_bridge::private;
use punchlist_engine::check::evidence;
use punchlist_engine::outputs;
use punchlist_engine::{archive, fail, merge, project};
use punchlist_tui::terminal::{input, keyboard};
// Waits for a store where there is no async runtime.
pub(crate) use pollster::block_on;

fn main() -> std::process::ExitCode {
    // First of all: if this process was started as a guardian, this call never returns.
    punchlist_sched::guardian::enter_if_called();
    app::main()
}
