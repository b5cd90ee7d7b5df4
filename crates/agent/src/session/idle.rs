//! Between two turns: the queue is worked off, and an idle session waits for the user or for a message
//! from another process.

use punchlist_engine::fail::Fail;
use punchlist_model::call::Message;
use punchlist_model::store::turns::ConversationState;

use super::Session;
use super::attend::Attendant;
use super::event::{Ended, FrontEnd, Idle};

/// How often the queue is read again because its first message was changed meanwhile.
const TRIES: u32 = 10;

impl Session {
    /// Takes the first queued message and begins its turn, in one transaction, and works on it until it
    /// is answered. `None` if no message waits, if the queue is paused, or if a turn was cut off.
    ///
    /// While the last answer asks the user something, only a message from after that question is taken,
    /// as the reply.
    pub async fn next(&mut self, front: &mut dyn FrontEnd) -> Result<Option<Ended>, Fail> {
        for _ in 0..TRIES {
            let Some(message) = self.first_queued().await? else { return Ok(None) };
            let text = message.text.clone();
            if let Some(ended) = self.begin(&text, None, vec![message], front).await? {
                return Ok(Some(ended));
            }
            // The message was changed, removed or moved meanwhile.
        }
        Ok(None)
    }

    /// Works off the queue: takes one message after the other. Returns how the last turn ended; `None` if
    /// there was no message. A turn that does not end well pauses the queue.
    pub async fn work_off(&mut self, front: &mut dyn FrontEnd) -> Result<Option<Ended>, Fail> {
        let mut last = None;
        while let Some(ended) = self.next(front).await? {
            last = Some(ended);
        }
        Ok(last)
    }

    /// Waits, without a turn, for a message in the queue, from any process, or for the user. Shows
    /// changes of the queue, and keeps the session meanwhile.
    pub async fn idle(&mut self, front: &mut dyn FrontEnd) -> Result<Idle, Fail> {
        let runner = self.runner.clone();
        let mut attendant = Attendant::new(&self.world, self.id(), runner, &self.queue).await?;
        loop {
            attendant.look().await?;
            attendant.show(front);
            if self.first_queued().await?.is_some() {
                return Ok(Idle::Message);
            }
            if let Some(idle) = attendant.attend_idle(front).await? {
                return Ok(idle);
            }
        }
    }

    /// The message that begins the next turn.
    async fn first_queued(&self) -> Result<Option<Message>, Fail> {
        let store = self.world.store();
        let conversation = store.conversation(self.id()).await?;
        if conversation.queue_paused {
            return Ok(None);
        }
        let mut waiting = store.messages(self.id().to_string()).await?;
        match conversation.state {
            ConversationState::Idle => {}
            ConversationState::Asked => waiting.retain(|it| !it.is_from_before_question),
            // `resume` goes on with the turn.
            ConversationState::Working | ConversationState::Waiting { .. } => return Ok(None),
        }
        Ok(Message::first(&waiting).cloned())
    }
}
