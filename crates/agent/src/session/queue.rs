//! The queue of a session: messages of the user that wait until a turn has ended, or, if they steer, for
//! the next call of the model. It is in the store, so every process sees the same queue.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punchlist_engine::Around;
use punchlist_engine::fail::{Code, Fail};
use punchlist_model::call::{Message, MessageOutcome, NewMessage};
use punchlist_model::session::Store;
use punchlist_model::{ConversationId, MessageId};

use super::listing;

/// Queues a reply to a session that asks its user something and, if no process runs the session, wakes it:
/// `wake` lets it go on in the background, in the directory of its project. Returns what to tell the person.
pub async fn reply(
    store: &Arc<dyn Store>,
    around: &Arc<dyn Around>,
    id: ConversationId,
    text: String,
    wake: impl Fn(ConversationId, &str) -> Result<(), Fail>,
) -> Result<String, Fail> {
    Queue::new(Arc::clone(store), Arc::clone(around), id).add(text, false).await?;
    let session = store.conversation(id).await?;
    if session.queue_paused {
        let short = id.short();
        return Ok(format!("queued; the queue is paused: `punchlist resume {short}` takes it up"));
    }
    if listing::is_running(&session, &**around) {
        return Ok("sent".to_owned());
    }
    wake(id, &session.project)?;
    Ok("sent; the session goes on in the background".to_owned())
}

/// Reads and changes the queue of a session, for any front end.
#[derive(Clone)]
pub struct Queue {
    store: Arc<dyn Store>,
    around: Arc<dyn Around>,
    conversation: ConversationId,
}

impl Queue {
    /// The queue of this session.
    pub fn new(
        store: Arc<dyn Store>,
        around: Arc<dyn Around>,
        conversation: ConversationId,
    ) -> Self {
        Self { store, around, conversation }
    }

    /// The messages that wait, in their order.
    pub async fn waiting(&self) -> Result<Vec<Message>, Fail> {
        Ok(self.store.messages(self.conversation.to_string()).await?)
    }

    /// Whether the queue is paused.
    pub async fn is_paused(&self) -> Result<bool, Fail> {
        Ok(self.store.conversation(self.conversation).await?.queue_paused)
    }

    /// Appends a message. If it steers, it reaches the model at its next call.
    pub async fn add(&self, text: String, steer: bool) -> Result<MessageId, Fail> {
        let at = self.around.now();
        let id = MessageId(self.around.ids(at)?.nth(0));
        let conversation = self.conversation.to_string();
        self.store.queue(NewMessage { id, conversation, text, steer, at }).await?;
        Ok(id)
    }

    /// Replaces the text of a message that waits.
    pub async fn edit(&self, id: MessageId, text: String) -> Result<(), Fail> {
        checked(id, self.store.edit_message(id, text, self.around.now()).await?)
    }

    /// Removes a message that waits.
    pub async fn remove(&self, id: MessageId) -> Result<(), Fail> {
        checked(id, self.store.remove_message(id).await?)
    }

    /// Moves a message before another one, or to the end.
    pub async fn move_before(&self, id: MessageId, before: Option<MessageId>) -> Result<(), Fail> {
        checked(id, self.store.move_message(id, before).await?)
    }

    /// Sets whether a message that waits steers.
    pub async fn steer(&self, id: MessageId, steer: bool) -> Result<(), Fail> {
        checked(id, self.store.steer_message(id, steer).await?)
    }

    /// Pauses the queue, or takes it up again.
    pub async fn pause(&self, is_paused: bool) -> Result<(), Fail> {
        Ok(self.store.pause_queue(self.conversation, is_paused).await?)
    }
}

fn checked(id: MessageId, outcome: MessageOutcome) -> Result<(), Fail> {
    match outcome {
        MessageOutcome::Done => Ok(()),
        MessageOutcome::Taken(_) => Err(Fail::new(
            Code::Conflict,
            format!("message {id} was taken meanwhile: the agent works on it"),
        )),
        MessageOutcome::Unknown => Err(Fail::not_found(format!("no message {id} waits"))
            .hint("`punchlist sessions queue` shows the messages that wait.")),
    }
}

