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
mod compaction;
mod delegations;
mod driver;
mod entry;
mod event;
pub mod export;
mod goal_met;
mod hosted;
mod idle;
mod json_events;
pub mod listing;
mod meter;
mod minutes_of_day;
mod model_call;
mod model_worker;
mod output_schema;
mod plan;
mod planned;
mod queue;
mod queue_view;
mod recorder;
mod reminders;
mod rule_to_add;
mod settings;
pub mod stored;
mod summary;
mod tool_calls;
mod turn_writer;
mod world;

use std::sync::Arc;

use punchlist_engine::Which;
use punchlist_engine::fail::Fail;
use punchlist_engine::session::{self as agents, Seen};
use punchlist_formats::prompt::{self, Tag, Tools};
use punchlist_formats::text::secret::mask;
use punchlist_model::call::Message;
use punchlist_model::remind::Watch;
use punchlist_model::store::turns::{
    Conversation, ConversationState, EntryFilter, Runner, Turn as Row, Used,
};
use punchlist_model::store::{AttachmentKey, Error};
use punchlist_model::{ConversationId, Goal, Op, PlanId, PlanPatch, SessionKey};

pub use answers::Answers;
pub use attach::{Attached, Attachment};
pub use entry::{Answer, CallEnd, Entry, Recorded};
pub use event::{Ended, Event, FrontEnd, Idle, Input, LeaderEvent};
pub use hosted::{Hosted, Report};
pub use json_events::{JsonEvents, is_for_user};
pub use model_worker::ModelLoop;
pub use plan::TurnPlan;
pub use planned::{Planned, newest_planned};
pub use punchlist_sched::output::{Line as OutputLine, Stream as OutputStream};
pub use queue::{Queue, QueueChange, Queued, reply};
pub use queue_view::QueueView;
pub use rule_to_add::rule_to_add;
pub use settings::{Allowance, Budget, SessionSettings, money};
pub use stored::StoredSession;
pub use world::{
    Connect, Facts, SessionModel, SessionPlace, SessionTools, SessionUser, TurnTools, World,
};

use attend::Attendant;
pub(crate) use attend::{RENEW, lease_end};
use driver::Driver;
pub(crate) use driver::ending_name;
use meter::Meter;
pub(crate) use meter::day_reached;
use queue::SeenQueue;
pub(crate) use recorder::not_json;
use recorder::{Machine, Recorder, entries};
use tool_calls::{Calls, CutOff};
use turn_writer::TurnWriter;

use crate::leader::LedBy;
use crate::mcp;
use crate::turn::{self, Ending, Offered, Turn};
use crate::workers::delegate;

/// How many entries of earlier turns are read, for each message that is shown.
const ENTRIES_PER_MESSAGE: usize = 8;

/// The most bytes of the id that somebody else gives a turn.
const LONGEST_TURN_ID: usize = 200;

/// The name of our own agent among the agents.
pub const AGENT: &str = "punchlist";

/// The largest list that a new turn is told of the turn before, in tokens.
const BOUNDARY: u64 = 1500;

/// The most characters of a title.
pub(crate) const TITLE: usize = 200;

/// A session that this process runs.
pub struct Session {
    world: World,
    conversation: Conversation,
    settings: SessionSettings,
    runner: Runner,
    /// The queue as the front end was shown it.
    queue: SeenQueue,
}

impl Session {
    /// Begins a session. `about` is the beginning of its first request.
    pub async fn create(
        world: World,
        settings: SessionSettings,
        about: &str,
    ) -> Result<Self, Fail> {
        let id = ConversationId(world.place.around.ids(world.place.around.now())?.nth(0));
        Self::create_as(id, world, settings, about).await
    }

    /// Begins a session with an id that was chosen before.
    pub async fn create_as(
        id: ConversationId,
        world: World,
        settings: SessionSettings,
        about: &str,
    ) -> Result<Self, Fail> {
        let now = world.place.around.now();
        // The title is shown in lists and with questions.
        let title: String = mask(about.trim()).chars().take(TITLE).collect();
        let conversation = Conversation {
            directory: world.place.directory.display().to_string(),
            title,
            settings: serde_json::to_string(&settings).map_err(not_json)?,
            ..Conversation::new(id, world.place.project.clone(), now)
        };
        world.store().create_conversation(conversation.clone()).await?;
        Self::hold(world, conversation, settings).await
    }

    /// Continues a stored session. Fails if another process runs it, or another agent leads it.
    pub async fn open(world: World, id: ConversationId) -> Result<Self, Fail> {
        let conversation = world.store().conversation(id).await?;
        if let Some(led_by) = LedBy::of(&conversation) {
            return Err(led_by.refusal(id));
        }
        let settings = stored_settings(&conversation)?;
        Self::hold(world, conversation, settings).await
    }

