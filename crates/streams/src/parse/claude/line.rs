//! The fields of a line that matter, found in one go, and whose line it is.
//!
//! The stream writes names with underscores, the transcript without; both are the same here.

use crate::json::{Object, Str, Value};

/// Which of the two it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// What the program prints.
    Stream,
    /// What it keeps on disk.
    Transcript,
}

/// A line's fields. What is not there, or not of its type, is `None`.
#[derive(Clone, Copy, Default)]
pub(super) struct Line<'a> {
    pub(super) kind: Option<Str<'a>>,
    pub(super) subtype: Option<Str<'a>>,
    pub(super) form: Option<Form>,
    pub(super) session: Option<Str<'a>>,
    pub(super) parent: Option<Str<'a>>,
    pub(super) agent: Option<Str<'a>>,
    pub(super) timestamp: Option<Value<'a>>,
    pub(super) message: Option<Value<'a>>,
    pub(super) result: Option<Value<'a>>,
    pub(super) attachment: Option<Value<'a>>,
    pub(super) event: Option<Value<'a>>,
    pub(super) error: Option<Str<'a>>,
    pub(super) cwd: Option<Str<'a>>,
    pub(super) version: Option<Str<'a>>,
    pub(super) is_sidechain: bool,
    /// Not typed by the user, though it stands in the user's place.
    pub(super) is_machine: bool,
}

impl<'a> Line<'a> {
    pub(super) fn of(line: &Object<'a>) -> Self {
        let mut found = Self::default();
        for (key, value) in line.fields() {
            match key {
                "type" => found.kind = value.str(),
                "subtype" => found.subtype = value.str(),
                "session_id" => {
                    found.form = Some(Form::Stream);
                    found.session = value.str();
                }
                "sessionId" => {
                    found.form = Some(Form::Transcript);
                    found.session = value.str();
                }
                "parent_tool_use_id" => found.parent = value.str(),
                "agentId" => found.agent = value.str(),
                "timestamp" => found.timestamp = Some(value),
                "message" => found.message = Some(value),
                "tool_use_result" | "toolUseResult" => found.result = Some(value),
                "attachment" => found.attachment = Some(value),
                "event" => found.event = Some(value),
                "error" => found.error = value.str(),
                "cwd" => found.cwd = value.str(),
                "version" | "claude_code_version" => found.version = value.str(),
                "isSidechain" => found.is_sidechain = value.bool() == Some(true),
                "isMeta" | "isSynthetic" | "isCompactSummary" => {
                    found.is_machine |= value.bool() == Some(true);
                }
                _ => {}
            }
        }
        found
    }
}
