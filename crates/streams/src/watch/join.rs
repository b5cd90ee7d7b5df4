//! Joins streams, processes and plans into rows: one per agent, whatever the source.
//!
//! If a session's list is stored as a plan, its row shows the plan's items, and nothing appears
//! twice. Rows are sorted by state: waiting for the user, working, silent, idle, died. Within a
//! state, a row stays in place until it changes.

use std::collections::BTreeMap;

use punchlist_model::agents::{Entry, Listed, NoList, Row, SessionFacts, Spent, State};
use punchlist_model::call::Question;
use punchlist_model::session::{Session, SessionKey};
use punchlist_model::store::AttachmentKey;
use punchlist_model::store::turns::{Conversation, ConversationState};
use punchlist_model::{Item, Plan, Status};

use super::seen::{Phase, Seen, Todos};
use crate::event::{AgentType, Outcome};

/// How long an unfinished turn counts as work if the process cannot be seen.
const QUIET_MS: i64 = 2 * 60_000;

/// The state of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Life {
    /// The process runs, and may report whether it is busy.
    Runs {
        /// Whether it is busy, if it reports that.
        busy: Option<bool>,
    },
    /// The process ended normally.
    Ended,
    /// The process is gone and did not end normally.
    Died,
    /// Unknown.
    #[default]
    Unknown,
}

impl Life {
    /// Combines two observations: "runs" wins, and anything is better than unknown.
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

/// The input of [`rows`].
#[derive(Clone, Debug, Default)]
pub struct Known<'a> {
    /// The agents of streams, and the state of the process behind each.
    pub streams: Vec<(&'a Seen, Life)>,
    /// The sessions in the store.
    pub sessions: Vec<(&'a Session, Life)>,
    /// The sessions of our own agent.
    pub own_sessions: Vec<OwnSession<'a>>,
    /// Plans, and who works on each.
    pub plans: Vec<(Option<&'a AttachmentKey>, &'a Plan)>,
    /// The questions of the store that wait for an answer, oldest first.
    pub questions: Vec<&'a Question>,
    /// Agents whose last event is older and that do not run are left out; milliseconds since 1970.
    pub since: Option<i64>,
}

/// A session of our own agent.
#[derive(Clone, Copy, Debug)]
pub struct OwnSession<'a> {
    /// Its record.
    pub conversation: &'a Conversation,
    /// Whether a process runs it.
    pub is_running: bool,
    /// Its model and context.
    pub facts: &'a SessionFacts,
}

/// One agent, while its row is built.
#[derive(Default)]
struct Parts<'a> {
    seen: Option<&'a Seen>,
    /// The same agent, as `acp-tap` recorded it.
    heard_by_tap: Option<&'a Seen>,
    /// The time of the last event of any of its sub-agents.
    heard: Option<i64>,
    /// The working sub-agent with the last event.
    helper: Option<&'a Seen>,
    session: Option<&'a Session>,
    /// The session, if it is one of our own agent.
    own: Option<OwnSession<'a>>,
    plan: Option<&'a Plan>,
    /// The oldest waiting question about its plan.
    question: Option<&'a Question>,
    life: Life,
}

/// Identifies an agent: program, session, sub-agent.
type Key = (String, String, Option<String>);

/// The rows, sorted by state.
pub fn rows(known: &Known<'_>, now: i64) -> Vec<Row> {
    let mut parts: BTreeMap<Key, Parts<'_>> = BTreeMap::new();
    for (seen, life) in &known.streams {
        let (session, sub) = seen.names();
        let key = (name(seen.agent_type).to_owned(), session.to_owned(), sub.map(str::to_owned));
        let part = parts.entry(key).or_default();
        part.life = part.life.or(*life);
        // Of two files of one session, the one that was written last counts.
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
    for own in &known.own_sessions {
        let agent = name(AgentType::Punchlist).to_owned();
        let part = parts.entry((agent, own.conversation.id.to_string(), None)).or_default();
        part.own = Some(*own);
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
            None => rows.extend(by_hand(plan)),
        }
    }
    tell_plans_apart(&mut rows);
    for question in &known.questions {
        let is_about = |it: &&Plan| question.plan == Some(it.id);
        let part = parts.values_mut().find(|it| it.plan.as_ref().is_some_and(is_about));
        match part {
            Some(part) => part.question = part.question.or(Some(question)),
            None => ask(&mut rows, question),
        }
    }
    join_taps(&mut parts);
    let lives: BTreeMap<(String, String), Life> =
        parts.iter().map(|((agent, id, _), it)| ((agent.clone(), id.clone()), it.life)).collect();
    for (key, mut part) in parts {
        if key.2.is_some() {
            // A sub-agent runs in its agent's process.
            let of = lives.get(&(key.0.clone(), key.1.clone())).copied();
            part.life = part.life.or(of.unwrap_or_default());
        }
        rows.extend(part.row(key, known.since, now));
    }
    sort(&mut rows);
    rows
}

