//! Streams, processes and plans, put together into rows: one for each agent, whoever told of it.
//!
//! A session whose list is kept as a plan shows the plan's items, and nothing twice. Rows come in the
//! order in which they matter: who waits for the user, who works, of whom there is no news, who rests,
//! who died. Within that they stay where they are until they change.

use std::collections::BTreeMap;

use punchlist_model::session::{Session, SessionKey};
use punchlist_model::store::AttachmentKey;
use punchlist_model::{Item, Plan, Status};

use super::seen::{Phase, Seen, Todos};
use crate::stream::event::{AgentType, Outcome};
use crate::view::tree::nested;

/// For how long a turn that is not over counts as work where nobody can see the process.
const QUIET_MS: i64 = 2 * 60_000;

/// What is known of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Life {
    /// It runs, and says of itself whether it is busy.
    Runs {
        /// Whether it is, where it says so.
        busy: Option<bool>,
    },
    /// It ended in good order.
    Ended,
    /// It is gone without a word.
    Died,
    /// Nobody knows.
    #[default]
    Unknown,
}

impl Life {
    /// What two witnesses know together: one that sees it run is right, and any word is better than none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Runs { busy }, Self::Runs { busy: second }) => {
                Self::Runs { busy: busy.or(second) }
            }
            (Self::Runs { .. }, _) | (_, Self::Unknown) => self,
            (Self::Ended | Self::Died, Self::Ended | Self::Died) => self,
            (Self::Unknown, _) | (_, Self::Runs { .. }) => other,
        }
    }
}

/// Everything that is known, from all sides.
#[derive(Clone, Debug, Default)]
pub struct Known<'a> {
    /// What streams told, and what is known of the process behind each.
    pub streams: Vec<(&'a Seen, Life)>,
    /// Sessions that the store knows.
    pub sessions: Vec<(&'a Session, Life)>,
    /// Plans, and who works on each.
    pub plans: Vec<(Option<&'a AttachmentKey>, &'a Plan)>,
}

/// How an agent stands, for whoever looks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// It waits for the user.
    Asks(String),
    /// It works.
    Working,
    /// Its turn is not over, but nothing was heard for a while, and its process cannot be seen.
    Silent,
    /// Its last turn failed.
    Failed(String),
    /// It has nothing to do.
    Idle,
    /// Its process is gone, and it left something.
    Died,
}

impl State {
    fn rank(&self) -> u8 {
        match self {
            Self::Asks(_) => 0,
            Self::Working => 1,
            Self::Silent => 2,
            Self::Failed(_) => 3,
            Self::Idle => 4,
            Self::Died => 5,
        }
    }
}

/// An entry of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// What to call it now.
    pub label: String,
    /// Where it stands.
    pub status: Status,
    /// Whom or what it waits for.
    pub waiting_on: Option<String>,
    /// Since when, in milliseconds since 1970.
    pub since: i64,
    /// The entry above it that it belongs to stands so far to the left.
    pub depth: usize,
}

/// A list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listed {
    /// How many are done.
    pub done: u32,
    /// How many there are to do in all.
    pub total: u32,
    /// How many are open.
    pub open: u32,
    /// The entries.
    pub entries: Vec<Entry>,
    /// Whether the source never said that it was taken.
    pub unconfirmed: bool,
}

impl Listed {
    /// What is being worked on.
    pub fn current(&self) -> Option<&Entry> {
        self.entries.iter().find(|it| it.status == Status::InProgress)
    }
}

/// One agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// What tells it from every other row.
    pub key: String,
    /// Which agent: `claude`, `codex`, `gemini`, `acp`; `plan` for a plan that no session works on.
    pub agent: String,
    /// The sub-agent, if it is one.
    pub sub_agent: Option<String>,
    /// What the place that it works in is called.
    pub place: String,
    /// The model that it uses, or what the plan is about.
    pub model: String,
    /// How it stands.
    pub state: State,
    /// Its list.
    pub list: Option<Listed>,
    /// Since when its turn runs, or when it was last heard of; milliseconds since 1970.
    pub at: i64,
    /// When it began.
    pub began: i64,
}

