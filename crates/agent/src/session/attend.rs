//! While something takes time: shows events, hears the front end, keeps the lease, and notices that
//! somebody asked the session to stop.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use punchlist_engine::Around;
use punchlist_engine::fail::Fail;
use punchlist_model::call::News;
use punchlist_model::session::Store;
use punchlist_model::store::turns::Runner;
use punchlist_model::{ConversationId, Timestamp};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use super::answers::Answers;
use super::event::{Event, FrontEnd, Idle, Input};
use super::queue::{Queue, SeenQueue};
use super::world::World;

/// How long a session is held after its runner was last heard of.
pub(super) const LEASE: Duration = Duration::from_secs(60);
/// How often the lease is extended.
pub(crate) const RENEW: Duration = Duration::from_secs(20);
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
    /// The queue as the front end was shown it.
    queue: SeenQueue,
    /// Whether a steering message waits.
    steering: watch::Sender<bool>,
    sender: UnboundedSender<Event>,
    events: UnboundedReceiver<Event>,
}

impl Attendant {
    pub(super) async fn new(
        world: &World,
        conversation: ConversationId,
        runner: Runner,
        queue: &SeenQueue,
    ) -> Result<Self, Fail> {
        let (sender, events) = unbounded_channel();
        let mut renew = interval(RENEW);
        renew.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            store: Arc::clone(world.store()),
            around: Arc::clone(&world.place.around),
            conversation,
            runner,
            answers: Answers {
                store: Arc::clone(world.store()),
                around: Arc::clone(&world.place.around),
                person: world.user.person.clone(),
                policy: world.tools.policy.clone(),
                rules_file: world.tools.rules_file.clone(),
            },
            since: world.place.around.now(),
            news: world.store().news().await?,
            renew,
            look_at: None,
            queue: queue.clone(),
            steering: watch::Sender::new(false),
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
                    Input::Steer(text) => self.queue(text, true).await?,
                    Input::Queue(text) => self.queue(text, false).await?,
                    Input::Compact(_) => {
                        let text = "not compacted: the agent is busy";
                        front.event(Event::Info(text.to_owned()));
                    }
                    Input::Goal(goal) => {
                        let (text, why) = (format!("/goal {goal}"), "the agent is busy".to_owned());
                        front.event(Event::NotQueued { text, why });
                    }
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
                    if self.look().await? {
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

    /// Attends to a session without a turn, until the user says something or the store has changed.
    pub(super) async fn attend_idle(
        &mut self,
        front: &mut dyn FrontEnd,
    ) -> Result<Option<Idle>, Fail> {
        tokio::select! {
            biased;
            input = front.input() => match input {
                Input::Abort => return Ok(Some(Idle::Left)),
                Input::Steer(text) | Input::Queue(text) => return Ok(Some(Idle::Request(text))),
                Input::Compact(keep) => return Ok(Some(Idle::Compact(keep))),
                Input::Goal(goal) => return Ok(Some(Idle::Goal(goal))),
                Input::Answer(question, answer) => {
                    if let Some(text) = self.answers.give(question, answer).await? {
                        front.event(Event::Info(text));
                    }
                }
            },
            _ = self.renew.tick() => self.extend().await?,
            changed = poll_fn(|context| self.news.as_mut().poll_next(context)) => {
                if let Some(changed) = changed {
                    changed?;
                }
            }
        }
        Ok(None)
    }

    /// Whether a steering message waits, as of the last look.
    pub(super) fn steering(&self) -> watch::Receiver<bool> {
        self.steering.subscribe()
    }

    /// Sends events for what changed in the queue. Returns whether somebody asked for the end of this
    /// turn.
    pub(super) async fn look(&self) -> Result<bool, Fail> {
        let conversation = self.store.conversation(self.conversation).await?;
        let is_paused = conversation.queue_paused;
        let (changes, steers) = self.queue.look(&*self.store, self.conversation, is_paused).await?;
        self.steering.send_replace(steers);
        for change in changes {
            self.sender.send(Event::Queued(Box::new(change))).ok();
        }
        Ok(conversation.stop_asked_at.is_some_and(|at| at >= self.since))
    }

    async fn extend(&mut self) -> Result<(), Fail> {
        let now = self.around.now();
        self.runner.until = lease_end(now);
        Ok(self.store.hold(self.conversation, self.runner.clone(), now, Vec::new()).await?)
    }

    async fn queue(&self, text: String, steer: bool) -> Result<(), Fail> {
        let (store, around) = (Arc::clone(&self.store), Arc::clone(&self.around));
        let queue = Queue::new(store, around, self.conversation);
        if let Err(Fail { message: why, .. }) = queue.add(text.clone(), steer).await {
            self.sender.send(Event::NotQueued { text, why }).ok();
        }
        self.look().await.map(drop)
    }
}

/// When a lease that is taken now ends.
pub(crate) fn lease_end(now: Timestamp) -> Timestamp {
    let lease = i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(now.as_millisecond().saturating_add(lease)).unwrap_or(now)
}
