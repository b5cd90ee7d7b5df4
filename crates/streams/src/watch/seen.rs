//! Computes the state of each agent of a stream from its events.
//!
//! Memory is bounded: a maximum of agents, of bytes per list and of bytes per text. This file does
//! not decide what is shown.

use punchlist_model::Status;
use punchlist_model::agents::Spent;

use crate::event::{self, AgentType, Event, Kind, Outcome, RawJson, Text, Usage};

/// Maximum of agents of one session. Of the sub-agents, those with the latest events are kept.
const MOST_AGENTS: usize = 64;
/// Maximum size of a list's texts; further todos are only counted.
const MOST_LIST: usize = 1 << 20;
/// Maximum length of one todo's text.
const LONGEST_TEXT: usize = 4 << 10;
/// Maximum length of a question, model name or directory.
const LONGEST_WORD: usize = 512;
/// Maximum length of the end of the agent's last text.
const LONGEST_SAID: usize = 2 << 10;
/// Maximum of open questions.
const MOST_QUESTIONS: usize = 16;

/// Tools whose call is a question to the user, and the argument with its text.
const ASKING: [(&str, &str); 3] =
    [("AskUserQuestion", "question"), ("ExitPlanMode", ""), ("ask_user", "question")];

/// The phase of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// No prompt yet.
    #[default]
    Quiet,
    /// A turn runs.
    Working,
    /// The last turn is over.
    Done(Outcome),
}

/// A todo of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Todo {
    /// The source's id, if it has one.
    pub id: Option<String>,
    /// The title: what is to be done.
    pub text: String,
    /// The status.
    pub status: Status,
    /// The title while the todo is in progress.
    pub active_form: Option<String>,
    /// The person or event that the todo waits for.
    pub waiting_on: Option<String>,
    /// When it got this status, in milliseconds since 1970.
    pub since: i64,
}

/// A whole list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Todos {
    /// The id of the list.
    pub id: String,
    /// The todos that are stored.
    pub items: Vec<Todo>,
    /// How many further todos there are.
    pub left_out: usize,
    /// When it was reported, in milliseconds since 1970.
    pub at: i64,
    /// Whether the source never confirmed the list.
    pub unconfirmed: bool,
}

/// The state of one agent of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Its session, followed by `/agent` for a sub-agent.
    pub agent_id: String,
    /// The agent's program.
    pub agent_type: AgentType,
    /// The model.
    pub model: Option<String>,
    /// The working directory.
    pub directory: Option<String>,
    /// The phase.
    pub phase: Phase,
    /// The list, if it has reported one. An empty list was cleared.
    pub list: Option<Todos>,
    /// The last error, until something succeeds.
    pub error: Option<String>,
    /// The time of its first event, in milliseconds since 1970.
    pub began: i64,
    /// When its turn started.
    pub turn_began: Option<i64>,
    /// The time of its last event.
    pub last: i64,
    /// Whether the last event was a text. Not every program reports the end of a turn.
    pub has_answered: bool,
    /// The end of its last text.
    pub said: String,
    /// Its context and cost, as far as it reports them.
    pub spent: Spent,
    /// Calls that wait for the user, oldest first.
    asks: Vec<(String, String)>,
}

impl Seen {
    /// An agent without events.
    pub fn new(agent_id: &str, agent_type: AgentType, at: i64) -> Self {
        Self {
            agent_id: cut(agent_id, LONGEST_WORD),
            agent_type,
            model: None,
            directory: None,
            phase: Phase::Quiet,
            list: None,
            error: None,
            began: at,
            turn_began: None,
            last: at,
            has_answered: false,
            said: String::new(),
            spent: Spent::default(),
            asks: Vec::new(),
        }
    }

    /// The oldest open question to the user.
    pub fn asks(&self) -> Option<&str> {
        self.asks.first().map(|(_, question)| question.as_str())
    }

    /// The session, and the sub-agent if it is one.
    pub fn names(&self) -> (&str, Option<&str>) {
        match self.agent_id.split_once('/') {
            Some((session, agent)) => (session, Some(agent)),
            None => (&self.agent_id, None),
        }
    }

