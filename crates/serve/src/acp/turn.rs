//! Works on a prompt: one turn of a session, shown to the client as it happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_core::future::BoxFuture;
use punchlist_agent::mcp::{ForeignServers, Servers};
use punchlist_agent::provider::{ModelCall, Stop};
use punchlist_agent::session::{
    Ended, Entry, Event, FrontEnd, Input, Recorded, Session, SessionSettings, World,
};
use punchlist_agent::turn::{Abort, Ending};
use punchlist_engine::fail::Fail;
use punchlist_formats::dialect::Surface;
use punchlist_model::ConversationId;
use punchlist_model::call::Asked;
use punchlist_model::session::Store;
use punchlist_model::store::turns::EntryFilter;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::{Instant, sleep_until};

use super::client::Client;
use super::outputs::Outputs;
use super::permission::Choices;
use super::rpc::Error;
use super::servers::{Asking, SessionServers};
use super::updates::{Shown, Updates, update};
use super::{Opened, Sessions, blocking, replay, tool_call};

/// How many of the last entries are searched for the last answer of a turn.
const LAST_ENTRIES: u32 = 20;

/// What a client wants of a session that it opens.
pub(super) struct Wanted {
    /// The client's name, for the record of who answered.
    pub(super) via: String,
    /// The name under which the session asks questions, if the client gives it one.
    pub(super) asks_as: Option<String>,
    /// The MCP servers that it offers.
    pub(super) offered: ForeignServers,
}

/// A session that the client has opened.
pub(super) struct OpenSession {
    sessions: Arc<dyn Sessions>,
    id: ConversationId,
    world: World,
    settings: SessionSettings,
    shown: Shown,
    servers: SessionServers,
    /// Whether the store has it. A new session is stored with its first prompt.
    is_stored: AtomicBool,
}

impl OpenSession {
    /// A new session.
    pub(super) fn create(
        sessions: Arc<dyn Sessions>,
        opened: Opened,
        wanted: Wanted,
    ) -> Result<Self, Fail> {
        let around = &opened.world.place.around;
        let id = ConversationId(around.ids(around.now())?.nth(0));
        Self::new(sessions, opened, id, wanted)
    }

    /// A stored session.
    pub(super) fn load(
        sessions: Arc<dyn Sessions>,
        opened: Opened,
        id: ConversationId,
        wanted: Wanted,
    ) -> Result<Self, Fail> {
        let session = Self::new(sessions, opened, id, wanted)?;
        session.is_stored.store(true, Ordering::Relaxed);
        Ok(session)
    }

    fn new(
        sessions: Arc<dyn Sessions>,
        opened: Opened,
        id: ConversationId,
        wanted: Wanted,
    ) -> Result<Self, Fail> {
        let Opened { mut world, settings } = opened;
        let Wanted { via, asks_as, offered } = wanted;
        world.user.asks_as = asks_as;
        // Answers are recorded in the name of the person, with the client's.
        world.user.person.name = format!("{} via {via}", world.user.person.name);
        let tools = settings.dialect().map_err(Fail::usage)?.tools(Surface::Full);
        let plan_tools = tools.iter().map(|it| it.name.to_owned()).collect();
        let shown = Shown { root: world.place.directory.clone(), plan_tools };
        let servers = SessionServers::new(offered);
        let is_stored = AtomicBool::new(false);
        Ok(Self { sessions, id, world, settings, shown, servers, is_stored })
    }

    pub(super) fn id(&self) -> ConversationId {
        self.id
    }

    fn store(&self) -> &Arc<dyn Store> {
        self.world.place.engine.store()
    }

    /// The updates that show what happened in the session so far.
    pub(super) async fn replay(&self) -> Result<Vec<Value>, Fail> {
        let entries = self.entries(EntryFilter::default()).await?;
        let turns = self.store().turns(self.id).await?;
        let last = turns.iter().rev().find_map(|it| it.plan);
        let plan = match last {
            // Somebody may have deleted the plan since.
            Some(plan) => self.store().whole(plan).await.ok(),
            None => None,
        };
        Ok(replay::updates(&entries, plan.as_ref(), &self.shown))
    }

    async fn entries(&self, filter: EntryFilter) -> Result<Vec<Recorded>, Fail> {
        let stored = self.store().entries(self.id, filter).await?;
        let read = |it| Recorded::read(it).map_err(|why| Fail::ours(why.to_string()));
        stored.iter().map(read).collect()
    }

