//! Answers as genai captured them, converted into ours.

use genai::chat::{ContentPart, StopReason, StreamEnd, ToolCall, Usage};
use serde_json::{Map, Value};

use super::super::{
    Arguments, Citation, ModelAnswer, ModelCall, ModelCallId, Stop, ThinkingBlock, TokenUsage,
};

/// The answer that a stream ended with. `None`: the provider has not said why it ended, so it has not.
pub(super) fn answer(
    end: StreamEnd,
    answer_id: &str,
    citations: Vec<Citation>,
) -> Option<ModelAnswer> {
    let stop = stop(end.captured_stop_reason.as_ref()?);
    let mut answer = ModelAnswer { citations, stop, ..ModelAnswer::default() };
    answer.usage = end.captured_usage.as_ref().map(usage).unwrap_or_default();
    let mut has_thought = false;
    for part in
        end.captured_content.map(genai::chat::MessageContent::into_parts).unwrap_or_default()
    {
        match part {
            ContentPart::Text(text) => answer.text.push_str(&text),
            ContentPart::ToolCall(call) => {
                let id = ModelCallId::new(answer_id, answer.calls.len() + 1);
                answer.calls.push(converted(id, call));
            }
            ContentPart::ThoughtSignature(signature) => {
                answer.thinking.push(ThinkingBlock::Signed { text: String::new(), signature });
            }
            // It belongs to the signature before it.
            ContentPart::ReasoningContent(said) => {
                has_thought = true;
                match answer.thinking.last_mut() {
                    Some(ThinkingBlock::Signed { text, .. }) if text.is_empty() => *text = said,
                    Some(_) | None => answer.thinking.push(ThinkingBlock::Text(said)),
                }
            }
            ContentPart::Custom(part) => answer.thinking.push(ThinkingBlock::Opaque(part.data)),
            // No request asks for pictures, and no model answers with results.
            ContentPart::Binary(_) | ContentPart::ToolResponse(_) => {}
        }
    }
    // Thinking without signatures, and summaries beside them, come apart from the content.
    if let Some(text) = end.captured_reasoning_content.filter(|it| !it.is_empty() && !has_thought) {
        answer.thinking.push(ThinkingBlock::Text(text));
    }
    Some(answer)
}

fn converted(id: ModelCallId, call: ToolCall) -> ModelCall {
    ModelCall {
        id,
        provider_id: call.call_id,
        tool: call.fn_name,
        arguments: arguments(call.fn_arguments),
        signatures: call.thought_signatures.unwrap_or_default(),
    }
}

/// genai leaves arguments that are not JSON as a string. A call without any has no arguments.
fn arguments(value: Value) -> Arguments {
    match value {
        Value::Object(_) => Arguments::Object(value),
        Value::Null => Arguments::Object(Value::Object(Map::new())),
        Value::String(text) if text.is_empty() => Arguments::Object(Value::Object(Map::new())),
        Value::String(text) => Arguments::Invalid(text),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            Arguments::Invalid(value.to_string())
        }
    }
}

fn stop(reason: &StopReason) -> Stop {
    match reason {
        StopReason::MaxTokens(_) => Stop::OutputLimit,
        StopReason::ContentFilter(_) => Stop::Filtered,
        StopReason::Completed(_)
        | StopReason::ToolCall(_)
        | StopReason::StopSequence(_)
        | StopReason::Other(_) => Stop::Finished,
    }
}

fn usage(usage: &Usage) -> TokenUsage {
    let count = |tokens: Option<i32>| tokens.and_then(|it| u64::try_from(it).ok()).unwrap_or(0);
    let prompt = usage.prompt_tokens_details.as_ref();
    let completion = usage.completion_tokens_details.as_ref();
    TokenUsage {
        input: count(usage.prompt_tokens),
        cache_read: count(prompt.and_then(|it| it.cached_tokens)),
        cache_write: count(prompt.and_then(|it| it.cache_creation_tokens)),
        output: count(usage.completion_tokens),
        thinking: count(completion.and_then(|it| it.reasoning_tokens)),
    }
}
