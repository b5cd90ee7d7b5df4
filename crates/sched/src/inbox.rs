//! What people type while work is under way: it waits, and can be changed until it is taken.
//!
//! There are two ways in, and they are never mixed up. A *queued* message is the next thing to be worked
//! on: it waits until the batch is done, and then one is taken, the oldest. A *steering* message is for
//! the work that is under way: it is delivered with the next call of the model, and that it steers was
//! said explicitly. Pure; where messages are kept is somebody else's business.

#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};

/// A message, by the order in which messages came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct MessageId(pub u64);

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message {}", self.0)
    }
}

/// When a message is delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// When the batch is done, as the next thing to work on.
    #[default]
    Queue,
    /// At the next call of the model, into the work that is under way.
    Steer,
}

/// A message that waits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Message {
    /// Which.
    pub id: MessageId,
    /// What it says.
    pub text: String,
    /// When it is delivered.
    pub delivery: Delivery,
}

/// The message does not wait any more: it was taken, or somebody removed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0} does not wait any more: it was taken or removed")]
pub struct Gone(pub MessageId);

/// Messages that wait, in the order in which they came.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inbox {
    waiting: Vec<Message>,
    next: u64,
}

impl Inbox {
    /// No messages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Messages that were kept, in the order in which they came. New ones are numbered after them.
    pub fn restored(waiting: Vec<Message>) -> Self {
        let next = waiting.iter().map(|it| it.id.0.saturating_add(1)).max().unwrap_or(0);
        Self { waiting, next }
    }

    /// A message comes.
    pub fn push(&mut self, text: impl Into<String>, delivery: Delivery) -> MessageId {
        let id = MessageId(self.next);
        self.next = self.next.saturating_add(1);
        self.waiting.push(Message { id, text: text.into(), delivery });
        id
    }

    /// What waits.
    pub fn waiting(&self) -> &[Message] {
        &self.waiting
    }

    /// Changes what a message says. It keeps its place.
    pub fn edit(&mut self, id: MessageId, text: impl Into<String>) -> Result<(), Gone> {
        self.find(id)?.text = text.into();
        Ok(())
    }

    /// Changes when a message is delivered: said explicitly, because it is another thing to do. It
    /// keeps its place among the others.
    pub fn redirect(&mut self, id: MessageId, delivery: Delivery) -> Result<(), Gone> {
        self.find(id)?.delivery = delivery;
        Ok(())
    }

    /// Moves a message before another: at the end without that one, or if it waits no more.
    pub fn move_before(&mut self, id: MessageId, before: Option<MessageId>) -> Result<(), Gone> {
        let message = self.remove(id)?;
        let at = before.and_then(|before| self.waiting.iter().position(|it| it.id == before));
        self.waiting.insert(at.unwrap_or(self.waiting.len()), message);
        Ok(())
    }

    /// Takes a message back.
    pub fn remove(&mut self, id: MessageId) -> Result<Message, Gone> {
        let at = self.waiting.iter().position(|it| it.id == id).ok_or(Gone(id))?;
        Ok(self.waiting.remove(at))
    }

    /// The model is about to be called: all that steers, in order.
    pub fn take_steering(&mut self) -> Vec<Message> {
        self.waiting.extract_if(.., |it| it.delivery == Delivery::Steer).collect()
    }

    /// The batch is done: the next thing to work on, one at a time. What was meant to steer work that
    /// has ended meanwhile is not lost: it comes first.
    pub fn take_next(&mut self) -> Option<Message> {
        let steers = |it: &Message| it.delivery == Delivery::Steer;
        let at = self.waiting.iter().position(steers).unwrap_or(0);
        (at < self.waiting.len()).then(|| self.waiting.remove(at))
    }

    fn find(&mut self, id: MessageId) -> Result<&mut Message, Gone> {
        self.waiting.iter_mut().find(|it| it.id == id).ok_or(Gone(id))
    }
}