    /// Works on a prompt, whose turn may have an id of the client, and returns why the turn stopped, in the words of the protocol.
    pub(super) async fn work(
        &self,
        (text, turn): (&str, Option<&str>),
        client: Arc<Client>,
        mut inputs: (UnboundedSender<Input>, UnboundedReceiver<Input>),
    ) -> Result<&'static str, Error> {
        let session = self.id.to_string();
        let asking = Asking { sessions: &self.sessions, world: &self.world, session: &session };
        let Some(servers) = self.servers.get(&asking, &client, &mut inputs.1).await? else {
            return Ok("cancelled");
        };
        let mut session = self.hold(text, servers).await?;
        let mut front = Front {
            client,
            session: self.id.to_string(),
            shown: self.shown.clone(),
            updates: Updates::new(self.shown.clone()),
            outputs: Outputs::default(),
            sender: inputs.0,
            inputs: inputs.1,
        };
        let worked = work(&mut session, (text, turn), &mut front).await;
        let closed = session.let_go().await;
        let ended = worked?;
        closed?;
        self.stop_reason(&ended).await
    }

    /// Ends the session's MCP servers.
    pub(super) async fn shut_down(&self) {
        self.servers.shut_down().await;
    }

    /// Makes this process the one that runs the session.
    async fn hold(&self, text: &str, servers: Arc<Servers>) -> Result<Session, Fail> {
        let (sessions, mut world) = (Arc::clone(&self.sessions), self.world.clone());
        world.tools.servers = servers;
        let world = blocking(move || sessions.refresh(&mut world).map(|()| world)).await?;
        if self.is_stored.load(Ordering::Relaxed) {
            return Session::open(world, self.id).await;
        }
        let session = Session::create_as(self.id, world, self.settings.clone(), text).await?;
        self.is_stored.store(true, Ordering::Relaxed);
        Ok(session)
    }

    async fn stop_reason(&self, ended: &Ended) -> Result<&'static str, Error> {
        match &ended.ending {
            Ending::Failed(why) => Err(Error::internal(why.as_str())),
            Ending::Aborted(Abort::User) => Ok("cancelled"),
            Ending::Limit | Ending::Aborted(Abort::Budget(_)) => Ok("max_turn_requests"),
            Ending::Answered
            | Ending::Asked
            | Ending::Planned
            | Ending::LetGo
            | Ending::Stuck
            | Ending::PlanningFailed
            | Ending::NotValidated
            | Ending::Unfit => Ok(match self.last_stop().await? {
                Stop::Finished => "end_turn",
                Stop::OutputLimit => "max_tokens",
                Stop::Filtered => "refusal",
            }),
        }
    }

    /// Why the last answer of the model ended.
    async fn last_stop(&self) -> Result<Stop, Fail> {
        let but = Some(Entry::USED);
        let filter = EntryFilter { last: LAST_ENTRIES, but, ..EntryFilter::default() };
        let entries = self.entries(filter).await?;
        let stop = entries.into_iter().rev().find_map(|it| match it.entry {
            Entry::Answer(answer) => Some(answer.stop),
            Entry::User { .. }
            | Entry::Steering { .. }
            | Entry::Result(_)
            | Entry::Told { .. }
            | Entry::Info { .. }
            | Entry::Summary { .. }
            | Entry::Used { .. }
            | Entry::Ended { .. } => None,
        });
        Ok(stop.unwrap_or_default())
    }
}

/// Goes on with a turn that was cut off, if there is one, and then works on the prompt.
async fn work(
    session: &mut Session,
    (text, turn): (&str, Option<&str>),
    front: &mut Front,
) -> Result<Ended, Fail> {
    if let Some(ended) = session.resume(front).await?
        && matches!(ended.ending, Ending::Failed(_) | Ending::Aborted(_))
    {
        return Ok(ended);
    }
    session.request_in(text, turn, front).await
}

/// The front end of a session whose user is behind the client.
struct Front {
    client: Arc<Client>,
    session: String,
    shown: Shown,
    updates: Updates,
    outputs: Outputs,
    sender: UnboundedSender<Input>,
    inputs: UnboundedReceiver<Input>,
}

impl Front {
    /// Asks the user of the client about a call.
    fn ask(&self, asked: &Asked, call: &ModelCall) {
        let mut shown = tool_call::announced(call, &self.shown.root);
        let why = tool_call::content(&format!("Asked because {}.", asked.why));
        match shown["content"].as_array_mut() {
            Some(content) => content.push(why),
            None => shown["content"] = serde_json::json!([why]),
        }
        let (choices, sender) = (Choices::of(asked), self.sender.clone());
        self.client.ask(&self.session, asked.id, &shown, choices, sender);
    }

    /// Sends the output of running calls, if it is time. A client that is behind gets it later.
    fn send_output(&mut self) {
        let now = Instant::now();
        if self.outputs.due(now).is_none_or(|it| it > now) {
            return;
        }
        if self.client.out().is_full() {
            return self.outputs.put_off(now);
        }
        if let Some(output) = self.outputs.take(now) {
            self.client.update(&self.session, update("tool_call_update", output));
        }
    }
}

impl FrontEnd for Front {
    fn event(&mut self, event: Event) {
        if let Event::CallOutput { call, line } = &event {
            self.outputs.add(&call.id.0, &line.text);
            return self.send_output();
        }
        if let Event::CallEnded { call, .. } = &event {
            self.outputs.end(&call.id.0);
        }
        for update in self.updates.event(&event) {
            self.client.update(&self.session, update);
        }
        if let Event::Asked { asked, call } = &event {
            self.ask(asked, call);
        } else if let Event::Settled { question, .. } = &event {
            self.client.settled(*question);
        }
    }

    fn input(&mut self) -> BoxFuture<'_, Input> {
        Box::pin(async {
            loop {
                let now = Instant::now();
                let due = self.outputs.due(now);
                tokio::select! {
                    // We hold a sender, so there is always a next input or a wait for it.
                    input = self.inputs.recv() => return input.unwrap_or(Input::Abort),
                    () = sleep_until(due.unwrap_or(now)), if due.is_some() => {
                        self.send_output();
                    }
                }
            }
        })
    }
}
