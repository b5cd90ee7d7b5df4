//! Claude Code's hooks: JSON on stdin to an [`Event`], an [`Answer`] to JSON with only the keys
//! that Claude Code knows for that event.
//!
//! State is taken from results, because a call may be refused, rewritten or never answered. A
//! result of `TaskUpdate` does not contain the new values; they are taken from the call once the
//! result reports success. Reading never fails: unknown input is no event.

use punchlist_model::item::RESERVED;
use punchlist_model::json_text::replace_lone_surrogates;
use punchlist_model::{ListEntry, Status};
use serde_json::Value;

use super::fields::{
    Fields, MOST_ENTRIES, answered, called, entries, flag, id, ids, masked, masked_value, object,
    status, text,
};
use super::say::{Voice, context, say};
use super::{Answer, Called, Event, Source, Stop, Task, Version, What, Write, fields};

/// The prefix that Claude Code puts before the tools of Punchlist's MCP server.
pub const MCP_PREFIX: &str = "mcp__punchlist__";

/// The error of `TaskUpdate` for a task that does not exist.
const NOT_FOUND: &str = "Task not found";

/// The event in these bytes; `None` if there is none that Punchlist uses.
///
/// `event` overrides the name of the event in the bytes. Case does not matter.
pub fn read(bytes: &[u8], event: Option<&str>) -> Option<Event> {
    fields::read(bytes, event, what)
}

fn what(named: &str, fields: &Fields) -> Option<What> {
    Some(match named {
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
        // Other background work, the sub-agent included, wakes the agent when it ends, not the
        // sub-agent.
        "subagentstop" => What::SubStop(Stop { background: false, ..stop(fields) }),
        "punchlistdoctor" => What::Doctor,
        _ => return None,
    })
}

/// Whether a prompt does not come from the user: when background work ends, Claude Code wakes the
/// agent with a prompt in this form. Such a prompt must not reset the count of refusals, or an
/// agent could reset it at will by starting background work.
fn is_wake_up(fields: &Fields) -> bool {
    text(fields, "prompt").is_some_and(|it| it.trim_start().starts_with("<task-notification>"))
}

/// A fork has its own session id and an empty list, so it counts as a new session.
fn source(fields: &Fields) -> Source {
    match text(fields, "source") {
        Some("resume") => Source::Resume,
        Some("clear") => Source::Clear,
        Some("compact") => Source::Compact,
        Some(_) | None => Source::Startup,
    }
}