/// Sorts rows by state.
fn sort(rows: &mut [Row]) {
    let places: BTreeMap<String, (u8, i64)> =
        rows.iter().map(|row| (row.key.clone(), order(row))).collect();
    rows.sort_by_cached_key(|row| {
        let (place, parent) = (order(row), parent(row).and_then(|it| places.get(&it)));
        // A sub-agent is placed below its agent, unless it waits for the user.
        let place = parent.copied().filter(|it| it.0 <= place.0).unwrap_or(place);
        (place, row.key.clone())
    });
}

/// Brings the rows of each project together. The first row of a project stays in place, so a project
/// comes before another if it has the row that comes first.
pub fn group(rows: Vec<Row>) -> Vec<Row> {
    let mut projects: BTreeMap<String, usize> = BTreeMap::new();
    for row in &rows {
        let next = projects.len();
        projects.entry(row.project.clone()).or_insert(next);
    }
    let mut rows = rows;
    rows.sort_by_key(|row| projects.get(&row.project).copied());
    rows
}

/// Adds ids to the titles of plans with the same title.
fn tell_plans_apart(rows: &mut [Row]) {
    let titles: Vec<String> = rows.iter().map(|it| it.model.clone()).collect();
    for row in rows {
        let is_twin = titles.iter().filter(|it| **it == row.model).count() > 1;
        if is_twin || row.model.is_empty() {
            let from = row.key.len().saturating_sub(4);
            let short = row.key.get(from..).unwrap_or_default();
            row.model = format!("{} {short}", row.model).trim_start().to_owned();
        }
    }
}

/// An agent that `acp-tap` records may also write its own file, or have a plan. Its session has the
/// same id everywhere, and gets one row.
fn join_taps(parts: &mut BTreeMap<Key, Parts<'_>>) {
    let tap = name(AgentType::Acp);
    let taps: Vec<Key> =
        parts.keys().filter(|it| it.0 == tap && !it.1.is_empty()).cloned().collect();
    for key in taps {
        let own = parts.keys().find(|it| it.0 != tap && it.1 == key.1 && it.2 == key.2).cloned();
        let Some((own, heard)) = own.and_then(|own| Some((own, parts.remove(&key)?))) else {
            continue;
        };
        let Some(part) = parts.get_mut(&own) else { continue };
        part.heard_by_tap = heard.seen;
        part.life = part.life.or(heard.life);
        part.session = part.session.or(heard.session);
        part.plan = part.plan.or(heard.plan);
    }
}

/// Working agents are sorted by their start, others by their last event.
fn order(row: &Row) -> (u8, i64) {
    let at = match &row.state {
        State::Asks(_) | State::Working | State::Waits(_) => row.began,
        State::Silent | State::Failed(_) | State::Idle | State::Died => row.at.saturating_neg(),
    };
    (rank(&row.state), at)
}

/// The key of the parent agent, if the row is a sub-agent's.
fn parent(row: &Row) -> Option<String> {
    let sub_agent = row.sub_agent.as_ref()?;
    row.key.strip_suffix(sub_agent.as_str()).map(str::to_owned)
}

/// The position of a state.
fn rank(state: &State) -> u8 {
    match state {
        State::Asks(_) => 0,
        State::Working => 1,
        State::Waits(_) => 2,
        State::Silent => 3,
        State::Failed(_) => 4,
        State::Idle => 5,
        State::Died => 6,
    }
}

