//! An agent of our own: [`tools`], the built-in tools; [`turn`], how a request is worked on; [`provider`],
//! the models; [`workers`], who does an item that the agent delegates.
//!
//! This is the only crate that opens connections to other machines, and only `provider` does so.
//! Nothing here decides whether a call may run: that is policy's, in `sched`.

#![forbid(unsafe_code)]

pub mod provider;
pub mod session;
pub mod tools;
pub mod turn;
pub mod workers;
