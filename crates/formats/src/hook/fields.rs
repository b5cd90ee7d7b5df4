//! What the hooks of all agents have in common: reading fields of their JSON, and writing answers.
//!
//! Nothing here knows an agent. Texts are masked where they are read, ids are believed only if they
//! look like some.

use punchlist_model::json::cut_deep;
use punchlist_model::json_text::replace_lone_surrogates;
use punchlist_model::{ItemId, ListEntry, Status};
use serde_json::{Map, Value};

use super::{Called, Event, What};
use crate::text::{mask, one_line, truncate};

/// Longest id that is believed to be one, in bytes.
const MOST_ID: usize = 200;
/// Most entries of a list that are looked at.
pub(super) const MOST_ENTRIES: usize = 10_000;

pub(super) type Fields = Map<String, Value>;

/// The event that these bytes tell of. `what` finds out which, by its name without anything but
/// letters, in lower case.
///
/// `event` names it where the caller knows better than the bytes, in any case.
pub(super) fn read(
    bytes: &[u8],
    event: Option<&str>,
    what: impl Fn(&str, &Fields) -> Option<What>,
) -> Option<Event> {
    let fields = parse(bytes)?;
    let named = event.or_else(|| text(&fields, "hook_event_name"))?;
    let plain: String = named.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    let what = what(&plain.to_ascii_lowercase(), &fields)?;
    let session = match (&what, id(&fields, "session_id")) {
        (_, Some(session)) => session,
        (What::Doctor, None) => String::new(),
        (_, None) => return None,
    };
    Some(Event {
        session,
        directory: text(&fields, "cwd").unwrap_or_default().to_owned(),
        transcript: text(&fields, "transcript_path").unwrap_or_default().to_owned(),
        sub_agent: id(&fields, "agent_id"),
        plan_mode: text(&fields, "permission_mode") == Some("plan"),
        prompt: text(&fields, "prompt").filter(|_| what == What::Prompt).and_then(title),
        what,
    })
}

/// Most columns of a title that is made from what the user said.
const MOST_TITLE: usize = 60;

/// What the user said, as a title: its first line, shortened. A command to the program, and what a
/// program says in the user's place, is none.
fn title(prompt: &str) -> Option<String> {
    let line = prompt.lines().map(str::trim).find(|it| !it.is_empty())?;
    let line = &line[..line.char_indices().nth(20 * MOST_TITLE).map_or(line.len(), |it| it.0)];
    let said = mask(line);
    let said = one_line(&said);
    let is_said = !said.trim().is_empty() && !said.starts_with(['/', '<', '!']);
    is_said.then(|| truncate(said.trim(), MOST_TITLE).into_owned())
}

/// How deep a call of a tool may be nested that is looked at. What is below is cut out: the rest of the call
/// happened all the same, and what is still too deep for a plan is left out there, with a mark.
const DEEPEST: usize = 64;

/// The JSON that an agent wrote. Half a character in some text must not cost the whole event, nor may a byte
/// that belongs to none.
pub(super) fn parse(bytes: &[u8]) -> Option<Fields> {
    let text = String::from_utf8_lossy(bytes);
    let json = replace_lone_surrogates(text.as_bytes());
    let read = serde_json::from_slice(&json);
    read.or_else(|_| serde_json::from_slice(&cut_deep(&json, DEEPEST))).ok()
}

pub(super) fn text<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str()
}

pub(super) fn object<'a>(fields: &'a Fields, name: &str) -> Option<&'a Fields> {
    fields.get(name)?.as_object()
}

pub(super) fn flag(fields: &Fields, name: &str) -> bool {
    fields.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// An id: not empty, of sensible length, nothing in it that no id has.
pub(super) fn id(fields: &Fields, name: &str) -> Option<String> {
    plain_id(fields.get(name)?.as_str()?)
}

pub(super) fn plain_id(id: &str) -> Option<String> {
    let id = id.trim();
    let fits = !id.is_empty() && id.len() <= MOST_ID && !id.contains(char::is_control);
    fits.then(|| id.to_owned())
}

pub(super) fn ids(fields: &Fields, name: &str) -> Vec<String> {
    let list = fields.get(name).and_then(Value::as_array).into_iter().flatten();
    list.take(MOST_ENTRIES).filter_map(|it| plain_id(it.as_str()?)).collect()
}

pub(super) fn masked(fields: &Fields, name: &str) -> Option<String> {
    text(fields, name).map(|text| mask(text).into_owned())
}

pub(super) fn status(fields: &Fields, name: &str) -> Option<Status> {
    text(fields, name)?.parse().ok()
}

/// Secrets in strings anywhere in a value. `serde_json` bounds how deep values nest.
pub(super) fn masked_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(mask(&text).into_owned()),
        Value::Array(all) => all.into_iter().map(masked_value).collect(),
        Value::Object(all) => all.into_iter().map(|(key, it)| (key, masked_value(it))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// The entries of a whole list, each as `entry` reads it.
pub(super) fn entries(
    list: &Value,
    entry: impl Fn(&Fields) -> ListEntry,
) -> Option<Vec<ListEntry>> {
    let list = list.as_array()?.iter().take(MOST_ENTRIES);
    Some(list.filter_map(Value::as_object).map(entry).collect())
}

/// A tool that was called, with what it answered if it is one of ours.
pub(super) fn called(tool: &str, prefix: &str, answer: Option<&Value>) -> Called {
    let ours = tool.strip_prefix(prefix);
    let took = match (ours, answer) {
        (Some(ours), Some(answer)) => took(ours, answer),
        (Some(_) | None, _) => Vec::new(),
    };
    Called { tool: tool.to_owned(), ours: ours.map(str::to_owned), missing: false, took }
}

/// The items that a tool of ours made or began, by what it answered. An answer that is none of ours
/// is a refusal.
fn took(tool: &str, answer: &Value) -> Vec<ItemId> {
    let item = |it: &Value| it["id"].as_str()?.parse().ok();
    match tool {
        "create_todo" => {
            let made = answer["created"].as_array().into_iter().flatten();
            made.take(MOST_ENTRIES).filter_map(item).collect()
        }
        "next_todo" => item(&answer["item"]).into_iter().collect(),
        "update_todo" if answer["status"] == "in_progress" => item(answer).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// What a tool of ours answered, out of the wrappings that clients put around it: the structured
/// result itself, JSON in a string, or blocks of text of which one is that.
pub(super) fn answered(result: &Value) -> Option<Value> {
    match result {
        Value::String(text) => {
            let inner = text.trim().strip_prefix("<untrusted_context>").unwrap_or(text);
            let inner = inner.trim().strip_suffix("</untrusted_context>").unwrap_or(inner);
            serde_json::from_str(inner.trim()).ok().filter(Value::is_object)
        }
        Value::Array(blocks) => blocks.iter().take(16).find_map(|it| answered(&it["text"])),
        Value::Object(fields) => {
            const WRAPPED: [&str; 5] =
                ["structuredContent", "structured_content", "content", "llmContent", "output"];
            let inner = WRAPPED.iter().filter_map(|name| fields.get(*name)).find_map(answered);
            Some(inner.unwrap_or_else(|| result.clone()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
