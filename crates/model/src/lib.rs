//! What is true: plans, items, rules, events, and what any store must promise.
//!
//! Pure: no clock, no I/O, no async, no random numbers. Commands come in, events or a refusal go
//! out; a store runs the same three steps inside its own transaction (load, [`decide::decide`],
//! write), so no store contains a rule.
//!
//! Reading order: [`item`], [`slice`] and [`plan`] are the data, [`command`] what may be asked, [`event`] what
//! happened, [`mod@decide`] the rules between them, [`refusal`] what is said when the answer is no.
//! [`call`] is what stores keep of work under way.

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
    Attempt, IdSource, ItemId, MessageId, Number, PlanId, Position, QuestionId, Revision, RunId,
    WriteId,
};
pub use item::{Check, Claim, Evidence, Item, Level, Mark, Origin, Run, Status, Verification};
pub use limits::Limits;
pub use plan::{End, MadeFor, Plan, Progress, Rules};
pub use refusal::{Broken, Problem, Refusal, Tag, Warning};
pub use session::{Session, SessionKey};
pub use slice::Slice;

/// The clock's type, so that other crates need not name the library behind it.
pub use jiff::Timestamp;

// The example names this crate as others do.
#[cfg(test)]
extern crate self as punchlist_model;
#[cfg(test)]
mod tests;
