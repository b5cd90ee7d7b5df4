//! Shows a run of a plan file at a terminal.
//!
//! `punchlist_engine::run` executes the run; [`Terminal`] is its front end. `prompt` has the open
//! questions and interprets keys, `view` draws the screen; both are pure. `show` writes to the
//! terminal.

mod front_end;
mod prompt;
mod show;
mod view;

pub use front_end::Terminal;
