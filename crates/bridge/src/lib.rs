//! The other agents on this machine: their sessions, their hooks, installation, doctor, listening.
//!
//! The pure half of each part comes first. Plans are reached only through the model's store; this
//! crate looks at no configuration and no environment of its own accord, it is given them.

#![forbid(unsafe_code)]

pub mod doctor;
pub mod editor;
pub mod git;
pub mod hook;
pub mod install;
pub mod process;
pub mod replace;
pub mod session;
pub mod spawn;
pub mod tap;
pub mod watch;
