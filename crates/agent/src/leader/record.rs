//! What is stored of a led session, so that `sessions` lists it, and others can stop it.
//!
//! The agent's program stores the whole conversation in its own files. Stored here are its id of the
//! session, the requests, and how each turn ended and with what answer.

use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::time::Duration;

use punchlist_engine::Around;
use punchlist_engine::fail::{Code, Fail};
use punchlist_engine::workers::{Agent, lead};
use punchlist_formats::text::secret::mask;
use punchlist_model::call::News;
use punchlist_model::session::Store;
use punchlist_model::store::turns::{
    Conversation, ConversationState, Runner, Turn as Row, TurnRecord, Used,
};
use punchlist_model::{ConversationId, PlanId, Process};
use serde::{Deserialize, Serialize};
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};

use super::Leader;
use crate::provider::{Assistant, ModelName, Stop, TokenUsage};
use crate::session::{Answer, Ended, Entry, RENEW, TITLE, ending_name, lease_end, not_json};
use crate::turn::Purpose;

/// How soon after a change of the store it is looked whether somebody asked for the end.
const LOOK_AFTER: Duration = Duration::from_millis(200);

/// The agent that leads a stored session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LedBy {
    /// The agent.
    pub agent: Agent,
    /// Its id of the session.
    pub session: String,
    /// The model, if it is not the program's default.
    pub model: Option<String>,
}

/// The settings of a led session, as they are stored.
#[derive(Serialize, Deserialize)]
struct LedSettings {
    leader: StoredLeader,
}

#[derive(Serialize, Deserialize)]
struct StoredLeader {
    agent: String,
    session: String,
    #[serde(default)]
    model: Option<String>,
}

impl LedBy {
    /// Who leads a stored session; `None` if it is one of our own agent.
    pub fn of(conversation: &Conversation) -> Option<Self> {
        let LedSettings { leader } = serde_json::from_str(&conversation.settings).ok()?;
        let StoredLeader { agent, session, model } = leader;
        Some(Self { agent: Agent::named(&agent)?, session, model })
    }

    /// The command that goes on with the session in the agent's own program.
    pub fn command(&self) -> String {
        lead::resume(self.agent, &self.session)
    }

    /// The refusal where only a session of our own agent will do.
    pub fn refusal(&self, id: ConversationId) -> Fail {
        let (short, title) = (id.short(), self.agent.title());
        Fail::new(Code::Refused, format!("session {short} is led by {title}")).hint(format!(
            "`punchlist resume {short} TEXT` or `{}` goes on with it.",
            self.command()
        ))
    }

    fn settings(&self) -> Result<String, Fail> {
        let Self { agent, session, model } = self.clone();
        let leader = StoredLeader { agent: agent.as_str().to_owned(), session, model };
        serde_json::to_string(&LedSettings { leader }).map_err(not_json)
    }
}

/// Records one turn of a led session, and holds the session meanwhile.
pub(super) struct LedRecord {
    store: Arc<dyn Store>,
    around: Arc<dyn Around>,
    led_by: LedBy,
    id: ConversationId,
    runner: Runner,
    row: Row,
    news: News,
    renew: Interval,
    /// Whether the lease is to be extended.
    is_extension_due: bool,
    /// Whether it is to be looked whether somebody asked for the end.
    is_look_due: bool,
}

impl LedRecord {
    /// Begins a turn of a new session.
    pub(super) async fn create(
        leader: &Leader,
        session: &str,
        request: &str,
    ) -> Result<Self, Fail> {
        let now = leader.place.around.now();
        let id = ConversationId(leader.place.around.ids(now)?.nth(0));
        let session = session.to_owned();
        let led_by =
            LedBy { agent: leader.program.agent, session, model: leader.program.model.clone() };
        let conversation = Conversation {
            directory: leader.place.directory.display().to_string(),
            title: mask(request.trim()).chars().take(TITLE).collect(),
            settings: led_by.settings()?,
            ..Conversation::new(id, leader.place.project.clone(), now)
        };
        leader.place.engine.store().create_conversation(conversation.clone()).await?;
        Self::open(leader, &conversation, led_by, request).await
    }

    /// Begins the next turn of a stored session. Fails if another process runs it.
    pub(super) async fn open(
        leader: &Leader,
        conversation: &Conversation,
        led_by: LedBy,
        request: &str,
    ) -> Result<Self, Fail> {
        let (store, around) =
            (Arc::clone(leader.place.engine.store()), Arc::clone(&leader.place.around));
        let now = around.now();
        let ids = around.ids(now)?;
        let process: Option<Process> = leader.place.process.clone();
        let runner = Runner { name: ids.nth(1).to_string(), process, until: lease_end(now) };
        let gone = conversation
            .runner
            .iter()
            .filter(|it| it.process.as_ref().is_some_and(|process| around.has_ended(process)));
        let gone = gone.map(|it| it.name.clone()).collect();
        store.hold(conversation.id, runner.clone(), now, gone).await?;
        let row = Row {
            number: conversation.turns.saturating_add(1),
            id: ids.nth(2).to_string(),
            plan: None,
            // The program has the state of the turn.
            machine: "{}".to_owned(),
            began_at: now,
            ended_at: None,
            ending: None,
            used: Used::default(),
        };
        let mut renew = interval(RENEW);
        renew.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let news = store.news().await?;
        let mut record = Self {
            store,
            around,
            led_by,
            id: conversation.id,
            runner,
            row,
            news,
            renew,
            is_extension_due: false,
            is_look_due: false,
        };
        let user = Entry::User { text: request.to_owned() };
        record.record(vec![(user, Used::default())], ConversationState::Working).await?;
        Ok(record)
    }

