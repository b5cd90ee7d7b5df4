//! The events of one stream, folded into how each of its agents stands.
//!
//! Memory is bounded whatever the stream says: so many agents, so many bytes of a list, so much of a
//! text. It decides nothing about what to show.

use punchlist_model::Status;

use crate::event::{self, AgentType, Event, Kind, Outcome, RawJson, Text};

/// The most agents of one session that are kept apart. Of sub-agents, those are that were heard of last.
const MOST_AGENTS: usize = 64;
/// The most bytes of a list's texts that are kept; todos beyond are counted only.
const MOST_LIST: usize = 1 << 20;
/// The longest text that is kept of one todo.
const LONGEST_TEXT: usize = 4 << 10;
/// The longest question, model name or directory that is kept.
const LONGEST_WORD: usize = 512;
/// The most questions that wait at once.
const MOST_QUESTIONS: usize = 16;

/// Tools whose call is a question to the user, and where in their arguments it stands.
const ASKING: [(&str, &str); 3] =
    [("AskUserQuestion", "question"), ("ExitPlanMode", ""), ("ask_user", "question")];

/// How an agent stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// Nothing was asked of it yet.
    #[default]
    Quiet,
    /// A turn runs.
    Working,
    /// Its last turn is over.
    Done(Outcome),
}

/// A todo of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Todo {
    /// What its source calls it, if it does.
    pub id: Option<String>,
    /// What is to be done.
    pub text: String,
    /// Where it stands.
    pub status: Status,
    /// What it is called while it is worked on.
    pub active_form: Option<String>,
    /// Whom or what it waits for.
    pub waiting_on: Option<String>,
    /// Since when it stands so, in milliseconds since 1970.
    pub since: i64,
}

/// A whole list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Todos {
    /// Which list.
    pub id: String,
    /// Its todos, as far as they are kept.
    pub items: Vec<Todo>,
    /// How many there were besides.
    pub left_out: usize,
    /// When it was told, in milliseconds since 1970.
    pub at: i64,
    /// Whether the source never said that it was taken.
    pub unconfirmed: bool,
}

/// One agent of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Its session, and `/agent` behind it for a sub-agent.
    pub agent_id: String,
    /// Which program it is.
    pub agent_type: AgentType,
    /// The model that it uses.
    pub model: Option<String>,
    /// The directory that it works in.
    pub directory: Option<String>,
    /// How it stands.
    pub phase: Phase,
    /// Its list, if it told one. An empty one was cleared.
    pub list: Option<Todos>,
    /// What failed last, until something went well.
    pub error: Option<String>,
    /// When it was first heard of, in milliseconds since 1970.
    pub began: i64,
    /// When its turn began.
    pub turn_began: Option<i64>,
    /// When it was last heard of.
    pub last: i64,
    /// Whether the last that it did was to say something. Not every program tells that a turn is over.
    pub has_answered: bool,
    /// Calls that wait for the user, oldest first.
    asks: Vec<(String, String)>,
}

impl Seen {
    /// One of which nothing is known but who it is.
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
            asks: Vec::new(),
        }
    }

    /// What it asks the user, the oldest question first.
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

    /// Takes an event of this agent.
    fn take(&mut self, kind: &Kind<'_>, at: i64) {
        // A line that cannot be read says nothing of when its agent did something.
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
            Kind::Text { role: event::Role::Assistant, .. } => {
                self.works(at);
                self.has_answered = true;
            }
            Kind::Thinking { .. } => self.works(at),
            Kind::Text { role: event::Role::User | event::Role::System, .. }
            | Kind::MessageQueued { .. }
            | Kind::Usage(_)
            | Kind::Warning { .. } => {}
        }
    }

    /// Some programs never say that a turn begins; whoever speaks works.
    fn works(&mut self, at: i64) {
        self.has_answered = false;
        if self.phase != Phase::Working {
            self.phase = Phase::Working;
            self.turn_began = Some(at);
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
        // Of two files that tell of one list, the older may be read after the newer.
        let told = before.as_ref().map_or(at, |it| it.at.max(at));
        let before = before.map(|it| it.items).unwrap_or_default();
        let id = cut(id, LONGEST_WORD);
        let mut list = Todos { id, items: Vec::new(), left_out: 0, at: told, unconfirmed };
        let mut bytes = 0;
        for item in items {
            let mut todo = todo(item, at);
            bytes += todo.text.len() + todo.active_form.as_ref().map_or(0, String::len);
            if bytes > MOST_LIST {
                list.left_out = items.len() - list.items.len();
                break;
            }
            // What has not moved stands so since it did.
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

/// The first text under a field of that name, at the top or in the first question of several.
fn question(input: &str, field: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(input).ok()?;
    let found = value.get(field).or_else(|| value.pointer(&format!("/questions/0/{field}")));
    found.and_then(|it| it.as_str()).map(str::to_owned)
}

/// The beginning of a text, in at most so many bytes.
fn cut(text: &str, most: usize) -> String {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}

/// The agents of one session: those of a stream, or of the files that each of them writes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fold {
    agents: Vec<Seen>,
    /// Where they work, if they do not say so themselves.
    directory: Option<String>,
}

impl Fold {
    /// Agents that work in a directory, unless they say otherwise.
    pub fn within(directory: Option<String>) -> Self {
        Self { agents: Vec::new(), directory }
    }

    /// Takes an event; `now` is when it was read, for sources that do not say when it happened.
    pub fn event(&mut self, event: &Event<'_>, now: i64) {
        // A time that is yet to come is a clock that is wrong.
        let at = event.timestamp.unwrap_or(now).min(now);
        let id = event.agent.as_str();
        // A warning about a line that nobody can read is nobody's.
        if matches!(event.kind, Kind::Warning { .. })
            && !self.agents.iter().any(|it| it.agent_id == id)
        {
            return;
        }
        let known = self.agents.iter().rposition(|it| it.agent_id == id);
        let Some(agent) = known.or_else(|| self.add(id, event.agent_type, at)) else { return };
        if let Some(agent) = self.agents.get_mut(agent) {
            agent.take(&event.kind, at);
            // What Claude Code prints, unlike what it keeps, begins when it is asked something; that its turn
            // began is told with what comes next.
            let is_printed = event.agent_type == AgentType::ClaudeCode && event.timestamp.is_none();
            if is_printed && matches!(event.kind, Kind::SessionStarted { .. }) {
                agent.works(at);
            }
        }
        if let Kind::SessionStarted { cwd: Some(_), .. } = event.kind {
            self.send_to_work(agent);
        }
    }

    /// Makes room for one more, and says where it is.
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

    /// Sub-agents that do not say where they work do so where their agent does.
    fn send_to_work(&mut self, agent: usize) {
        let Some(agent) = self.agents.get(agent) else { return };
        let (id, directory) = (agent.agent_id.clone(), agent.directory.clone());
        let is_his = |it: &&mut Seen| it.names().1.is_some() && it.names().0 == id;
        for sub in self.agents.iter_mut().filter(is_his).filter(|it| it.directory.is_none()) {
            sub.directory.clone_from(&directory);
        }
    }

    /// The agents, in the order in which they were first heard of.
    pub fn agents(&self) -> &[Seen] {
        &self.agents
    }
}
