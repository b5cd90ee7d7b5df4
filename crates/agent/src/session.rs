//! A session: a conversation of a user with a model that works on the user's requests, turn after turn,
//! with a plan in charge.
//!
//! [`Session::create`] begins a session and [`Session::open`] continues a stored one.
//! [`Session::request`] works on a request until it is answered; [`Session::resume`] goes on with a turn
//! that was cut off. Everything is recorded as it happens, so another process can show a session, and
//! continue it after a crash. Only one process at a time runs a session.

mod answers;
mod attach;
mod attend;
mod driver;
mod entry;
mod event;
pub mod export;
mod json_events;
pub mod listing;
mod model_call;
mod model_worker;
mod plan;
mod plan_tools;
mod recorder;
mod reminders;
mod settings;
mod tool_calls;
mod world;

use std::sync::Arc;

use punchlist_engine::Which;
use punchlist_engine::fail::Fail;
use punchlist_engine::session::{self as agents, Seen};
use punchlist_formats::prompt::{self, Tag, Tools};
use punchlist_formats::text::secret::mask;
use punchlist_model::remind::Watch;
use punchlist_model::store::turns::{
    Conversation, ConversationState, EntryFilter, Runner, Turn as Row, Used,
};
use punchlist_model::store::{AttachmentKey, Error};
use punchlist_model::{ConversationId, SessionKey};

pub use answers::Answers;
pub use attach::{Attached, Attachment};
pub use entry::{Answer, CallEnd, Entry, Recorded};
pub use event::{Ended, Event, FrontEnd, Input, LeaderEvent};
pub use json_events::{JsonEvents, is_for_user};
pub use model_worker::ModelLoop;
pub use plan::TurnPlan;
pub use settings::{Allowance, Budget, SessionSettings, money};
pub use world::{Connect, Facts, TurnTools, World};

use attend::{Attendant, lease_end};
use driver::Driver;
use recorder::{Machine, Recorder, entries, not_json};
use tool_calls::{Calls, CutOff};

use crate::mcp;
use crate::turn::{self, Ending, Offered, Turn};
use crate::workers::delegate;

/// How many entries of earlier turns are read, for each message that is shown.
const ENTRIES_PER_MESSAGE: usize = 8;

/// The name of our own agent among the agents.
pub const AGENT: &str = "punchlist";

/// The largest list that a new turn is told of the turn before, in tokens.
const BOUNDARY: u64 = 1500;

/// The most characters of a title.
const TITLE: usize = 200;

/// A session that this process runs.
pub struct Session {
    world: World,
    conversation: Conversation,
    settings: SessionSettings,
    runner: Runner,
}

impl Session {
    /// Begins a session. `about` is the beginning of its first request.
    pub async fn create(
        world: World,
        settings: SessionSettings,
        about: &str,
    ) -> Result<Self, Fail> {
        let id = ConversationId(world.around.ids(world.around.now())?.nth(0));
        Self::create_as(id, world, settings, about).await
    }

    /// Begins a session with an id that was chosen before.
    pub async fn create_as(
        id: ConversationId,
        world: World,
        settings: SessionSettings,
        about: &str,
    ) -> Result<Self, Fail> {
        let now = world.around.now();
        // The title is shown in lists and with questions.
        let title: String = mask(about.trim()).chars().take(TITLE).collect();
        let conversation = Conversation {
            directory: world.directory.display().to_string(),
            title,
            settings: serde_json::to_string(&settings).map_err(not_json)?,
            ..Conversation::new(id, world.project.clone(), now)
        };
        world.store().create_conversation(conversation.clone()).await?;
        Self::hold(world, conversation, settings).await
    }

    /// Continues a stored session. Fails if another process runs it.
    pub async fn open(world: World, id: ConversationId) -> Result<Self, Fail> {
        let conversation = world.store().conversation(id).await?;
        let settings = stored_settings(&conversation)?;
        Self::hold(world, conversation, settings).await
    }

