//! Parses rollouts of Codex before 0.32: the items that the model saw, one per line and without a
//! wrapper, after a line that names the session. The earlier TypeScript program wrote the same as
//! one object.
//!
//! These files have no times and do not say when a turn starts or ends: a message of the user
//! starts one.

use std::borrow::Cow;

use super::rollout::Rollout;
use crate::event::joined;
use crate::event::{Kind, Text};
use crate::json::{Object, Str, Value};
use crate::parse::emit::Emit;
use crate::parse::names::name;
use crate::parse::time::Clock;
use crate::parse::turns::Turn;

/// The types of items.
const ITEMS: [&str; 8] = [
    "\"message\"",
    "\"reasoning\"",
    "\"function_call\"",
    "\"function_call_output\"",
    "\"custom_tool_call\"",
    "\"custom_tool_call_output\"",
    "\"local_shell_call\"",
    "\"web_search_call\"",
];

/// Beginnings of texts that the program writes in the user's place.
const NOT_SAID: [&str; 4] =
    ["<user_instructions>", "<environment_context>", "<user_action>", "<turn_aborted>"];

/// The state between lines.
#[derive(Default, Debug)]
pub(super) struct Bare {
    rollout: Rollout,
    clock: Clock,
    turn: Turn,
}

/// Whether a line has this format.
pub(super) fn is_bare(line: &Object<'_>) -> bool {
    is_whole(line) || is_header(line) || is_state(line) || is_item(line)
}

/// `{"session":{…},"items":[…]}`
fn is_whole(line: &Object<'_>) -> bool {
    line.get("items").is_some_and(Value::is_array)
        && line.object("session").is_some_and(|it| is_header(&it))
}

/// `{"id","timestamp","instructions"}`
fn is_header(line: &Object<'_>) -> bool {
    let has = |name: &str| line.has(name);
    has("id") && has("timestamp") && has("instructions") && !has("type")
}

/// `{"record_type":"state"}`
fn is_state(line: &Object<'_>) -> bool {
    line.text("record_type").is_some()
}

fn is_item(line: &Object<'_>) -> bool {
    let kind = line.text("type").map_or("", |it| it.literal());
    let is_known = ITEMS.contains(&kind) && line.get("payload").is_none();
    is_known && (kind != "\"message\"" || line.text("role").is_some())
}

impl Bare {
    pub(super) fn is_waiting(&self) -> bool {
        self.rollout.is_waiting()
    }

    pub(super) fn line(&mut self, line: &Object<'_>, emit: &mut Emit<'_>) {
        let Some(header) = line.object("session").filter(|_| is_whole(line)) else {
            return self.one(line, emit);
        };
        emit.part(1);
        self.begins(&header, emit);
        let items = line.items("items").into_iter().filter_map(Value::object);
        for (number, item) in (2..).zip(items) {
            emit.part(number);
            self.one(&item, emit);
        }
    }

    fn one(&mut self, line: &Object<'_>, emit: &mut Emit<'_>) {
        if is_header(line) {
            return self.begins(line, emit);
        }
        emit.at(self.rollout.who(), None);
        if is_state(line) || line.text("type").is_none() {
            return;
        }
        let said = line.get("content").filter(|_| line.text("type").is_some_and(is_message));
        match line.text("role").map_or("", |it| it.literal()) {
            "\"user\"" => {
                let prompt = said.and_then(joined).filter(|it| is_prompt(&it.to_str()));
                if let Some(prompt) = prompt {
                    self.rollout.give_up(emit);
                    self.turn.starts(Some(prompt), emit);
                }
                return;
            }
            "\"assistant\"" => self.turn.goes_on(said.is_some(), emit),
            _ => self.turn.goes_on(false, emit),
        }
        self.rollout.response(line, emit);
    }

    fn begins(&mut self, header: &Object<'_>, emit: &mut Emit<'_>) {
        let timestamp = header.get("timestamp").and_then(|it| self.clock.millis(it));
        let thread = header.text("id").and_then(name).unwrap_or(Cow::Borrowed(""));
        self.rollout.is_of(&thread);
        emit.at(self.rollout.who(), timestamp);
        let cwd = header.text("cwd").map(Text::raw);
        emit.event(Kind::SessionStarted { model: None, cwd, version: None });
    }

    /// Handles the end of the file.
    pub(super) fn end(&mut self, emit: &mut Emit<'_>) {
        self.rollout.give_up(emit);
        self.turn.source_ends(emit);
    }
}

fn is_message(kind: Str<'_>) -> bool {
    kind.literal() == "\"message\""
}

/// Whether the user wrote the text, and not the program.
fn is_prompt(said: &str) -> bool {
    !NOT_SAID.iter().any(|it| said.trim_start().starts_with(it))
}
