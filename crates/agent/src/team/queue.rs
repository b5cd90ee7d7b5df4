//! The queue of a team: messages for members that work. It is in the store, like the queue of a session.
//!
//! A team has no session of its own, so the messages are queued under the project. Each says which member it
//! is for and which process queued it. A team that starts takes over the messages of processes that have
//! ended; those of a team that still runs in the same project stay its own.

use std::sync::Arc;

use punchlist_engine::fail::Fail;
use punchlist_model::call::{Message, MessageOutcome, NewMessage};
use punchlist_model::{MessageId, Process};
use serde::{Deserialize, Serialize};

use super::permissions::Asker;

/// A message that waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TeamMessage {
    /// Its id.
    pub id: MessageId,
    /// The number of the member that it is for, from 0.
    pub member: usize,
    /// The text.
    pub text: String,
}

/// A message as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    /// The name of the member.
    to: String,
    text: String,
    /// The process that will send it.
    process: Option<Process>,
}

/// The queue.
pub(super) struct TeamQueue {
    pub(super) asker: Arc<Asker>,
    /// What the messages are queued under.
    pub(super) key: String,
    /// The names of the members.
    pub(super) names: Vec<String>,
}

impl TeamQueue {
    /// The messages that wait for members of this team, in their order: those of processes that have ended.
    /// From now on they are this process's own.
    pub(super) async fn take_over(&self) -> Result<Vec<TeamMessage>, Fail> {
        let store = self.asker.store().await?;
        let around = &self.asker.given.around;
        let mut found = Vec::new();
        for Message { id, text, .. } in store.messages(self.key.clone()).await? {
            // A text that was erased is no message any more.
            let Ok(stored) = serde_json::from_str::<Stored>(&text) else { continue };
            let Some(member) = self.names.iter().position(|it| *it == stored.to) else { continue };
            if stored.process.as_ref().is_some_and(|it| !around.has_ended(it)) {
                continue;
            }
            let own = self.stored(&stored.to, &stored.text)?;
            if store.edit_message(id, own, around.now()).await? == MessageOutcome::Done {
                found.push(TeamMessage { id, member, text: stored.text });
            }
        }
        Ok(found)
    }

    /// Appends a message for a member.
    pub(super) async fn add(&self, member: usize, text: &str) -> Result<TeamMessage, Fail> {
        Message::check(text).map_err(|why| Fail::usage(why.to_string()))?;
        let store = self.asker.store().await?;
        let around = &self.asker.given.around;
        let at = around.now();
        let id = MessageId(around.ids(at)?.nth(0));
        let to = self.names.get(member).map(String::as_str).unwrap_or_default();
        let stored = self.stored(to, text)?;
        let conversation = self.key.clone();
        store.queue(NewMessage { id, conversation, text: stored, steer: false, at }).await?;
        Ok(TeamMessage { id, member, text: text.to_owned() })
    }

    /// Takes a message out of the queue. Returns whether it still waited: of several that take it, one gets
    /// it.
    pub(super) async fn take(&self, id: MessageId) -> Result<bool, Fail> {
        let store = self.asker.store().await?;
        Ok(store.remove_message(id).await? == MessageOutcome::Done)
    }

    fn stored(&self, to: &str, text: &str) -> Result<String, Fail> {
        let process = self.asker.given.process.clone();
        let stored = Stored { to: to.to_owned(), text: text.to_owned(), process };
        serde_json::to_string(&stored)
            .map_err(|why| Fail::ours(format!("a message cannot be stored: {why}")))
    }
}
