//! Messages that are queued for an agent while it is busy.

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

/// A message in the queue, or one that was taken from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The message's id.
    pub id: MessageId,
    /// The conversation that the message is for.
    pub conversation: String,
    /// The text.
    pub text: String,
    /// Deliver the message at the next model call, not only when the work in progress is done.
    pub steer: bool,
    /// When the message was queued.
    pub at: Timestamp,
    /// When the text was last changed.
    pub edited_at: Option<Timestamp>,
    /// When the message was taken from the queue.
    pub taken_at: Option<Timestamp>,
    /// The message already waited when the agent last asked the user something, so it is no reply.
    pub is_from_before_question: bool,
}

impl Message {
    /// The maximum length of a text, in characters.
    pub const LONGEST: usize = 100_000;
    /// The maximum number of waiting messages in a conversation.
    pub const MOST: u32 = 100;

    /// Checks that a text can be a message.
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

    /// Checks that a conversation with `waiting` messages has room for one more.
    pub fn check_room(waiting: u32) -> Result<(), BadMessage> {
        if waiting < Self::MOST { Ok(()) } else { Err(BadMessage::TooMany) }
    }

    /// The order of the waiting messages after `message` was moved before `before`. It goes to the
    /// end if `before` is `None` or no longer waits.
    pub fn moved(
        waiting: &[MessageId],
        message: MessageId,
        before: Option<MessageId>,
    ) -> Vec<MessageId> {
        let mut order: Vec<MessageId> =
            waiting.iter().copied().filter(|it| *it != message).collect();
        let at = before.and_then(|before| order.iter().position(|it| *it == before));
        order.insert(at.unwrap_or(order.len()), message);
        order
    }

    /// The next message to work on: a steering message whose turn ended before it was delivered, else the
    /// first of the queue.
    pub fn first(waiting: &[Self]) -> Option<&Self> {
        waiting.iter().find(|it| it.steer).or(waiting.first())
    }

    /// The order of the waiting messages after the end of a turn: those that should have steered it are
    /// now the first of the queue. `None` if there are none.
    pub fn after_turn(waiting: &[Self]) -> Option<Vec<MessageId>> {
        let (steering, queued): (Vec<&Self>, Vec<&Self>) = waiting.iter().partition(|it| it.steer);
        let order = steering.iter().chain(&queued).map(|it| it.id).collect();
        (!steering.is_empty()).then_some(order)
    }

    /// Erases the text. The record of the message stays.
    pub fn forget(&mut self) {
        TOMBSTONE.clone_into(&mut self.text);
    }
}

impl From<NewMessage> for Message {
    fn from(new: NewMessage) -> Self {
        let NewMessage { id, conversation, text, steer, at } = new;
        let at = crate::store::kept(at);
        Self {
            id,
            conversation,
            text,
            steer,
            at,
            edited_at: None,
            taken_at: None,
            is_from_before_question: false,
        }
    }
}

/// Why a text cannot be queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant is one sentence")]
pub enum BadMessage {
    #[error("the message is empty")]
    Blank,
    #[error("the message contains a NUL character")]
    Nul,
    #[error("the message has {length} characters; at most {} are allowed", Message::LONGEST)]
    TooLong { length: usize },
    #[error("the queue is full: {} messages are waiting", Message::MOST)]
    TooMany,
}

/// The result of changing a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageOutcome {
    /// The message was changed.
    Done,
    /// The message had already been taken, at this time; nothing was changed.
    Taken(Timestamp),
    /// There is no such message.
    Unknown,
}
