//! The other agents on this machine: their processes and files, installation, doctor, watching.
//!
//! The pure half of each part comes first. This crate reads no configuration and no environment by
//! itself: callers hand them in. It knows no plans: `engine` keeps what it finds.

#![forbid(unsafe_code)]

pub mod acp_proxy;
pub mod doctor;
pub mod editor;
pub mod git;
pub mod install;
pub mod pager;
pub mod private;
pub mod process;
pub mod program;
pub mod replace;
pub mod spawn;
pub mod watch;
