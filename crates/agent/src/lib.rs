//! An agent of our own: [`tools`], the built-in tools; [`turn`], how a request is worked on;
//! [`context`], what the model reads; [`provider`], the models.
//!
//! This is the only crate that opens connections to other machines, and only `provider` does so.
//! Nothing here decides whether a call may run: that is policy's, in `sched`.

#![forbid(unsafe_code)]

pub mod config;
pub mod context;
pub mod provider;
pub mod session;
pub mod tools;
pub mod turn;
