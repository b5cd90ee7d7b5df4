//! A scheduler for tool calls.
//!
//! The pure half: [`call`] is the state machine of one call, [`access`] says which calls conflict,
//! [`policy`] which calls need a person's approval, and [`machine`] decides for all calls together
//! what happens next. It returns [`machine::Effect`]s. This half does not wait, start processes or
//! read a clock.
//!
//! The other half: [`run`] is the entry point and performs the effects, [`tool`] defines what can
//! be called, [`process`] starts processes and ends them reliably, [`output`] stores what they
//! print. Neither half knows what a plan is.
//!
//! `README.md` has a first example.

#![forbid(unsafe_code)]

pub mod access;
pub mod call;
pub mod machine;
pub mod output;
pub mod policy;
pub mod process;
pub mod run;
pub mod tool;

pub use access::{Access, Scope};
pub use call::{BatchId, Call, CallError, CallId, CancelReason, Outcome, Output, Request, Retry};
pub use machine::{Effect, Input, Limits, Scheduler};
pub use policy::{Decision, Policy, Rule, Subject};
pub use process::{Command, Processes, guardian, sandbox};
pub use punchlist_model::call::{Answer, Asked, Offer};
pub use run::{
    Batch, Event, Events, Ledger, NoLedger, Options, PlannedCall, Question, Run, RunningBatch,
};
pub use tool::{Preview, Tool, ToolFn, Tools, Work, tool_fn};