    async fn hold(
        world: World,
        conversation: Conversation,
        settings: SessionSettings,
    ) -> Result<Self, Fail> {
        let now = world.around.now();
        let name = world.around.ids(now)?.nth(1).to_string();
        let runner = Runner { name, process: world.process.clone(), until: lease_end(now) };
        let gone = conversation.runner.iter().filter(|it| {
            it.process.as_ref().is_some_and(|process| world.around.has_ended(process))
        });
        let gone = gone.map(|it| it.name.clone()).collect();
        world.store().hold(conversation.id, runner.clone(), now, gone).await?;
        let session = Self { world, conversation, settings, runner };
        session.seen(false).await?;
        Ok(session)
    }

    /// The id of the session.
    pub fn id(&self) -> ConversationId {
        self.conversation.id
    }

    /// What the user chose for it.
    pub fn settings(&self) -> &SessionSettings {
        &self.settings
    }

    /// The name under which it claims items.
    pub fn agent(&self) -> String {
        self.key().actor_name("")
    }

    /// Works on a request until it is answered. If the last answer asked the user something, the text is
    /// the reply, and the turn goes on.
    pub async fn request(&mut self, text: &str, front: &mut dyn FrontEnd) -> Result<Ended, Fail> {
        let last = self.world.store().turns(self.id()).await?.pop();
        if let Some(row) = &last
            && row.ending.as_deref() == Some("asked")
            && row.ended_at.is_none()
        {
            return self.reply(row.clone(), text, front).await;
        }
        let now = self.world.around.now();
        let number = last.as_ref().map_or(1, |it| it.number.saturating_add(1));
        let boundary = self.boundary(last.as_ref()).await?;
        let row = Row {
            number,
            id: self.world.around.ids(now)?.nth(2).to_string(),
            plan: None,
            machine: String::new(),
            began_at: now,
            ended_at: None,
            ending: None,
            used: Used::default(),
        };
        let machine = Machine {
            turn: Turn::new(self.turn_options()),
            run: None,
            offered: Offered::Nothing,
            answers: 0,
            changes: 0,
            told_of_goal: None,
            watch: Watch::default(),
        };
        let user = Entry::User { text: text.to_owned() };
        let goal = self.settings.goal.as_ref().map(|goal| Entry::Told {
            text: format!("The goal of this request, which must be true in the end: {goal}"),
        });
        let happened = [Some(user), goal, boundary].into_iter().flatten();
        let happened = happened.map(|it| (it, Used::default())).collect();
        let mut driver = self.driver(row, machine, text.to_owned()).await?;
        driver.recorder.machine.run = Some(driver.calls.id());
        front.event(began(&driver, false));
        self.tell_servers(front);
        let effects = driver.step(turn::Input::Begin, happened).await?;
        finish(driver, effects, front).await
    }

    /// Goes on with a turn that was cut off by the end of its process; `None` if there is none.
    pub async fn resume(&mut self, front: &mut dyn FrontEnd) -> Result<Option<Ended>, Fail> {
        let last = self.world.store().turns(self.id()).await?.pop();
        let Some(row) = last.filter(|it| it.ending.is_none()) else { return Ok(None) };
        let mut driver = self.stored(row).await?;
        front.event(began(&driver, true));
        if let ConversationState::Waiting { on, .. } = &self.conversation.state {
            driver.plan.wait_no_longer(on).await?;
        }
        driver.record_cut_off(front).await?;
        let mut effects = driver.recorder.machine.turn.resume();
        if effects.is_empty() {
            // The program ended before the first step.
            effects = driver.step(turn::Input::Begin, Vec::new()).await?;
        }
        finish(driver, effects, front).await.map(Some)
    }

    /// Ends the work of this process on the session. Another may continue it.
    pub async fn close(self) -> Result<(), Fail> {
        self.world.servers.shut_down().await;
        self.seen(true).await?;
        Ok(self.world.store().let_go(self.id(), self.runner.name.clone()).await?)
    }

