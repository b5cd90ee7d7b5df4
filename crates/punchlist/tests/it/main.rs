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
mod init;
mod install;
mod instructions;
mod leading;
mod machine;
mod many;
mod mcp;
mod moved;
mod own_sessions;
mod people;
mod person;
mod picture;
mod places;
mod policy;
mod processes;
mod questions;
mod readme;
mod run;
#[cfg(target_os = "linux")]
mod sandbox;
mod schema;
mod sessions;
mod stories;
mod terminal;
mod tidy;
mod tool;
mod torture;
mod typed;
mod watch;
mod whose;
mod world;
