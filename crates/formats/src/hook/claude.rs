//! Claude Code's hooks: the JSON on stdin made into an [`Event`], an [`Answer`] made into JSON with
//! no key that Claude Code does not know for that event.
//!
//! State is taken from results. A call may be refused, rewritten or never answered; where a result
//! does not carry the new values (`TaskUpdate`), they are taken from the call once the result says
//! that it succeeded. Nothing here fails: what is not understood is no event.

use punchlist_model::{ItemId, ListEntry, Status};
use serde_json::{Map, Value, json};

use super::{Answer, Called, Event, Source, Stop, Task, What, Write, asks_user};
use crate::text::mask;

/// The tools of the agent's own lists, as the matcher of the tool hooks names them.
pub const MATCHER: &str = "TodoWrite|TaskCreate|TaskUpdate|TaskList|TaskGet";

/// What the tools of our MCP server are called, up to their own names.
pub const MCP_PREFIX: &str = "mcp__punchlist__";

/// Longest id that is believed to be one, in bytes.
const MOST_ID: usize = 200;
/// Most entries of a list that are looked at.
const MOST_ENTRIES: usize = 10_000;

/// The event that these bytes tell of; `None` if they tell of none that concerns us.
///
/// `event` names it where the caller knows better than the bytes, in any case.
pub fn read(bytes: &[u8], event: Option<&str>) -> Option<Event> {
    let fields: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
    let named = event.or_else(|| text(&fields, "hook_event_name"))?;
    let what = what(named, &fields)?;
    let session = match (&what, id(&fields, "session_id")) {
        (_, Some(session)) => session,
        (What::Doctor, None) => String::new(),
        (_, None) => return None,
    };
    Some(Event {
        session,
        directory: text(&fields, "cwd").unwrap_or_default().to_owned(),
        sub_agent: id(&fields, "agent_id"),
        plan_mode: text(&fields, "permission_mode") == Some("plan"),
        what,
    })
}

fn what(named: &str, fields: &Map<String, Value>) -> Option<What> {
    let plain: String =
        named.chars().filter(char::is_ascii_alphanumeric).take(40).collect::<String>();
    Some(match plain.to_ascii_lowercase().as_str() {
        "sessionstart" => What::Begins(source(fields)),
        "sessionend" => What::Ends,
        "userpromptsubmit" if is_wake_up(fields) => return None,
        "userpromptsubmit" => What::Prompt,
        "posttooluse" => What::Wrote(written(fields)?),
        "posttoolusefailure" if text(fields, "tool_name") == Some("TaskCreate") => {
            What::NotCreated(task_of(object(fields, "tool_input")?))
        }
        "posttoolbatch" => What::Turn(calls(fields)),
        "taskcreated" => What::Creating(announced(fields)?),
        "taskcompleted" => What::Completing(announced(fields)?),
        "stop" => What::Stop(stop(fields)),
        "subagentstart" => What::SubBegins,
        // Others that run, itself among them, wake the agent when they end and not the sub-agent.
        "subagentstop" => What::SubStop(Stop { background: false, ..stop(fields) }),
        "punchlistdoctor" => What::Doctor,
        _ => return None,
    })
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str()
}

fn object<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Map<String, Value>> {
    fields.get(name)?.as_object()
}

/// An id: not empty, of sensible length, nothing in it that no id has.
fn id(fields: &Map<String, Value>, name: &str) -> Option<String> {
    plain_id(fields.get(name)?)
}

fn plain_id(value: &Value) -> Option<String> {
    let id = value.as_str()?.trim();
    let fits = !id.is_empty() && id.len() <= MOST_ID && !id.contains(char::is_control);
    fits.then(|| id.to_owned())
}

fn ids(fields: &Map<String, Value>, name: &str) -> Vec<String> {
    let list = fields.get(name).and_then(Value::as_array);
    list.into_iter().flatten().take(MOST_ENTRIES).filter_map(plain_id).collect()
}

fn masked(fields: &Map<String, Value>, name: &str) -> Option<String> {
    text(fields, name).map(|text| mask(text).into_owned())
}

fn status(fields: &Map<String, Value>, name: &str) -> Option<Status> {
    text(fields, name)?.parse().ok()
}

/// Whether a prompt is no word of the user's: background work that ended wakes the agent in this
/// form. It must not begin a new count of refusals, or an agent could have as many as it likes by
/// starting background work.
fn is_wake_up(fields: &Map<String, Value>) -> bool {
    text(fields, "prompt").is_some_and(|it| it.trim_start().starts_with("<task-notification>"))
}

