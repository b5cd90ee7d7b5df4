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

/// Which message is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Take {
    /// The one that has waited longest.
    First,
    /// The same, of those that steer.
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