    /// The user's reply to a question that suspended the turn.
    async fn reply(
        &mut self,
        row: Row,
        text: &str,
        front: &mut dyn FrontEnd,
    ) -> Result<Ended, Fail> {
        let mut driver = self.stored(Row { ending: None, ..row }).await?;
        front.event(began(&driver, true));
        let happened = vec![(Entry::User { text: text.to_owned() }, Used::default())];
        let effects = driver.step(turn::Input::Reply, happened).await?;
        finish(driver, effects, front).await
    }

    /// The driver of a turn that is stored.
    async fn stored(&self, row: Row) -> Result<Driver<'_>, Fail> {
        let machine: Machine = serde_json::from_str(&row.machine).map_err(not_json)?;
        let filter = EntryFilter { turn: Some(row.number), ..EntryFilter::default() };
        let store = Arc::clone(self.world.store());
        let entries = entries(&*store, self.id(), filter).await?;
        let request = entries.iter().find_map(|it| match &it.entry {
            Entry::User { text } => Some(text.clone()),
            Entry::Steering { .. }
            | Entry::Answer(_)
            | Entry::Result(_)
            | Entry::Told { .. }
            | Entry::Info { .. }
            | Entry::Summary { .. }
            | Entry::Ended { .. } => None,
        });
        let mut driver = self.driver(row, machine, request.unwrap_or_default()).await?;
        driver.recorder.entries = entries;
        if let Some(run) = driver.recorder.machine.run {
            driver.cut_off = Some(CutOff::read(&*store, run, self.world.around.now()).await?);
        }
        driver.recorder.machine.run = Some(driver.calls.id());
        if let Some(plan) = delegate::TurnPlan::plan(&driver.plan).await? {
            // Whoever worked on a delegated item ended with the program.
            plan.release_delegated(&self.agent()).await?;
        }
        driver.shown = driver.plan.whole().await?;
        Ok(driver)
    }

    async fn driver(
        &self,
        row: Row,
        machine: Machine,
        request: String,
    ) -> Result<Driver<'_>, Fail> {
        let store = self.world.store();
        let dialect = self.settings.dialect().map_err(Fail::usage)?;
        let plan = TurnPlan::new(plan::Inner {
            store: Arc::clone(store),
            engine: self.world.engine.clone(),
            around: Arc::clone(&self.world.around),
            conversation: self.id(),
            key: AttachmentKey { turn: row.id.clone(), ..self.attachment() },
            which: self.settings.plan.as_ref().map(|it| match it.parse() {
                Ok(id) => Which::Id(id),
                Err(_) => Which::Named(it.clone()),
            }),
            title: request.chars().take(TITLE).collect(),
            dialect,
            limits: self.world.limits,
            agent: self.agent(),
            process: self.world.process.clone(),
        });
        let attendant = Attendant::new(&self.world, self.id(), self.runner.clone()).await?;
        let sender = attendant.sender();
        let calls = Calls::start(&self.world, &plan, &self.conversation.title, &sender).await?;
        let most = self.world.context.history.saturating_mul(ENTRIES_PER_MESSAGE);
        let last = u32::try_from(most).unwrap_or(u32::MAX).max(1);
        let filter = EntryFilter { last, ..EntryFilter::default() };
        let mut earlier = entries(&**store, self.id(), filter).await?;
        earlier.retain(|it| it.turn < row.number);
        let recorder = Recorder {
            store: Arc::clone(store),
            around: Arc::clone(&self.world.around),
            conversation: self.id(),
            runner: self.runner.name.clone(),
            row,
            machine,
            earlier,
            entries: Vec::new(),
        };
        Ok(Driver {
            world: &self.world,
            settings: &self.settings,
            request,
            plan,
            recorder,
            attendant,
            calls,
            cut_off: None,
            sent_revision: None,
            shown: None,
        })
    }

    /// How a turn is to be worked on. Where somebody can be asked, the model may ask, too.
    fn turn_options(&self) -> turn::Options {
        let options = self.settings.turn.clone();
        let is_attended = options.is_attended || self.world.is_attended;
        turn::Options { is_attended, ..options }
    }

    /// Tells the user which MCP servers are not there.
    fn tell_servers(&self, front: &mut dyn FrontEnd) {
        for server in self.world.servers.report() {
            if server.status != mcp::Status::Connected || server.why.is_some() {
                front.event(Event::Info(server.to_string()));
            }
        }
    }

    /// What the model is told once of the list that the last turn left open.
    async fn boundary(&self, last: Option<&Row>) -> Result<Option<Entry>, Fail> {
        let Some(plan) = last.and_then(|it| it.plan) else { return Ok(None) };
        if self.settings.plan.is_some() {
            // The turn works on that plan and reads it with every call.
            return Ok(None);
        }
        let plan = match self.world.store().whole(plan).await {
            Ok(plan) => plan,
            Err(Error::NoPlan(_)) => return Ok(None),
            Err(why) => return Err(why.into()),
        };
        let dialect = self.settings.dialect().map_err(Fail::usage)?;
        let text = prompt::boundary(&plan, Tools::of(dialect), &Tag::reminder(), BOUNDARY);
        Ok(text.map(|text| Entry::Told { text }))
    }

    /// Records the session among those of the agents, so that `watch` shows it.
    async fn seen(&self, ended: bool) -> Result<(), Fail> {
        let seen = Seen {
            key: self.key(),
            project: self.world.project.clone(),
            directory: self.conversation.directory.clone(),
            process: self.world.process.clone(),
            interactive: Some(self.world.is_attended),
            now: self.world.around.now(),
            ended,
        };
        agents::record(&**self.world.store(), seen).await?;
        Ok(())
    }

    fn key(&self) -> SessionKey {
        SessionKey { agent: AGENT.to_owned(), id: self.id().to_string() }
    }

    fn attachment(&self) -> AttachmentKey {
        self.key().attachment(&self.world.project, "")
    }
}

