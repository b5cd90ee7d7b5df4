//! What the parts of a run share: the plan as it is now, and what the run has in progress.
//!
//! One lock, never held across a wait; and one turn at writing the plan, which is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punchlist_model::{Number, Plan};

/// What is known, shared.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Both>);

struct Both {
    known: Mutex<RunState>,
    turn: tokio::sync::Mutex<()>,
}

/// What is known.
pub(crate) struct RunState {
    /// The plan, whole.
    pub(crate) plan: Plan,
    /// Items that somebody else has taken or closed while this run was at it, and what was said.
    pub(crate) taken: BTreeMap<Number, String>,
    /// Items that were interrupted in an earlier run and have really begun again in this one.
    pub(crate) retried: BTreeSet<Number>,
    /// Items that this run has in progress.
    pub(crate) begun: BTreeSet<Number>,
    /// What a person should know.
    pub(crate) notes: Vec<String>,
}

impl Shared {
    pub(crate) fn new(plan: Plan) -> Self {
        let known = Mutex::new(RunState {
            plan,
            taken: BTreeMap::new(),
            retried: BTreeSet::new(),
            begun: BTreeSet::new(),
            notes: Vec::new(),
        });
        Self(Arc::new(Both { known, turn: tokio::sync::Mutex::new(()) }))
    }

    /// Waits for the turn at writing the plan. Whoever has it decides on the plan that is known, and is
    /// not overtaken until what came of it is known too.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.0.turn.lock().await
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, RunState> {
        // Whoever panicked with it left nothing half done: every change is one assignment.
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
