//! The queue of a session, to be shown: as text for people, as JSON for programs.

use punchlist_engine::fail::Fail;
use punchlist_formats::text::one_line;
use punchlist_formats::view::json::time;
use punchlist_model::call::Message;
use punchlist_model::{ConversationId, MessageId};
use serde_json::{Value, json};

use super::Queue;

/// The messages that wait in a session.
pub struct QueueView {
    /// The session.
    pub session: ConversationId,
    /// Whether a process runs the session.
    pub is_running: bool,
    /// The messages, in their order.
    pub waiting: Vec<Message>,
    /// Whether the queue is paused.
    pub is_paused: bool,
}

impl QueueView {
    /// The messages, one per line.
    pub fn list(&self) -> String {
        if self.waiting.is_empty() {
            return "No message waits.\n".to_owned();
        }
        let line = |it: &Message| {
            let steers = if it.steer { "(next model call) " } else { "" };
            format!("{}  {steers}{}\n", it.id.short(), one_line(&it.text))
        };
        self.waiting.iter().map(line).collect()
    }

    /// What the user can do so that the messages are worked off; empty if nothing needs to be done.
    pub fn note(&self) -> String {
        let short = self.session.short();
        if self.waiting.is_empty() {
            String::new()
        } else if self.is_paused {
            format!(
                "The queue is paused: `punchlist sessions queue {short} --go` takes it up again.\n"
            )
        } else if self.is_running {
            String::new()
        } else {
            format!("Nobody runs the session: `punchlist resume {short}` works the queue off.\n")
        }
    }

    /// The queue as JSON.
    pub fn json(&self) -> Value {
        let messages: Vec<Value> = self.waiting.iter().map(message_json).collect();
        let session = self.session.to_string();
        json!({"session": session, "paused": self.is_paused, "messages": messages})
    }
}

fn message_json(it: &Message) -> Value {
    json!({
        "id": it.id.to_string(),
        "text": it.text,
        "steers": it.steer,
        "queuedAt": time(it.at),
        "editedAt": it.edited_at.map(time),
    })
}

impl Queue {
    /// The message that waits and whose id begins or ends like this.
    pub async fn find(&self, part: &str) -> Result<MessageId, Fail> {
        let part = part.to_ascii_lowercase();
        let fits = |it: &Message| {
            let (id, simple) = (it.id.to_string(), it.id.0.simple().to_string());
            !part.is_empty() && (id.starts_with(&part) || simple.ends_with(&part) || id == part)
        };
        let mut found = self.waiting().await?;
        found.retain(fits);
        match found.as_slice() {
            [message] => Ok(message.id),
            [] => Err(Fail::not_found(format!("no message {part:?} waits"))
                .hint("`punchlist sessions queue` shows the messages that wait.")),
            _ => Err(Fail::usage(format!("{part:?} is the id of several messages"))
                .hint("give more of the id.")),
        }
    }
}
