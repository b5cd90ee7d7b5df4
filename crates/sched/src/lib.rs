//! Tool calls as tasks: who runs when, and what became of it.
//!
//! The pure half: [`call`] is one call's life, [`access`] says which calls get in each other's way,
//! [`policy`] which need a person's word, and [`machine`] decides for all calls together what happens
//! next. Its answers are [`machine::Effect`]s. Nothing there waits, starts a process or looks at a clock.
//!
//! The other half: [`run`] performs effects and is the way in, [`tool`] is what can be called, [`process`]
//! starts processes and really ends them, [`output`] keeps what they say. Neither half knows what a plan is.
//!
//! `README.md` has an example to begin with.

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
pub use process::{Command, Processes, guardian};
pub use punchlist_model::call::{Answer, Asked, Offer};
pub use run::{
    Batch, Event, Events, Ledger, NoLedger, Options, PlannedCall, Question, Run, RunningBatch,
};
pub use tool::{Preview, Tool, ToolFn, Tools, Work, tool_fn};
