//! Tests of the real binary, each in a directory of its own.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should stop there"
)]

/// Compares a text with its snapshot, which should read like a document.
macro_rules! told {
    ($($text:expr),+) => {
        insta::with_settings!({omit_expression => true}, { insta::assert_snapshot!($($text),+) })
    };
}

mod acp;
mod acp_tap;
mod aimock;
mod archive;
mod bad_input;
mod builtin;
mod characters;
mod do_task;
mod doctor;
mod editing;
mod events;
mod everyday;
mod evidence;
mod examples;
mod faults;
mod follow;
mod held;
mod help;
mod hook;
mod hooks;
mod hostile_project;
#[cfg(target_os = "linux")]
mod hosts;
mod init;
mod install;
mod instructions;
mod leading;
mod machine;
mod many;
mod mcp;
mod moved;
mod notify;
mod own_sessions;
mod people;
mod person;
mod picture;
mod places;
mod policy;
mod pooler;
mod postgres;
mod processes;
mod pseudo_terminal;
mod questions;
mod readme;
mod run;
#[cfg(target_os = "linux")]
mod sandbox;
mod schema;
mod serve;
mod sessions;
mod stories;
mod team;
mod terminal;
mod terminal_commands;
mod terminal_pictures;
mod terminal_ui;
mod tidy;
mod tool;
mod torture;
mod typed;
mod watch;
mod whose;
mod work;
mod world;