/// A fork has a session id and an empty list of its own: it begins as a new session does.
fn source(fields: &Map<String, Value>) -> Source {
    match text(fields, "source") {
        Some("resume") => Source::Resume,
        Some("clear") => Source::Clear,
        Some("compact") => Source::Compact,
        Some(_) | None => Source::Startup,
    }
}

/// What a tool came to; `None` if it changed and showed nothing.
fn written(fields: &Map<String, Value>) -> Option<Write> {
    let none = Map::new();
    let call = object(fields, "tool_input").unwrap_or(&none);
    let result = object(fields, "tool_response").unwrap_or(&none);
    match text(fields, "tool_name")? {
        "TodoWrite" => Some(Write::List(list(call, result)?)),
        "TaskCreate" => {
            let made = object(result, "task")?;
            let task = Task { id: id(made, "id")?, ..task_of(call) };
            // A hook may have rewritten the call; the result has what came of it.
            Some(Write::Created(match masked(made, "subject") {
                Some(subject) => Task { subject: Some(subject), ..task },
                None => task,
            }))
        }
        "TaskUpdate" => updated(call, result),
        "TaskGet" => {
            let task = object(result, "task")?;
            Some(Write::Seen(vec![seen(task)?]))
        }
        "TaskList" => {
            let tasks = result.get("tasks")?.as_array()?.iter().take(MOST_ENTRIES);
            Some(Write::Seen(tasks.filter_map(|task| seen(task.as_object()?)).collect()))
        }
        _ => None,
    }
}

