//! An agent as a worker: the command line for one item of a plan, and the parser of its stream.
//!
//! Pure: [`command`] returns a command line, [`WorkerStream`] gets the bytes that the program prints
//! and its exit code. The caller starts the process with a directory and an environment, and ends it.
//! Nothing here grants a permission: the user's settings of the agent, or the arguments of the
//! worker's profile, say what it may do without asking.

mod doing;
#[cfg(test)]
mod tests;

use punchlist_formats::hook::Agent;
use punchlist_formats::text::{mask, one_line};
use punchlist_model::{ListEntry, Status};
use punchlist_streams::event::{Event, Item, Kind, Outcome, Role, Status as Todo, Usage};
use punchlist_streams::{Options, Source, Stream};

/// Most bytes of one text in a prompt. Linux limits an argument to 128 KiB.
const MOST_BYTES: usize = 30_000;
/// Most bytes of an answer that are kept, somewhat more than an item's outcome may have.
const MOST_ANSWER: usize = 60_000;
/// Most errors that are kept: the last ones.
const MOST_ERRORS: usize = 8;

/// One item, for one agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Job<'a> {
    /// The agent.
    pub agent: Agent,
    /// The agent's program.
    pub program: &'a str,
    /// The model, if it is not the program's default.
    pub model: Option<&'a str>,
    /// Further arguments, from the worker's profile.
    pub arguments: &'a [String],
    /// Instructions, from the worker's profile; may be empty.
    pub instructions: &'a str,
    /// The item's title.
    pub title: &'a str,
    /// The item's context; may be empty.
    pub context: &'a str,
    /// The item's criteria; may be empty.
    pub criteria: &'a str,
}

/// The command line: the program, then its arguments.
pub fn command(job: &Job<'_>) -> Vec<String> {
    let prompt = prompt(job);
    let mut words = vec![job.program];
    match job.agent {
        Agent::Claude => {
            words.extend(["-p", &prompt, "--output-format", "stream-json", "--verbose"]);
            words.extend(job.model.iter().flat_map(|it| ["--model", it]));
            words.extend(job.arguments.iter().map(String::as_str));
        }
        Agent::Codex => {
            words.extend(["exec", "--json"]);
            words.extend(job.model.iter().flat_map(|it| ["-m", it]));
            words.extend(job.arguments.iter().map(String::as_str));
            words.push(&prompt);
        }
        Agent::Gemini => {
            words.extend(["-p", &prompt, "--output-format", "stream-json"]);
            words.extend(job.model.iter().flat_map(|it| ["-m", it]));
            words.extend(job.arguments.iter().map(String::as_str));
        }
    }
    // An argument cannot contain a NUL.
    words.into_iter().map(|it| it.replace('\0', "\u{fffd}")).collect()
}

/// The prompt. It begins with a letter, so that no program takes it for an option.
pub fn prompt(job: &Job<'_>) -> String {
    let mut prompt = String::from("Do this one item of a larger plan, and nothing beyond it.\n\n");
    if !job.instructions.trim().is_empty() {
        prompt.push_str(&format!("{}\n\n", cut(job.instructions.trim())));
    }
    prompt.push_str(&cut(one_line(job.title).trim()));
    prompt.push('\n');
    for (head, text) in [("", job.context), ("It is done when:\n", job.criteria)] {
        if !text.trim().is_empty() {
            prompt.push_str(&format!("\n{head}{}\n", cut(text.trim())));
        }
    }
    prompt.push_str(
        "\nNobody is there to answer questions. If it cannot be done, say so, and why. End with a \
         sentence or two that say what you did.\n",
    );
    prompt
}

/// A text, cut to the limit.
fn cut(text: &str) -> String {
    if text.len() <= MOST_BYTES {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MOST_BYTES);
    format!("{}… (cut: {} bytes more)", &text[..end], text.len() - end)
}

/// News from a working agent.
#[derive(Clone, PartialEq, Debug)]
pub enum News {
    /// What it is doing, in a few words: `Reading CHANGELOG.md (2/4)`.
    Doing(String),
    /// Its own whole list, to be stored as sub-items of the item.
    List(Vec<ListEntry>),
}

/// How a worker ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Ended {
    /// The agent's id of its session.
    pub session: Option<String>,
    /// Its last message.
    pub answer: String,
    /// Why it failed; `None` if it reported success. The check decides whether the item is done.
    pub failure: Option<String>,
    /// The last errors that it reported, oldest first. It may have recovered from them.
    pub errors: Vec<String>,
    /// What it used, its sub-agents included, as far as it says so.
    pub usage: WorkerUsage,
}

