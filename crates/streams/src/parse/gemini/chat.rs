//! Parses Gemini CLI's chat files: messages that are repeated as they grow, patches, and rewinds.
//!
//! A call is stored once it has ended, with the list that it left. A checkpoint (`$set` with
//! messages) repeats the history under other ids: nothing in it is new, except a list that this
//! file has not reported. The file does not say when a turn ends, unless it failed or was
//! cancelled.
//!
//! Older versions wrote the whole chat as one object, again with each message.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::chronicle::{Chronicle, Seen};
use super::todos::{self, Tool};
use crate::event::joined;
use crate::event::{Kind, Outcome, Role, Text, Usage};
use crate::json::{Object, Value};
use crate::parse::emit::{Emit, Who};
use crate::parse::names::{Names, digest, name};
use crate::parse::time::Clock;
use crate::parse::turns::Turn;

/// Maximum of calls of a checkpoint that are matched with their results.
const MOST_CALLS: usize = 4_096;

/// The state between lines.
#[derive(Default, Debug)]
pub(super) struct Chat {
    clock: Clock,
    session: String,
    names: Names,
    chronicle: Chronicle,
    seen: Seen,
    turn: Turn,
}

impl Chat {
    fn at(&mut self, time: Option<Value<'_>>, emit: &mut Emit<'_>) {
        let timestamp = time.and_then(|it| self.clock.millis(it));
        emit.at(Who { session: &self.session, agent: None }, timestamp);
    }

    pub(super) fn line(&mut self, line: &Object<'_>, emit: &mut Emit<'_>) {
        if let Some(patch) = line.get("$set") {
            return self.patch(&patch.object().unwrap_or_default(), emit);
        }
        if let Some(message) = line.get("$rewindTo") {
            self.at(None, emit);
            return self.rewind(message, emit);
        }
        if line.get("projectHash").is_some() {
            if let Some(session) = line.text("sessionId").and_then(name) {
                self.session = session.into_owned();
            }
            self.at(line.get("startTime"), emit);
            let messages = line.get("messages").filter(|it| it.is_array());
            if messages.is_some() {
                emit.part(1);
            }
            let cwd = line.items("directories").first().and_then(|it| it.str());
            let cwd = cwd.map(Text::raw);
            emit.event(Kind::SessionStarted { model: None, cwd, version: None });
            let messages = messages.map(Value::items).unwrap_or_default();
            for (number, message) in (2..).zip(messages) {
                let message = message.object().unwrap_or_default();
                emit.part(number);
                self.at(message.get("timestamp"), emit);
                self.message(&message, emit);
            }
            return;
        }
        self.at(line.get("timestamp"), emit);
        self.message(line, emit);
    }

    /// Handles the end of the file.
    pub(super) fn end(&mut self, emit: &mut Emit<'_>) {
        self.turn.source_ends(emit);
    }

    fn patch(&mut self, patch: &Object<'_>, emit: &mut Emit<'_>) {
        if let Some(session) = patch.text("sessionId").and_then(name) {
            self.session = session.into_owned();
        }
        self.at(patch.get("lastUpdated"), emit);
        if let Some(messages) = patch.get("messages").filter(|it| it.is_array()) {
            self.checkpoint(messages, emit);
        }
    }

    fn rewind(&mut self, message: Value<'_>, emit: &mut Emit<'_>) {
        let id = message.str().map_or(Cow::Borrowed(""), |it| it.cow());
        match self.chronicle.rewind(digest(&[&id])) {
            None => emit.warn("the chat was rewound to an unknown message"),
            Some(false) => {}
            Some(true) => {
                let last = self.chronicle.last().cloned();
                let (tool, todos) =
                    last.map_or((Tool::Write, "[]".to_owned()), |it| (it.tool, it.todos));
                self.tell(tool, &todos, emit);
            }
        }
    }

    fn tell(&mut self, tool: Tool, todos: &str, emit: &mut Emit<'_>) {
        if let Ok(todos) = Value::read(todos) {
            self.names.tell(&mut todos::items(todos, tool, emit), false, emit);
        }
    }

