//! A stored conversation as updates, for a client that loads a session. Pure.

use std::collections::BTreeMap;

use punchlist_agent::provider::ThinkingBlock;
use punchlist_agent::session::{Entry, Recorded, is_for_user};
use punchlist_model::Plan;
use serde_json::{Value, json};

use super::tool_call;
use super::updates::{self, Shown, chunk, info, update};

/// The updates that show a conversation from its beginning, and its last plan.
pub(super) fn updates(entries: &[Recorded], last: Option<&Plan>, shown: &Shown) -> Vec<Value> {
    let mut calls = BTreeMap::new();
    let mut updates: Vec<Value> =
        entries.iter().flat_map(|it| entry(&it.entry, shown, &mut calls)).collect();
    updates.extend(last.map(updates::plan));
    updates
}

/// The updates for an entry. `calls` collects the tools of the calls that are shown, by their ids.
fn entry(entry: &Entry, shown: &Shown, calls: &mut BTreeMap<String, String>) -> Vec<Value> {
    match entry {
        Entry::User { text } | Entry::Steering { text } => vec![chunk("user_message_chunk", text)],
        Entry::Answer(answer) => {
            let mut updates = Vec::new();
            for block in &answer.message.thinking {
                match block {
                    ThinkingBlock::Text(text) | ThinkingBlock::Signed { text, .. } => {
                        updates
                            .extend((!text.is_empty()).then(|| chunk("agent_thought_chunk", text)));
                    }
                    ThinkingBlock::Opaque(_) => {}
                }
            }
            let text = answer.message.text.trim();
            if !text.is_empty() && is_for_user(answer.purpose) {
                updates.push(chunk("agent_message_chunk", &format!("{text}\n\n")));
            }
            for call in answer.message.calls.iter().filter(|it| !shown.is_plans(&it.tool)) {
                calls.insert(call.id.0.clone(), call.tool.clone());
                updates.push(update("tool_call", tool_call::replayed(call, &shown.root)));
            }
            updates
        }
        Entry::Result(end) => {
            let result = &end.result;
            let Some(tool) = calls.get(&result.call.0) else { return Vec::new() };
            let status = if result.is_error { "failed" } else { "completed" };
            let mut changed = json!({"toolCallId": result.call.0, "status": status});
            if !tool_call::keeps_content(tool, result.is_error) {
                // The stored text is fenced and masked already.
                changed["content"] = json!([tool_call::content(&result.text)]);
            }
            vec![update("tool_call_update", changed)]
        }
        Entry::Info { text } => info(text),
        Entry::Told { .. } | Entry::Summary { .. } | Entry::Used { .. } | Entry::Ended { .. } => {
            Vec::new()
        }
    }
}