/// One agent, while it is put together.
#[derive(Default)]
struct Parts<'a> {
    seen: Option<&'a Seen>,
    /// The last that was heard of any of its sub-agents.
    heard: Option<i64>,
    /// The sub-agent that was heard of last, of those that work.
    helper: Option<&'a Seen>,
    session: Option<&'a Session>,
    plan: Option<&'a Plan>,
    life: Life,
}

/// Who: agent, session, sub-agent.
type Key = (String, String, Option<String>);

/// The rows, in the order in which they matter.
pub fn rows(known: &Known<'_>, now: i64) -> Vec<Row> {
    let mut parts: BTreeMap<Key, Parts<'_>> = BTreeMap::new();
    for (seen, life) in &known.streams {
        let (session, sub) = seen.names();
        let key = (name(seen.agent_type).to_owned(), session.to_owned(), sub.map(str::to_owned));
        let part = parts.entry(key).or_default();
        part.life = part.life.or(*life);
        // Of two files of one session, the one that was written last tells.
        if part.seen.is_none_or(|it| it.last <= seen.last) {
            part.seen = Some(seen);
        }
    }
    for (seen, _) in &known.streams {
        let (session, Some(_)) = seen.names() else { continue };
        let key = (name(seen.agent_type).to_owned(), session.to_owned(), None);
        let Some(part) = parts.get_mut(&key) else { continue };
        part.heard = part.heard.max(Some(seen.last));
        let is_later = part.helper.is_none_or(|it| it.last <= seen.last);
        if is_later && part.has_let_work(seen) {
            part.helper = Some(seen);
        }
    }
    for (session, life) in &known.sessions {
        let SessionKey { agent, id } = &session.key;
        let part = parts.entry((agent.clone(), id.clone(), None)).or_default();
        part.life = part.life.or(*life);
        part.session = Some(session);
    }
    let mut rows = Vec::new();
    for (key, plan) in &known.plans {
        match key {
            Some(key) => {
                let sub = Some(key.sub_agent.clone()).filter(|it| !it.is_empty());
                let key = (key.agent.clone(), key.conversation.clone(), sub);
                let part = parts.entry(key).or_default();
                if part.plan.is_none_or(|it| it.updated_at <= plan.updated_at) {
                    part.plan = Some(plan);
                }
            }
            None => rows.push(by_hand(plan)),
        }
    }
    let lives: BTreeMap<(String, String), Life> =
        parts.iter().map(|((agent, id, _), it)| ((agent.clone(), id.clone()), it.life)).collect();
    for (key, mut part) in parts {
        if key.2.is_some() {
            // A sub-agent lives in its agent's process.
            let of = lives.get(&(key.0.clone(), key.1.clone())).copied();
            part.life = part.life.or(of.unwrap_or_default());
        }
        rows.extend(part.row(key, now));
    }
    let places: BTreeMap<String, (u8, i64)> =
        rows.iter().map(|row| (row.key.clone(), order(row))).collect();
    rows.sort_by_cached_key(|row| {
        let (place, parent) = (order(row), row.parent().and_then(|it| places.get(&it)));
        // A sub-agent stands below its agent, unless it is the one that wants something.
        let place = parent.copied().filter(|it| it.0 <= place.0).unwrap_or(place);
        (place, row.key.clone())
    });
    rows
}

/// Those that work stand in the order in which they began, the others by their last news.
fn order(row: &Row) -> (u8, i64) {
    let at = match &row.state {
        State::Asks(_) | State::Working => row.began,
        State::Silent | State::Failed(_) | State::Idle | State::Died => row.at.saturating_neg(),
    };
    (row.state.rank(), at)
}

impl Row {
    /// The key of the agent that it works for, if it is a sub-agent.
    fn parent(&self) -> Option<String> {
        let sub_agent = self.sub_agent.as_ref()?;
        self.key.strip_suffix(sub_agent.as_str()).map(str::to_owned)
    }
}

