//! The front end for people at a terminal: shows views, asks questions and reads keys.
//!
//! The pure half: [`keys`] decodes keys from bytes, [`input`] is the
//! multi-line input, [`commands`] has the slash commands, `line_editor` edits one line, `prompt` has the open
//! questions, [`text`] renders Markdown and diffs, [`theme`] gives styles their colours, and the
//! states and views of [`run`], [`session`], [`team`] and [`watch`] do no I/O. The other half is [`terminal`], which writes to the
//! terminal and reads from it. [`Options`] has everything that the crate knows about its
//! environment: it reads no environment variables, no configuration and no clock.

#![forbid(unsafe_code)]

mod about;
pub mod app;
pub mod commands;
mod dialog;
mod fuzzy;
pub mod input;
pub mod keys;
mod line_editor;
pub mod notify;
mod options;
mod prompt;
mod queue_rows;
pub mod run;
pub mod session;
pub mod team;
pub mod terminal;
pub mod text;
pub mod theme;
pub mod watch;
pub mod work;

pub use options::{Options, Screen};

// The example uses the name that other crates use.
#[cfg(test)]
extern crate self as punchlist_tui;
#[cfg(test)]
#[path = "../examples/watch.rs"]
mod watch_example;

#[cfg(test)]
mod screens;

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_runs_and_the_readme_shows_it() {
        super::watch_example::main().unwrap();
        let readme = include_str!("../README.md");
        assert!(readme.contains(include_str!("../examples/watch.rs")));
    }
}
