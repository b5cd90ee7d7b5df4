//! Gemini CLI's hooks: JSON on stdin to an [`Event`], an [`Answer`] to JSON.
//!
//! State is taken from results: the response of a failed tool has an `error`, and nothing has
//! changed. The ids of tracker tasks are only in the text of a result, so the text is parsed.
//! Gemini CLI has no event for a model turn, so a tool call counts as one. Reading never fails:
//! unknown input is no event.

use punchlist_model::{ListEntry, Status};
use serde_json::Value;

use super::fields::{
    Fields, MOST_ENTRIES, answered, called, entries, flag, id, ids, masked, object, plain_id, text,
};
use super::say::{Voice, say};
use super::{Answer, Event, Source, Stop, Task, What, Write, fields};
use crate::prompt::is_refusal;
use crate::text::mask;

/// The prefix that Gemini CLI puts before the tools of Punchlist's MCP server.
pub const MCP_PREFIX: &str = "mcp_punchlist_";

/// The event in these bytes; `None` if there is none that Punchlist uses.
///
/// `event` overrides the name of the event in the bytes. Case does not matter.
pub fn read(bytes: &[u8], event: Option<&str>) -> Option<Event> {
    fields::read(bytes, event, what)
}

fn what(named: &str, fields: &Fields) -> Option<What> {
    Some(match named {
        "sessionstart" => What::Begins(match text(fields, "source") {
            Some("resume") => Source::Resume,
            Some("clear") => Source::Clear,
            Some(_) | None => Source::Startup,
        }),
        "sessionend" => What::Ends,
        // Gemini CLI sends a refused stop to the model as a prompt. It must not reset the count of
        // refusals.
        "beforeagent" if text(fields, "prompt").is_some_and(is_refusal) => return None,
        "beforeagent" => What::Prompt,
        "aftertool" => used(fields)?,
        "afteragent" => What::Stop(Stop {
            again: flag(fields, "stop_hook_active"),
            // The field contains all texts of the turn in order. Only the end counts.
            ..Stop::after(text(fields, "prompt_response"))
        }),
        "punchlistdoctor" => What::Doctor,
        _ => return None,
    })
}

fn used(fields: &Fields) -> Option<What> {
    let tool = text(fields, "tool_name")?;
    let none = Fields::new();
    let call = object(fields, "tool_input").unwrap_or(&none);
    let result = object(fields, "tool_response").unwrap_or(&none);
    let failed = result.get("error").is_some_and(|it| !it.is_null());
    if !failed && !result.is_empty() {
        if let Some(write) = written(tool, call, result) {
            return Some(What::Wrote(write));
        }
        if let Some(planning) = planning(tool, &result_text(result)) {
            return Some(What::Planning(planning));
        }
    }
    let answer = result.get("llmContent").filter(|_| !failed).and_then(answered);
    Some(What::Turn(vec![called(tool, MCP_PREFIX, answer.as_ref())]))
}

/// What a call of the agent's own list tools did; `None` if it neither changed nor showed the list.
fn written(tool: &str, call: &Fields, result: &Fields) -> Option<Write> {
    let result_text = result_text(result);
    match tool {
        "write_todos" => {
            let shown = result.get("returnDisplay").and_then(|it| it.get("todos"));
            let list = shown.or_else(|| call.get("todos"))?;
            Some(Write::List(entries(list, entry)?))
        }
        "tracker_create_task" => {
            let (id, _) = result_text.strip_prefix("Created task ")?.split_once(':')?;
            Some(Write::Created(Task { id: plain_id(id)?, ..task_of(call) }))
        }
        "tracker_update_task" => {
            let (id, rest) = result_text.strip_prefix("Updated task ")?.split_once('.')?;
            let mut task = Task { id: plain_id(id)?, ..task_of(call) };
            // The result contains the new status, whether or not the call set it.
            if let Some((_, word)) = rest.split_once("Status: ") {
                (task.status, task.waits) = stands(word.trim().trim_end_matches('.'));
            }
            Some(Write::Updated(task))
        }
        "tracker_add_dependency" => {
            let (id, blocker) = result_text.strip_prefix("Linked ")?.split_once(" -> ")?;
            let blocker = plain_id(blocker.trim_end_matches('.'))?;
            let blocked_by = vec![blocker];
            Some(Write::Updated(Task { id: plain_id(id)?, blocked_by, ..Task::default() }))
        }
        "tracker_get_task" => Some(Write::Seen(vec![task_file(result_text.as_bytes())?])),
        "tracker_list_tasks" => {
            let lines = result_text.lines().take(MOST_ENTRIES);
            Some(Write::Seen(lines.filter_map(listed).collect()))
        }
        _ => None,
    }
}

/// The text of a result that the model was given.
fn result_text(result: &Fields) -> String {
    match result.get("llmContent") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let parts = parts.iter().filter_map(|it| it["text"].as_str());
            parts.collect::<Vec<_>>().join("\n")
        }
        Some(Value::Object(part)) => text(part, "text").unwrap_or_default().to_owned(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => String::new(),
    }
}