/// What the user chose for a stored session.
pub fn stored_settings(conversation: &Conversation) -> Result<SessionSettings, Fail> {
    serde_json::from_str(&conversation.settings).map_err(not_json)
}

/// Whether a turn was cut off by the end of its process.
pub fn is_cut_off(row: &Row) -> bool {
    row.ending.is_none()
}

fn began(driver: &Driver<'_>, is_resumed: bool) -> Event {
    let row = &driver.recorder.row;
    Event::Began { turn: row.number, id: row.id.clone(), is_resumed }
}

async fn finish(
    mut driver: Driver<'_>,
    effects: Vec<turn::Effect>,
    front: &mut dyn FrontEnd,
) -> Result<Ended, Fail> {
    let ended = driver.drive(effects, front).await;
    driver.calls.end().await?;
    ended
}

impl Ended {
    /// The exit code of a program that worked on one turn: 0 answered and nothing open, 7 something open,
    /// 6 failed or not validated, 130 interrupted. A turn that a budget ended has no answer.
    pub fn exit(&self) -> u8 {
        let is_open =
            self.plan.as_ref().is_some_and(|it| it.listed().iter().any(|it| it.is_open()));
        match &self.ending {
            Ending::Failed(_) | Ending::PlanningFailed | Ending::NotValidated => 6,
            Ending::Aborted(turn::Abort::User) => 130,
            Ending::Aborted(turn::Abort::Budget(_)) if !is_open => 6,
            Ending::Answered
            | Ending::Asked
            | Ending::Planned
            | Ending::LetGo
            | Ending::Limit
            | Ending::Stuck
            | Ending::Aborted(turn::Abort::Budget(_)) => {
                if is_open {
                    7
                } else {
                    0
                }
            }
        }
    }
}
