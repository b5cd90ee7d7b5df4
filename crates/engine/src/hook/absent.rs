//! Tasks that we have an item for and the agent has none of: announced by a call that came to no end,
//! or deleted by somebody else in a list that several share.

use punchlist_formats::hook::Source;
use punchlist_model::store::{Change, Error};
use punchlist_model::{ItemRef, Op};

use super::Exchange;
use super::mirror::item_id;

impl Exchange<'_> {
    /// The agent's own tool has said that there is no such task. The item stays, since nobody has said
    /// that it is not to be done; but it has no name there any more, so that the agent is told of the
    /// tools that reach it. Should the task be made only now, beside this, its result names it again.
    pub(crate) async fn absent(&self, task: &str) -> Result<(), Error> {
        self.remember(|memory| {
            memory.mirrored.remove(task);
        })
        .await
    }

    /// What was announced before the agent was ended, and neither made nor refused. Nothing is under way
    /// when a session is resumed, so that the agent's own files tell; elsewhere it may be.
    pub(crate) async fn settle_unconfirmed(&self, source: Source) -> Result<(), Error> {
        let unconfirmed = &self.session.memory.unconfirmed;
        if source != Source::Resume || unconfirmed.is_empty() {
            return Ok(());
        }
        let never: Vec<&String> = unconfirmed.iter().filter(|it| self.file(it).is_none()).collect();
        if let Some(plan) = self.whole("").await? {
            let ids = never.iter().map(|task| item_id(&self.session, plan.id, task));
            let open = |id| plan.items.values().any(|item| item.id == id && item.is_open());
            let ops: Vec<Op> =
                ids.filter(|id| open(*id)).map(|id| Op::Supersede(ItemRef::Id(id))).collect();
            if !ops.is_empty() {
                self.store.change(plan.id, Change::new(ops, self.ctx())).await?;
            }
        }
        self.remember(|memory| {
            memory.mirrored.retain(|task, _| !never.contains(&task));
            memory.unconfirmed.clear();
        })
        .await
    }
}
