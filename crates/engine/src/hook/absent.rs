//! Tasks that have an item in the plan but do not exist in the agent's list: they were announced by
//! a call that never finished, or deleted by another session in a shared list.

use punchlist_formats::hook::Source;
use punchlist_model::store::{Change, Error};
use punchlist_model::{ItemRef, Op};

use super::Exchange;
use super::mirror::item_id;

impl Exchange<'_> {
    /// The agent's own tool has reported that a task does not exist. The item stays open, because
    /// nobody has cancelled it. But it loses its task id, so that texts for the agent name our
    /// tools for it. If the task is being created at the same time, the result of that call maps
    /// the id again.
    pub(crate) async fn absent(&self, task: &str) -> Result<(), Error> {
        self.remember(|memory| {
            memory.mirrored.remove(task);
        })
        .await
    }

    /// Resolves tasks that were announced and neither created nor refused before the agent ended.
    /// Only after a resume is it certain that no call is still running; then the agent's own files
    /// show which tasks exist.
    pub(crate) async fn settle_unconfirmed(&self, source: Source) -> Result<(), Error> {
        let unconfirmed = &self.session.memory.unconfirmed;
        if source != Source::Resume || unconfirmed.is_empty() {
            return Ok(());
        }
        let never: Vec<&String> =
            unconfirmed.iter().filter(|it| self.task_file(it).is_none()).collect();
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
