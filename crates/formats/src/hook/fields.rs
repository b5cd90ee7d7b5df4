//! What the hooks of all agents have in common: reading JSON fields and writing answers.
//!
//! Nothing here depends on an agent. Secrets in texts are masked here, and ids are accepted only if
//! they have the form of an id.

use punchlist_model::json::cut_deep;
use punchlist_model::json_text::replace_lone_surrogates;
use punchlist_model::{ItemId, ListEntry, Status};
use serde_json::{Map, Value};

use super::{Called, Event, What};
use crate::text::{mask, one_line, truncate};

/// Longest accepted id, in bytes.
const MOST_ID: usize = 200;
/// Most entries of a list that are read.
pub(super) const MOST_ENTRIES: usize = 10_000;

pub(super) type Fields = Map<String, Value>;

/// Reads an event. `what` gets its name, reduced to letters in lower case, and reads the rest.
///
/// `event` overrides the name of the event in the bytes. Case does not matter.
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

/// Most columns of a title that is made from a prompt.
const MOST_TITLE: usize = 60;

/// The first line of a prompt, shortened, as a title. `None` for a slash command, and for a prompt
/// that a program wrote.
fn title(prompt: &str) -> Option<String> {
    let line = prompt.lines().map(str::trim).find(|it| !it.is_empty())?;
    let line = &line[..line.char_indices().nth(20 * MOST_TITLE).map_or(line.len(), |it| it.0)];
    let text_line = mask(line);
    let text_line = one_line(&text_line);
    let is_prompt = !text_line.trim().is_empty() && !text_line.starts_with(['/', '<', '!']);
    is_prompt.then(|| truncate(text_line.trim(), MOST_TITLE).into_owned())
}

/// How deep a tool call may be nested. Deeper values are removed, because the rest of the call has
/// happened anyway. Values that are still too deep for a plan are dropped later, with a mark.
const DEEPEST: usize = 64;

/// Parses an agent's JSON. Lone surrogates and invalid UTF-8 are replaced, so that they do not lose
/// the whole event.
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

/// An id: not empty, not too long, without characters that no id has.
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

/// Masks secrets in all strings of a value. `serde_json` bounds the nesting.
pub(super) fn masked_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(mask(&text).into_owned()),
        Value::Array(all) => all.into_iter().map(masked_value).collect(),
        Value::Object(all) => all.into_iter().map(|(key, it)| (key, masked_value(it))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// The entries of a whole list, each read by `entry`.
pub(super) fn entries(
    list: &Value,
    entry: impl Fn(&Fields) -> ListEntry,
) -> Option<Vec<ListEntry>> {
    let list = list.as_array()?.iter().take(MOST_ENTRIES);
    Some(list.filter_map(Value::as_object).map(entry).collect())
}

/// A tool call, with the items of its result if it is a tool of Punchlist.
pub(super) fn called(tool: &str, prefix: &str, answer: Option<&Value>) -> Called {
    let ours = tool.strip_prefix(prefix);
    let took = match (ours, answer) {
        (Some(ours), Some(answer)) => took(ours, answer),
        (Some(_) | None, _) => Vec::new(),
    };
    Called { tool: tool.to_owned(), ours: ours.map(str::to_owned), missing: false, took }
}

/// The items that a call of a Punchlist tool created or started, from its result. A result in
/// another form is a refusal.
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

/// The result of a Punchlist tool without the wrapping of the client: the structured result, JSON
/// in a string, or blocks of text of which one is the JSON.
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
