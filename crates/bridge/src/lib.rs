//! Other agents on this machine: their processes and files, installation, doctor, watching.
//!
//! This crate reads no settings and no environment variables; callers pass them in. It does not
//! know plans: `engine` stores what it finds.

#![forbid(unsafe_code)]

pub mod acp_proxy;
pub mod background;
pub mod browser;
pub mod doctor;
pub mod editor;
pub mod git;
pub mod install;
pub mod key_command;
pub mod lead;
pub mod notify_command;
pub mod pager;
pub mod private;
pub mod process;
pub mod program;
pub mod replace;
pub mod shell;
pub mod spawn;
pub mod watch;

// So that the example in the README can name this crate as others do.
#[cfg(test)]
extern crate self as punchlist_bridge;
#[cfg(test)]
#[path = "../examples/replace_file.rs"]
mod replace_file_example;

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_runs_and_the_readme_shows_it() {
        super::replace_file_example::main().unwrap();
        let readme = include_str!("../README.md");
        assert!(readme.contains(include_str!("../examples/replace_file.rs")));
    }
}