    /// Records what the session does now.
    pub(super) async fn set_state(&mut self, state: ConversationState) -> Result<(), Fail> {
        let waits = match &state {
            ConversationState::Waiting { until: Some(until), on } => {
                Some(Entry::Info { text: format!("waits for {on} until {until}") })
            }
            ConversationState::Waiting { until: None, .. }
            | ConversationState::Idle
            | ConversationState::Asked
            | ConversationState::Working => None,
        };
        self.record(waits.into_iter().map(|it| (it, Used::default())).collect(), state).await
    }

    /// Records what the program has used since the last time.
    pub(super) async fn count(&mut self, used: Used) -> Result<(), Fail> {
        let by = self.led_by.agent.as_str().to_owned();
        self.record(vec![(Entry::Used { by, used }, used)], ConversationState::Working).await
    }

    /// The plan that the turn works on, once it is known.
    pub(super) fn set_plan(&mut self, plan: Option<PlanId>) {
        self.row.plan = plan.or(self.row.plan);
    }

    /// Records the end of the turn, and lets go of the session.
    pub(super) async fn end(mut self, ended: &Ended) -> Result<(), Fail> {
        self.row.ending = Some(ending_name(&ended.ending).to_owned());
        self.row.ended_at = Some(self.around.now());
        let answer = Some(ended.answer.trim()).filter(|it| !it.is_empty());
        let answer = answer.map(|it| (Entry::Answer(self.answer(it)), Used::default()));
        let end = (Entry::Ended { ending: ended.ending.clone() }, Used::default());
        let happened = answer.into_iter().chain([end]).collect();
        self.record(happened, ConversationState::Idle).await?;
        self.store.let_go(self.id, self.runner.name.clone()).await?;
        Ok(())
    }

    fn answer(&self, text: &str) -> Answer {
        let agent = self.led_by.agent.as_str();
        let name = self.led_by.model.as_deref().unwrap_or(agent).to_owned();
        Answer {
            purpose: Purpose::Work,
            message: Assistant {
                model: ModelName { provider: agent.to_owned(), name },
                text: text.to_owned(),
                thinking: Vec::new(),
                calls: Vec::new(),
            },
            stop: Stop::default(),
            citations: Vec::new(),
            usage: TokenUsage::default(),
        }
    }

    async fn record(
        &mut self,
        happened: Vec<(Entry, Used)>,
        state: ConversationState,
    ) -> Result<(), Fail> {
        let at = self.around.now();
        let entries: Result<Vec<_>, _> =
            happened.iter().map(|(entry, used)| entry.to_new(*used)).collect();
        let entries = entries.map_err(not_json)?;
        let record = TurnRecord {
            turn: self.row.clone(),
            entries,
            taken: Vec::new(),
            queue_paused: None,
            state,
            at,
        };
        self.store.record_turn(self.id, self.runner.name.clone(), record).await?;
        Ok(())
    }

    async fn extend(&mut self) -> Result<(), Fail> {
        let now = self.around.now();
        self.runner.until = lease_end(now);
        Ok(self.store.hold(self.id, self.runner.clone(), now, Vec::new()).await?)
    }

    async fn is_stop_asked(&self) -> Result<bool, Fail> {
        let asked = self.store.conversation(self.id).await?.stop_asked_at;
        Ok(asked.is_some_and(|at| at >= self.row.began_at))
    }
}

/// Keeps the session held, and returns when somebody asks for its end. Cancel-safe.
pub(super) async fn stop_asked(record: Option<&mut LedRecord>) -> Result<(), Fail> {
    let Some(record) = record else { return pending().await };
    loop {
        // The marks stay if this is cancelled, so nothing is missed.
        if record.is_extension_due {
            record.extend().await?;
            record.is_extension_due = false;
        }
        if record.is_look_due {
            sleep(LOOK_AFTER).await;
            if record.is_stop_asked().await? {
                return Ok(());
            }
            record.is_look_due = false;
        }
        tokio::select! {
            _ = record.renew.tick() => record.is_extension_due = true,
            changed = poll_fn(|context| record.news.as_mut().poll_next(context)) => {
                if let Some(changed) = changed {
                    changed?;
                }
                record.is_look_due = true;
            }
        }
    }
}
