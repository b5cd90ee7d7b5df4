//! The binary: verbs, configuration, and the only place where the rooms are joined.
//!
//! Nothing here is a rule of the plan; those live in the model. Nothing but [`mod@print`] writes to
//! the terminal, and nothing but [`clock`] looks at the clock or draws random numbers.

mod agent;
mod app;
mod archive;
mod args;
mod called;
mod canvas;
mod change;
mod check;
mod checklist;
mod clock;
mod config;
mod consent;
mod editing;
mod error;
mod evidence;
mod feed;
mod glob;
mod here;
mod hint;
mod hook_event;
mod input;
mod items;
mod keyboard;
mod keys;
mod last_call;
mod line_editor;
mod memory;
mod merge;
mod outputs;
mod pager;
mod patience;
mod permit;
mod person;
mod places;
mod print;
mod private;
mod project;
mod repository;
mod run;
mod settle;
mod survey;
mod trust;
mod verb;
mod watch;
mod which;
mod who;

fn main() -> std::process::ExitCode {
    // Before anything else is looked at: it may be about to become another program.
    punchlist_sched::guardian::enter_if_called();
    app::main()
}