impl Parts<'_> {
    /// The agent as its own file and `acp-tap` show it.
    fn all_seen(&self) -> impl Iterator<Item = &Seen> {
        [self.seen, self.heard_by_tap].into_iter().flatten()
    }

    /// The one with the later event.
    fn last_seen(&self) -> Option<&Seen> {
        self.all_seen().max_by_key(|it| it.last)
    }

    fn asks(&self) -> Option<&str> {
        self.all_seen().find_map(Seen::asks)
    }

    fn list(&self) -> Option<Listed> {
        // A cleared list does not count, nor does a plan without items.
        if let Some(plan) = self.plan.filter(|it| !it.items.is_empty()) {
            return Some(of_plan(plan));
        }
        let mut lists = self.all_seen().filter_map(|it| it.list.as_ref());
        lists.find(|it| !it.items.is_empty()).map(of_todos)
    }

    fn no_list(&self) -> NoList {
        if self.all_seen().any(|it| it.list.is_some()) {
            NoList::Cleared
        } else if self.session.is_some() || self.plan.is_some() {
            NoList::NotYet
        } else {
            NoList::Never
        }
    }

    fn row(&self, (agent, session, sub_agent): Key, since: Option<i64>, now: i64) -> Option<Row> {
        let list = self.list();
        // A sub-agent without a list of its own is not shown.
        if sub_agent.is_some() && list.is_none() && self.asks().is_none() {
            return None;
        }
        // A finished plan without a session is not shown.
        let is_known = self.seen.is_some()
            || self.heard_by_tap.is_some()
            || self.session.is_some()
            || self.own.is_some();
        if !is_known && list.as_ref().is_none_or(|it| it.open == 0) {
            return None;
        }
        let times = [
            self.last_seen().map(|it| it.last),
            self.heard,
            self.session.map(|it| it.seen_at.as_millisecond()),
            self.own.map(|it| it.conversation.changed_at.as_millisecond()),
            self.plan.map(|it| it.updated_at.as_millisecond()),
        ];
        let last = times.into_iter().flatten().max().unwrap_or(now);
        let runs = matches!(self.life, Life::Runs { .. });
        if !runs && since.is_some_and(|it| last < it) {
            return None;
        }
        let state = self.state(list.as_ref(), last, now);
        let begun = self.session.map(|it| it.begun_at.as_millisecond());
        let began = self.seen.map(|it| it.began).into_iter().chain(begun).min().unwrap_or(last);
        // The agent's own turn may be over while a sub-agent still works.
        let mut turns = [self.seen, self.helper].into_iter().flatten();
        let turn = turns.find(|it| it.phase == Phase::Working).and_then(|it| it.turn_began);
        let at = match (&state, turn) {
            (State::Working, Some(turn)) => turn,
            (_, _) => last,
        };
        let directory = self.plan.map(|it| it.project.as_str());
        let directory =
            directory.or_else(|| self.all_seen().find_map(|it| it.directory.as_deref()));
        let directory = directory.or_else(|| Some(self.session?.directory.as_str()));
        let directory = directory.or_else(|| Some(self.own?.conversation.directory.as_str()));
        let known_project = [
            self.plan.map(|it| it.project.as_str()),
            self.session.map(|it| it.project.as_str()),
            self.own.map(|it| it.conversation.project.as_str()),
            directory,
        ];
        let project = known_project.into_iter().flatten().find(|it| !it.is_empty());
        let project = project.unwrap_or_default().to_owned();
        let place = directory.map(last_part).filter(|it| !it.is_empty());
        let place = place.unwrap_or_else(|| session.chars().take(8).collect());
        let key = format!("{agent}/{session}/{}", sub_agent.as_deref().unwrap_or_default());
        let model = self.all_seen().find_map(|it| it.model.clone());
        let model = model.or_else(|| Some(self.own?.facts.model.clone())).unwrap_or_default();
        let no_list = self.no_list();
        let said = self.last_seen().map(|it| it.said.clone()).unwrap_or_default();
        let question = self.question.map(|it| it.asked.id);
        let turns = self.own.map_or(0, |it| it.conversation.turns);
        Some(Row {
            key,
            agent,
            sub_agent,
            project,
            place,
            model,
            state,
            list,
            no_list,
            at,
            began,
            said,
            spent: self.spent(),
            question,
            turns,
        })
    }

    fn spent(&self) -> Spent {
        if let Some(OwnSession { conversation, facts, .. }) = self.own {
            let cost_micros = Some(conversation.used.cost_micros).filter(|it| *it > 0);
            return Spent { context: facts.context, window: None, cost_micros };
        }
        let mut all = self.all_seen().map(|it| it.spent);
        all.find(|it| *it != Spent::default()).unwrap_or_default()
    }

    /// Whether a sub-agent's work counts as the agent's own. A sub-agent with a list has its own
    /// row once its agent is idle. Not every sub-agent reports its end: if an agent is interrupted
    /// or fails, its sub-agents end too.
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
        if let Some(question) = self.question {
            return State::Asks(words(question));
        }
        if let Some(own) = self.own {
            return own_state(own.conversation, own.is_running);
        }
        let seen = self.last_seen();
        let phase = seen.map(|it| it.phase).unwrap_or_default();
        let has_open = list.is_some_and(|it| it.open > 0);
        match self.life {
            Life::Died if phase == Phase::Working || has_open => return State::Died,
            Life::Died | Life::Ended => return failed(phase, seen).unwrap_or(State::Idle),
            Life::Runs { .. } | Life::Unknown => {}
        }
        if let Some(question) = self.asks() {
            return State::Asks(question.to_owned());
        }
        if self.helper.is_some_and(|it| now.saturating_sub(it.last) < QUIET_MS) {
            return State::Working;
        }
        let Some(seen) = seen else {
            // Only the store knows this session, and it records writes, not turns.
            let works = list.is_some_and(|it| it.current().is_some());
            let runs = matches!(self.life, Life::Runs { .. });
            let is_fresh = runs || now.saturating_sub(last) < QUIET_MS;
            return if works && is_fresh { State::Working } else { State::Idle };
        };
        match (seen.phase, self.life) {
            (Phase::Working, Life::Runs { busy: Some(false) }) => State::Idle,
            (Phase::Working, Life::Runs { .. }) => State::Working,
            (Phase::Working, _) if now.saturating_sub(seen.last) < QUIET_MS => State::Working,
            // The last event was a text without a tool call, then nothing: most likely the answer.
            (Phase::Working, _) if seen.has_answered => State::Idle,
            (Phase::Working, _) => State::Silent,
            (Phase::Quiet | Phase::Done(_), _) => {
                failed(seen.phase, Some(seen)).unwrap_or(State::Idle)
            }
        }
    }
}

