//! Shows a run of a plan file at a terminal.
//!
//! `punchlist_engine::run` executes the run; [`Terminal`] is its front end. `view` draws the screen
//! and is pure. `show` writes to the terminal.

mod front_end;
mod show;
mod view;

pub use front_end::Terminal;
