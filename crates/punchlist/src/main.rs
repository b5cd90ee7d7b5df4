//! The binary: verbs, configuration, and the only place where the rooms are joined.
//!
//! Nothing here is a rule of the plan; those live in the model. Nothing but [`mod@print`] writes to
//! stdout and stderr, and nothing but [`clock`] looks at the clock or draws random numbers.

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
mod pager;
mod patience;
mod permission;
mod person;
mod places;
mod plan_choice;
mod print;
mod repository;
mod run;
mod verb;
mod watch;

use punchlist_bridge::private;
use punchlist_engine::check::evidence;
use punchlist_engine::outputs;
use punchlist_engine::{archive, fail, merge, project};
use punchlist_tui::terminal::{input, keyboard};
// Waits for the answer of a store where there is no runtime.
pub(crate) use pollster::block_on;

fn main() -> std::process::ExitCode {
    // Before anything else is looked at: it may be about to become another program.
    punchlist_sched::guardian::enter_if_called();
    app::main()
}
