//! What the model does, request by request. Knows nothing of HTTP.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::Request;

/// The model's text when its script is over.
pub(super) const OVER: &str = "(the script is over)";

/// The model's answer to one request.
#[derive(Clone, PartialEq, Debug)]
pub enum Turn {
    /// A message.
    Message(Message),
    /// An error.
    Error {
        /// The HTTP status.
        status: u16,
        /// The API's name of the error, e.g. `overloaded_error` or `RESOURCE_EXHAUSTED`.
        kind: String,
    },
    /// An error: the conversation is too long for the model.
    TooLong,
    /// An error with the header `retry-after`.
    TryLater {
        /// The HTTP status.
        status: u16,
        /// The header: seconds, or a date.
        retry_after: String,
    },
    /// An error: the usage limit of the account is reached, as each API says it.
    UsageLimit {
        /// How long it lasts.
        wait: Duration,
    },
    /// The answer is said to be at another address.
    Redirect {
        /// The address.
        to: String,
    },
    /// No answer at all, until the client goes away.
    Silence,
}

/// A message of the model, and how it is sent.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Message {
    pub(super) blocks: Vec<Block>,
    pub(super) pace: Option<Duration>,
    pub(super) ending: Ending,
    /// Titles and addresses of what the message refers to.
    pub(super) citations: Vec<(String, String)>,
    /// The first call carries a signature, where the API signs calls.
    pub(super) is_signed: bool,
    /// All calls have the same id.
    pub(super) has_one_id: bool,
    tokens: Option<u64>,
}

/// A part of a message.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Block {
    Thinking(String),
    Text(String),
    Call {
        tool: String,
        input: Value,
    },
    /// A call whose arguments are not the JSON that they should be.
    Garbled {
        tool: String,
        arguments: String,
    },
    Raw(Value),
}

/// How a message ends.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Ending {
    /// Completely.
    #[default]
    Whole,
    /// The connection breaks after the last block.
    Cut,
    /// The stream ends in good order, but without the event that ends a message.
    Unfinished,
    /// Nothing comes any more, until the client goes away.
    Hang,
    /// The API reports an error in the stream.
    Failed(String),
}

impl Message {
    /// An empty message.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a thought.
    #[must_use]
    pub fn thinks(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Thinking(text.into()));
        self
    }

    /// Adds a text.
    #[must_use]
    pub fn says(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Text(text.into()));
        self
    }

    /// Adds a tool call. A tool of Codex that takes text instead of an object gets a JSON string; a
    /// tool in a namespace is `namespace.tool`.
    #[must_use]
    pub fn calls(mut self, tool: impl Into<String>, input: Value) -> Self {
        self.blocks.push(Block::Call { tool: tool.into(), input });
        self
    }

    /// The model calls a tool with arguments that are not JSON, or no object where the API sends
    /// arguments as JSON.
    #[must_use]
    pub fn garbles(mut self, tool: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.blocks.push(Block::Garbled { tool: tool.into(), arguments: arguments.into() });
        self
    }

    /// The text refers to a page. Ollama has no such thing.
    #[must_use]
    pub fn cites(mut self, title: impl Into<String>, url: impl Into<String>) -> Self {
        self.citations.push((title.into(), url.into()));
        self
    }

    /// The first call carries a signature of what was thought. Of these APIs only Gemini's signs calls.
    #[must_use]
    pub fn signs(mut self) -> Self {
        self.is_signed = true;
        self
    }

    /// All calls get the same id.
    #[must_use]
    pub fn one_id(mut self) -> Self {
        self.has_one_id = true;
        self
    }

    /// The model says something that only one API has: an item of its output, as that API writes
    /// it.
    #[must_use]
    pub fn raw(mut self, item: Value) -> Self {
        self.blocks.push(Block::Raw(item));
        self
    }

    /// The API reports this many input tokens, so that the agent finds its context full.
    #[must_use]
    pub fn counting(mut self, tokens: u64) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Waits this long before each event of the stream.
    #[must_use]
    pub fn paced(mut self, pace: Duration) -> Self {
        self.pace = Some(pace);
        self
    }

    /// The connection breaks before the message has ended.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.ending = Ending::Cut;
        self
    }

    /// The stream ends in good order, but the message does not.
    #[must_use]
    pub fn unfinished(mut self) -> Self {
        self.ending = Ending::Unfinished;
        self
    }

    /// The message never ends.
    #[must_use]
    pub fn hangs(mut self) -> Self {
        self.ending = Ending::Hang;
        self
    }

    /// The API reports an error of this kind in the middle of the stream.
    #[must_use]
    pub fn fails(mut self, kind: &str) -> Self {
        self.ending = Ending::Failed(kind.to_owned());
        self
    }

    /// What tells the id of a call from those of the others.
    pub(super) fn call_index(&self, index: usize) -> usize {
        if self.has_one_id { 0 } else { index }
    }

    /// Whether it calls a tool.
    pub(super) fn has_calls(&self) -> bool {
        self.blocks.iter().any(|it| matches!(it, Block::Call { .. } | Block::Garbled { .. }))
    }

    /// How many tokens of input the API counts.
    pub(super) fn tokens(&self) -> u64 {
        self.tokens.unwrap_or(100)
    }
}