/// Whether the agent entered or left plan mode. A call is not enough, because the user may refuse.
fn planning(tool: &str, result_text: &str) -> Option<bool> {
    const LEFT: [&str; 2] = ["Plan approved", "User has manually exited Plan Mode"];
    match tool {
        "enter_plan_mode" if result_text.starts_with("Switching to Plan mode") => Some(true),
        "exit_plan_mode" if LEFT.iter().any(|it| result_text.starts_with(it)) => Some(false),
        _ => None,
    }
}

fn entry(todo: &Fields) -> ListEntry {
    let (status, waits) = stands(text(todo, "status").unwrap_or_default());
    ListEntry {
        item: None,
        title: masked(todo, "description").unwrap_or_default(),
        active_form: None,
        status: status.unwrap_or(Status::Pending),
        waiting_on: match waits {
            Some(true) => Some(ListEntry::BLOCKED.to_owned()),
            // A pending item does not wait; otherwise it would be `blocked`.
            Some(false) => Some(String::new()),
            None => None,
        },
    }
}

/// A status by the words of `write_todos` and of the tracker, and whether it says that the item
/// waits.
fn stands(word: &str) -> (Option<Status>, Option<bool>) {
    match word {
        "pending" | "open" => (Some(Status::Pending), Some(false)),
        "blocked" => (Some(Status::Pending), Some(true)),
        "in_progress" => (Some(Status::InProgress), None),
        "completed" | "closed" => (Some(Status::Completed), None),
        "cancelled" => (Some(Status::Cancelled), None),
        _ => (None, None),
    }
}

/// The fields of a task, from a call or a file.
fn task_of(fields: &Fields) -> Task {
    let (status, waits) = stands(text(fields, "status").unwrap_or_default());
    Task {
        subject: masked(fields, "title"),
        description: masked(fields, "description"),
        status,
        waits,
        blocked_by: ids(fields, "dependencies"),
        parent: id(fields, "parentId"),
        ..Task::default()
    }
}

/// A task from the agent's own task file.
pub fn task_file(bytes: &[u8]) -> Option<Task> {
    let fields = fields::parse(bytes)?;
    Some(Task { id: id(&fields, "id")?, ..task_of(&fields) })
}

/// A line of the tracker's list: `- [10e943] Write code (closed)`.
fn listed(line: &str) -> Option<Task> {
    let (id, rest) = line.trim().strip_prefix("- [")?.split_once("] ")?;
    let (title, word) = rest.rsplit_once(" (")?;
    let (status, waits) = stands(word.strip_suffix(')')?);
    let subject = Some(mask(title).into_owned());
    Some(Task { id: plain_id(id)?, subject, status, waits, ..Task::default() })
}

/// The JSON of an answer, on one line; `None` if the answer is empty or the event does not accept
/// it.
pub fn write(answer: &Answer, to: &What) -> Option<String> {
    let voice = Voice { name, refuses: |it| matches!(it, What::Stop(_)), no: "deny" };
    match answer {
        Answer::Context(text) => say(&Answer::Context(plain(text)), to, &voice),
        Answer::Nothing | Answer::Refuse(_) | Answer::Message(_) => say(answer, to, &voice),
    }
}

/// A text without the tags at the beginning and end of its lines. Gemini CLI puts its own tag
/// around texts of hooks, and escapes other tags to `&lt;reminder&gt;`. It would also escape `[>]`
/// to `[&gt;]`, so an item in progress is marked as in its own lists.
fn plain(text: &str) -> String {
    let bare = |line: &str| {
        let inner = line.strip_prefix("<reminder>").unwrap_or(line);
        let inner = inner.strip_suffix("</reminder>").unwrap_or(inner);
        let marked = inner.strip_prefix("[>] ").map(|it| format!("[in_progress] {it}"));
        let is_kept = inner.len() == line.len() || !inner.is_empty();
        is_kept.then(|| marked.unwrap_or_else(|| inner.to_owned()))
    };
    text.lines().filter_map(bare).collect::<Vec<_>>().join("\n")
}

/// Gemini CLI's name of an event. For an event that it lacks, the event that it is derived from.
pub fn name(what: &What) -> &'static str {
    match what {
        What::Begins(_) => "SessionStart",
        What::Ends => "SessionEnd",
        What::Prompt => "BeforeAgent",
        What::Compacted => "PreCompress",
        What::Wrote(_)
        | What::NotCreated(_)
        | What::Creating(_)
        | What::Completing(_)
        | What::Turn(_)
        | What::Planning(_)
        | What::SubBegins
        | What::SubStop(_) => "AfterTool",
        What::Stop(_) => "AfterAgent",
        What::Doctor => "PunchlistDoctor",
    }
}