/// What a tool call did to the list; `None` if it neither changed nor showed it.
fn written(fields: &Fields) -> Option<Write> {
    let none = Fields::new();
    let call = object(fields, "tool_input").unwrap_or(&none);
    let result = object(fields, "tool_response").unwrap_or(&none);
    match text(fields, "tool_name")? {
        "TodoWrite" => Some(Write::List(list(call, result)?)),
        "TaskCreate" => {
            let made = object(result, "task")?;
            let task = Task { id: id(made, "id")?, ..task_of(call) };
            // A hook may have rewritten the call, so the values come from the result.
            Some(Write::Created(match masked(made, "subject") {
                Some(subject) => Task { subject: Some(subject), ..task },
                None => task,
            }))
        }
        "TaskUpdate" => updated(call, result),
        "TaskGet" => {
            if result.get("task").is_some_and(Value::is_null) {
                return Some(Write::Absent(id(call, "taskId")?));
            }
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

/// The list in the result. If a successful result has no list, the list comes from the call, where
/// it may be JSON in a string.
fn list(call: &Fields, result: &Fields) -> Option<Vec<ListEntry>> {
    if let Some(list) = result.get("newTodos").and_then(|it| entries(it, entry)) {
        return Some(list);
    }
    let todos = call.get("todos")?;
    match todos.as_str() {
        Some(text) => {
            entries(&serde_json::from_slice(&replace_lone_surrogates(text.as_bytes())).ok()?, entry)
        }
        None => entries(todos, entry),
    }
}

fn entry(todo: &Fields) -> ListEntry {
    ListEntry {
        item: None,
        title: masked(todo, "content").unwrap_or_default(),
        active_form: masked(todo, "activeForm"),
        status: status(todo, "status").unwrap_or(Status::Pending),
        waiting_on: None,
    }
}

fn updated(call: &Fields, result: &Fields) -> Option<Write> {
    let id = id(result, "taskId").or_else(|| id(call, "taskId"))?;
    // `success: false` reports a task that does not exist, or a completion that a hook refused. In
    // both cases nothing has changed.
    if result.get("success").and_then(Value::as_bool) != Some(true) {
        return (text(result, "error") == Some(NOT_FOUND)).then_some(Write::Absent(id));
    }
    let moved = object(result, "statusChange");
    let to = moved.and_then(|it| text(it, "to")).or_else(|| text(call, "status"));
    if to == Some("deleted") {
        return Some(Write::Deleted(id));
    }
    let status = to.and_then(|to| to.parse().ok());
    Some(Write::Updated(Task { id, status, ..task_of(call) }))
}

/// The fields of a task, from a call or a file.
fn task_of(fields: &Fields) -> Task {
    let mut metadata = object(fields, "metadata").cloned().unwrap_or_default();
    // Only a run may write the metadata key of plan files.
    metadata.remove(RESERVED);
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
        parent: None,
        waits: None,
        metadata: metadata.into_iter().map(|(key, value)| (key, masked_value(value))).collect(),
    }
}

fn seen(fields: &Fields) -> Option<Task> {
    Some(Task { id: id(fields, "id")?, ..task_of(fields) })
}

/// A task from the agent's own task file.
pub fn task_file(bytes: &[u8]) -> Option<Task> {
    let fields = fields::parse(bytes)?;
    seen(&fields)
}

fn announced(fields: &Fields) -> Option<Task> {
    Some(Task {
        id: id(fields, "task_id")?,
        subject: masked(fields, "task_subject"),
        description: masked(fields, "task_description"),
        ..Task::default()
    })
}

fn calls(fields: &Fields) -> Vec<Called> {
    let calls = fields.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    let one = |call: &Value| {
        let call = call.as_object()?;
        let tool = text(call, "tool_name")?;
        let answer = call.get("tool_response").and_then(answered);
        // A call of a missing tool has no event of its own.
        let missing = text(call, "tool_response")
            .is_some_and(|it| it.contains("No such tool available") && it.contains(tool));
        Some(Called { missing, ..called(tool, MCP_PREFIX, answer.as_ref()) })
    };
    calls.take(MOST_ENTRIES).filter_map(one).collect()
}

fn stop(fields: &Fields) -> Stop {
    let tasks = fields.get("background_tasks").and_then(Value::as_array).into_iter().flatten();
    Stop {
        background: tasks.filter_map(Value::as_object).any(wakes),
        again: flag(fields, "stop_hook_active"),
        ..Stop::after(text(fields, "last_assistant_message"))
    }
}

/// Types of background work that ends by itself and then wakes the agent. Hooks get a public name,
/// or the internal name as a fallback; both are listed.
const WAKING: [&str; 10] = [
    "subagent",
    "workflow",
    "teammate",
    "cloud session",
    "MCP task",
    "local_agent",
    "local_workflow",
    "in_process_teammate",
    "remote_agent",
    "mcp_task",
];

/// Whether a background task still runs and its end will wake the agent. Other tasks must not
/// count, because they would switch the gate off: a shell or monitor, such as a development server,
/// may run forever, and internal tasks such as saving memory wake nobody.
fn wakes(task: &Fields) -> bool {
    const OVER: [&str; 7] =
        ["completed", "failed", "killed", "stopped", "cancelled", "canceled", "error"];
    let over = text(task, "status").is_none_or(|status| OVER.contains(&status));
    text(task, "type").is_some_and(|kind| WAKING.contains(&kind)) && !over
}

/// The JSON of an answer, on one line; `None` if the answer is empty or the event does not accept
/// it.
pub fn write(answer: &Answer, to: &What) -> Option<String> {
    let refuses = |it: &What| matches!(it, What::Stop(_) | What::SubStop(_) | What::Completing(_));
    say(answer, to, &Voice { name, refuses, no: "block" })
}

/// The oldest version that continues the turn when a stop hook returns context. It shows the
/// context once. Newer versions show a `block` twice, together with the hook's command.
const CONTEXT_AT_STOP: Version = Version(2, 1, 197);

/// Like [`write()`], for a version of Claude Code, if the version is known.
pub fn write_for(answer: &Answer, to: &What, version: Option<Version>) -> Option<String> {
    let reads_context = version.is_some_and(|it| it >= CONTEXT_AT_STOP);
    match (answer, to) {
        (Answer::Refuse(reason), What::Stop(_) | What::SubStop(_)) if reads_context => {
            serde_json::to_string(&context(name(to), reason)).ok()
        }
        _ => write(answer, to),
    }
}

/// Claude Code's name of an event.
pub fn name(what: &What) -> &'static str {
    match what {
        What::Begins(_) => "SessionStart",
        What::Ends => "SessionEnd",
        What::Prompt => "UserPromptSubmit",
        What::Compacted => "PostCompact",
        What::Wrote(_) => "PostToolUse",
        What::NotCreated(_) => "PostToolUseFailure",
        What::Creating(_) => "TaskCreated",
        What::Completing(_) => "TaskCompleted",
        What::Turn(_) | What::Planning(_) => "PostToolBatch",
        What::Stop(_) => "Stop",
        What::SubBegins => "SubagentStart",
        What::SubStop(_) => "SubagentStop",
        What::Doctor => "PunchlistDoctor",
    }
}
