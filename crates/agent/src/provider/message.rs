//! What is sent to a model and what comes back, whichever the provider. Plain data.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ModelName;

/// One call of a model: the whole conversation, and what the model may do.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ModelRequest {
    /// Names the answer, uniquely within the conversation: its calls are numbered under this name.
    /// Consists of ASCII letters, digits, `-` and `_`.
    pub answer_id: String,
    /// The system prompt.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// How many messages at the end differ from call to call. Prompt caching ends before them.
    pub uncached: usize,
    /// The tools that the model may call.
    pub tools: Vec<ToolSpec>,
    /// How the model is to answer.
    pub options: ModelOptions,
}

/// How a model is to answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelOptions {
    /// Most tokens of one answer; without it, the provider's own limit.
    pub max_tokens: Option<u32>,
    /// Randomness; without it, the provider's default.
    pub temperature: Option<f64>,
    /// How long the model is to think; without it, the provider's default.
    pub effort: Option<Effort>,
    /// Ask for the model's thinking. Some models without thinking refuse requests that ask for it.
    pub thinking: bool,
    /// Names the conversation for providers that cache prompts by name.
    pub cache_key: Option<String>,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self { max_tokens: None, temperature: None, effort: None, thinking: true, cache_key: None }
    }
}

/// How long a model is to think.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Not at all.
    None,
    /// A little.
    Low,
    /// Some time.
    Medium,
    /// Long.
    High,
    /// As long as the model can.
    Max,
}

/// A tool that a model may call.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What the model reads about it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// A message of a conversation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Said by the user, or by the runtime in the user's place.
    User(String),
    /// Said by a model.
    Assistant(Assistant),
    /// The results of the calls in the message before.
    Results(Vec<CallResult>),
}

/// What a model said, thought and called.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Assistant {
    /// The model. Thinking and ids go back only to the model that they came from.
    pub model: ModelName,
    /// What it said.
    #[serde(default)]
    pub text: String,
    /// What it thought, as received.
    #[serde(default)]
    pub thinking: Vec<ThinkingBlock>,
    /// What it called.
    #[serde(default)]
    pub calls: Vec<ModelCall>,
}

/// A piece of a model's thinking.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingBlock {
    /// Text without a signature.
    Text(String),
    /// Text and the provider's signature of it. The text may be empty: some providers send only the
    /// signature, or put the text elsewhere.
    Signed {
        /// The text.
        text: String,
        /// The signature.
        signature: String,
    },
    /// A block that only the provider can read, such as redacted thinking.
    Opaque(Value),
}

/// The id of a call: ours, unique within the conversation.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelCallId(pub String);

impl ModelCallId {
    /// The id of a call in the answer of this name. `number` counts from 1.
    pub fn new(answer_id: &str, number: usize) -> Self {
        Self(format!("{answer_id}-{number}"))
    }
}

impl fmt::Display for ModelCallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A call of a tool by a model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ModelCall {
    /// Our id.
    pub id: ModelCallId,
    /// The provider's id. Providers repeat theirs, so nothing but the provider may rely on it.
    #[serde(default)]
    pub provider_id: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Arguments,
    /// The provider's signatures of the thinking before this call.
    #[serde(default)]
    pub signatures: Vec<String>,
}

/// The arguments of a call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// A JSON object. Whether it fits the tool's schema is not known here.
    Object(Value),
    /// Not a JSON object; the text as the model wrote it, to be handed back to the model.
    Invalid(String),
}

/// The result of a call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CallResult {
    /// The call.
    pub call: ModelCallId,
    /// What the model reads.
    pub text: String,
    /// Whether the call failed.
    #[serde(default)]
    pub is_error: bool,
}

/// A whole answer of a model.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ModelAnswer {
    /// What it said.
    pub text: String,
    /// What it thought, as received.
    pub thinking: Vec<ThinkingBlock>,
    /// What it calls. Whether the model wants calls is decided by this list alone.
    pub calls: Vec<ModelCall>,
    /// What it cost in tokens.
    pub usage: TokenUsage,
    /// What it refers to.
    pub citations: Vec<Citation>,
    /// Why it ended.
    pub stop: Stop,
}

impl ModelAnswer {
    /// The message by which the answer becomes part of the conversation.
    pub fn into_message(self, model: ModelName) -> Message {
        let Self { text, thinking, calls, .. } = self;
        Message::Assistant(Assistant { model, text, thinking, calls })
    }
}

/// Why an answer ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model had nothing to add, or waits for its calls.
    #[default]
    Finished,
    /// The limit of tokens was reached: the text or the last call may be cut off.
    OutputLimit,
    /// The provider withheld the rest of the answer.
    Filtered,
}

/// A source that an answer refers to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Citation {
    /// Its title; empty if the provider has none.
    pub title: String,
    /// Its address; empty if it is no page.
    pub url: String,
    /// The cited text; empty if the provider does not quote it.
    pub quote: String,
}

impl Citation {
    /// The citation in one line: title, address and quote, as far as there are any.
    pub fn line(&self) -> String {
        let quote = Some(self.quote.trim()).filter(|it| !it.is_empty());
        let quote = quote.map(|it| format!("\u{201c}{it}\u{201d}"));
        let parts = [Some(self.title.clone()), Some(self.url.clone()), quote].into_iter().flatten();
        let parts: Vec<String> = parts.filter(|it| !it.trim().is_empty()).collect();
        parts.join(" \u{b7} ").split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Tokens of one call, or of several added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    /// All tokens of the request, those of the cache included.
    pub input: u64,
    /// Tokens of the request that came from the cache.
    pub cache_read: u64,
    /// Tokens of the request that were written to the cache.
    pub cache_write: u64,
    /// All tokens of the answer, thinking included.
    pub output: u64,
    /// Tokens of the answer that were thinking, where the provider counts them.
    pub thinking: u64,
}

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.output += other.output;
        self.thinking += other.thinking;
    }
}

/// A part of an answer that has just arrived.
#[derive(Clone, PartialEq, Debug)]
pub enum Delta {
    /// More text.
    Text(String),
    /// More thinking.
    Thinking(String),
    /// The model begins to call this tool.
    Call(String),
    /// The call failed and is repeated after this time. What was streamed so far is void.
    Retry {
        /// What went wrong.
        why: String,
        /// How long until the next attempt.
        wait: Duration,
    },
}
