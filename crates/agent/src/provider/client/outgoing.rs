//! Requests as genai takes them. Sends nothing.
//!
//! Ids: a call goes back under the provider's own id if it came from this model and no earlier call has
//! the same, else under ours. Some providers accept only ids of their own making, and others refuse
//! ids that repeat.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use genai::adapter::AdapterKind;
use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, ContentPart, CustomPart, MessageContent,
    ReasoningEffort, Tool, ToolCall, ToolResponse,
};
use genai::{Headers, ModelIden};
use serde_json::json;

use super::super::{
    Arguments, Assistant, CallResult, Effort, Kind, Message, ModelCall, ModelCallId, ModelName,
    ModelRequest, ProviderConfig, Secret, ThinkingBlock, ToolSpec,
};
use super::Genai;
use super::frames::Frames;

/// Begins the ids that genai makes up for calls of Gemini without one. They go back as no id at all.
const NO_ID: &str = "call#";

pub(super) fn model(config: &ProviderConfig, model: &ModelName) -> ModelIden {
    let adapter = match config.kind {
        Kind::Anthropic => AdapterKind::Anthropic,
        Kind::OpenAi => AdapterKind::OpenAIResp,
        Kind::OpenAiChat => AdapterKind::OpenAI,
        Kind::Gemini => AdapterKind::Gemini,
        Kind::Ollama => AdapterKind::Ollama,
    };
    ModelIden::new(adapter, model.name.as_str())
}

pub(super) fn options(client: &Genai, request: &ModelRequest, frames: Arc<Frames>) -> ChatOptions {
    let wanted = &request.options;
    let kind = client.config.kind;
    let mut options = ChatOptions::default()
        .with_capture_content(true)
        .with_capture_tool_calls(true)
        .with_capture_usage(true)
        .with_capture_reasoning_content(wanted.thinking)
        .with_stream_header_timeout(client.options.answer_timeout)
        .with_stream_read_timeout(client.options.stall_timeout);
    options.raw_frame_sink = Some(frames);
    options.max_tokens = wanted.max_tokens;
    options.temperature = wanted.temperature;
    options.reasoning_effort = wanted.effort.map(effort);
    if kind == Kind::OpenAi {
        options.prompt_cache_key.clone_from(&wanted.cache_key);
    }
    if let Some(key) = client.key.as_ref().filter(|_| kind == Kind::Ollama) {
        // genai sends no key to Ollama, but a proxy before it may want one.
        let header = ("authorization".to_owned(), format!("Bearer {}", Secret::reveal(key)));
        options.extra_headers = Some(Headers::from(header));
    }
    if is_cut(&client.model.name, wanted.effort) {
        put_back(kind, &client.model.name, &mut options);
    }
    options
}

/// Whether genai would take the end of the name, as in `qwen-max`, for an effort and cut it off.
fn is_cut(name: &str, effort: Option<Effort>) -> bool {
    effort.is_none() && ReasoningEffort::from_model_name(name).0.is_some()
}

/// Puts a name back that genai cut off, and takes away the effort that it took for it.
fn put_back(kind: Kind, name: &str, options: &mut ChatOptions) {
    match kind {
        Kind::OpenAiChat => {
            options.extra_body = Some(json!({"model": name, "reasoning_effort": null}));
        }
        Kind::OpenAi => {
            options.extra_body = Some(json!({"model": name, "reasoning": {"effort": null}}));
        }
        // With an effort that is given, genai looks for none in the name. This one sends nothing.
        Kind::Anthropic => options.reasoning_effort = Some(ReasoningEffort::Zero),
        // No such model is known of Gemini; Ollama's names are left alone.
        Kind::Gemini | Kind::Ollama => {}
    }
}

fn effort(effort: Effort) -> ReasoningEffort {
    match effort {
        Effort::None => ReasoningEffort::Zero,
        Effort::Low => ReasoningEffort::Low,
        Effort::Medium => ReasoningEffort::Medium,
        Effort::High => ReasoningEffort::High,
        Effort::Max => ReasoningEffort::Max,
    }
}

pub(super) fn chat(
    config: &ProviderConfig,
    model: &ModelName,
    request: &ModelRequest,
) -> ChatRequest {
    let ids = Ids::of(request, model);
    let has_marks = config.kind == Kind::Anthropic;
    // The last message that will be the same in the next call.
    let marked = request.messages.len().checked_sub(request.uncached + 1).filter(|_| has_marks);
    let mut chat = ChatRequest::default();
    if has_marks && !request.system.is_empty() {
        chat.messages.push(mark(ChatMessage::system(request.system.as_str())));
    } else if !request.system.is_empty() {
        chat.system = Some(request.system.clone());
    }
    for (index, message) in request.messages.iter().enumerate() {
        let mut messages = converted(config.kind, model, message, &ids);
        if marked == Some(index) {
            messages = messages.into_iter().map(mark).collect();
        }
        chat.messages.extend(messages);
    }
    if !request.tools.is_empty() {
        chat.tools = Some(request.tools.iter().map(tool).collect());
    }
    chat
}

