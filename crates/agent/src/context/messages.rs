//! Messages that every provider accepts: the first is the user's, no two answers follow each other, and
//! an answer with calls is followed by exactly one result for each.

use std::borrow::Cow;

use punchlist_formats::text::one_line;

use super::quote::{cut, fence};
use super::record::{CallAndResult, Unit, What};
use crate::provider::{Arguments, Assistant, CallResult, Message, ModelCall};
use crate::session::Answer;
use crate::turn::Purpose;

/// What the model reads about a call without a result.
const NO_RESULT: &str =
    "No result was recorded: the call was interrupted. It may have happened; check first.";

/// Results up to this size are not shortened, in bytes.
const SHORT: usize = 240;

/// Most bytes of a call's arguments where calls are written as text.
const MOST_ARGUMENTS: usize = 2000;

/// Room for the labels of a call and its result where they are written as text, in bytes.
const LABELS: usize = 100;

/// How calls and their results are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As calls and results.
    Calls,
    /// As text.
    Text,
}

/// The messages of some units. Results of the units up to the entry `shortened` are shortened.
pub(super) fn of(units: &[Unit<'_>], shortened: u64, form: Form) -> Vec<Message> {
    let mut messages = Vec::new();
    for unit in units {
        match &unit.what {
            What::Summary(text) => messages.push(Message::User(summary(text))),
            What::User(text) | What::Told(text) => messages.push(Message::User((*text).to_owned())),
            What::Answer(answer, calls) => {
                // The message that asked for this answer is not stored.
                if matches!(messages.last(), None | Some(Message::Assistant(_))) {
                    messages.push(Message::User(lead(answer.purpose).to_owned()));
                }
                let is_short = unit.last <= shortened;
                push(&mut messages, answer, calls, is_short, form);
            }
        }
    }
    messages
}

fn push(
    messages: &mut Vec<Message>,
    answer: &Answer,
    calls: &[CallAndResult<'_>],
    is_short: bool,
    form: Form,
) {
    let said = &answer.message;
    let text = if said.text.trim().is_empty() { "" } else { said.text.as_str() };
    if calls.is_empty() {
        let text = text.to_owned();
        messages.push(Message::Assistant(Assistant { text, calls: Vec::new(), ..said.clone() }));
        return;
    }
    match form {
        Form::Calls => {
            let text = text.to_owned();
            messages.push(Message::Assistant(Assistant { text, ..said.clone() }));
            let results = calls.iter().map(|it| result(it, is_short)).collect();
            messages.push(Message::Results(results));
        }
        Form::Text => {
            let called = calls.iter().map(|it| format!("(Called {})", call_line(it.call)));
            let lines: Vec<String> = Some(text.to_owned())
                .filter(|it| !it.is_empty())
                .into_iter()
                .chain(called)
                .collect();
            // Thinking belongs to the calls that followed it, so it is left out with them.
            messages.push(Message::Assistant(Assistant {
                model: said.model.clone(),
                text: lines.join("\n"),
                thinking: Vec::new(),
                calls: Vec::new(),
            }));
            let results: Vec<String> = calls.iter().map(|it| result_text(it, is_short)).collect();
            messages.push(Message::User(results.join("\n\n")));
        }
    }
}

/// The units as one text of about `most` bytes, for the model that summarises them. The results share
/// the room that the rest leaves.
pub(super) fn transcript(units: &[Unit<'_>], most: usize) -> String {
    let said: usize = units.iter().map(|it| bytes(it, true) - result_bytes(it, true)).sum();
    let results: usize = units.iter().map(Unit::calls).sum();
    let share = (most.saturating_sub(said) / results.max(1)).saturating_sub(LABELS);
    let mut parts = Vec::new();
    for unit in units {
        match &unit.what {
            What::Summary(text) => parts.push(format!("Summary of what was before: {text}")),
            What::User(text) => parts.push(format!("User: {text}")),
            What::Told(text) => parts.push(format!("Program: {text}")),
            What::Answer(answer, calls) => {
                if !answer.message.text.trim().is_empty() {
                    parts.push(format!("Agent: {}", answer.message.text));
                }
                for it in calls {
                    parts.push(format!("Agent called {}", call_line(it.call)));
                    parts.push(begin(&result_text(it, false), share));
                }
            }
        }
    }
    parts.join("\n\n")
}

/// The size of a unit in bytes, as it is sent.
pub(super) fn bytes(unit: &Unit<'_>, is_short: bool) -> usize {
    let said = match &unit.what {
        What::Summary(text) | What::User(text) | What::Told(text) => text.len(),
        What::Answer(answer, calls) => {
            let said = &answer.message;
            let block = |it| serde_json::to_string(it).map_or(0, |it| it.len());
            let thinking: usize = said.thinking.iter().map(block).sum();
            let calls: usize = calls.iter().map(|it| arguments(it.call).len()).sum();
            said.text.len() + thinking + calls
        }
    };
    said + result_bytes(unit, is_short)
}

/// The size of a unit's results in bytes, as they are sent.
pub(super) fn result_bytes(unit: &Unit<'_>, is_short: bool) -> usize {
    match &unit.what {
        What::Summary(_) | What::User(_) | What::Told(_) => 0,
        What::Answer(_, calls) => calls.iter().map(|it| shown(it, is_short).len()).sum(),
    }
}

fn summary(text: &str) -> String {
    fence("Summary of what was before in this conversation", text)
}

/// Takes the place of the message that asked for an answer, where nothing else stands before it.
fn lead(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Plan => "Plan the next steps.",
        Purpose::Item(_) => "Work on the item in progress.",
        Purpose::FinalAnswer => "Write the answer.",
        Purpose::Work | Purpose::Direct | Purpose::Classify | Purpose::Validate => "Go on.",
    }
}

fn result(it: &CallAndResult<'_>, is_short: bool) -> CallResult {
    CallResult {
        call: it.call.id.clone(),
        text: shown(it, is_short).into_owned(),
        is_error: it.result.is_none_or(|it| it.result.is_error),
    }
}

/// The text of a result, or the line that takes its place.
fn shown<'a>(it: &CallAndResult<'a>, is_short: bool) -> Cow<'a, str> {
    let Some(recorded) = it.result else { return Cow::Borrowed(NO_RESULT) };
    let text = recorded.result.text.as_str();
    if !is_short || text.len() <= SHORT {
        return Cow::Borrowed(text);
    }
    let kept = match &recorded.whole {
        Some(place) => format!("The whole is in {}.", cut(&one_line(place), SHORT)),
        None => format!(
            "It is entry {} of this session; call the tool again if you need it.",
            it.number
        ),
    };
    Cow::Owned(format!("(Shortened: the result had {} bytes. {kept})", text.len()))
}

fn result_text(it: &CallAndResult<'_>, is_short: bool) -> String {
    format!("Result of {}:\n{}", one_line(&it.call.tool), shown(it, is_short))
}

fn call_line(call: &ModelCall) -> String {
    let arguments = begin(&arguments(call), MOST_ARGUMENTS);
    format!("{} with {}", one_line(&call.tool), one_line(&arguments))
}

/// The beginning of a text, with `…` if that is not all.
fn begin(text: &str, most: usize) -> String {
    let shown = cut(text, most);
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("{shown}{more}")
}

fn arguments(call: &ModelCall) -> Cow<'_, str> {
    match &call.arguments {
        Arguments::Object(object) => Cow::Owned(object.to_string()),
        Arguments::Invalid(text) => Cow::Borrowed(text),
    }
}
