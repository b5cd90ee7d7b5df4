//! Policy: who may do what.
//!
//! [`rules`] reads and writes policy rules in TOML; [`shell`] splits a command line into its
//! commands. The scheduler's policy in `sched` decides whether a call may run. [`human`] tells
//! people from agents, [`checks`] decides whether a check may run, [`consent`] keeps a person's
//! consent to checks that agents wrote and to a project's instructions, [`digest_consent`] that to MCP
//! servers that a project or an editor names and to a project's custom commands, [`explain`] explains
//! what the rules do with a call, and [`trusted_files`] decides which files of a project may be used.
//! [`given`] lists everything that a person has allowed, and takes it back.

pub mod checks;
pub mod consent;
pub mod digest_consent;
pub mod explain;
pub mod given;
pub mod human;
pub mod rules;
pub mod shell;
pub mod trusted_files;