/// The list as the result has it. A result without one comes from a tool that succeeded, so that
/// the call tells then; its list may be JSON in a string.
fn list(call: &Map<String, Value>, result: &Map<String, Value>) -> Option<Vec<ListEntry>> {
    let parsed;
    let todos = match result.get("newTodos").and_then(Value::as_array) {
        Some(todos) => todos,
        None => match call.get("todos")? {
            Value::Array(todos) => todos,
            Value::String(todos) => {
                parsed = serde_json::from_str::<Vec<Value>>(todos).ok()?;
                &parsed
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
        },
    };
    let entries = todos.iter().take(MOST_ENTRIES).filter_map(Value::as_object);
    Some(entries.map(entry).collect())
}

fn entry(todo: &Map<String, Value>) -> ListEntry {
    ListEntry {
        item: None,
        title: masked(todo, "content").unwrap_or_default(),
        active_form: masked(todo, "activeForm"),
        status: status(todo, "status").unwrap_or(Status::Pending),
        waiting_on: None,
    }
}

fn updated(call: &Map<String, Value>, result: &Map<String, Value>) -> Option<Write> {
    // `success: false` is how a task that is not there and a completion that a hook refused are
    // told: nothing has changed.
    if result.get("success").and_then(Value::as_bool) != Some(true) {
        return None;
    }
    let id = id(result, "taskId").or_else(|| id(call, "taskId"))?;
    let moved = object(result, "statusChange");
    let to = moved.and_then(|it| text(it, "to")).or_else(|| text(call, "status"));
    if to == Some("deleted") {
        return Some(Write::Deleted(id));
    }
    let status = to.and_then(|to| to.parse().ok());
    Some(Write::Updated(Task { id, status, ..task_of(call) }))
}

/// The fields of a task that a call or a file has.
fn task_of(fields: &Map<String, Value>) -> Task {
    let metadata = object(fields, "metadata").cloned().unwrap_or_default();
    let both = |one: &str, other: &str| {
        let mut all = ids(fields, one);
        all.extend(ids(fields, other));
        all
    };
    Task {
        id: String::new(),
        subject: masked(fields, "subject"),
        description: masked(fields, "description"),
        active_form: masked(fields, "activeForm"),
        owner: masked(fields, "owner"),
        status: status(fields, "status"),
        blocks: both("blocks", "addBlocks"),
        blocked_by: both("blockedBy", "addBlockedBy"),
        metadata: metadata.into_iter().map(|(key, value)| (key, masked_value(value))).collect(),
    }
}

fn seen(fields: &Map<String, Value>) -> Option<Task> {
    Some(Task { id: id(fields, "id")?, ..task_of(fields) })
}

/// A task as the agent keeps it in a file of its own.
pub fn task_file(bytes: &[u8]) -> Option<Task> {
    let fields: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
    seen(&fields)
}

/// Secrets in strings anywhere in a value. `serde_json` bounds how deep values nest.
fn masked_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(mask(&text).into_owned()),
        Value::Array(all) => all.into_iter().map(masked_value).collect(),
        Value::Object(all) => all.into_iter().map(|(key, it)| (key, masked_value(it))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn announced(fields: &Map<String, Value>) -> Option<Task> {
    Some(Task {
        id: id(fields, "task_id")?,
        subject: masked(fields, "task_subject"),
        description: masked(fields, "task_description"),
        ..Task::default()
    })
}

fn calls(fields: &Map<String, Value>) -> Vec<Called> {
    let calls = fields.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    let called = |call: &Value| {
        let call = call.as_object()?;
        let tool = text(call, "tool_name")?;
        let took = tool.strip_prefix(MCP_PREFIX).map(|ours| took(ours, call)).unwrap_or_default();
        // Such a call has no event of its own.
        let missing = text(call, "tool_response")
            .is_some_and(|it| it.contains("No such tool available") && it.contains(tool));
        Some(Called { tool: tool.to_owned(), missing, took })
    };
    calls.take(MOST_ENTRIES).filter_map(called).collect()
}

/// The items that a tool of ours made or began, by what it answered. The answer comes as JSON in a
/// string; one that is none is a refusal.
fn took(tool: &str, call: &Map<String, Value>) -> Vec<ItemId> {
    let answer = text(call, "tool_response").and_then(|it| serde_json::from_str(it).ok());
    let answer: Value = answer.unwrap_or_default();
    let item = |it: &Value| it["id"].as_str()?.parse().ok();
    match tool {
        "create_todo" => {
            let made = answer["created"].as_array().into_iter().flatten();
            made.take(MOST_ENTRIES).filter_map(item).collect()
        }
        "next_todo" => item(&answer["item"]).into_iter().collect(),
        "update_todo" if answer["status"] == "in_progress" => item(&answer).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn stop(fields: &Map<String, Value>) -> Stop {
    let tasks = fields.get("background_tasks").and_then(Value::as_array).into_iter().flatten();
    Stop {
        asks: text(fields, "last_assistant_message").is_some_and(asks_user),
        background: tasks.filter_map(Value::as_object).any(wakes),
        again: fields.get("stop_hook_active").and_then(Value::as_bool).unwrap_or(false),
    }
}

/// Whether a background task still runs and its end will wake the agent. A shell may run for ever,
/// as a development server does, and would switch the gate off for as long: it does not count.
fn wakes(task: &Map<String, Value>) -> bool {
    const OVER: [&str; 7] =
        ["completed", "failed", "killed", "stopped", "cancelled", "canceled", "error"];
    let kind = text(task, "type").unwrap_or_default();
    let is_shell = kind.contains("bash") || kind.contains("shell");
    let over = text(task, "status").is_none_or(|status| OVER.contains(&status));
    !is_shell && !over
}

/// The JSON of an answer, on one line; `None` if there is nothing to say, or if this event takes no
/// such answer.
pub fn write(answer: &Answer, to: &What) -> Option<String> {
    let value = match (answer, to) {
        (
            Answer::Context(text),
            What::Begins(_) | What::Prompt | What::Turn(_) | What::Wrote(_),
        ) => context(name(to), text),
        (Answer::Refuse(reason), What::Stop(_) | What::SubStop(_) | What::Completing(_)) => {
            json!({"decision": "block", "reason": reason})
        }
        (Answer::Message(text), What::Doctor) => json!({"systemMessage": text}),
        (
            Answer::Nothing | Answer::Context(_) | Answer::Refuse(_) | Answer::Message(_),
            What::Begins(_)
            | What::Ends
            | What::Prompt
            | What::Wrote(_)
            | What::NotCreated(_)
            | What::Creating(_)
            | What::Completing(_)
            | What::Turn(_)
            | What::Stop(_)
            | What::SubBegins
            | What::SubStop(_)
            | What::Doctor,
        ) => return None,
    };
    Some(value.to_string())
}

/// What Claude Code calls an event.
pub fn name(what: &What) -> &'static str {
    match what {
        What::Begins(_) => "SessionStart",
        What::Ends => "SessionEnd",
        What::Prompt => "UserPromptSubmit",
        What::Wrote(_) => "PostToolUse",
        What::NotCreated(_) => "PostToolUseFailure",
        What::Creating(_) => "TaskCreated",
        What::Completing(_) => "TaskCompleted",
        What::Turn(_) => "PostToolBatch",
        What::Stop(_) => "Stop",
        What::SubBegins => "SubagentStart",
        What::SubStop(_) => "SubagentStop",
        What::Doctor => "PunchlistDoctor",
    }
}

fn context(event: &str, text: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
}
