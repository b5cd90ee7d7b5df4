//! A run of a plan file at a terminal.
//!
//! The run itself is `punchlist_engine::run`; [`Terminal`] is its front end. `prompt` holds the questions that
//! wait and says what keys mean, `view` is the whole picture: both are pure. `show` writes it.

mod front_end;
mod prompt;
mod show;
mod view;

pub use front_end::Terminal;
