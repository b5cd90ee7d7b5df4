//! Plans, items, rules and events, and the contract of a store.
//!
//! Pure: no clock, no I/O, no async, no random numbers. Operations go in; events or a refusal come
//! out. A store loads, calls [`decide::decide`] and writes, in one transaction, so no store
//! contains a rule.
//!
//! Reading order: [`item`], [`mod@slice`] and [`plan`] are the data, [`command`] the operations, [`event`] what
//! happened, [`mod@decide`] the rules, [`refusal`] the reasons of a refusal. [`call`] has the
//! records of work in progress.

#![forbid(unsafe_code)]

pub mod actor;
pub mod agents;
pub mod call;
pub mod command;
pub mod decide;
pub mod event;
pub mod forget;
pub mod goal;
pub mod guard;
pub mod id;
pub mod item;
pub mod json;
pub mod json_text;
pub mod legacy_ids;
pub mod limits;
pub mod needs;
pub mod nested;
pub mod plan;
pub mod refusal;
pub mod remind;
pub mod row_changes;
pub mod session;
pub mod slice;
pub mod store;
pub mod undo;

pub use actor::{Actor, ActorKind, Holder, Process};
pub use command::{Ctx, ItemRef, ListEntry, Mode, NewItem, Op, Patch, Place, PlanPatch};
pub use decide::{Decision, decide};
pub use event::{Delta, Event, Field, What};
pub use goal::{Budget, Goal};
pub use id::{
    Attempt, ConversationId, GrantId, IdSource, ItemId, MessageId, Number, PlanId, Position,
    QuestionId, Revision, RunId, WriteId,
};
pub use item::{Check, Claim, Evidence, Item, Level, Mark, Origin, Run, Status, Verification};
pub use limits::Limits;
pub use plan::{End, MadeFor, Plan, Progress, Rules};
pub use refusal::{Broken, Problem, Refusal, Tag, Warning};
pub use session::{Session, SessionKey};
pub use slice::Slice;

/// The type of points in time, so that other crates need not name `jiff`.
pub use jiff::Timestamp;

// The example is compiled as a test and uses this crate by its public name.
#[cfg(test)]
extern crate self as punchlist_model;
#[cfg(test)]
mod tests;
