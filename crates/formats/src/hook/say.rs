//! An answer as JSON. The agents use the same format; they differ in the names of events, in which
//! stops can be refused, and in the word for a refusal.

use serde_json::{Value, json};

use super::{Answer, What};

/// How one agent's answers look.
pub(super) struct Voice {
    /// The agent's name of an event.
    pub(super) name: fn(&What) -> &'static str,
    /// Whether a hook may refuse this event. No other event may be refused.
    pub(super) refuses: fn(&What) -> bool,
    /// The agent's word for a refusal.
    pub(super) no: &'static str,
}

/// The JSON of an answer, on one line; `None` if the answer is empty or the event does not accept
/// it.
pub(super) fn say(answer: &Answer, to: &What, voice: &Voice) -> Option<String> {
    let value = match answer {
        Answer::Context(text) if is_read(to) => context((voice.name)(to), text),
        Answer::Refuse(reason) if (voice.refuses)(to) => {
            json!({"decision": voice.no, "reason": reason})
        }
        Answer::Message(text) if *to == What::Doctor => json!({"systemMessage": text}),
        Answer::Nothing | Answer::Context(_) | Answer::Refuse(_) | Answer::Message(_) => {
            return None;
        }
    };
    Some(crate::view::json::render(&value))
}

/// Whether the model reads the context that a hook returns for this event.
fn is_read(to: &What) -> bool {
    match to {
        What::Begins(_) | What::Prompt | What::Turn(_) | What::Wrote(_) => true,
        What::Ends
        | What::Compacted
        | What::NotCreated(_)
        | What::Creating(_)
        | What::Completing(_)
        | What::Planning(_)
        | What::Stop(_)
        | What::SubBegins
        | What::SubStop(_)
        | What::Doctor => false,
    }
}

/// A text for the model.
pub(super) fn context(event: &str, text: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
}
