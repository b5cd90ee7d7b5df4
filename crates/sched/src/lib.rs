//! Tool calls as tasks: who runs when, and what became of it.
//!
//! The pure half: [`call`] is one call's life, [`access`] says which calls get in each other's way,
//! [`policy`] which need a person's word, and [`machine`] decides for all calls together what happens
//! next. Its answers are [`machine::Effect`]s, which somebody else performs. Nothing here waits, starts
//! a process, looks at a clock or knows what a plan is.

pub mod access;
pub mod call;
pub mod machine;
pub mod policy;

pub use access::{Access, Scope};
pub use call::{BatchId, Call, CallError, CallId, CancelReason, Outcome, Output, Request, Retry};
pub use machine::{Effect, Input, Limits, Options, Scheduler};
pub use policy::{Decision, Policy, Rule, Subject};