    async fn hold(
        world: World,
        conversation: Conversation,
        settings: SessionSettings,
    ) -> Result<Self, Fail> {
        let now = world.place.around.now();
        let name = world.place.around.ids(now)?.nth(1).to_string();
        let runner = Runner { name, process: world.place.process.clone(), until: lease_end(now) };
        let gone = conversation.runner.iter().filter(|it| {
            it.process.as_ref().is_some_and(|process| world.place.around.has_ended(process))
        });
        let gone = gone.map(|it| it.name.clone()).collect();
        world.store().hold(conversation.id, runner.clone(), now, gone).await?;
        let session = Self { world, conversation, settings, runner, queue: SeenQueue::default() };
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
        self.request_in(text, None, front).await
    }

    /// The same. `turn` is the id of the turn, if whoever sends the request has one for it. An id that an
    /// earlier turn has is not used again.
    pub async fn request_in(
        &mut self,
        text: &str,
        turn: Option<&str>,
        front: &mut dyn FrontEnd,
    ) -> Result<Ended, Fail> {
        let ended = self.begin(text, turn, Vec::new(), front).await?;
        ended.ok_or_else(|| Fail::ours("a turn that takes no message was not recorded"))
    }

    /// Works towards a goal until it is met: the plan of the turn gets it, whatever goal it had before.
    pub async fn work_towards(
        &mut self,
        goal: &str,
        front: &mut dyn FrontEnd,
    ) -> Result<Ended, Fail> {
        let goal = goal.trim();
        if let Some(plan) = self.plan_to_go_on_with().await? {
            let goal = Goal { statement: goal.to_owned(), ..Goal::default() };
            let patch = PlanPatch { goal: Some(Some(goal)), ..PlanPatch::default() };
            let name = self.world.user.person.name.clone();
            let person = self.world.place.engine.at(plan).by_person(name);
            person.change(vec![Op::Plan(Box::new(patch))]).await?;
        }
        // It is the goal of this turn, and not of all later requests.
        let before = self.settings.goal.replace(goal.to_owned());
        let text = format!("Work towards this goal until it is met: {goal}");
        let ended = self.request(&text, front).await;
        self.settings.goal = before;
        ended
    }

    /// The plan that exists already and that the next turn works on.
    async fn plan_to_go_on_with(&self) -> Result<Option<PlanId>, Fail> {
        if let Some(name) = &self.settings.plan {
            return Ok(self.world.place.engine.plan(which(name)).await?.map(|it| it.id()));
        }
        let last = self.world.store().turns(self.id()).await?.pop();
        // A request after a question goes on with the turn that asked.
        let asked =
            last.filter(|it| it.ending.as_deref() == Some("asked") && it.ended_at.is_none());
        Ok(asked.and_then(|it| it.plan))
    }

    /// Begins a turn, or goes on with one that was suspended, and works on it. `None` if one of the queued
    /// messages that it takes was changed meanwhile; then nothing happened.
    async fn begin(
        &mut self,
        text: &str,
        turn: Option<&str>,
        taken: Vec<Message>,
        front: &mut dyn FrontEnd,
    ) -> Result<Option<Ended>, Fail> {
        let turns = self.world.store().turns(self.id()).await?;
        // A turn is named after the message that begins it.
        let message = taken.first().map(|it| it.id.to_string());
        let named = turn.map(str::to_owned).or(message);
        let named = named.filter(|id| is_turn_id(id) && turns.iter().all(|it| it.id != *id));
        let last = turns.last();
        if let Some(row) = last
            && row.ending.as_deref() == Some("asked")
            && row.ended_at.is_none()
        {
            return self.reply(row.clone(), text, taken, front).await;
        }
        let now = self.world.place.around.now();
        let number = last.map_or(1, |it| it.number.saturating_add(1));
        let row = Row {
            number,
            id: match named {
                Some(id) => id,
                None => self.world.place.around.ids(now)?.nth(2).to_string(),
            },
            plan: None,
            machine: String::new(),
            began_at: now,
            ended_at: None,
            ending: None,
            used: Used::default(),
        };
        let machine = Machine {
            turn: Turn::new(self.turn_options(&turns)),
            run: None,
            offered: Offered::Nothing,
            answers: 0,
            changes: 0,
            told_of_goal: None,
            watch: Watch::default(),
        };
        let (request, boundary) = match self.take_up(last, &row).await? {
            Some(planned) => {
                (planned::joined(&**self.world.store(), self.id(), planned, text).await?, None)
            }
            None => (text.to_owned(), self.boundary(last).await?),
        };
        let user = Entry::User { text: text.to_owned() };
        let goal = self.settings.goal.as_ref().map(|goal| Entry::Told {
            text: format!("The goal of this request, which must be true in the end: {goal}"),
        });
        let happened = [Some(user), goal, boundary].into_iter().flatten();
        let happened = happened.map(|it| (it, Used::default())).collect();
        let mut driver = self.driver(row, machine, request).await?;
        driver.recorder.machine.run = Some(driver.calls.id());
        let Some(effects) = driver.step_taking(turn::Input::Begin, happened, taken).await? else {
            driver.calls.end().await?;
            return Ok(None);
        };
        front.event(began(&driver, text, false));
        self.tell_servers(front);
        finish(driver, effects, front).await.map(Some)
    }

