//! The worker's copies of the shared plans, brought up to date from their journals.

use std::collections::BTreeMap;
use std::sync::Arc;

use punchlist_model::PlanId;
use punchlist_model::session::Store;
use punchlist_model::store::Error;
use punchlist_model::store::work::SharedPlan;

use crate::plan_service::LivePlan;
use crate::run::Tree;

/// A shared plan.
pub(crate) struct Tracked {
    pub(crate) live: LivePlan,
    pub(crate) tree: Arc<Tree>,
}

/// The shared plans with open items.
pub(crate) struct Plans {
    store: Arc<dyn Store>,
    project: String,
    only: Option<PlanId>,
    /// In the order in which the store lists them.
    pub(crate) order: Vec<PlanId>,
    pub(crate) all: BTreeMap<PlanId, Tracked>,
}

impl Plans {
    pub(crate) fn new(store: Arc<dyn Store>, project: String, only: Option<PlanId>) -> Self {
        Self { store, project, only, order: Vec::new(), all: BTreeMap::new() }
    }

    /// Reads which plans are shared, and what has changed in them. A plan that the store leaves out for
    /// a moment keeps its copy.
    pub(crate) async fn update(&mut self) -> Result<(), Error> {
        let mut shared = self.store.shared(self.project.clone()).await?;
        shared.retain(|it| self.only.is_none_or(|only| only == it.id));
        self.order = shared.iter().map(|it| it.id).collect();
        for SharedPlan { id, revision } in shared {
            match self.all.get_mut(&id) {
                Some(tracked) if tracked.live.plan().revision >= revision => {}
                Some(tracked) => {
                    tracked.live.catch_up().await?;
                    tracked.tree = Arc::new(Tree::of(tracked.live.plan()));
                }
                None => {
                    let plan = self.store.whole(id).await?;
                    let tree = Arc::new(Tree::of(&plan));
                    let live = LivePlan::new(Arc::clone(&self.store), plan);
                    self.all.insert(id, Tracked { live, tree });
                }
            }
        }
        Ok(())
    }
}
