//! The front end for people at a terminal: it shows, asks, and reads keys.
//!
//! The pure half comes first: `keys` reads keys from bytes, `line_editor` is a line that somebody types,
//! and the states and views of [`run`] and [`watch`] know no terminal. [`terminal`] is the half that writes
//! to one and reads from it. What the crate knows of its surroundings comes in [`Options`]: it reads no
//! environment, no configuration and no clock.

#![forbid(unsafe_code)]

mod keys;
mod line_editor;
mod options;
pub mod run;
pub mod terminal;
pub mod watch;

pub use options::{Options, Screen};

// The example names this crate as others do.
#[cfg(test)]
extern crate self as punchlist_tui;
#[cfg(test)]
#[path = "../examples/watch.rs"]
mod watch_example;

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_runs_and_the_readme_shows_it() {
        super::watch_example::main().unwrap();
        let readme = include_str!("../README.md");
        assert!(readme.contains(include_str!("../examples/watch.rs")));
    }
}