    /// Gives the plan of the last turn to a new one, if the last turn only planned. Returns that turn.
    async fn take_up<'a>(&self, last: Option<&'a Row>, new: &Row) -> Result<Option<&'a Row>, Fail> {
        let Some(last) = last else { return Ok(None) };
        let store = self.world.store();
        let Some(plan) = planned::waiting(&**store, last).await? else { return Ok(None) };
        let key = AttachmentKey { turn: new.id.clone(), ..self.attachment() };
        store.attach(key, plan, new.began_at).await?;
        Ok(Some(last))
    }

    /// Goes on with a turn that was cut off by the end of its process; `None` if there is none.
    pub async fn resume(&mut self, front: &mut dyn FrontEnd) -> Result<Option<Ended>, Fail> {
        let last = self.world.store().turns(self.id()).await?.pop();
        let Some(row) = last.filter(|it| it.ending.is_none()) else { return Ok(None) };
        let mut driver = self.stored(row).await?;
        front.event(began(&driver, "", true));
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

    /// Ends the work of this process on the session, and its MCP servers. Another process may continue
    /// it.
    pub async fn close(self) -> Result<(), Fail> {
        self.world.tools.servers.shut_down().await;
        self.let_go().await
    }

    /// Ends the work of this process on the session until its next request. Another process may
    /// continue it. The MCP servers stay for the next request; whoever made them ends them.
    pub async fn let_go(self) -> Result<(), Fail> {
        self.seen(true).await?;
        Ok(self.world.store().let_go(self.id(), self.runner.name.clone()).await?)
    }

    /// The user's reply to a question that suspended the turn.
    async fn reply(
        &mut self,
        row: Row,
        text: &str,
        taken: Vec<Message>,
        front: &mut dyn FrontEnd,
    ) -> Result<Option<Ended>, Fail> {
        let mut driver = self.stored(Row { ending: None, ..row }).await?;
        let happened = vec![(Entry::User { text: text.to_owned() }, Used::default())];
        let Some(effects) = driver.step_taking(turn::Input::Reply, happened, taken).await? else {
            driver.calls.end().await?;
            return Ok(None);
        };
        front.event(began(&driver, text, true));
        finish(driver, effects, front).await.map(Some)
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
            | Entry::Used { .. }
            | Entry::Ended { .. } => None,
        });
        let mut request = request.unwrap_or_default();
        let turns = store.turns(self.id()).await?;
        let before = turns.iter().rev().find(|it| it.number < row.number);
        if let Some(before) = before.filter(|it| planned::is_planned(it) && it.plan == row.plan) {
            request = planned::joined(&*store, self.id(), before, &request).await?;
        }
        let mut driver = self.driver(row, machine, request).await?;
        driver.recorder.entries = entries;
        if let Some(run) = driver.recorder.machine.run {
            driver.cut_off = Some(CutOff::read(&*store, run, self.world.place.around.now()).await?);
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
        let around = Arc::clone(&self.world.place.around);
        let (name, stored) = (self.runner.name.clone(), row.clone());
        let writer = TurnWriter::new(Arc::clone(store), around, self.id(), name, stored);
        let meter = Meter::new(self.settings.budget, self.id(), &row, writer.clone());
        let plan = plan::Inner {
            store: Arc::clone(store),
            engine: self.world.place.engine.clone(),
            around: Arc::clone(&self.world.place.around),
            conversation: self.id(),
            key: AttachmentKey { turn: row.id.clone(), ..self.attachment() },
            which: self.settings.plan.as_deref().map(which),
            title: request.chars().take(TITLE).collect(),
            dialect,
            limits: self.world.place.limits,
            agent: self.agent(),
            process: self.world.place.process.clone(),
        };
        let plan = TurnPlan::new(plan, meter.clone());
        let runner = self.runner.clone();
        let attendant = Attendant::new(&self.world, self.id(), runner, &self.queue).await?;
        let sender = attendant.sender();
        let has_goal =
            self.settings.goal.is_some() || plan.whole().await?.is_some_and(|it| it.goal.is_some());
        let title = &self.conversation.title;
        let before = machine.run;
        let calls = Calls::start(&self.world, &plan, title, has_goal, before, &sender).await?;
        let most = self.world.model.context.history.saturating_mul(ENTRIES_PER_MESSAGE);
        let last = u32::try_from(most).unwrap_or(u32::MAX).max(1);
        let filter = EntryFilter { last, but: Some(Entry::USED), ..EntryFilter::default() };
        let mut earlier = entries(&**store, self.id(), filter).await?;
        if !earlier.iter().any(|it| matches!(it.entry, Entry::Summary { .. })) {
            // A summary stays, however much was said since.
            let kind = Some("summary");
            let filter = EntryFilter { last: 1, kind, ..EntryFilter::default() };
            earlier.splice(..0, entries(&**store, self.id(), filter).await?);
        }
        earlier.retain(|it| it.turn < row.number);
        let recorder = Recorder {
            around: Arc::clone(&self.world.place.around),
            conversation: self.id(),
            writer,
            row,
            machine,
            meter,
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
            left: Vec::new(),
            cut_off: None,
            sent_revision: None,
            shown: None,
        })
    }

    /// How a turn is to be worked on. Where somebody can be asked, the model may ask, too. A session that
    /// only plans does so until it has answered once: then the user knows the plan and may want it done.
    fn turn_options(&self, before: &[Row]) -> turn::Options {
        let options = self.settings.turn.clone();
        let is_attended = options.is_attended || self.world.user.is_attended;
        let has_answered =
            before.iter().any(|it| matches!(it.ending.as_deref(), Some("planned" | "answered")));
        let is_plan_only = options.is_plan_only && !has_answered;
        turn::Options { is_attended, is_plan_only, ..options }
    }

    /// Tells the user which MCP servers are not there.
    fn tell_servers(&self, front: &mut dyn FrontEnd) {
        for server in self.world.tools.servers.report() {
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
            project: self.world.place.project.clone(),
            directory: self.conversation.directory.clone(),
            process: self.world.place.process.clone(),
            interactive: Some(self.world.user.is_attended),
            now: self.world.place.around.now(),
            ended,
        };
        agents::record(&**self.world.store(), seen).await?;
        Ok(())
    }

    fn key(&self) -> SessionKey {
        SessionKey { agent: AGENT.to_owned(), id: self.id().to_string() }
    }

    fn attachment(&self) -> AttachmentKey {
        self.key().attachment(&self.world.place.project, "")
    }
}