    /// Handles an event of this agent.
    fn take(&mut self, kind: &Kind<'_>, at: i64) {
        // A line that cannot be parsed does not say when the agent was active.
        if !matches!(kind, Kind::Warning { .. }) {
            self.last = self.last.max(at);
            self.began = self.began.min(at);
        }
        match kind {
            Kind::SessionStarted { model, cwd, version: _ } => {
                let word = |text: &Option<Text<'_>>| {
                    text.as_ref().map(|it| cut(&it.to_str(), LONGEST_WORD))
                };
                self.model = word(model).or(self.model.take());
                self.directory = word(cwd).or(self.directory.take());
            }
            Kind::TurnStarted { .. } => {
                self.phase = Phase::Working;
                self.turn_began = Some(at);
                self.has_answered = false;
                self.asks.clear();
                self.error = None;
            }
            Kind::ToolWaiting { call_id, question } => {
                self.works(at);
                self.ask(&call_id.to_str(), &question.to_str());
            }
            Kind::ToolAnswered { call_id, .. } => self.answered(&call_id.to_str()),
            Kind::ToolScheduled { call_id, name, input } => {
                self.works(at);
                self.may_ask(call_id, Some(name), input.as_ref());
            }
            Kind::ToolStarted { call_id, name, input } => {
                self.works(at);
                self.may_ask(call_id, name.as_ref(), input.as_ref());
            }
            Kind::ToolCompleted { call_id, .. } => {
                self.works(at);
                self.answered(&call_id.to_str());
            }
            Kind::TodoList { todo_id, items, unconfirmed } => {
                self.has_answered = false;
                self.take_list(todo_id, items, *unconfirmed, at);
            }
            Kind::TurnCompleted { status, .. } => {
                self.phase = Phase::Done(*status);
                self.asks.clear();
            }
            Kind::Error { message, recoverable, .. } => {
                self.error = (!recoverable).then(|| cut(&message.to_str(), LONGEST_WORD));
            }
            Kind::Text { role: event::Role::Assistant, text, delta, .. } => {
                self.says(&text.to_str(), *delta && self.has_answered);
                self.works(at);
                self.has_answered = true;
            }
            Kind::Usage(usage) => spend(&mut self.spent, usage),
            Kind::Thinking { .. } => self.works(at),
            Kind::Text { role: event::Role::User | event::Role::System, .. }
            | Kind::Info { .. }
            | Kind::MessageQueued { .. }
            | Kind::Warning { .. } => {}
        }
    }

    /// Marks the agent as working: some programs never report the start of a turn.
    fn works(&mut self, at: i64) {
        self.has_answered = false;
        if self.phase != Phase::Working {
            self.phase = Phase::Working;
            self.turn_began = Some(at);
        }
    }

    /// Keeps the end of a text. `goes_on`: it continues the text before it.
    fn says(&mut self, text: &str, goes_on: bool) {
        if !goes_on {
            self.said.clear();
        }
        self.said.push_str(tail(text, LONGEST_SAID));
        if self.said.len() > LONGEST_SAID {
            self.said = tail(&self.said, LONGEST_SAID).to_owned();
        }
    }

    fn may_ask(&mut self, call: &Text<'_>, name: Option<&Text<'_>>, input: Option<&RawJson<'_>>) {
        let Some(name) = name.map(Text::to_str) else { return };
        let Some((_, field)) = ASKING.iter().find(|(tool, _)| *tool == name) else { return };
        let question = input.and_then(|it| question(it.get(), field));
        let question = question.unwrap_or_else(|| "whether to go on".to_owned());
        self.ask(&call.to_str(), &question);
    }

    fn ask(&mut self, call: &str, question: &str) {
        self.answered(call);
        if self.asks.len() < MOST_QUESTIONS {
            self.asks.push((cut(call, LONGEST_WORD), cut(question, LONGEST_WORD)));
        }
    }

    fn answered(&mut self, call: &str) {
        let call = cut(call, LONGEST_WORD);
        self.asks.retain(|(asked, _)| *asked != call);
    }

    fn take_list(&mut self, id: &str, items: &[event::Item<'_>], unconfirmed: bool, at: i64) {
        let before = self.list.take();
        // Of two files with one list, the older may be read after the newer.
        let reported = before.as_ref().map_or(at, |it| it.at.max(at));
        let before = before.map(|it| it.items).unwrap_or_default();
        let id = cut(id, LONGEST_WORD);
        let mut list = Todos { id, items: Vec::new(), left_out: 0, at: reported, unconfirmed };
        let mut bytes = 0;
        for item in items {
            let mut todo = todo(item, at);
            bytes += todo.text.len() + todo.active_form.as_ref().map_or(0, String::len);
            if bytes > MOST_LIST {
                list.left_out = items.len() - list.items.len();
                break;
            }
            // A todo with the same status keeps its time.
            let is_it = |it: &&Todo| match (&it.id, &todo.id) {
                (Some(was), Some(is)) => was == is,
                (_, _) => it.text == todo.text,
            };
            let was = before.get(list.items.len()).filter(is_it);
            let was = was.or_else(|| before.iter().find(is_it));
            if let Some(was) = was.filter(|it| it.status == todo.status) {
                todo.since = was.since;
            }
            list.items.push(todo);
        }
        self.list = Some(list);
    }
}