/// What changed in a queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QueueChange {
    /// A message waits. It was queued now, or before the session was opened.
    Added(Message),
    /// A message that waits has another text, or steers or no longer does.
    Edited(Message),
    /// A message was removed.
    Removed(Message),
    /// A message was taken: a turn begins with it, or the model hears it.
    Taken(Message),
    /// The messages wait in another order.
    Reordered,
    /// The queue was paused (`true`) or taken up again.
    Paused(bool),
}

/// A queue after a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queued {
    /// What changed.
    pub change: QueueChange,
    /// The messages that wait, in their order.
    pub waiting: Vec<Message>,
    /// Whether the queue is paused.
    pub is_paused: bool,
}

/// The queue as the front end was last shown it. The turns of a session share it.
#[derive(Clone, Default)]
pub(super) struct SeenQueue(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    waiting: Vec<Message>,
    is_paused: bool,
}

impl SeenQueue {
    /// Reads the queue. Returns what changed since the last time, and whether a steering message waits.
    pub(super) async fn look(
        &self,
        store: &dyn Store,
        conversation: ConversationId,
        is_paused: bool,
    ) -> Result<(Vec<Queued>, bool), Fail> {
        let waiting = store.messages(conversation.to_string()).await?;
        let gone: Vec<Message> = {
            let seen = self.lock();
            let is_gone = |it: &&Message| waiting.iter().all(|waits| waits.id != it.id);
            seen.waiting.iter().filter(is_gone).cloned().collect()
        };
        let mut changes = Vec::new();
        for message in gone {
            changes.push(match store.message(message.id).await? {
                Some(taken) => QueueChange::Taken(taken),
                None => QueueChange::Removed(message),
            });
        }
        let mut seen = self.lock();
        changes.extend(seen.update(&waiting, is_paused));
        let queued = |change| Queued { change, waiting: waiting.clone(), is_paused };
        let changes = changes.into_iter().map(queued).collect();
        Ok((changes, waiting.iter().any(|it| it.steer)))
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    /// Notes the queue as it is. Returns what changed, apart from messages that are gone.
    fn update(&mut self, waiting: &[Message], is_paused: bool) -> Vec<QueueChange> {
        let before = std::mem::replace(&mut self.waiting, waiting.to_vec());
        let was_paused = std::mem::replace(&mut self.is_paused, is_paused);
        let mut changes = Vec::new();
        for message in waiting {
            match before.iter().find(|it| it.id == message.id) {
                None => changes.push(QueueChange::Added(message.clone())),
                Some(it) if (&it.text, it.steer) != (&message.text, message.steer) => {
                    changes.push(QueueChange::Edited(message.clone()));
                }
                Some(_) => {}
            }
        }
        let common = |one: &[Message], other: &[Message]| -> Vec<MessageId> {
            let ids = one.iter().map(|it| it.id);
            ids.filter(|id| other.iter().any(|it| it.id == *id)).collect()
        };
        if common(&before, waiting) != common(waiting, &before) {
            changes.push(QueueChange::Reordered);
        }
        if was_paused != is_paused {
            changes.push(QueueChange::Paused(is_paused));
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use punchlist_model::{IdSource, Timestamp};

    use super::*;

    fn message(n: u8, text: &str) -> Message {
        let id = MessageId(IdSource::fixed(Timestamp::UNIX_EPOCH, n).nth(0));
        let (conversation, at) = ("c".to_owned(), Timestamp::UNIX_EPOCH);
        NewMessage { id, conversation, text: text.to_owned(), steer: false, at }.into()
    }

    #[test]
    fn a_queue_that_is_looked_at_again_says_what_changed() {
        let mut seen = Seen::default();
        let [one, two] = [message(1, "one"), message(2, "two")];
        let changes = seen.update(&[one.clone(), two.clone()], false);
        let added = [&one, &two].map(|it| QueueChange::Added(it.clone()));
        assert_eq!(changes, added);
        assert_eq!(seen.update(&[one.clone(), two.clone()], false), []);
        assert_eq!(seen.update(&[two.clone(), one.clone()], false), [QueueChange::Reordered]);
        let better = Message { text: "better".to_owned(), ..one };
        let changes = seen.update(&[two, better.clone()], true);
        assert_eq!(changes, [QueueChange::Edited(better.clone()), QueueChange::Paused(true)]);
        // What is gone was taken or removed; the store says which.
        assert_eq!(seen.update(&[better], true), []);
    }
}
