//! What an agent may use: [`tools`], the built-in tools.
//!
//! Nothing here decides whether a call may run: that is policy's, in `sched`.

#![forbid(unsafe_code)]

pub mod tools;
pub mod turn;
