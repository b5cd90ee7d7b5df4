//! Unified events about what a watcher itself knows: plans of the store, and agents that died.
//!
//! Their ids differ from those of stream events: no line has that many events.

use std::borrow::Cow;

use punchlist_model::agents::Row;
use punchlist_model::store::AttachmentKey;
use punchlist_model::{Item, Plan, Status, Timestamp};

use crate::event::{self, AgentId, AgentType, Event, Kind, Text};

/// The index of events that come from no line.
const OURS: u32 = u32::MAX;

/// The present plan: a `todo_list` of the session that works on it, else of the plan itself.
pub fn plan(key: Option<&AttachmentKey>, plan: &Plan, out: &mut Vec<u8>) {
    let (id, agent_type) = match key {
        Some(key) if key.sub_agent.is_empty() => (key.conversation.clone(), agent_type(&key.agent)),
        Some(key) => (format!("{}/{}", key.conversation, key.sub_agent), agent_type(&key.agent)),
        None => (plan.id.to_string(), AgentType::Punchlist),
    };
    list(&AgentId::new(id), agent_type, plan, out);
}

/// The present plan, as the list of this agent.
pub fn list(agent: &AgentId, agent_type: AgentType, plan: &Plan, out: &mut Vec<u8>) {
    list_at(agent, agent_type, plan, plan.updated_at, out);
}

/// The same, told at another time than that of the plan's last change.
pub fn list_at(
    agent: &AgentId,
    agent_type: AgentType,
    plan: &Plan,
    at: Timestamp,
    out: &mut Vec<u8>,
) {
    let items: Vec<event::Item<'_>> =
        plan.nested().into_iter().map(|(_, item)| entry(plan, item)).collect();
    let kind =
        Kind::TodoList { todo_id: plan.id.to_string().into(), items: &items, unconfirmed: false };
    let event = Event {
        agent,
        agent_type,
        timestamp: Some(at.as_millisecond()),
        line: plan.revision.0,
        index: OURS,
        kind,
    };
    event.write_json(out);
}

fn entry<'a>(plan: &Plan, item: &'a Item) -> event::Item<'a> {
    let title = item.title.as_str();
    let status = match item.status {
        Status::Pending => event::Status::Pending,
        Status::InProgress => event::Status::InProgress,
        Status::Completed => event::Status::Completed,
        Status::Cancelled => event::Status::Cancelled,
    };
    let text = if title.trim().is_empty() { "(no title)" } else { title };
    event::Item {
        id: Some(item.number.to_string().into()),
        active_form: item.active_form.as_deref().map(Text::from),
        blocked: item.status == Status::Pending && plan.is_blocked(item),
        waiting_on: item.waiting_on.as_deref().map(Text::from),
        parent: item.parent.map(|it| it.to_string().into()),
        ..event::Item::new(Text::from(text), status)
    }
}

/// Reports that an agent's process is gone and left open items; `at` is when that was noticed.
pub fn died(row: &Row, at: i64, out: &mut Vec<u8>) {
    let open = row.list.as_ref().map_or(0, |it| it.open);
    let session = row.key.split('/').nth(1).unwrap_or_default();
    let id = match &row.sub_agent {
        Some(sub) => format!("{session}/{sub}"),
        None => session.to_owned(),
    };
    let items = if open == 1 { "item" } else { "items" };
    let message = format!("the agent's process is gone; {open} {items} open");
    let kind = Kind::Error {
        message: Text::Plain(Cow::Owned(message)),
        code: Some(Text::from("died")),
        recoverable: false,
    };
    let event = Event {
        agent: &AgentId::new(id),
        agent_type: agent_type(&row.agent),
        timestamp: Some(at),
        line: u64::try_from(row.at).unwrap_or(0),
        index: OURS - 1,
        kind,
    };
    event.write_json(out);
}

/// The program of a session's agent name.
fn agent_type(agent: &str) -> AgentType {
    match agent {
        "claude" => AgentType::ClaudeCode,
        "codex" => AgentType::OpenaiCodex,
        "gemini" => AgentType::GoogleGemini,
        "acp" => AgentType::Acp,
        _ => AgentType::Punchlist,
    }
}
