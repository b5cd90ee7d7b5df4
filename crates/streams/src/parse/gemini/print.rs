//! Parses the output of Gemini CLI with `--output-format stream-json`.
//!
//! Results do not have the list: it is in the call, and the result confirms it. Results come
//! together when all calls of a message have ended. A cancelled call is reported as a success. The
//! ids of the tracker's tasks are never printed, so later changes of a task cannot be matched with
//! it.

use std::borrow::Cow;

use super::todos::{self, Tool};
use crate::event::{Item, Kind, Outcome, Role, Status, Text, Usage};
use crate::json::{self, Object, Str, Value};
use crate::parse::emit::{Emit, Who};
use crate::parse::names::{Names, name};
use crate::parse::pending::{Call, Pending};
use crate::parse::time::Clock;
use crate::parse::todo::MOST_ITEMS;

/// Maximum size of the stored titles of tasks.
const MOST_BYTES: usize = 4 << 20;

/// The state between lines.
#[derive(Default, Debug)]
pub(super) struct Print {
    clock: Clock,
    session: String,
    names: Names,
    pending: Pending<Tool>,
    tracker: Tracker,
    is_turn_open: bool,
}

/// The tasks that were created in this stream.
#[derive(Default, Debug)]
struct Tracker {
    titles: Vec<String>,
    bytes: usize,
    /// Whether an unknown task was changed.
    is_assumed: bool,
}

impl Print {
    pub(super) fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn line(&mut self, line: &Object<'_>, emit: &mut Emit<'_>) {
        let timestamp = line.get("timestamp").and_then(|it| self.clock.millis(it));
        let kind = line.text("type").map_or("", |it| it.literal());
        if kind == "\"init\"" {
            let session = line.text("session_id").and_then(name).unwrap_or_default();
            if session != self.session {
                self.tracker = Tracker::default();
                self.session = session.into_owned();
            }
        }
        emit.at(Who { session: &self.session, agent: None }, timestamp);
        match kind {
            "\"init\"" => {
                self.breaks_off(emit);
                let model = line.text("model").map(Text::raw);
                emit.event(Kind::SessionStarted { model, cwd: None, version: None });
            }
            "\"message\"" => self.message(line, emit),
            "\"tool_use\"" => self.called(line, emit),
            "\"tool_result\"" => self.answered(line, emit),
            "\"error\"" => {
                let message = line.text("message").map_or(Text::from("unknown"), Text::raw);
                let recoverable = line.text("severity").is_some_and(|it| it.is("warning"));
                emit.event(Kind::Error { message, code: None, recoverable });
            }
            _ => self.result(line, emit),
        }
    }

    fn message(&mut self, line: &Object<'_>, emit: &mut Emit<'_>) {
        let Some(text) = line.text("content").map(Text::raw) else {
            return emit.warn("a message without content");
        };
        match line.text("role").map_or("", |it| it.literal()) {
            "\"user\"" => {
                self.breaks_off(emit);
                self.is_turn_open = true;
                emit.event(Kind::TurnStarted { prompt: Some(text), turn_id: None });
            }
            _ => {
                let delta = line.is_true("delta");
                emit.event(Kind::Text { role: Role::Assistant, text, delta, citations: &[] });
            }
        }
    }

    fn called(&mut self, line: &Object<'_>, emit: &mut Emit<'_>) {
        let (Some(id), Some(tool)) = (line.text("tool_id"), line.text("tool_name")) else {
            return emit.warn("a tool call without id or name");
        };
        let input = line.get("parameters");
        let Some(todo) = Tool::of(tool) else {
            let input = input.and_then(|it| emit.input(it));
            let (call_id, name) = (Text::raw(id), Text::raw(tool));
            return emit.event(Kind::ToolScheduled { call_id, name, input });
        };
        let call = Call {
            id: id.cow().into_owned(),
            session: self.session.clone(),
            agent: None,
            what: todo,
            input: input.map_or("{}", |it| it.raw()).to_owned(),
            is_wish: todo == Tool::Write,
        };
        if self.pending.push(call) {
            emit.warn("too many calls without a result; the oldest are given up");
        }
    }

    fn answered(&mut self, line: &Object<'_>, emit: &mut Emit<'_>) {
        let Some(id) = line.text("tool_id") else {
            return emit.warn("a tool result without the id of its call");
        };
        let output = line.text("output");
        let is_error = line.text("status").is_none_or(|it| !it.is("success"));
        if let Some(call) = self.pending.take(&id.cow()) {
            if !is_error {
                self.taken(&call, output, emit);
            }
            return;
        }
        let is_cancelled = output.is_some_and(|it| is_cancelled(&it.cow()));
        let status = match is_error {
            _ if is_cancelled => Outcome::Cancelled,
            true => Outcome::Error,
            false => Outcome::Success,
        };
        // The shown text of an error often has less than its message.
        let reason = line.path(&["error", "message"]).and_then(|it| it.str()).filter(|_| is_error);
        let output = reason.or(output).map(Text::raw);
        emit.event(Kind::ToolCompleted { call_id: Text::raw(id), name: None, status, output });
    }