/// What a worker used.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct WorkerUsage {
    /// Tokens that the models read, including cached ones if the program counts them.
    pub input_tokens: u64,
    /// Tokens that the models wrote.
    pub output_tokens: u64,
    /// Tokens that were read from the cache.
    pub cached_tokens: u64,
    /// The cost in US dollars.
    pub cost_usd: f64,
}

/// Parses the stream of one worker.
pub struct WorkerStream {
    stream: Stream,
    state: StreamState,
}

/// The state of the stream so far.
struct StreamState {
    /// The worker's directory; paths below it are shown relative to it.
    directory: String,
    session: Option<String>,
    answer: String,
    /// The next text continues the answer.
    is_open: bool,
    /// How the last turn of the agent itself ended.
    end: Option<Outcome>,
    /// The last errors.
    errors: Vec<String>,
    usage: WorkerUsage,
    /// What it is doing, without the count.
    doing: String,
    /// How many of its own items are done, and how many there are.
    count: Option<(usize, usize)>,
    /// The last reported text.
    reported: String,
    news: Vec<News>,
}

impl WorkerStream {
    /// The parser for one run of an agent in a directory.
    pub fn new(agent: Agent, directory: &str) -> Self {
        let source = match agent {
            Agent::Claude => Source::ClaudeCode,
            Agent::Codex => Source::Codex,
            Agent::Gemini => Source::Gemini,
        };
        Self::of(source, directory)
    }

    /// The parser for one run of a program with this kind of output.
    pub fn of(source: Source, directory: &str) -> Self {
        let state = StreamState {
            directory: directory.trim_end_matches('/').to_owned(),
            session: None,
            answer: String::new(),
            is_open: false,
            end: None,
            errors: Vec::new(),
            usage: WorkerUsage::default(),
            doing: String::new(),
            count: None,
            reported: String::new(),
            news: Vec::new(),
        };
        Self { stream: Stream::new(source, Options::default()), state }
    }

    /// The agent's id of its session, once it is known.
    pub fn session(&self) -> Option<&str> {
        self.state.session.as_deref()
    }

    /// Parses the next bytes of its output, and returns the news.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<News> {
        self.push_telling(bytes, &mut |_| {})
    }

    /// The same, and tells each event.
    pub fn push_telling(&mut self, bytes: &[u8], tell: &mut dyn FnMut(&Event<'_>)) -> Vec<News> {
        let state = &mut self.state;
        self.stream.push(bytes, &mut |event: &Event<'_>| {
            state.observe(event);
            tell(event);
        });
        std::mem::take(&mut state.news)
    }

    /// Whether the agent has said that its turn is over.
    pub fn is_over(&self) -> bool {
        self.state.end.is_some()
    }

    /// What it has used so far.
    pub fn usage(&self) -> WorkerUsage {
        self.state.usage
    }

    /// The worker has ended with this exit code; `None` after a signal.
    pub fn end(self, code: Option<i32>) -> Ended {
        self.end_telling(code, &mut |_| {})
    }

    /// The same, and tells each event.
    pub fn end_telling(mut self, code: Option<i32>, tell: &mut dyn FnMut(&Event<'_>)) -> Ended {
        let state = &mut self.state;
        self.stream.end(&mut |event: &Event<'_>| {
            state.observe(event);
            tell(event);
        });
        let StreamState { session, answer, end, errors, usage, .. } = self.state;
        // An interrupted program may exit with 0, and a failed one may print nothing.
        let failure = match (end, code) {
            (Some(Outcome::Success), Some(0)) => None,
            (Some(Outcome::Cancelled), _) => Some("it was cancelled".to_owned()),
            (_, None) => Some("it was ended".to_owned()),
            (Some(Outcome::Success), Some(code)) => Some(format!("it ended with {code}")),
            (Some(Outcome::Error), Some(code)) => Some(format!("it failed and ended with {code}")),
            (None, Some(code)) => {
                Some(format!("it ended with {code} and did not say that it was done"))
            }
        };
        let failure = failure.map(|it| match errors.last() {
            Some(error) => format!("{it}: {error}"),
            None => it,
        });
        Ended { session, answer: answer.trim().to_owned(), failure, errors, usage }
    }
}

impl WorkerUsage {
    fn add(&mut self, usage: &Usage) {
        let counts = [
            (&mut self.input_tokens, usage.input_tokens),
            (&mut self.output_tokens, usage.output_tokens),
            (&mut self.cached_tokens, usage.cached_tokens),
        ];
        for (sum, tokens) in counts {
            let Some(tokens) = tokens else { continue };
            *sum = if usage.cumulative { (*sum).max(tokens) } else { sum.saturating_add(tokens) };
        }
        if let Some(cost) = usage.cost_usd.filter(|it| it.is_finite() && *it >= 0.0) {
            self.cost_usd =
                if usage.cumulative { self.cost_usd.max(cost) } else { self.cost_usd + cost };
        }
    }
}

