//! What the parts of a run know together: the plan as it is now, and what was heard of its items.
//!
//! One lock, never held across a wait; and one turn at writing the plan, which is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punchlist_model::call::Printed;
use punchlist_model::{Number, Plan};

use super::nest::Entry;

/// What is known, shared.
#[derive(Clone)]
pub(super) struct Shared(Arc<Both>);

struct Both {
    known: Mutex<Known>,
    turn: tokio::sync::Mutex<()>,
}

/// What is known.
pub(super) struct Known {
    /// The plan, whole.
    pub(super) plan: Plan,
    /// Items that somebody else has taken or closed while this run was at it, and what was said.
    pub(super) taken: BTreeMap<Number, String>,
    /// The sessions of agents, by the item that they are at, and not yet written down.
    pub(super) sessions: BTreeMap<Number, String>,
    /// What agents have on their own lists, by the item that they are at, and not yet written down.
    pub(super) lists: BTreeMap<Number, Vec<Entry>>,
    /// Items that were interrupted in an earlier run and have really begun again in this one.
    pub(super) retried: BTreeSet<Number>,
    /// Items that this run has in progress.
    pub(super) begun: BTreeSet<Number>,
    /// What steps have printed.
    pub(super) printed: BTreeMap<Number, Printed>,
    /// What a person should know.
    pub(super) notes: Vec<String>,
}

impl Shared {
    pub(super) fn new(plan: Plan) -> Self {
        let known = Mutex::new(Known {
            plan,
            taken: BTreeMap::new(),
            sessions: BTreeMap::new(),
            lists: BTreeMap::new(),
            retried: BTreeSet::new(),
            begun: BTreeSet::new(),
            printed: BTreeMap::new(),
            notes: Vec::new(),
        });
        Self(Arc::new(Both { known, turn: tokio::sync::Mutex::new(()) }))
    }

    /// Waits for the turn at writing the plan. Whoever has it decides on the plan that is known, and is
    /// not overtaken until what came of it is known too.
    pub(super) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.0.turn.lock().await
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Known> {
        // Whoever panicked with it left nothing half done: every change is one assignment.
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