/// The state of a session of our own agent. It records its turns, so nothing is guessed.
fn own_state(conversation: &Conversation, is_running: bool) -> State {
    match &conversation.state {
        ConversationState::Idle => State::Idle,
        ConversationState::Asked => {
            let short = conversation.id.short();
            State::Asks(format!("`punchlist resume {short} TEXT` replies"))
        }
        ConversationState::Working | ConversationState::Waiting { .. } if !is_running => {
            State::Died
        }
        ConversationState::Working => State::Working,
        ConversationState::Waiting { on, .. } => State::Waits(on.clone()),
    }
}

/// The error, if the last turn failed.
fn failed(phase: Phase, seen: Option<&Seen>) -> Option<State> {
    match phase {
        Phase::Done(Outcome::Error) => {
            let why = seen.and_then(|it| it.error.clone());
            Some(State::Failed(why.unwrap_or_else(|| "its turn failed".to_owned())))
        }
        Phase::Quiet | Phase::Working | Phase::Done(Outcome::Success | Outcome::Cancelled) => None,
    }
}

/// What a question is about, in a line: the command, else what the call would do.
fn words(question: &Question) -> String {
    let asked = &question.asked;
    asked.command.clone().unwrap_or_else(|| format!("{}: {}", asked.title, asked.what))
}

/// Shows a question in the row of its plan; without one, in a row of its own.
fn ask(rows: &mut Vec<Row>, question: &Question) {
    let state = State::Asks(words(question));
    let id = question.asked.id;
    let key = question.plan.map(|it| format!("plan/{it}"));
    if let Some(row) = rows.iter_mut().find(|it| Some(&it.key) == key.as_ref()) {
        if row.question.is_none() {
            (row.state, row.question) = (state, Some(id));
        }
        return;
    }
    let at = question.asked.at.as_millisecond();
    rows.push(Row {
        key: format!("question/{id}"),
        agent: "run".to_owned(),
        project: question.project.clone(),
        place: last_part(&question.project),
        model: question.asked.title.clone(),
        state,
        at,
        began: at,
        question: Some(id),
        ..Row::default()
    });
}

/// A row for a plan without a session. A finished plan gets none.
fn by_hand(plan: &Plan) -> Option<Row> {
    let list = of_plan(plan);
    if list.open == 0 {
        return None;
    }
    let state = if list.current().is_some() { State::Working } else { State::Idle };
    let at = plan.updated_at.as_millisecond();
    let title = plan.name.clone().filter(|it| !it.is_empty()).unwrap_or_else(|| plan.title.clone());
    Some(Row {
        key: format!("plan/{}", plan.id),
        agent: Row::PLAN.to_owned(),
        project: plan.project.clone(),
        place: last_part(&plan.project),
        model: title,
        state,
        at,
        began: plan.created_at.as_millisecond(),
        list: Some(list),
        no_list: NoList::NotYet,
        ..Row::default()
    })
}

fn of_plan(plan: &Plan) -> Listed {
    let progress = plan.progress();
    let entries = plan.nested().into_iter().map(|(depth, item)| entry(item, depth)).collect();
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

/// The name of a program's sessions in the store and on the screen.
pub fn name(agent_type: AgentType) -> &'static str {
    match agent_type {
        AgentType::ClaudeCode => "claude",
        AgentType::OpenaiCodex => "codex",
        AgentType::GoogleGemini => "gemini",
        AgentType::Acp => "acp",
        AgentType::Punchlist => "punchlist",
    }
}

/// The last component of a path.
fn last_part(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()
}
