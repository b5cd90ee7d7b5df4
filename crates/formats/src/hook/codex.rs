//! Codex CLI's hooks: JSON on stdin to an [`Event`], an [`Answer`] to JSON.
//!
//! Codex rejects a whole answer, also a refusal, if it contains one unknown key. So answers contain
//! only the keys that are needed. Codex has no event for a model turn, so a tool call counts as
//! one. Reading never fails: unknown input is no event.

use punchlist_model::{ListEntry, Status};
use serde_json::Value;

use super::fields::{Fields, answered, called, entries, flag, masked, object, status, text};
use super::say::{Voice, say};
use super::{Answer, Event, Source, Stop, What, Write, fields};

/// The prefix that Codex puts before the tools of Punchlist's MCP server.
pub const MCP_PREFIX: &str = "mcp__punchlist__";

/// The result of Codex's own tool when it accepted a list. A refused call has no event, but another
/// hook may have replaced the result.
const TAKEN: &str = "Plan updated";

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
            Some("compact") => Source::Compact,
            Some(_) | None => Source::Startup,
        }),
        "sessionend" => What::Ends,
        "userpromptsubmit" => What::Prompt,
        "posttooluse" => used(fields)?,
        "postcompact" => What::Compacted,
        "stop" => What::Stop(stop(fields)),
        "subagentstart" => What::SubBegins,
        "subagentstop" => What::SubStop(stop(fields)),
        "punchlistdoctor" => What::Doctor,
        _ => return None,
    })
}

fn used(fields: &Fields) -> Option<What> {
    let tool = text(fields, "tool_name")?;
    let result = fields.get("tool_response");
    if tool == "update_plan" {
        // A tool that is called from code returns an empty object instead of the text.
        let taken = match result? {
            Value::String(said) => said.trim_start().starts_with(TAKEN),
            Value::Object(fields) => fields.is_empty(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
        };
        let list = object(fields, "tool_input")?.get("plan")?;
        return taken.then(|| Some(What::Wrote(Write::List(entries(list, entry)?))))?;
    }
    let answer = result.and_then(answered);
    Some(What::Turn(vec![called(tool, MCP_PREFIX, answer.as_ref())]))
}

fn entry(step: &Fields) -> ListEntry {
    ListEntry {
        item: None,
        title: masked(step, "step").unwrap_or_default(),
        active_form: None,
        status: status(step, "status").unwrap_or(Status::Pending),
        waiting_on: None,
    }
}

fn stop(fields: &Fields) -> Stop {
    Stop {
        again: flag(fields, "stop_hook_active"),
        ..Stop::after(text(fields, "last_assistant_message"))
    }
}

/// The JSON of an answer, on one line; `None` if the answer is empty or the event does not accept
/// it.
pub fn write(answer: &Answer, to: &What) -> Option<String> {
    let refuses = |it: &What| matches!(it, What::Stop(_) | What::SubStop(_));
    say(answer, to, &Voice { name, refuses, no: "block" })
}

/// Codex's name of an event. For an event that Codex lacks, the event that it is derived from.
pub fn name(what: &What) -> &'static str {
    match what {
        What::Begins(_) => "SessionStart",
        What::Ends => "SessionEnd",
        What::Prompt => "UserPromptSubmit",
        What::Compacted => "PostCompact",
        What::Wrote(_)
        | What::NotCreated(_)
        | What::Creating(_)
        | What::Completing(_)
        | What::Turn(_)
        | What::Planning(_) => "PostToolUse",
        What::Stop(_) => "Stop",
        What::SubBegins => "SubagentStart",
        What::SubStop(_) => "SubagentStop",
        What::Doctor => "PunchlistDoctor",
    }
}