impl Parts<'_> {
    fn row(&self, (agent, session, sub_agent): Key, now: i64) -> Option<Row> {
        let list = match (self.plan, self.seen.and_then(|it| it.list.as_ref())) {
            // A cleared list is none, and neither is a plan that nothing was put on.
            (Some(plan), _) if !plan.items.is_empty() => Some(of_plan(plan)),
            (_, Some(todos)) if !todos.items.is_empty() => Some(of_todos(todos)),
            (_, _) => None,
        };
        // A sub-agent that has no list of its own is its agent's affair.
        if sub_agent.is_some() && list.is_none() && self.seen.and_then(Seen::asks).is_none() {
            return None;
        }
        let times = [
            self.seen.map(|it| it.last),
            self.heard,
            self.session.map(|it| it.seen_at.as_millisecond()),
            self.plan.map(|it| it.updated_at.as_millisecond()),
        ];
        let last = times.into_iter().flatten().max().unwrap_or(now);
        let state = self.state(list.as_ref(), last, now);
        let begun = self.session.map(|it| it.begun_at.as_millisecond());
        let began = self.seen.map(|it| it.began).into_iter().chain(begun).min().unwrap_or(last);
        // Its own turn may be over while a sub-agent works on.
        let mut turns = [self.seen, self.helper].into_iter().flatten();
        let turn = turns.find(|it| it.phase == Phase::Working).and_then(|it| it.turn_began);
        let at = match (&state, turn) {
            (State::Working, Some(turn)) => turn,
            (_, _) => last,
        };
        let directory = self.plan.map(|it| it.project.as_str());
        let directory = directory.or_else(|| self.seen?.directory.as_deref());
        let directory = directory.or_else(|| Some(self.session?.directory.as_str()));
        let place = directory.map(last_part).filter(|it| !it.is_empty());
        let place = place.unwrap_or_else(|| session.chars().take(8).collect());
        let key = format!("{agent}/{session}/{}", sub_agent.as_deref().unwrap_or_default());
        let model = self.seen.and_then(|it| it.model.clone()).unwrap_or_default();
        Some(Row { key, agent, sub_agent, place, model, state, list, at, began })
    }

    /// Whether a sub-agent's work is the agent's own. One with a list works for itself once its agent rests.
    /// Not every sub-agent tells its end: an agent that was interrupted, or failed, takes those with it.
    fn has_let_work(&self, sub_agent: &Seen) -> bool {
        let is_let = self.seen.is_none_or(|it| match it.phase {
            Phase::Quiet | Phase::Working => true,
            Phase::Done(Outcome::Success) => {
                sub_agent.list.as_ref().is_none_or(|it| it.items.is_empty())
            }
            Phase::Done(Outcome::Cancelled | Outcome::Error) => it.last < sub_agent.last,
        });
        sub_agent.phase == Phase::Working && is_let
    }

    fn state(&self, list: Option<&Listed>, last: i64, now: i64) -> State {
        let phase = self.seen.map(|it| it.phase).unwrap_or_default();
        let has_open = list.is_some_and(|it| it.open > 0);
        match self.life {
            Life::Died if phase == Phase::Working || has_open => return State::Died,
            Life::Died | Life::Ended => return failed(phase, self.seen).unwrap_or(State::Idle),
            Life::Runs { .. } | Life::Unknown => {}
        }
        if let Some(question) = self.seen.and_then(Seen::asks) {
            return State::Asks(question.to_owned());
        }
        if self.helper.is_some_and(|it| now.saturating_sub(it.last) < QUIET_MS) {
            return State::Working;
        }
        let Some(seen) = self.seen else {
            // Only the store tells, and it is told of work, not of turns.
            let works = list.is_some_and(|it| it.current().is_some());
            let runs = matches!(self.life, Life::Runs { .. });
            let is_fresh = runs || now.saturating_sub(last) < QUIET_MS;
            return if works && is_fresh { State::Working } else { State::Idle };
        };
        match (seen.phase, self.life) {
            (Phase::Working, Life::Runs { busy: Some(false) }) => State::Idle,
            (Phase::Working, Life::Runs { .. }) => State::Working,
            (Phase::Working, _) if now.saturating_sub(seen.last) < QUIET_MS => State::Working,
            // It said something last, and then nothing: most likely that was its answer.
            (Phase::Working, _) if seen.has_answered => State::Idle,
            (Phase::Working, _) => State::Silent,
            (Phase::Quiet | Phase::Done(_), _) => {
                failed(seen.phase, self.seen).unwrap_or(State::Idle)
            }
        }
    }
}

