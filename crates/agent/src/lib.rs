//! The built-in [`tools`] of an agent.
//!
//! Nothing here decides whether a call may run: the policy in `sched` does.

#![forbid(unsafe_code)]

pub mod tools;
