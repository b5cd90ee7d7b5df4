//! A stored session with its turns and entries, and its JSON for programs.

use punchlist_engine::Around;
use punchlist_engine::fail::Fail;
use punchlist_formats::text::Line;
use punchlist_formats::view::json::time;
use punchlist_model::session::Store;
use punchlist_model::store::turns::{Conversation, ConversationFilter, EntryFilter, Turn, Used};
use serde_json::{Value, json};

use super::entry::{Entry, Recorded};
use super::listing;
use super::recorder::entries;
use crate::leader::LedBy;

/// Everything that is stored of a session.
pub struct StoredSession {
    /// The session.
    pub conversation: Conversation,
    /// Its turns, the first one first.
    pub turns: Vec<Turn>,
    /// What was said and called, in the order in which it was recorded.
    pub entries: Vec<Recorded>,
}

impl StoredSession {
    /// Reads everything of a session.
    pub async fn read(store: &dyn Store, conversation: Conversation) -> Result<Self, Fail> {
        let turns = store.turns(conversation.id).await?;
        let entries = entries(store, conversation.id, EntryFilter::default()).await?;
        Ok(Self { conversation, turns, entries })
    }

    /// All turns, to read.
    pub fn transcript(&self, around: &dyn Around) -> Vec<Line> {
        let mut turns = self.turns.clone();
        if listing::is_running(&self.conversation, around)
            && let Some(turn) = turns.last_mut()
        {
            // It is not cut off.
            turn.ending.get_or_insert_with(|| "works".to_owned());
        }
        listing::transcript(&self.conversation, &turns, &self.entries)
    }

    /// The session and its turns as JSON, without what was said.
    pub fn json(&self, around: &dyn Around) -> Value {
        let mut session = json(&self.conversation, around);
        session["turnList"] = self.turns.iter().map(turn_json).collect();
        session
    }
}

/// The sessions that a filter finds, the one that changed last first. A session that runs and waits for an
/// answer says so in its state.
pub async fn all(
    store: &dyn Store,
    filter: ConversationFilter,
    around: &dyn Around,
) -> Result<Vec<Conversation>, Fail> {
    let mut all = store.conversations(filter).await?;
    for it in all.iter_mut().filter(|it| listing::is_running(it, around)) {
        listing::note_question(store, it).await?;
    }
    Ok(all)
}

/// How many answers the model of a session has given.
pub async fn answers_given(store: &dyn Store, conversation: &Conversation) -> Result<usize, Fail> {
    let entries = store.entries(conversation.id, EntryFilter::default()).await?;
    let is_answer = |it: &Recorded| matches!(it.entry, Entry::Answer(_) | Entry::Summary { .. });
    Ok(entries.iter().filter_map(|it| Recorded::read(it).ok()).filter(is_answer).count())
}

/// A session as JSON.
pub fn json(it: &Conversation, around: &dyn Around) -> Value {
    let is_running = listing::is_running(it, around);
    let mut session = json!({
        "id": it.id.to_string(),
        "project": it.project,
        "title": it.title,
        "state": listing::state(it, is_running, around.now()),
        "running": is_running,
        "turns": it.turns,
        "used": used_json(it.used),
        "createdAt": time(it.created_at),
        "changedAt": time(it.changed_at),
    });
    if let Some(led_by) = LedBy::of(it) {
        let (agent, resume) = (led_by.agent.as_str(), led_by.command());
        session["leader"] = json!({"agent": agent, "session": led_by.session, "resume": resume});
    }
    session
}

fn turn_json(it: &Turn) -> Value {
    json!({
        "turn": it.number,
        "id": it.id,
        "plan": it.plan.map(|plan| plan.to_string()),
        "ending": it.ending,
        "beganAt": time(it.began_at),
        "endedAt": it.ended_at.map(time),
        "used": used_json(it.used),
    })
}

fn used_json(it: Used) -> Value {
    json!({
        "calls": it.calls,
        "input": it.input,
        "output": it.output,
        "costMicros": it.cost_micros,
    })
}