/// What the user chose for a stored session.
pub fn stored_settings(conversation: &Conversation) -> Result<SessionSettings, Fail> {
    serde_json::from_str(&conversation.settings).map_err(not_json)
}

/// The plan that a person names.
fn which(name: &str) -> Which {
    name.parse().map_or_else(|_| Which::Named(name.to_owned()), Which::Id)
}

/// Whether a turn was cut off by the end of its process.
pub fn is_cut_off(row: &Row) -> bool {
    row.ending.is_none()
}

/// Whether a text of somebody else can be the id of a turn.
fn is_turn_id(text: &str) -> bool {
    (1..=LONGEST_TURN_ID).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_graphic())
}

fn began(driver: &Driver<'_>, request: &str, is_resumed: bool) -> Event {
    let row = &driver.recorder.row;
    let (request, plan) = (request.to_owned(), driver.shown.clone().map(Box::new));
    Event::Began { turn: row.number, id: row.id.clone(), request, is_resumed, plan }
}

async fn finish(
    mut driver: Driver<'_>,
    effects: Vec<turn::Effect>,
    front: &mut dyn FrontEnd,
) -> Result<Ended, Fail> {
    // Boxed: callers keep this future in theirs, and it is large.
    let ended = Box::pin(driver.drive(effects, front)).await;
    driver.calls.end().await?;
    ended
}

impl Ended {
    /// The exit code of a program that worked on one turn: 0 answered and nothing open, 7 something open,
    /// 6 failed, not validated or not as the output schema wants it, 130 interrupted. A turn that a budget ended has no answer.
    pub fn exit(&self) -> u8 {
        let is_open =
            self.plan.as_ref().is_some_and(|it| it.listed().iter().any(|it| it.is_open()));
        match &self.ending {
            Ending::Failed(_) | Ending::PlanningFailed | Ending::NotValidated | Ending::Unfit => 6,
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
