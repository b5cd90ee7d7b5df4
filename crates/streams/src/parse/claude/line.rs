//! The fields of a line that matter.
//!
//! The stream writes names with underscores, the transcript without; both are the same here.

use crate::json::{Object, Part, Str, Value};

/// The part of a line that is read with it: the blocks of its message.
pub(super) const BLOCKS: &[&str] = &["message", "content"];

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
    /// The message, read with its blocks.
    pub(super) message: Option<&'a Part<'a>>,
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
    pub(super) fn of(line: &'a Object<'a>) -> Self {
        let mut found = Self { message: line.part(), ..Self::default() };
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
