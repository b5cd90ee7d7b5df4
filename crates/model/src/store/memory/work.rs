//! Shared work, in memory.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_core::future::BoxFuture;

use super::{Memory, State};
use crate::id::{Number, PlanId};
use crate::item::Item;
use crate::plan::Plan;
use crate::store::Error;
use crate::store::work::{Commands, Publishers, SharedPlan, WorkStore};

impl Memory {
    /// Another handle on the same store, for another user. What this user writes is published by them.
    #[must_use]
    pub fn used_by(&self, user: impl Into<String>) -> Self {
        Self { state: Arc::clone(&self.state), user: Some(user.into()), ..*self }
    }
}

impl WorkStore for Memory {
    fn shared(&self, project: String) -> BoxFuture<'_, Result<Vec<SharedPlan>, Error>> {
        let state = self.state();
        let is_shared = |it: &&Plan| it.project == project && it.rules.shared && it.recount().1 > 0;
        let mut plans: Vec<&Plan> = state.plans.values().filter(is_shared).collect();
        plans.sort_by_key(|it| (it.created_at, it.id));
        let shared = |it: &Plan| SharedPlan { id: it.id, revision: it.revision };
        self.answer(Ok(plans.into_iter().map(shared).collect()))
    }

    fn publishers(
        &self,
        plan: PlanId,
        items: BTreeSet<Number>,
    ) -> BoxFuture<'_, Result<Publishers, Error>> {
        let state = self.state();
        self.answer(state.plan(plan).map(|it| {
            Publishers {
                revision: it.revision,
                of: items
                    .into_iter()
                    .filter_map(|item| Some((item, state.publishers.get(&(plan, item))?.clone())))
                    .collect(),
                own: self.user.is_none().then(|| OWN.to_owned()),
            }
        }))
    }
}

/// The publisher if a store has one user.
const OWN: &str = "me";

impl State {
    /// Records who wrote the commands that a change made.
    pub(super) fn publish(&mut self, before: Option<&Plan>, after: &Plan) {
        for item in after.items.values() {
            let is_same = |it: &Item| Commands::of(it) == Commands::of(item);
            if !before.and_then(|it| it.get(item.number)).is_some_and(is_same) {
                let user = self.user.clone().unwrap_or_else(|| OWN.to_owned());
                self.publishers.insert((after.id, item.number), user);
            }
        }
    }
}
