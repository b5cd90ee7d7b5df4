//! Shared work: the plans that workers take items from, and who wrote their commands.

use std::collections::{BTreeMap, BTreeSet};

use futures_core::future::BoxFuture;

use super::Error;
use crate::id::{Number, PlanId, Revision};
use crate::item::{Check, Item, RESERVED, Run};

/// The shared work of a store.
///
/// The promises are those of [`super::PlanStore`]: each method is one transaction.
pub trait WorkStore: Send + Sync {
    /// The shared plans of a project that have open items, oldest first. A plan that another process is changing
    /// at this moment may be left out: the end of that change wakes [`crate::call::CallStore::news`].
    fn shared(&self, project: String) -> BoxFuture<'_, Result<Vec<SharedPlan>, Error>>;

    /// Who last wrote the commands of these items. The store finds that out itself; a caller cannot set it.
    fn publishers(
        &self,
        plan: PlanId,
        items: BTreeSet<Number>,
    ) -> BoxFuture<'_, Result<Publishers, Error>>;
}

/// A shared plan with open items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedPlan {
    /// The plan.
    pub id: PlanId,
    /// Its revision.
    pub revision: Revision,
}

/// Who wrote commands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Publishers {
    /// The plan's revision at which this was so.
    pub revision: Revision,
    /// The publisher of each item: a role of the database server, or the owner of the database file.
    pub of: BTreeMap<Number, String>,
    /// If the store is a file of the user who runs this program: that user, as a publisher.
    pub own: Option<String>,
}

/// What a worker would do for an item, as far as somebody wrote it: whoever changed one of these last is the
/// item's publisher.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commands {
    run: Option<Run>,
    check: Option<Check>,
    approve: bool,
    agent: Option<[String; 4]>,
    /// The directory in which they run.
    below: Option<serde_json::Value>,
}

impl Commands {
    /// The commands of an item. For an agent, its texts are the command.
    pub fn of(item: &Item) -> Self {
        let texts = |agent: &String| {
            let (context, criteria) = (&item.context, &item.completion_criteria);
            [agent, &item.title, context, criteria].map(String::clone)
        };
        let file = item.metadata.as_ref().and_then(|it| it.get(RESERVED));
        Self {
            run: item.run.clone(),
            check: item.check.clone(),
            approve: item.approve,
            agent: item.agent_type.as_ref().map(texts),
            below: file.and_then(|it| it.get("below")).cloned(),
        }
    }
}
