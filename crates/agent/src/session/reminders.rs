//! Reminds the model of its list, where the list is not part of every call.

use punchlist_engine::fail::Fail;
use punchlist_formats::prompt::{self, Tag, Tools};
use punchlist_model::Plan;
use punchlist_model::remind::{Agent, Input, Kind, Reminder};
use punchlist_model::store::turns::{ConversationState, Used};

use super::driver::Driver;
use super::entry::Entry;
use crate::context::Inject;

/// The runtime puts the list into the call after each change, and has texts of its own for a new turn.
const AGENT: Agent =
    Agent { has_tools: true, reminds_itself: false, echoes_changes: false, hears_compaction: true };

impl Driver<'_> {
    /// Reminds the model of a list that has not changed for long, as the user's settings say. While the
    /// list is part of every call, there are no reminders.
    pub(super) async fn remind(&mut self, plan: Option<&Plan>) -> Result<(), Fail> {
        let (Inject::OnChange, Some(plan)) = (self.world.model.context.inject, plan) else {
            return Ok(());
        };
        let input = match self.sent_revision {
            // This call shows the list in any case.
            None => return Ok(()),
            Some(sent) if sent != plan.revision => Input::Changed,
            Some(_) => {
                let status = self.plan.status(Some(plan), None);
                let open = u32::try_from(status.holding().len()).unwrap_or(u32::MAX);
                let last = self.recorder.last_answer();
                Input::Turn { worked: last.is_some_and(|it| !it.message.calls.is_empty()), open }
            }
        };
        let now = self.world.place.around.now();
        let policy = &self.world.model.reminders;
        for reminder in self.recorder.machine.watch.step(policy, AGENT, input, now) {
            let Reminder::Nag { turns, changed, whole_list } = reminder else { continue };
            let list = whole_list.then(|| self.plan.list(plan));
            let tools = Tools::of(self.plan.dialect());
            let tag = Tag::reminder();
            let text = prompt::nag(turns, &changed, plan, list.as_deref(), tools, &tag);
            self.recorder.machine.watch.gave(Kind::Nag, &text, now);
            let told = vec![(Entry::Told { text }, Used::default())];
            self.recorder.record(told, ConversationState::Working).await?;
        }
        Ok(())
    }
}
