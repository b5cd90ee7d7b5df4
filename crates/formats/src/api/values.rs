//! The values of the API that no verb prints.

use punchlist_model::Timestamp;
use punchlist_model::agents::{Row, State};
use punchlist_model::call::{CallRecord, RunRecord};
use punchlist_model::store::turns::{Conversation, ConversationState, TurnEntry};
use serde_json::{Value, json};

use crate::view::json::{camel_case, time};

/// A session of our own agent.
pub fn conversation(it: &Conversation, now: Timestamp) -> Value {
    let state = match &it.state {
        ConversationState::Idle => "idle",
        ConversationState::Working => "working",
        ConversationState::Asked => "asked",
        ConversationState::Waiting { .. } => "waiting",
    };
    json!({
        "id": it.id,
        "project": it.project,
        "directory": it.directory,
        "title": it.title,
        "state": state,
        "running": it.runner.as_ref().is_some_and(|runner| runner.until > now),
        "queuePaused": it.queue_paused,
        "turns": it.turns,
        "used": camel_case(json!(it.used)),
        "createdAt": time(it.created_at),
        "changedAt": time(it.changed_at),
    })
}

/// One thing that happened in a session.
pub fn turn_entry(it: &TurnEntry) -> Value {
    let body = serde_json::from_str(&it.body).unwrap_or_else(|_| Value::from(it.body.as_str()));
    json!({
        "number": it.number,
        "turn": it.turn,
        "at": time(it.at),
        "kind": it.kind,
        "body": body,
    })
}

/// A run.
pub fn run(it: &RunRecord) -> Value {
    json!({
        "id": it.id,
        "project": it.project,
        "plan": it.plan,
        "what": it.what,
        "begunAt": time(it.begun_at),
        "endedAt": it.ended_at.map(time),
    })
}

/// A call of a run.
pub fn call(it: &CallRecord) -> Value {
    json!({
        "number": it.number,
        "item": it.item,
        "tool": it.tool,
        "state": it.state.as_str(),
        "attempt": it.attempt,
        "request": it.request,
        "detail": it.detail,
        "at": time(it.at),
    })
}

/// An agent.
pub fn agent(row: &Row) -> Value {
    let (state, why) = match &row.state {
        State::Asks(why) => ("asks", Some(why)),
        State::Working => ("working", None),
        State::Waits(why) => ("waits", Some(why)),
        State::Silent => ("silent", None),
        State::Failed(why) => ("failed", Some(why)),
        State::Idle => ("idle", None),
        State::Died => ("died", None),
    };
    let at = |ms: i64| Timestamp::from_millisecond(ms).ok().filter(|_| ms > 0).map(time);
    let list = row.list.as_ref().map(|list| {
        let entry = |it: &punchlist_model::agents::Entry| {
            json!({
                "label": it.label,
                "status": it.status,
                "waitingOn": it.waiting_on,
                "depth": it.depth,
            })
        };
        let entries: Vec<Value> = list.entries.iter().map(entry).collect();
        json!({ "done": list.done, "total": list.total, "open": list.open, "entries": entries })
    });
    json!({
        "key": row.key,
        "agent": row.agent,
        "subAgent": row.sub_agent,
        "project": row.project,
        "place": row.place,
        "model": row.model,
        "state": state,
        "why": why,
        "list": list,
        "said": row.said,
        "question": row.question,
        "contextTokens": row.spent.context,
        "contextWindow": row.spent.window,
        "costMicros": row.spent.cost_micros,
        "at": at(row.at),
        "beganAt": at(row.began),
    })
}
