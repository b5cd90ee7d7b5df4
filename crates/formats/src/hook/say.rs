//! An answer as JSON. The agents agree on its shape, and differ in how an event is called, which stops
//! can be refused, and by which word.

use serde_json::{Value, json};

use super::{Answer, What};

/// How an agent wants to be answered.
pub(super) struct Voice {
    /// What it calls an event.
    pub(super) name: fn(&What) -> &'static str,
    /// Whether an event may be refused. Anything else must never be.
    pub(super) refuses: fn(&What) -> bool,
    /// How it calls a refusal.
    pub(super) no: &'static str,
}

/// The JSON of an answer, on one line; `None` if there is nothing to say, or if this event takes no
/// such answer.
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

/// Whether the model reads what is said to an event.
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

/// Something for the model to read.
pub(super) fn context(event: &str, text: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
}
