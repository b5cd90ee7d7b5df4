//! Other agents on this machine: their processes and files, installation, doctor, watching.
//!
//! This crate reads no settings and no environment variables; callers pass them in. It does not
//! know plans: `engine` stores what it finds.

#![forbid(unsafe_code)]

pub mod acp_proxy;
pub mod background;
pub mod doctor;
pub mod editor;
pub mod git;
pub mod install;
pub mod key_command;
pub mod lead;
pub mod pager;
pub mod private;
pub mod process;
pub mod program;
pub mod replace;
pub mod spawn;
pub mod watch;