/// What failed, if the last turn did.
fn failed(phase: Phase, seen: Option<&Seen>) -> Option<State> {
    match phase {
        Phase::Done(Outcome::Error) => {
            let why = seen.and_then(|it| it.error.clone());
            Some(State::Failed(why.unwrap_or_else(|| "its turn failed".to_owned())))
        }
        Phase::Quiet | Phase::Working | Phase::Done(Outcome::Success | Outcome::Cancelled) => None,
    }
}

/// A plan that no session works on.
fn by_hand(plan: &Plan) -> Row {
    let list = of_plan(plan);
    let state = if list.current().is_some() { State::Working } else { State::Idle };
    let at = plan.updated_at.as_millisecond();
    let title = plan.name.clone().filter(|it| !it.is_empty()).unwrap_or_else(|| plan.title.clone());
    Row {
        key: format!("plan/{}", plan.id),
        agent: "plan".to_owned(),
        sub_agent: None,
        place: last_part(&plan.project),
        model: title,
        state,
        at,
        began: plan.created_at.as_millisecond(),
        list: Some(list),
    }
}

fn of_plan(plan: &Plan) -> Listed {
    let progress = plan.progress();
    let entries = nested(plan).into_iter().map(|(depth, item)| entry(item, depth)).collect();
    Listed {
        done: progress.completed,
        total: progress.total,
        open: plan.open,
        entries,
        unconfirmed: false,
    }
}

fn entry(item: &Item, depth: usize) -> Entry {
    let since = match item.status {
        Status::Pending => None,
        Status::InProgress => item.started_at,
        Status::Completed | Status::Cancelled => item.completed_at,
    };
    Entry {
        label: item.label().to_owned(),
        status: item.status,
        waiting_on: item.waiting_on.clone(),
        since: since.unwrap_or(item.created_at).as_millisecond(),
        depth,
    }
}

fn of_todos(todos: &Todos) -> Listed {
    let count = |wanted: &dyn Fn(Status) -> bool| {
        let found = todos.items.iter().filter(|it| wanted(it.status)).count();
        u32::try_from(found).unwrap_or(u32::MAX)
    };
    let left_out = u32::try_from(todos.left_out).unwrap_or(u32::MAX);
    let entries = todos.items.iter().map(|it| Entry {
        label: match (&it.active_form, it.status) {
            (Some(active), Status::InProgress) => active.clone(),
            (_, _) => it.text.clone(),
        },
        status: it.status,
        waiting_on: it.waiting_on.clone(),
        since: it.since,
        depth: 0,
    });
    Listed {
        done: count(&|it| it == Status::Completed),
        total: count(&|it| it != Status::Cancelled).saturating_add(left_out),
        open: count(&Status::is_open).saturating_add(left_out),
        entries: entries.collect(),
        unconfirmed: todos.unconfirmed,
    }
}

/// What sessions of a program are called in the store and by people.
pub fn name(agent_type: AgentType) -> &'static str {
    match agent_type {
        AgentType::ClaudeCode => "claude",
        AgentType::OpenaiCodex => "codex",
        AgentType::GoogleGemini => "gemini",
        AgentType::Acp => "acp",
        AgentType::Punchlist => "punchlist",
    }
}

/// The last part of a path.
fn last_part(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()
}
