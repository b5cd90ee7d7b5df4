//! Parses the output of `codex exec --json`: no times, no model, and lists without the status in
//! progress.
//!
//! A completed list item means that the turn is over, whatever the state of the list. An `error`
//! ends nothing: only a failed turn does.

use super::items::{self, Sort};
use super::plan;
use crate::event::{Kind, Outcome, Text};
use crate::json::Object;
use crate::parse::emit::{Emit, Who};
use crate::parse::names::{digest, name, tell};

/// The state between lines.
#[derive(Default, Debug)]
pub(super) struct Exec {
    thread: String,
    /// How many processes have written this stream. Each numbers its items from the start.
    run: u64,
    /// A digest of the list that was reported last.
    reported: Option<u64>,
}

impl Exec {
    pub(super) fn line(&mut self, line: &Object<'_>, emit: &mut Emit<'_>) {
        let kind = line.text("type").map_or("", |it| it.literal());
        if kind == "\"thread.started\"" {
            self.run += 1;
            self.reported = None;
            match line.text("thread_id").and_then(name) {
                Some(thread) => self.thread = thread.into_owned(),
                None => emit.warn("a thread without an id"),
            }
        }
        emit.at(Who { session: &self.thread, agent: None }, None);
        let message = |of: &Object<'_>| {
            of.text("message").map_or(Text::from("unknown"), |it| Text::raw(it).into_owned())
        };
        match kind {
            "\"thread.started\"" => {
                emit.event(Kind::SessionStarted { model: None, cwd: None, version: None });
            }
            "\"turn.started\"" => emit.event(Kind::TurnStarted { prompt: None, turn_id: None }),
            "\"turn.completed\"" => {
                if let Some(usage) = line.object("usage") {
                    emit.event(Kind::Usage(items::spent(&usage)));
                }
                emit.event(Kind::TurnCompleted { status: Outcome::Success, reason: None });
            }
            "\"turn.failed\"" => {
                let error = line.get("error").map(|it| it.object().unwrap_or_default());
                let message = message(error.as_ref().unwrap_or(line));
                emit.event(Kind::Error { message, code: None, recoverable: false });
                emit.event(Kind::TurnCompleted { status: Outcome::Error, reason: None });
            }
            "\"error\"" => {
                let message = message(line);
                emit.event(Kind::Error { message, code: None, recoverable: true });
            }
            "\"item.started\"" | "\"item.updated\"" | "\"item.completed\"" => {
                match line.object("item") {
                    Some(item) => self.item(kind, &item, emit),
                    None => emit.warn("a line without its item"),
                }
            }
            _ => emit.unknown(&line.text("type").map_or_else(Default::default, |it| it.cow())),
        }
    }

    fn item(&mut self, kind: &str, item: &Object<'_>, emit: &mut Emit<'_>) {
        let Some(sort) = Sort::of(item) else {
            return emit.unknown_in("item", item.text("type"));
        };
        match kind {
            _ if sort == Sort::Todo => self.todo(kind, item, emit),
            "\"item.started\"" => items::started(sort, item, emit),
            "\"item.completed\"" => items::completed(sort, item, emit),
            _ => {}
        }
    }

    fn todo(&mut self, kind: &str, item: &Object<'_>, emit: &mut Emit<'_>) {
        emit.todo_call();
        let Some(list) = item.get("items").filter(|it| it.is_array()) else {
            return emit.warn("a list without items");
        };
        let id = item.text("id").map_or_else(Default::default, |it| it.cow());
        let now = digest(&[&id, list.raw()]);
        let is_new = self.reported.replace(now) != Some(now);
        // The end of the turn repeats the list.
        if is_new || kind != "\"item.completed\"" {
            let todo_id = format!("{}#{}.{id}", emit.agent_id(), self.run.max(1));
            let mut items = plan::printed(list, emit);
            tell(todo_id, &mut items, false, emit);
        }
    }
}
