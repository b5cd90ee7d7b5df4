//! Progress lines: messages of a sub-agent inside its agent's transcript.
//!
//! The sub-agent's own file has all of them. But the tasks that it changes belong to the session,
//! and a reader of only the session's file must see them. So this file reads calls of todo tools,
//! and nothing else.

use std::borrow::Cow;

use super::calls::Tool;
use super::{Claude, Owner};
use crate::json::{Object, Value};
use crate::parse::emit::Emit;

impl Claude {
    pub(super) fn progress(
        &mut self,
        value: &Object<'_>,
        timestamp: Option<i64>,
        owner: &Owner<'_>,
        emit: &mut Emit<'_>,
    ) {
        let data = value.object("data");
        let is_agents = |it: &Object<'_>| {
            it.text("type").is_some_and(|it| it.literal() == "\"agent_progress\"")
        };
        let Some(data) = data.filter(is_agents) else { return };
        let Some(inner) = data.object("message") else { return };
        let Some(message) = inner.get("message") else { return };
        let agent = data.text("agentId").or_else(|| value.text("parentToolUseID"));
        let agent = agent.map_or(Cow::Borrowed("sidechain"), |it| it.cow());
        let owner =
            Owner { session: owner.session.clone(), agent: Some(agent), has_own_file: false };
        let message_id = message.text("id");
        emit.of(owner.who());
        // The sub-agent's own file has the same line numbers.
        emit.within_file_of(Some("progress"));
        let blocks = message.get("content").map(Value::items).unwrap_or_default();
        for block in blocks.into_iter().filter_map(Value::object) {
            let kind = block.text("type").map_or("", |it| it.literal());
            if kind == "\"tool_use\""
                && let (Some(id), Some(name)) = (block.text("id"), block.text("name"))
                && let Some(tool) = Tool::parse(name.literal())
            {
                self.called(tool, id, block.get("input"), message_id, &owner, emit);
            }
            if kind == "\"tool_result\""
                && block.text("tool_use_id").is_some_and(|it| self.calls.has(&it.cow()))
            {
                self.tool_result(&block, inner.get("toolUseResult"), timestamp, &owner, emit);
            }
        }
        emit.within_file_of(None);
    }
}