    /// Handles a successful call of a todo tool.
    fn taken(&mut self, call: &Call<Tool>, output: Option<Str<'_>>, emit: &mut Emit<'_>) {
        let said = output.map_or(Cow::Borrowed(""), |it| it.cow());
        let tool = call.what;
        // One of the program's two loops returns the list as JSON inside a text.
        let shown = json::text(said.as_bytes()).ok();
        let shown = shown.as_deref().and_then(|it| Value::read(it).ok()?.get("todos"));
        if let Some(todos) = shown.filter(|it| it.is_array()) {
            emit.todo_call();
            return self.names.tell(&mut todos::items(todos, tool, emit), false, emit);
        }
        if !said.is_empty() && !said.starts_with("Success") && !tool.is_tracker() {
            // The call was cancelled, which is reported as a success.
            return;
        }
        match tool {
            Tool::Write => self.tell_asked(&call.input, false, emit),
            Tool::Create | Tool::Update => self.tracked(tool, &call.input, emit),
            Tool::Other => {}
        }
    }

    fn tell_asked(&mut self, input: &str, unconfirmed: bool, emit: &mut Emit<'_>) {
        emit.todo_call();
        let todos = Value::read(input).ok().and_then(|it| it.get("todos"));
        match todos.filter(|it| it.is_array()) {
            Some(todos) => {
                self.names.tell(&mut todos::items(todos, Tool::Write, emit), unconfirmed, emit);
            }
            None => emit.warn("a list was written, but its call has none"),
        }
    }

    /// Handles the creation or change of a task by the tracker. Only the titles of tasks created in
    /// this stream are known; from the first change on, their statuses are a guess.
    fn tracked(&mut self, tool: Tool, input: &str, emit: &mut Emit<'_>) {
        emit.todo_call();
        let Ok(input) = Value::read(input) else { return };
        let title = input.text("title").map(|it| it.cow());
        match (tool, title.filter(|it| !it.trim().is_empty())) {
            (Tool::Create, Some(title)) => {
                let is_full = self.tracker.titles.len() >= MOST_ITEMS
                    || self.tracker.bytes + title.len() > MOST_BYTES;
                if is_full {
                    emit.warn("the list is too long; it is not complete");
                } else {
                    self.tracker.bytes += title.len();
                    self.tracker.titles.push(title.into_owned());
                }
            }
            (Tool::Create, None) => return emit.warn("a task without a title"),
            (Tool::Write | Tool::Update | Tool::Other, _) => {
                if std::mem::replace(&mut self.tracker.is_assumed, true) {
                    return;
                }
                emit.warn(
                    "the stream does not say which task was changed; the session's chat file does",
                );
            }
        }
        let assumed = self.tracker.is_assumed;
        let item = |title: &'_ String| Item {
            assumed,
            ..Item::new(Text::from(title.clone()), Status::Pending)
        };
        let mut items: Vec<Item<'_>> = self.tracker.titles.iter().map(item).collect();
        if !items.is_empty() {
            self.names.tell(&mut items, false, emit);
        }
    }

    fn result(&mut self, line: &Object<'_>, emit: &mut Emit<'_>) {
        self.give_up(emit);
        if let Some(stats) = line.object("stats") {
            let count = |name: &str| stats.get(name).and_then(Value::u64);
            emit.event(Kind::Usage(Usage {
                input_tokens: count("input_tokens"),
                output_tokens: count("output_tokens"),
                cached_tokens: count("cached"),
                ..Usage::default()
            }));
        }
        let error = line.object("error");
        let code = error.as_ref().and_then(|it| it.text("type"));
        let is_cancelled = code.is_some_and(|it| it.is("FatalCancellationError"));
        let message = error.as_ref().and_then(|it| it.text("message"));
        if let Some(message) = message.filter(|_| !is_cancelled) {
            let (message, code) = (Text::raw(message), code.map(Text::raw));
            emit.event(Kind::Error { message, code, recoverable: false });
        }
        let is_success = line.text("status").is_some_and(|it| it.is("success"));
        let status = match is_success {
            true => Outcome::Success,
            false if is_cancelled => Outcome::Cancelled,
            false => Outcome::Error,
        };
        self.is_turn_open = false;
        emit.event(Kind::TurnCompleted { status, reason: code.map(Text::raw) });
    }

    /// Handles the end of the process in the middle of a turn, for example by an interrupt: it
    /// prints nothing then.
    pub(super) fn breaks_off(&mut self, emit: &mut Emit<'_>) {
        self.give_up(emit);
        if std::mem::take(&mut self.is_turn_open) {
            let reason = Some(Text::from("no result"));
            emit.event(Kind::TurnCompleted { status: Outcome::Cancelled, reason });
        }
    }

    /// Gives up calls that will not get a result any more.
    fn give_up(&mut self, emit: &mut Emit<'_>) {
        for call in self.pending.give_up(|_| true).into_iter().filter(|it| it.is_wish) {
            emit.of(Who { session: &call.session, agent: None });
            self.tell_asked(&call.input, true, emit);
        }
        emit.of(Who { session: &self.session, agent: None });
    }
}

/// Whether a result that looks like a success is a cancellation.
pub(super) fn is_cancelled(output: &str) -> bool {
    output.starts_with("Command cancelled by user")
        || output.starts_with("Command was cancelled")
        || output.starts_with("[Operation Cancelled]")
        || output.starts_with("User denied execution")
        || output.starts_with("User cancelled operation")
}
