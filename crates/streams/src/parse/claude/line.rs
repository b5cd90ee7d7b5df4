//! The fields of a line that matter.
//!
//! The stream writes field names with underscores, the transcript in camel case; this file reads
//! both.

use crate::json::{Object, Part, Str, Value};

/// The part that is parsed together with a line: the blocks of its message.
pub(super) const BLOCKS: &[&str] = &["message", "content"];

/// The two forms of input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// What the program prints.
    Stream,
    /// What the program stores.
    Transcript,
}

/// The fields of a line. A field that is missing or has the wrong type is `None`.
#[derive(Clone, Copy, Default)]
pub(super) struct Line<'a> {
    pub(super) kind: Option<Str<'a>>,
    pub(super) subtype: Option<Str<'a>>,
    pub(super) form: Option<Form>,
    pub(super) session: Option<Str<'a>>,
    pub(super) parent: Option<Str<'a>>,
    pub(super) agent: Option<Str<'a>>,
    pub(super) timestamp: Option<Value<'a>>,
    /// The message, parsed with its blocks.
    pub(super) message: Option<&'a Part<'a>>,
    pub(super) result: Option<Value<'a>>,
    pub(super) attachment: Option<Value<'a>>,
    pub(super) event: Option<Value<'a>>,
    pub(super) error: Option<Str<'a>>,
    pub(super) cwd: Option<Str<'a>>,
    pub(super) version: Option<Str<'a>>,
    pub(super) is_sidechain: bool,
    /// Whether the program wrote this line in the user's place.
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