impl From<Message> for Turn {
    fn from(message: Message) -> Self {
        Self::Message(message)
    }
}

/// A function from what the model was sent to what it answers.
type Answer = Box<dyn FnMut(&Request) -> Turn + Send>;

enum Step {
    Once(Turn),
    Computed(Answer),
    /// Stays at the front of the script.
    Always(Answer),
}

/// What the model does in one conversation, in order. When the script is over, the model says so.
#[derive(Default)]
pub struct Script {
    steps: VecDeque<Step>,
    /// Texts and thoughts for the message that the next call or stop completes.
    begun: Message,
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("steps", &self.steps.len()).finish_non_exhaustive()
    }
}

impl Script {
    /// An empty script.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a thought to the message that the next call or stop completes.
    #[must_use]
    pub fn thinks(mut self, text: impl Into<String>) -> Self {
        self.begun = self.begun.thinks(text);
        self
    }

    /// Adds a text to the message that the next call or stop completes.
    #[must_use]
    pub fn says(mut self, text: impl Into<String>) -> Self {
        self.begun = self.begun.says(text);
        self
    }

    /// Calls a tool, in a message of its own, and waits for the result.
    #[must_use]
    pub fn calls(self, tool: impl Into<String>, input: Value) -> Self {
        self.calls_all([(tool.into(), input)])
    }

    /// Calls several tools in one message.
    #[must_use]
    pub fn calls_all<T: Into<String>>(
        mut self,
        calls: impl IntoIterator<Item = (T, Value)>,
    ) -> Self {
        let begun = std::mem::take(&mut self.begun);
        let message = calls.into_iter().fold(begun, |it, (tool, input)| it.calls(tool, input));
        self.turn(message)
    }

    /// Says something and stops.
    #[must_use]
    pub fn stops(mut self, text: impl Into<String>) -> Self {
        let message = std::mem::take(&mut self.begun).says(text);
        self.turn(message)
    }

    /// Answers with an error, this many times.
    #[must_use]
    pub fn fails(mut self, status: u16, kind: &str, times: usize) -> Self {
        for _ in 0..times {
            self = self.turn(Turn::Error { status, kind: kind.to_owned() });
        }
        self
    }

    /// Answers once with an error and the header `retry-after`.
    #[must_use]
    pub fn tries_later(self, status: u16, retry_after: &str) -> Self {
        self.turn(Turn::TryLater { status, retry_after: retry_after.to_owned() })
    }

    /// Answers once that the usage limit of the account is reached, for so long.
    #[must_use]
    pub fn reaches_limit(self, wait: Duration) -> Self {
        self.turn(Turn::UsageLimit { wait })
    }

    /// Never answers one request.
    #[must_use]
    pub fn stays_silent(self) -> Self {
        self.turn(Turn::Silence)
    }

    /// Answers that the conversation is longer than the model can take.
    #[must_use]
    pub fn finds_it_too_long(self) -> Self {
        self.turn(Turn::TooLong)
    }

    /// Answers one request with this turn, for answers that have no method of their own.
    #[must_use]
    pub fn turn(mut self, turn: impl Into<Turn>) -> Self {
        self.steps.push_back(Step::Once(turn.into()));
        self
    }

    /// Answers one request with the result of a function.
    #[must_use]
    pub fn then<T: Into<Turn>>(
        mut self,
        mut answer: impl FnMut(&Request) -> T + Send + 'static,
    ) -> Self {
        self.steps.push_back(Step::Computed(Box::new(move |request| answer(request).into())));
        self
    }

    /// Answers every further request with the result of a function.
    #[must_use]
    pub fn always<T: Into<Turn>>(
        mut self,
        mut answer: impl FnMut(&Request) -> T + Send + 'static,
    ) -> Self {
        self.steps.push_back(Step::Always(Box::new(move |request| answer(request).into())));
        self
    }

    /// The answer to this request; `None` if the script is over.
    pub(super) fn next(&mut self, request: &Request) -> Option<Turn> {
        if let Some(Step::Always(answer)) = self.steps.front_mut() {
            return Some(answer(request));
        }
        match self.steps.pop_front()? {
            Step::Once(turn) => Some(turn),
            Step::Computed(mut answer) | Step::Always(mut answer) => Some(answer(request)),
        }
    }

    /// How many answers were never requested. Endless answers do not count.
    pub(super) fn left(&self) -> usize {
        self.steps.iter().filter(|it| !matches!(it, Step::Always(_))).count()
    }
}