impl StreamState {
    fn observe(&mut self, event: &Event<'_>) {
        // The name of a sub-agent is its agent's name, a slash and its own.
        let name = event.agent.as_str();
        let is_sub = name.contains('/');
        match &event.kind {
            Kind::SessionStarted { .. } if !is_sub => {
                self.session = Some(name.to_owned());
            }
            Kind::Text { role: Role::Assistant, text, delta, .. } if !is_sub => {
                if !(*delta && self.is_open) {
                    self.answer.clear();
                }
                self.is_open = *delta;
                let text = text.to_str();
                let left = MOST_ANSWER.saturating_sub(self.answer.len());
                self.answer.push_str(&text[..text.floor_char_boundary(left)]);
            }
            Kind::ToolScheduled { name, input, .. } => {
                self.does(&name.to_str(), input.map(|it| it.get()));
            }
            Kind::ToolStarted { name: Some(name), input, .. } => {
                self.does(&name.to_str(), input.map(|it| it.get()));
            }
            Kind::TodoList { items, unconfirmed: false, .. } if !is_sub => self.list(items),
            Kind::TurnCompleted { status, .. } if !is_sub => self.end = Some(*status),
            Kind::Usage(usage) => self.usage.add(usage),
            Kind::Error { message, .. } if !is_sub => {
                let message = message.to_str();
                self.errors.push(one_line(mask(&message).trim()).into_owned());
                if self.errors.len() > MOST_ERRORS {
                    self.errors.remove(0);
                }
            }
            Kind::SessionStarted { .. }
            | Kind::TurnStarted { .. }
            | Kind::Text { .. }
            | Kind::Thinking { .. }
            | Kind::ToolWaiting { .. }
            | Kind::ToolAnswered { .. }
            | Kind::ToolStarted { .. }
            | Kind::ToolCompleted { .. }
            | Kind::Info { .. }
            | Kind::MessageQueued { .. }
            | Kind::TodoList { .. }
            | Kind::TurnCompleted { .. }
            | Kind::Error { .. }
            | Kind::Warning { .. } => {}
        }
    }

    fn does(&mut self, tool: &str, input: Option<&str>) {
        // A text before a tool call is not the answer.
        self.is_open = false;
        self.doing = doing::words(tool, input, &self.directory);
        self.tell();
    }

    fn list(&mut self, items: &[Item<'_>]) {
        // The list came from a tool call, so a text before it is not the answer.
        self.is_open = false;
        let counts = |it: &&Item<'_>| it.status != Todo::Cancelled;
        let all = items.iter().filter(counts).count();
        let done = items.iter().filter(|it| it.status == Todo::Completed).count();
        self.count = (all > 0).then_some((done, all));
        self.news.push(News::List(items.iter().map(entry).collect()));
        let begun = items.iter().find(|it| it.status == Todo::InProgress);
        if let Some(begun) = begun {
            let words = begun.active_form.as_ref().unwrap_or(&begun.text).to_str();
            self.doing = doing::short(&words);
        }
        self.tell();
    }

    fn tell(&mut self) {
        let words = match self.count {
            Some((done, all)) => format!("{} ({done}/{all})", self.doing),
            None => self.doing.clone(),
        };
        if !self.doing.is_empty() && self.reported != words {
            self.reported.clone_from(&words);
            self.news.push(News::Doing(words));
        }
    }
}

/// A to-do of the worker as an entry of a recorded list.
fn entry(item: &Item<'_>) -> ListEntry {
    let masked = |text: &str| mask(text).into_owned();
    let waiting_on = item.waiting_on.as_ref().map(|it| masked(&it.to_str()));
    let waiting_on = match (waiting_on, item.blocked) {
        (Some(on), _) => on,
        (None, true) => ListEntry::BLOCKED.to_owned(),
        (None, false) => String::new(),
    };
    ListEntry {
        item: None,
        title: masked(&item.text.to_str()),
        active_form: item.active_form.as_ref().map(|it| masked(&it.to_str())),
        status: match item.status {
            Todo::Pending => Status::Pending,
            Todo::InProgress => Status::InProgress,
            Todo::Completed => Status::Completed,
            Todo::Cancelled => Status::Cancelled,
        },
        waiting_on: Some(waiting_on),
    }
}