fn todo(item: &event::Item<'_>, at: i64) -> Todo {
    let text = |text: &Text<'_>| cut(&text.to_str(), LONGEST_TEXT);
    let waiting = item.waiting_on.as_ref().map(text);
    let blocked = || item.blocked.then(|| punchlist_model::ListEntry::BLOCKED.to_owned());
    Todo {
        id: item.id.as_ref().map(|it| cut(&it.to_str(), LONGEST_WORD)),
        text: text(&item.text),
        status: match item.status {
            event::Status::Pending => Status::Pending,
            event::Status::InProgress => Status::InProgress,
            event::Status::Completed => Status::Completed,
            event::Status::Cancelled => Status::Cancelled,
        },
        active_form: item.active_form.as_ref().map(text),
        waiting_on: waiting.or_else(blocked),
        since: at,
    }
}

/// The first text in a field of that name, at the top level or in the first of several questions.
fn question(input: &str, field: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(input).ok()?;
    let found = value.get(field).or_else(|| value.pointer(&format!("/questions/0/{field}")));
    found.and_then(|it| it.as_str()).map(str::to_owned)
}

/// Adds what the agent reports. Sums of tokens are no context.
fn spend(spent: &mut Spent, usage: &Usage) {
    spent.context = usage.context_tokens.or(spent.context);
    spent.window = usage.context_window.or(spent.window);
    if let Some(cost) = usage.cost_usd.filter(|it| it.is_finite() && *it >= 0.0) {
        let micros = (cost * 1e6).round() as u64;
        let before = spent.cost_micros.filter(|_| !usage.cumulative).unwrap_or(0);
        spent.cost_micros = Some(before.saturating_add(micros));
    }
}

/// The end of a text, at most `most` bytes.
fn tail(text: &str, most: usize) -> &str {
    let mut from = text.len().saturating_sub(most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text.get(from..).unwrap_or_default()
}

/// The beginning of a text, at most `most` bytes.
fn cut(text: &str, most: usize) -> String {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}

/// The agents of one session, from a stream or from the files that each of them writes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fold {
    agents: Vec<Seen>,
    /// The working directory, unless the agents report one.
    directory: Option<String>,
}

impl Fold {
    /// Sets the working directory, unless the agents report one.
    pub fn within(directory: Option<String>) -> Self {
        Self { agents: Vec::new(), directory }
    }

    /// Handles an event; `now` is the time of reading, for sources without times.
    pub fn event(&mut self, event: &Event<'_>, now: i64) {
        // A time in the future comes from a wrong clock.
        let at = event.timestamp.unwrap_or(now).min(now);
        let id = event.agent.as_str();
        // A warning about a line that cannot be parsed belongs to no agent.
        if matches!(event.kind, Kind::Warning { .. })
            && !self.agents.iter().any(|it| it.agent_id == id)
        {
            return;
        }
        let known = self.agents.iter().rposition(|it| it.agent_id == id);
        let Some(agent) = known.or_else(|| self.add(id, event.agent_type, at)) else { return };
        if let Some(agent) = self.agents.get_mut(agent) {
            agent.take(&event.kind, at);
            // The printed form of Claude Code starts with a prompt; the start of the turn is
            // reported only with the next event.
            let is_printed = event.agent_type == AgentType::ClaudeCode && event.timestamp.is_none();
            if is_printed && matches!(event.kind, Kind::SessionStarted { .. }) {
                agent.works(at);
            }
        }
        if let Kind::SessionStarted { cwd: Some(_), .. } = event.kind {
            self.send_to_work(agent);
        }
    }

    /// Adds an agent, if there is room, and returns its index.
    fn add(&mut self, id: &str, agent_type: AgentType, at: i64) -> Option<usize> {
        if self.agents.len() >= MOST_AGENTS {
            let subs = self.agents.iter().enumerate().filter(|(_, it)| it.names().1.is_some());
            let (oldest, last) = subs.map(|(n, it)| (n, it.last)).min_by_key(|it| it.1)?;
            if last > at {
                return None;
            }
            self.agents.remove(oldest);
        }
        let mut new = Seen::new(id, agent_type, at);
        let (session, sub) = new.names();
        let parent = sub.and_then(|_| self.agents.iter().find(|it| it.agent_id == session));
        let directory = parent.and_then(|it| it.directory.clone());
        new.directory = directory.or_else(|| self.directory.clone());
        self.agents.push(new);
        Some(self.agents.len() - 1)
    }

    /// Sub-agents that report no directory work in their agent's.
    fn send_to_work(&mut self, agent: usize) {
        let Some(agent) = self.agents.get(agent) else { return };
        let (id, directory) = (agent.agent_id.clone(), agent.directory.clone());
        let is_his = |it: &&mut Seen| it.names().1.is_some() && it.names().0 == id;
        for sub in self.agents.iter_mut().filter(is_his).filter(|it| it.directory.is_none()) {
            sub.directory.clone_from(&directory);
        }
    }

    /// The agents, in the order of their first events.
    pub fn agents(&self) -> &[Seen] {
        &self.agents
    }
}