    fn message(&mut self, line: &Object<'_>, emit: &mut Emit<'_>) {
        let id = line.text("id").map_or(Cow::Borrowed(""), |it| it.cow());
        let message = digest(&[&id]);
        self.chronicle.message(message);
        let content = line.get("content");
        let is_news = self.seen.insert(digest(&[&id, content.map_or("", |it| it.raw())]));
        let said = content.filter(|_| is_news);
        match line.text("type").map_or("", |it| it.literal()) {
            "\"user\"" => {
                let is_prompt = said.is_some_and(is_prompt);
                if let Some(prompt) = said.filter(|_| is_prompt).and_then(joined) {
                    self.turn.starts(Some(prompt), emit);
                } else if self.turn == Turn::Answered {
                    self.turn = Turn::Runs;
                }
            }
            "\"gemini\"" => {
                if is_news {
                    self.turn.goes_on(false, emit);
                    think(line, emit);
                    speak(content, emit);
                    if let Some(tokens) = line.object("tokens") {
                        emit.event(Kind::Usage(spent(&tokens)));
                    }
                }
                for call in line.items("toolCalls") {
                    self.called(&call.object().unwrap_or_default(), message, emit);
                }
                self.stands(line, emit);
            }
            "\"info\"" => {
                if let Some(text) = said.and_then(joined) {
                    let is_cancelled = is_cancelled(&text.to_str());
                    emit.event(Kind::Text {
                        role: Role::System,
                        text,
                        delta: false,
                        citations: &[],
                    });
                    if is_cancelled {
                        self.turn.ends(Outcome::Cancelled, None, emit);
                    }
                }
            }
            kind => {
                if let Some(message) = said.and_then(joined) {
                    let recoverable = kind == "\"warning\"";
                    emit.event(Kind::Error { message, code: None, recoverable });
                    if !recoverable {
                        self.turn.ends(Outcome::Error, None, emit);
                    }
                }
            }
        }
    }

    /// Updates the turn after a message of the model.
    fn stands(&mut self, message: &Object<'_>, emit: &mut Emit<'_>) {
        if matches!(self.turn, Turn::Unknown | Turn::Over) {
            return;
        }
        let calls = message.items("toolCalls");
        let has_calls = !calls.is_empty();
        let is_cancelled = |it: &Value<'_>| it.text("status").is_some_and(|it| it.is("cancelled"));
        if has_calls && calls.iter().all(is_cancelled) {
            // The program ends the turn.
            return self.turn.ends(Outcome::Cancelled, None, emit);
        }
        let has_text = message.get("content").and_then(joined).is_some_and(|it| !it.is_blank());
        self.turn.goes_on(has_text && !has_calls, emit);
    }

    /// Handles a call that has ended. The message is repeated for each call that ends.
    fn called(&mut self, call: &Object<'_>, message: u64, emit: &mut Emit<'_>) {
        let (Some(id), Some(tool)) = (call.text("id"), call.text("name")) else {
            return emit.warn("a tool call without id or name");
        };
        let status = match call.text("status").map_or("", |it| it.literal()) {
            "\"success\"" => Outcome::Success,
            "\"error\"" => Outcome::Error,
            "\"cancelled\"" => Outcome::Cancelled,
            _ => return,
        };
        if !self.seen.insert(digest(&["call", &id.cow()])) {
            return;
        }
        if let Some(time) = call.get("timestamp") {
            self.at(Some(time), emit);
        }
        if let Some(todo) = Tool::of(tool) {
            if status == Outcome::Success {
                self.took(todo, call, message, emit);
            }
            return;
        }
        let input = call.get("args").and_then(|it| emit.input(it));
        let (call_id, name) = (Text::raw(id), Text::raw(tool));
        emit.event(Kind::ToolScheduled { call_id, name, input });
        let output = output(call);
        let name = Some(Text::raw(tool));
        emit.event(Kind::ToolCompleted { call_id: Text::raw(id), name, status, output });
    }

    /// Handles a successful call of a todo tool.
    fn took(&mut self, tool: Tool, call: &Object<'_>, message: u64, emit: &mut Emit<'_>) {
        emit.todo_call();
        let Some(todos) = shown(tool, call) else {
            return emit.warn("a list was changed, but its result does not show it");
        };
        // The tracker shows the list even if it has not changed.
        let is_same = self.chronicle.last().is_some_and(|it| it.todos == todos.raw());
        if !(tool.is_tracker() && is_same) {
            self.chronicle.left(message, tool, todos.raw());
            self.names.tell(&mut todos::items(todos, tool, emit), false, emit);
        }
    }