/// The provider may cache the conversation up to here.
fn mark(message: ChatMessage) -> ChatMessage {
    message.with_options(CacheControl::Ephemeral)
}

fn tool(spec: &ToolSpec) -> Tool {
    Tool::new(spec.name.clone())
        .with_description(spec.description.clone())
        .with_schema(spec.schema.clone())
}

fn converted(kind: Kind, model: &ModelName, message: &Message, ids: &Ids) -> Vec<ChatMessage> {
    match message {
        Message::User(text) => vec![ChatMessage::user(text.as_str())],
        Message::Assistant(said) => {
            let parts = assistant(said, said.model == *model, ids);
            if parts.is_empty() {
                return Vec::new();
            }
            vec![ChatMessage::assistant(MessageContent::from_parts(parts))]
        }
        Message::Results(results) => {
            let parts = results.iter().map(|it| result(kind, it, ids));
            // genai sends only the last of several results in one message to Ollama.
            if kind == Kind::Ollama {
                return parts
                    .map(|it| ChatMessage::tool(MessageContent::from_parts([it])))
                    .collect();
            }
            let parts: Vec<ContentPart> = parts.collect();
            vec![ChatMessage::tool(MessageContent::from_parts(parts))]
        }
    }
}

/// Thinking first, then text, then calls: the order in which genai reads them.
fn assistant(said: &Assistant, is_own: bool, ids: &Ids) -> Vec<ContentPart> {
    let mut parts = Vec::new();
    for block in said.thinking.iter().filter(|_| is_own) {
        match block {
            ThinkingBlock::Text(text) => parts.push(ContentPart::ReasoningContent(text.clone())),
            ThinkingBlock::Signed { text, signature } => {
                parts.push(ContentPart::ThoughtSignature(signature.clone()));
                if !text.is_empty() {
                    parts.push(ContentPart::ReasoningContent(text.clone()));
                }
            }
            ThinkingBlock::Opaque(data) => {
                let part = CustomPart { model_iden: None, data: data.clone() };
                parts.push(ContentPart::Custom(part));
            }
        }
    }
    if !said.text.is_empty() {
        parts.push(ContentPart::Text(said.text.clone()));
    }
    parts.extend(said.calls.iter().map(|call| ContentPart::ToolCall(tool_call(call, is_own, ids))));
    parts
}

fn tool_call(call: &ModelCall, is_own: bool, ids: &Ids) -> ToolCall {
    let signatures = Some(call.signatures.clone()).filter(|it| is_own && !it.is_empty());
    ToolCall {
        call_id: ids.sent(&call.id),
        fn_name: call.tool.clone(),
        fn_arguments: match &call.arguments {
            Arguments::Object(object) => object.clone(),
            // Providers refuse a conversation in which arguments are no object.
            Arguments::Invalid(text) => json!({"invalid_json": text}),
        },
        thought_signatures: signatures,
    }
}

fn result(kind: Kind, result: &CallResult, ids: &Ids) -> ContentPart {
    let id = ids.sent(&result.call);
    if kind == Kind::Anthropic && result.is_error {
        // genai has no word for errors; only Anthropic's API has one.
        let data = json!({"type": "tool_result", "tool_use_id": id, "content": result.text,
            "is_error": true});
        return ContentPart::Custom(CustomPart { model_iden: None, data });
    }
    let response = ToolResponse::new(id, result.text.clone());
    ContentPart::ToolResponse(match ids.tools.get(&result.call) {
        Some(tool) => response.with_fn_name(tool.clone()),
        None => response,
    })
}

/// Under which id each call of the conversation is sent.
struct Ids {
    sent: BTreeMap<ModelCallId, String>,
    tools: BTreeMap<ModelCallId, String>,
}

impl Ids {
    fn of(request: &ModelRequest, model: &ModelName) -> Self {
        let mut ids = Self { sent: BTreeMap::new(), tools: BTreeMap::new() };
        let mut used = BTreeSet::new();
        for message in &request.messages {
            let Message::Assistant(said) = message else { continue };
            for call in &said.calls {
                let own = &call.provider_id;
                let is_known = said.model == *model && !own.is_empty();
                let is_free = own.starts_with(NO_ID) || used.insert(own.clone());
                let sent = if is_known && is_free { own } else { &call.id.0 };
                ids.sent.insert(call.id.clone(), sent.clone());
                ids.tools.insert(call.id.clone(), call.tool.clone());
            }
        }
        ids
    }

    fn sent(&self, id: &ModelCallId) -> String {
        self.sent.get(id).cloned().unwrap_or_else(|| id.to_string())
    }
}
