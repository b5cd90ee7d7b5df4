//! Codex CLI's hooks: the JSON on stdin made into an [`Event`], an [`Answer`] made into JSON.
//!
//! Codex reads an answer strictly: one key that it does not know, and the whole answer is void, a
//! refusal included. So what is written here is the least that says it. There is no event for a
//! model turn; a tool that was called stands for one. Nothing here fails: what is not understood is
//! no event.

use punchlist_model::{ListEntry, Status};
use serde_json::Value;

use super::fields::{Fields, answered, called, entries, flag, masked, object, status, text};
use super::say::{Voice, say};
use super::{Answer, Event, Source, Stop, What, Write, asks_user, fields};

/// What the tools of our MCP server are called, up to their own names.
pub const MCP_PREFIX: &str = "mcp__punchlist__";

/// What Codex's own tool answers when it has taken a list. A call that it refuses has no event, but
/// another hook may have put other words into its mouth.
const TAKEN: &str = "Plan updated";

/// The event that these bytes tell of; `None` if they tell of none that concerns us.
///
/// `event` names it where the caller knows better than the bytes, in any case.
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
        // Code that runs tools gets an empty object where a model gets the words.
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
        asks: text(fields, "last_assistant_message").is_some_and(asks_user),
        background: false,
        again: flag(fields, "stop_hook_active"),
    }
}

/// The JSON of an answer, on one line; `None` if there is nothing to say, or if this event takes no
/// such answer.
pub fn write(answer: &Answer, to: &What) -> Option<String> {
    let refuses = |it: &What| matches!(it, What::Stop(_) | What::SubStop(_));
    say(answer, to, &Voice { name, refuses, no: "block" })
}

/// What Codex calls an event; of those that it does not have, what they would come with.
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
