//! Runs a session as a task of its own, for a front end that does other things meanwhile.
//!
//! [`Hosted`] is the front end's end: it sends [`Input`]s and receives [`Report`]s. The session begins
//! with the first message. Between two turns it works off its queue.

use std::future::pending;

use futures_core::future::BoxFuture;
use punchlist_engine::fail::Fail;
use punchlist_model::ConversationId;
use punchlist_model::call::Message;
use punchlist_model::store::turns::{EntryFilter, Used};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use super::entry::Recorded;
use super::event::{Event, FrontEnd, Idle, Input};
use super::recorder::entries;
use super::settings::SessionSettings;
use super::world::World;
use super::{Session, is_cut_off};

/// What a front end hears of a session.
#[derive(Debug)]
pub enum Report {
    /// The session is open. A continued one comes with what is recorded.
    Opened {
        /// Its id.
        id: ConversationId,
        /// What happened before, oldest first.
        entries: Vec<Recorded>,
        /// What it has used so far.
        used: Used,
    },
    /// Something happened.
    Event(Event),
    /// No turn runs.
    Idle,
    /// Something could not be done, with the text that the user had written for it.
    Failed(Fail, Option<String>),
}

/// A session that runs as a task of its own.
pub struct Hosted {
    inputs: UnboundedSender<Input>,
    reports: UnboundedReceiver<Report>,
    is_closing: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl Hosted {
    /// Starts the task, in the present `LocalSet` of tokio. `stored` continues a session; otherwise the
    /// first message begins one. Fails if the stored session cannot be continued, for example because
    /// another process runs it; then no task is left.
    pub async fn start(
        world: World,
        settings: SessionSettings,
        stored: Option<ConversationId>,
    ) -> Result<Self, Fail> {
        let session = match stored {
            Some(id) => match Box::pin(Session::open(world.clone(), id)).await {
                Ok(session) => Some(session),
                Err(why) => {
                    world.tools.servers.shut_down().await;
                    return Err(why);
                }
            },
            None => None,
        };
        let (inputs, heard) = unbounded_channel();
        let (tell, reports) = unbounded_channel();
        let (is_closing, closing) = watch::channel(false);
        let front = Channels { reports: tell, inputs: heard, closing, is_told: false };
        let host = Host { world, settings, front };
        let task = tokio::task::spawn_local(Box::pin(host.run(session)));
        Ok(Self { inputs, reports, is_closing, task })
    }

    /// Tells the session what the user wants. A message while a turn runs waits in the queue. A session
    /// that has ended hears nothing: the wish comes back.
    pub fn send(&self, input: Input) -> Result<(), Input> {
        self.inputs.send(input).map_err(|it| it.0)
    }

    /// Whether the task has ended.
    pub fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    /// What a user is told who writes to a session that has ended.
    pub fn ended() -> Fail {
        Fail::refused("this session has ended")
            .hint("/resume goes on with one, /clear begins a new one.")
    }

    /// Waits for the next report; `None` after the end. Cancel-safe.
    pub async fn next(&mut self) -> Option<Report> {
        self.reports.recv().await
    }

    /// Ends the turn and the task, and waits for that.
    pub async fn close(self) {
        self.is_closing.send_replace(true);
        // An error means that the task has panicked, which ended it too.
        self.task.await.ok();
    }
}

/// A front end that passes everything on.
struct Channels {
    reports: UnboundedSender<Report>,
    inputs: UnboundedReceiver<Input>,
    /// Whether the user leaves.
    closing: watch::Receiver<bool>,
    /// Whether the session was told so. A turn that ends must not be told again and again.
    is_told: bool,
}

impl Channels {
    fn report(&self, report: Report) {
        self.reports.send(report).ok();
    }

    fn is_closing(&self) -> bool {
        *self.closing.borrow() || self.closing.has_changed().is_err()
    }
}

impl FrontEnd for Channels {
    fn event(&mut self, event: Event) {
        self.report(Report::Event(event));
    }

    fn input(&mut self) -> BoxFuture<'_, Input> {
        Box::pin(async {
            tokio::select! {
                biased;
                () = closed(&mut self.closing), if !self.is_told => {
                    self.is_told = true;
                    Input::Abort
                }
                input = self.inputs.recv() => match input {
                    Some(input) => input,
                    None => pending().await,
                },
            }
        })
    }
}

/// Waits until the user leaves. An error means that the front end is gone.
async fn closed(closing: &mut watch::Receiver<bool>) {
    drop(closing.wait_for(|it| *it).await);
}

struct Host {
    world: World,
    settings: SessionSettings,
    front: Channels,
}

/// How often in a row a session without a turn may fail before it is closed. Otherwise a store that
/// is gone would fail for ever.
const FAILURES: u32 = 3;

impl Host {
    async fn run(mut self, stored: Option<Session>) {
        let session = match stored {
            Some(mut session) => {
                if let Err(why) = self.go_on(&mut session).await {
                    self.fails(&session, why, None).await;
                }
                Some(session)
            }
            None => self.begin().await,
        };
        if let Some(session) = session {
            // The future of a session is large.
            Box::pin(self.work(session)).await;
        }
        self.give_back();
    }

