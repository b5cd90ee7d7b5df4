//! Events of a stream that genai passes over: citations, and failures whose reason it drops.

use std::sync::{Mutex, MutexGuard, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde_json::Value;

use super::super::{Citation, Kind};

/// Words without which an event is of no interest here. Most events are only searched, not parsed.
const WORDS: [&str; 5] = ["citation", "annotation", "grounding", "response.failed", "\"error\""];

/// The most bytes of citations that are kept of an answer.
const MOST_CITED: usize = 256 << 10;

/// Listens to the events of one stream.
pub(super) struct Frames {
    kind: Kind,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    citations: Vec<Citation>,
    /// The bytes of all that came.
    size: usize,
    failure: Option<Value>,
    /// The last event was a citation, on which genai fails.
    is_passed_over: bool,
}

impl Frames {
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, seen: Mutex::default() }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the answer refers to.
    pub(super) fn citations(&self) -> Vec<Citation> {
        self.seen().citations.clone()
    }

    /// The event by which the provider said that it failed.
    pub(super) fn failure(&self) -> Option<Value> {
        self.seen().failure.clone()
    }

    /// Whether an error of genai only means that it did not understand a citation.
    pub(super) fn is_passed_over(&self) -> bool {
        self.seen().is_passed_over
    }

    fn read(&self, data: &Value) {
        let mut seen = self.seen();
        let found = match self.kind {
            Kind::Anthropic if data["delta"]["type"] == "citations_delta" => {
                seen.is_passed_over = true;
                vec![&data["delta"]["citation"]]
            }
            Kind::OpenAi if data["type"] == "response.failed" => {
                seen.failure = Some(data["response"].clone());
                Vec::new()
            }
            Kind::OpenAi if data["type"] == "response.output_text.annotation.added" => {
                vec![&data["annotation"]]
            }
            Kind::OpenAiChat => {
                let annotations = members(&data["choices"][0]["delta"]["annotations"]);
                annotations.map(|it| &it["url_citation"]).collect()
            }
            Kind::Gemini => {
                let metadata = &data["candidates"][0]["groundingMetadata"];
                members(&metadata["groundingChunks"]).map(|it| &it["web"]).collect()
            }
            Kind::Ollama if data.get("error").is_some() => {
                seen.failure = Some(data.clone());
                Vec::new()
            }
            Kind::Anthropic | Kind::OpenAi | Kind::Ollama => Vec::new(),
        };
        for it in found.into_iter().filter_map(citation) {
            seen.size += it.title.len() + it.url.len() + it.quote.len();
            if seen.size <= MOST_CITED {
                seen.citations.push(it);
            }
        }
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _context: &FrameCtx, frame: RawFrameRef<'_>) {
        self.seen().is_passed_over = false;
        if WORDS.iter().any(|it| frame.data.contains(it)) {
            // Ollama's events come with the line's end, others without.
            if let Some(data) = frame.json() {
                self.read(&data);
            }
        }
    }
}

fn members(array: &Value) -> impl Iterator<Item = &Value> {
    array.as_array().into_iter().flatten()
}

fn citation(source: &Value) -> Option<Citation> {
    let text = |names: &[&str]| {
        names.iter().find_map(|it| source[*it].as_str()).unwrap_or_default().to_owned()
    };
    let citation = Citation {
        title: text(&["title", "document_title", "filename"]),
        url: text(&["url", "uri"]),
        quote: text(&["cited_text"]),
    };
    Some(citation).filter(|it| !it.title.is_empty() || !it.url.is_empty() || !it.quote.is_empty())
}