    /// Replaces all messages.
    fn checkpoint(&mut self, messages: Value<'_>, emit: &mut Emit<'_>) {
        self.chronicle.begin_anew();
        let mut asked: BTreeMap<Cow<'_, str>, Value<'_>> = BTreeMap::new();
        let mut news = None;
        for entry in messages.items() {
            let entry = entry.object().unwrap_or_default();
            let id = entry.text("id").map_or(Cow::Borrowed(""), |it| it.cow());
            let message = digest(&[&id]);
            self.chronicle.message(message);
            let content = entry.get("content");
            self.seen.insert(digest(&[&id, content.map_or("", |it| it.raw())]));
            let mut lists = Vec::new();
            for call in entry.items("toolCalls") {
                let call = call.object().unwrap_or_default();
                let is_success = call.text("status").is_some_and(|it| it.is("success"));
                let tool = call.text("name").and_then(Tool::of).filter(|_| is_success);
                if let (Some(id), Some(tool)) = (call.text("id"), tool)
                    && let Some(todos) = shown(tool, &call)
                {
                    lists.push((id.cow(), tool, todos));
                } else if let Some(id) = call.text("id") {
                    self.seen.insert(digest(&["call", &id.cow()]));
                }
            }
            for part in content.map(Value::items).unwrap_or_default() {
                let part = part.object().unwrap_or_default();
                if let Some(call) = part.object("functionCall")
                    && let Some(id) = call.text("id")
                    && call.text("name").is_some_and(|it| it.literal() == "\"write_todos\"")
                    && let Some(todos) = call.path(&["args", "todos"]).filter(|it| it.is_array())
                    && asked.len() < MOST_CALLS
                {
                    asked.insert(id.cow(), todos);
                }
                if let Some(answer) = part.object("functionResponse")
                    && let Some(id) = answer.text("id")
                    && let Some(todos) = asked.remove(&id.cow())
                    && answer.path(&["response", "output"]).is_some_and(|it| it.str().is_some())
                {
                    lists.push((id.cow(), Tool::Write, todos));
                }
            }
            for (id, tool, todos) in lists {
                let is_news = self.seen.insert(digest(&["call", &id]));
                self.chronicle.left(message, tool, todos.raw());
                news = is_news.then_some((tool, todos));
            }
        }
        // Of a history that was reported elsewhere, only the last list is new.
        if let Some((tool, todos)) = news {
            emit.todo_call();
            self.names.tell(&mut todos::items(todos, tool, emit), false, emit);
        }
    }
}

/// The list that a call left: from its result, else from its arguments.
fn shown<'a>(tool: Tool, call: &Object<'a>) -> Option<Value<'a>> {
    let shown = call.path(&["resultDisplay", "todos"]).filter(|it| it.is_array());
    let asked = || call.path(&["args", "todos"]).filter(|it| it.is_array() && tool == Tool::Write);
    shown.or_else(asked)
}

/// Whether the user wrote the text, and not the program.
fn is_prompt(content: Value<'_>) -> bool {
    let parts = content.items();
    let is_answer = parts.iter().any(|it| it.get("functionResponse").is_some());
    let first = content.str().or_else(|| parts.first()?.text("text"));
    let is_context = first.is_some_and(|it| it.literal().starts_with("\"<session_context>"));
    !is_answer && !is_context
}

/// Whether the program says that the user cancelled the turn.
fn is_cancelled(said: &str) -> bool {
    said.starts_with("Request cancelled") || said.starts_with("User cancelled")
}

fn think(line: &Object<'_>, emit: &mut Emit<'_>) {
    for thought in line.items("thoughts").into_iter().filter_map(Value::object) {
        if let Some(text) = thought.text("description").or_else(|| thought.text("subject")) {
            emit.event(Kind::Thinking { text: Text::raw(text), delta: false });
        }
    }
}

fn speak(content: Option<Value<'_>>, emit: &mut Emit<'_>) {
    let Some(content) = content else { return };
    let say = |text| Kind::Text { role: Role::Assistant, text, delta: false, citations: &[] };
    if let Some(text) = content.str().map(Text::raw).filter(|it| !it.is_empty()) {
        emit.event(say(text));
    }
    for part in content.items().into_iter().filter_map(Value::object) {
        if let Some(text) = part.text("text").map(Text::raw).filter(|it| !it.is_empty()) {
            let is_thought = part.is_true("thought");
            emit.event(if is_thought { Kind::Thinking { text, delta: false } } else { say(text) });
        }
    }
}

fn output<'a>(call: &Object<'a>) -> Option<Text<'a>> {
    let response = call.items("result").first().and_then(|it| it.object());
    let response = response.and_then(|it| it.path(&["functionResponse", "response"])?.object());
    let said = response.and_then(|it| it.text("output").or_else(|| it.text("error")));
    said.or_else(|| call.text("resultDisplay")).map(Text::raw)
}

fn spent(tokens: &Object<'_>) -> Usage {
    let count = |name: &str| tokens.get(name).and_then(Value::u64);
    Usage {
        input_tokens: count("input"),
        output_tokens: count("output"),
        cached_tokens: count("cached"),
        reasoning_tokens: count("thoughts"),
        context_tokens: count("total"),
        ..Usage::default()
    }
}
