//! Messages that wait for an agent while it is busy.

use jiff::Timestamp;

use crate::event::TOMBSTONE;
use crate::id::MessageId;

/// A message to be queued.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the fields are those of `Message`")]
pub struct NewMessage {
    pub id: MessageId,
    pub conversation: String,
    pub text: String,
    pub steer: bool,
    pub at: Timestamp,
}

/// A message, and what became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Which.
    pub id: MessageId,
    /// The conversation that it is for.
    pub conversation: String,
    /// What it says.
    pub text: String,
    /// It is delivered at the next model call, and not only when the work under way is done.
    pub steer: bool,
    /// When it was queued.
    pub at: Timestamp,
    /// When its text was last changed.
    pub edited_at: Option<Timestamp>,
    /// When it was taken from the queue to be worked on.
    pub taken_at: Option<Timestamp>,
}

impl Message {
    /// Longest text, in characters.
    pub const LONGEST: usize = 100_000;
    /// Most messages of a conversation that wait at once.
    pub const MOST: u32 = 100;

    /// Whether a text can be a message.
    pub fn check(text: &str) -> Result<(), BadMessage> {
        let length = text.chars().count();
        if text.trim().is_empty() {
            Err(BadMessage::Blank)
        } else if text.contains('\0') {
            Err(BadMessage::Nul)
        } else if length > Self::LONGEST {
            Err(BadMessage::TooLong { length })
        } else {
            Ok(())
        }
    }

    /// Whether a conversation in which so many wait has room for one more.
    pub fn check_room(waiting: u32) -> Result<(), BadMessage> {
        if waiting < Self::MOST { Ok(()) } else { Err(BadMessage::TooMany) }
    }

    /// The order of those that wait once one of them was moved before another: at the end without that
    /// one, or if it waits no more.
    pub fn moved(
        waiting: &[MessageId],
        which: MessageId,
        before: Option<MessageId>,
    ) -> Vec<MessageId> {
        let mut order: Vec<MessageId> = waiting.iter().copied().filter(|it| *it != which).collect();
        let at = before.and_then(|before| order.iter().position(|it| *it == before));
        order.insert(at.unwrap_or(order.len()), which);
        order
    }

    /// Erases what somebody wrote; that there was a message stays.
    pub fn forget(&mut self) {
        TOMBSTONE.clone_into(&mut self.text);
    }
}

impl From<NewMessage> for Message {
    fn from(new: NewMessage) -> Self {
        let NewMessage { id, conversation, text, steer, at } = new;
        let at = crate::store::kept(at);
        Self { id, conversation, text, steer, at, edited_at: None, taken_at: None }
    }
}

/// Why a text is no message, or has no place in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant is one sentence")]
pub enum BadMessage {
    #[error("the message is empty")]
    Blank,
    #[error("the message contains a NUL character")]
    Nul,
    #[error("the message has {length} characters; at most {} are allowed", Message::LONGEST)]
    TooLong { length: usize },
    #[error("{} messages wait already, and more are not taken", Message::MOST)]
    TooMany,
}

/// Which message is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Take {
    /// The next thing to work on: what was to steer work that has ended meanwhile, else the one that is
    /// first in the queue.
    First,
    /// The first of those that steer, for the next call of the model.
    Steering,
}

/// What came of changing a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageOutcome {
    /// It is changed.
    Done,
    /// It was taken before, and nothing was changed.
    Taken(Timestamp),
    /// There is none.
    Unknown,
}
