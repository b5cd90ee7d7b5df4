//! While something takes time: shows events, hears the front end, keeps the lease, and notices that
//! somebody asked the session to stop.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use punchlist_engine::Around;
use punchlist_engine::fail::Fail;
use punchlist_model::call::{NewMessage, News};
use punchlist_model::session::Store;
use punchlist_model::store::turns::Runner;
use punchlist_model::{ConversationId, MessageId, Timestamp};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use super::answers::Answers;
use super::event::{Event, FrontEnd, Input};
use super::world::World;

/// How long a session is held after its runner was last heard of.
pub(super) const LEASE: Duration = Duration::from_secs(60);
/// How often the lease is extended.
const RENEW: Duration = Duration::from_secs(20);
/// How soon after a change of the store it is looked whether somebody asked for the end.
const LOOK_AFTER: Duration = Duration::from_millis(200);

/// What a wait ended with.
pub(super) enum Until<T> {
    /// What was waited for.
    Done(T),
    /// The turn is to end.
    Abort,
}

/// Attends to everything that happens while something takes time.
pub(super) struct Attendant {
    store: Arc<dyn Store>,
    around: Arc<dyn Around>,
    conversation: ConversationId,
    runner: Runner,
    answers: Answers,
    /// Stop requests from before this time do not count.
    since: Timestamp,
    news: News,
    renew: Interval,
    look_at: Option<Instant>,
    sender: UnboundedSender<Event>,
    events: UnboundedReceiver<Event>,
}

impl Attendant {
    pub(super) async fn new(
        world: &World,
        conversation: ConversationId,
        runner: Runner,
    ) -> Result<Self, Fail> {
        let (sender, events) = unbounded_channel();
        let mut renew = interval(RENEW);
        renew.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            store: Arc::clone(world.store()),
            around: Arc::clone(&world.around),
            conversation,
            runner,
            answers: Answers {
                store: Arc::clone(world.store()),
                around: Arc::clone(&world.around),
                person: world.person.clone(),
                policy: world.policy.clone(),
                rules_file: world.rules_file.clone(),
            },
            since: world.around.now(),
            news: world.store().news().await?,
            renew,
            look_at: None,
            sender,
            events,
        })
    }

    /// Where events for the front end are sent.
    pub(super) fn sender(&self) -> UnboundedSender<Event> {
        self.sender.clone()
    }

    /// Shows the events that have been sent.
    pub(super) fn show(&mut self, front: &mut dyn FrontEnd) {
        while let Ok(event) = self.events.try_recv() {
            front.event(event);
        }
    }

    /// Attends to everything else until `work` is done or the turn is to end. An end that was asked for
    /// leaves `work` as it is: the caller drops it or waits for its end.
    pub(super) async fn attend<T>(
        &mut self,
        front: &mut dyn FrontEnd,
        mut work: Pin<&mut (impl Future<Output = T> + ?Sized)>,
    ) -> Result<Until<T>, Fail> {
        loop {
            let look_at = self.look_at.unwrap_or_else(Instant::now);
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => front.event(event),
                // A message that arrives with the end of an answer reaches the model before the turn ends.
                input = front.input() => match input {
                    Input::Abort => return Ok(Until::Abort),
                    Input::Steer(text) => self.queue(text).await?,
                    Input::Answer(question, answer) => {
                        if let Some(text) = self.answers.give(question, answer).await? {
                            front.event(Event::Info(text));
                        }
                    }
                },
                done = &mut work => {
                    self.show(front);
                    return Ok(Until::Done(done));
                }
                _ = self.renew.tick() => self.extend().await?,
                () = sleep_until(look_at), if self.look_at.is_some() => {
                    self.look_at = None;
                    if self.is_stop_asked().await? {
                        return Ok(Until::Abort);
                    }
                }
                changed = poll_fn(|context| self.news.as_mut().poll_next(context)), if self.look_at.is_none() => {
                    if let Some(changed) = changed {
                        changed?;
                    }
                    self.look_at = Some(Instant::now() + LOOK_AFTER);
                }
            }
        }
    }

    /// Whether somebody asked for the end of this turn.
    pub(super) async fn is_stop_asked(&self) -> Result<bool, Fail> {
        let conversation = self.store.conversation(self.conversation).await?;
        Ok(conversation.stop_asked_at.is_some_and(|at| at >= self.since))
    }

    async fn extend(&mut self) -> Result<(), Fail> {
        let now = self.around.now();
        self.runner.until = lease_end(now);
        Ok(self.store.hold(self.conversation, self.runner.clone(), now, Vec::new()).await?)
    }

    async fn queue(&self, text: String) -> Result<(), Fail> {
        let at = self.around.now();
        let id = MessageId(self.around.ids(at)?.nth(0));
        let conversation = self.conversation.to_string();
        let message = NewMessage { id, conversation, text, steer: true, at };
        if let Err(why) = self.store.queue(message).await {
            self.sender.send(Event::Info(Fail::from(why).message)).ok();
        }
        Ok(())
    }
}

/// When a lease that is taken now ends.
pub(super) fn lease_end(now: Timestamp) -> Timestamp {
    let lease = i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(now.as_millisecond().saturating_add(lease)).unwrap_or(now)
}
