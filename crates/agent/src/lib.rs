//! What an agent may use, and what policy is told about it.
//!
//! [`tools`] are the built-in tools, [`shell`] says which commands a command line consists of, [`rules`]
//! are policy's in files. Nothing here decides whether a call may run: that is policy's, in `sched`.

#![forbid(unsafe_code)]

pub mod rules;
pub mod shell;
pub mod tools;
