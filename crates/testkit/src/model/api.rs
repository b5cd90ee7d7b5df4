//! The supported APIs, and what the server must know about each. Sends nothing.

use serde_json::Value;

use super::request::Entry;
use super::script::Message;
use super::{anthropic, chat, gemini, ollama, openai};

/// Most characters of a text in one event, so that texts come in several. Long texts come in fewer
/// and longer ones.
const CHUNK: usize = 40;

/// At most about so many events of one text.
const CHUNKS: usize = 1000;

/// A provider's way of talking to a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Api {
    /// Anthropic's Messages API: Claude Code.
    Anthropic,
    /// OpenAI's Responses API: Codex.
    OpenAi,
    /// OpenAI's chat completions, which most other servers offer too.
    OpenAiChat,
    /// Google's Gemini API: Gemini CLI.
    Gemini,
    /// Ollama's own API.
    Ollama,
}

/// One event of a stream: its name, where the API names events, and its data.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Event {
    pub(super) name: Option<&'static str>,
    pub(super) data: Value,
}

impl Api {
    /// The entries that the model is shown, in order.
    pub(super) fn entries(self, body: &Value) -> Vec<Entry> {
        match self {
            Self::Anthropic => anthropic::entries(body),
            Self::OpenAi => openai::entries(body),
            Self::OpenAiChat | Self::Ollama => chat::entries(body),
            Self::Gemini => gemini::entries(body),
        }
    }

    /// The names of the offered tools.
    pub(super) fn tools(self, body: &Value) -> Vec<String> {
        match self {
            Self::Anthropic => anthropic::tools(body),
            Self::OpenAi => openai::tools(body),
            Self::OpenAiChat | Self::Ollama => chat::tools(body),
            Self::Gemini => gemini::tools(body),
        }
    }

    /// The events of a message. `id` makes its ids differ from those of other messages.
    pub(super) fn events(self, message: &Message, model: &str, id: usize) -> Vec<Event> {
        match self {
            Self::Anthropic => anthropic::events(message, model, id),
            Self::OpenAi => openai::events(message, model, id),
            Self::OpenAiChat => chat::events(message, model, id),
            Self::Gemini => gemini::events(message, model, id),
            Self::Ollama => ollama::events(message, model, id),
        }
    }

    /// The same message for a client that did not ask for a stream.
    pub(super) fn whole(self, message: &Message, model: &str, id: usize) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(message, model, id),
            Self::OpenAi => openai::whole(message, model, id),
            Self::OpenAiChat => chat::whole(message, model, id),
            Self::Gemini => gemini::whole(message, model, id),
            Self::Ollama => ollama::whole(message, model, id),
        }
    }

    /// The body of an error.
    pub(super) fn error(self, status: u16, kind: &str, id: usize) -> Value {
        match self {
            Self::Anthropic => anthropic::error(kind, id),
            Self::OpenAi | Self::OpenAiChat => openai::error(kind),
            Self::Gemini => gemini::error(status, kind),
            Self::Ollama => ollama::error(kind),
        }
    }

    /// The body of the error for a conversation that is too long.
    pub(super) fn too_long(self, id: usize) -> Value {
        let (kind, says) = match self {
            Self::Anthropic => {
                ("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
            }
            Self::OpenAi | Self::OpenAiChat => (
                "context_length_exceeded",
                "Your input exceeds the context window of this model. Please adjust your input and \
                 try again.",
            ),
            Self::Gemini => (
                "INVALID_ARGUMENT",
                "The input token count exceeds the maximum number of tokens allowed 1048576.",
            ),
            Self::Ollama => return ollama::error("input length exceeds the context length"),
        };
        let mut body = self.error(400, kind, id);
        body["error"]["message"] = Value::from(says);
        body
    }

    /// An event as it goes over the wire.
    pub(super) fn frame(self, event: &Event) -> String {
        let data = &event.data;
        match self {
            Self::Ollama => format!("{data}\n"),
            // The last event of a stream of chat completions is the only one that is not JSON.
            Self::OpenAiChat if data.is_null() => "data: [DONE]\n\n".to_owned(),
            Self::Anthropic | Self::OpenAi | Self::OpenAiChat | Self::Gemini => {
                let name = event.name.map(|it| format!("event: {it}\n")).unwrap_or_default();
                format!("{name}data: {data}\n\n")
            }
        }
    }

    /// What a stream of events is called in HTTP.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson",
            Self::Anthropic | Self::OpenAi | Self::OpenAiChat | Self::Gemini => "text/event-stream",
        }
    }

    /// What a model says that was asked something beside the conversation.
    pub(super) fn aside(self, body: &Value, text: &str) -> Message {
        match self {
            Self::Anthropic | Self::OpenAiChat | Self::Ollama => Message::new().says(text),
            Self::OpenAi => openai::aside(body, text),
            Self::Gemini => gemini::aside(body, text),
        }
    }
}

/// A text in pieces. No piece ends within a character.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let size = CHUNK.max(characters.len() / CHUNKS);
    let pieces: Vec<String> = characters.chunks(size).map(|it| it.iter().collect()).collect();
    pieces.into_iter()
}

/// The elements of an array; none if it is no array.
pub(super) fn members(array: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    array.as_array().into_iter().flatten()
}

/// A string; empty if it is no string.
pub(super) fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