    /// Works off the queue and what the user says, until the user leaves.
    async fn work(&mut self, mut session: Session) {
        let mut failures = 0;
        while !self.front.is_closing() && failures < FAILURES {
            self.front.report(Report::Idle);
            match self.turn(&mut session).await {
                Ok(()) => failures = 0,
                Err(why) => {
                    failures += 1;
                    self.fails(&session, why, None).await;
                }
            }
        }
        if let Err(why) = session.close().await {
            self.front.report(Report::Failed(why, None));
        }
    }

    /// Shows what is recorded of a stored session, and goes on with a turn that was cut off.
    async fn go_on(&mut self, session: &mut Session) -> Result<(), Fail> {
        let (id, store) = (session.id(), self.world.store());
        let last = store.turns(id).await?.pop();
        let entries = entries(&**store, id, EntryFilter::default()).await?;
        let used = store.conversation(id).await?.used;
        self.front.report(Report::Opened { id, entries, used });
        if last.is_some_and(|it| is_cut_off(&it)) {
            session.resume(&mut self.front).await?;
        }
        Ok(())
    }

    /// Waits for the first message, and begins the session with it. `None` if the user leaves.
    async fn begin(&mut self) -> Option<Session> {
        loop {
            self.front.report(Report::Idle);
            let wish = match self.front.input().await {
                Input::Queue(text) | Input::Steer(text) => Wish::Request(text),
                Input::Goal(goal) => Wish::Goal(goal),
                Input::Answer(..) => continue,
                Input::Compact(_) => {
                    let why = Fail::refused("there is nothing to compact yet");
                    self.front.report(Report::Failed(why, None));
                    continue;
                }
                Input::Abort if self.front.is_closing() => return None,
                Input::Abort => continue,
            };
            if !self.is_fit(&wish) {
                continue;
            }
            let (world, settings) = (self.world.clone(), self.settings.clone());
            let mut session = match Session::create(world, settings, wish.text()).await {
                Ok(session) => session,
                Err(why) => {
                    self.front.report(Report::Failed(why, Some(wish.typed())));
                    continue;
                }
            };
            let (id, used) = (session.id(), Used::default());
            self.front.report(Report::Opened { id, entries: Vec::new(), used });
            self.work_on(&mut session, wish).await;
            return Some(session);
        }
    }

    /// Waits for a message, and works on it.
    async fn turn(&mut self, session: &mut Session) -> Result<(), Fail> {
        match session.idle(&mut self.front).await? {
            Idle::Message => drop(session.next(&mut self.front).await?),
            Idle::Request(text) => self.wished(session, Wish::Request(text)).await,
            Idle::Goal(goal) => self.wished(session, Wish::Goal(goal)).await,
            Idle::Compact(keep) => {
                // The queue need not wait for another summary.
                if let Err(why) = session.compact(keep.as_deref(), &mut self.front).await {
                    self.front.report(Report::Failed(why, None));
                }
            }
            // A wish to end the turn that came after its end.
            Idle::Left => {}
        }
        Ok(())
    }

    async fn wished(&mut self, session: &mut Session, wish: Wish) {
        if self.is_fit(&wish) {
            self.work_on(session, wish).await;
        }
    }

    /// Whether the text can be sent. If not, it comes back with the reason.
    fn is_fit(&self, wish: &Wish) -> bool {
        let checked = Message::check(wish.text());
        if let Err(why) = &checked {
            let why = Fail::usage(why.to_string());
            self.front.report(Report::Failed(why, Some(wish.typed())));
        }
        checked.is_ok()
    }

    async fn work_on(&mut self, session: &mut Session, wish: Wish) {
        let ended = match &wish {
            Wish::Request(text) => session.request(text, &mut self.front).await,
            Wish::Goal(goal) => session.work_towards(goal, &mut self.front).await,
        };
        if let Err(why) = ended {
            self.fails(session, why, Some(wish.typed())).await;
        }
    }

    /// Tells a failure, with the text that was written for it. The queue would fail again and again, so
    /// it pauses.
    async fn fails(&self, session: &Session, why: Fail, text: Option<String>) {
        self.front.report(Report::Failed(why, text));
        if let Err(why) = self.world.store().pause_queue(session.id(), true).await {
            self.front.report(Report::Failed(why.into(), None));
        }
    }

    /// Gives back what was written for a session that has ended.
    fn give_back(&mut self) {
        self.front.inputs.close();
        while let Ok(input) = self.front.inputs.try_recv() {
            if let Some(text) = input.into_text() {
                self.front.report(Report::Failed(Hosted::ended(), Some(text)));
            }
        }
    }
}

/// What the user wants an idle session to do.
enum Wish {
    Request(String),
    Goal(String),
}

impl Wish {
    fn text(&self) -> &str {
        match self {
            Self::Request(text) | Self::Goal(text) => text,
        }
    }

    /// The text as the user can enter it again.
    fn typed(&self) -> String {
        match self {
            Self::Request(text) => text.clone(),
            Self::Goal(goal) => format!("/goal {goal}"),
        }
    }
}
