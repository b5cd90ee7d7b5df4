//! A worker: takes ready items of shared plans and does them on this machine.
//!
//! A program passes in what the worker may do ([`Options`]) and the environment
//! ([`run::Surroundings`](crate::run::Surroundings)), and calls [`work`]. A [`FrontEnd`] receives events and
//! says when to stop. The design is in `docs/design/work.md`.
//!
//! `plans` keeps copies of the shared plans; `ready` decides which items can be taken; `trust` decides whose
//! commands run; `tidy` cleans up after others; `item` executes one claimed item; `worker` is the loop that
//! connects them.

mod front_end;
mod item;
mod plans;
mod ready;
#[cfg(test)]
mod tests;
mod tidy;
mod trust;
mod worker;

use std::num::NonZeroU32;
use std::path::PathBuf;

use punchlist_model::PlanId;

use crate::run::Permissions;

pub(crate) use ready::is_under_way;
pub(crate) use tidy::{lapsed_anywhere as lapsed, lease_end};

pub use front_end::{Event, FrontEnd, Stopping};
pub use ready::Kinds;
pub use trust::Trust;
pub use worker::{Ended, work};

/// What a worker may do.
#[derive(Clone)]
pub struct Options {
    /// The project whose plans it works on.
    pub project: String,
    /// The root of this machine's checkout of the project.
    pub checkout: PathBuf,
    /// Only this plan.
    pub plan: Option<PlanId>,
    /// Which kinds of items it takes.
    pub kinds: Kinds,
    /// How many items it executes at the same time.
    pub jobs: NonZeroU32,
    /// Whose commands it runs without a rule.
    pub trust: Trust,
    /// The policy rules of this machine.
    pub permissions: Permissions,
}
