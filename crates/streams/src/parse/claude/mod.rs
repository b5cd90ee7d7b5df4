//! Parses Claude Code: what it prints with `--output-format stream-json`, and its transcripts.
//!
//! A call of a todo tool is only a request; [`results`] handles its result. This file distinguishes
//! the kinds of lines and passes on everything that is not a list.

mod calls;
mod line;
mod progress;
mod results;
mod tasks;
mod usage;

use std::borrow::Cow;
use std::collections::BTreeMap;

use calls::{Asked, Call, Calls, Tool};
use line::{BLOCKS, Form, Line};
pub(super) use results::Board;
use results::Lists;
use usage::{Spending, spent};

use crate::event::joined;
use crate::event::{Kind, KindName, Outcome, QueueChange, Role, Text, Usage};
use crate::json::{Object, Part, Str, Value};
use crate::parse::emit::{Emit, Who};
use crate::parse::names::digest;
use crate::parse::time::Clock;
use crate::parse::{Agent, Shared};

/// Maximum of sub-agents whose names are stored.
const MOST_AGENTS: usize = 1_024;

/// Every line that can change a list, or says whose list it is, contains one of these: the
/// beginning of a todo tool's name, the one other kind of line that each form has for this, or the
/// beginning of the name of an MCP server's tool. Each begins with two bytes that are rare in text,
/// because the search looks for these first.
const STREAM: &[&str] = &["\"T", "k_started\"", "mcp__"];
const TRANSCRIPT: &[&str] = &["\"T", "k_reminder\"", "o_reminder\"", "mcp__"];

/// The reason of a turn that an API error ended; the program has no word for it.
const API_ERROR: &str = "api_error";

/// Maximum size of a stored unfinished answer.
const MOST_PARTIAL: usize = 1 << 20;

/// The state between lines.
#[derive(Default, Debug)]
pub(super) struct Claude {
    /// The form, from the first line that shows it.
    form: Option<Form>,
    clock: Clock,
    lists: Lists,
    calls: Calls,
    /// The ids of sub-agents, by the calls that started them.
    agents: BTreeMap<String, String>,
    /// The session that was last reported as started.
    session: String,
    is_turn_open: bool,
    /// The line whose text started a turn. Further texts of that line belong to the same prompt.
    begun_by: u64,
    spending: Spending,
    /// The message that ended the turn, until the next turn starts.
    last: String,
    /// The cost of the session at the end of its last turn.
    cost: f64,
    /// The beginning of an unfinished answer.
    partial: String,
}

/// The agent that a line belongs to.
#[derive(Clone, Debug)]
pub(super) struct Owner<'a> {
    session: Cow<'a, str>,
    agent: Option<Cow<'a, str>>,
    /// Whether it is a sub-agent's line in a transcript, which has a file per sub-agent.
    has_own_file: bool,
}

impl Owner<'_> {
    fn who(&self) -> Who<'_> {
        Who { session: &self.session, agent: self.agent.as_deref() }
    }

    /// The session itself, which owns the tasks of all its agents.
    fn main(&self) -> Who<'_> {
        Who { session: &self.session, agent: None }
    }
}

impl Agent for Claude {
    fn path(&self) -> &'static [&'static str] {
        BLOCKS
    }

    fn line(&mut self, value: &Object<'_>, emit: &mut Emit<'_>) {
        let line = Line::of(value);
        self.form = self.form.or(line.form);
        let timestamp = line.timestamp.and_then(|it| self.clock.millis(it));
        self.lists.next_line(timestamp, emit.line());
        let session = line.session.map_or(Cow::Borrowed(""), |it| it.cow());
        let agent = self.agent_of(&line);
        let has_own_file = line.is_sidechain && line.form == Some(Form::Transcript);
        let owner = Owner { session, agent, has_own_file };
        emit.at(owner.who(), timestamp);
        let kind = line.kind.map_or(Cow::Borrowed(""), |it| it.cow());
        if line.form == Some(Form::Transcript) && line.version.is_some() {
            self.session_starts(&owner, &line, None, emit);
        }
        match &*kind {
            "assistant" => self.assistant(&line, &owner, emit),
            "user" => self.user(&line, timestamp, &owner, emit),
            "system" => self.system(value, &line, &owner, emit),
            "result" => self.result(value, &owner, emit),
            "stream_event" => self.stream_event(&line),
            "attachment" => self.attachment(&line, &owner, emit),
            "progress" => self.progress(value, timestamp, &owner, emit),
            "rate_limit_event" => usage_limit(value, emit),
            "queue-operation" => {
                if value.text("operation").is_some_and(|it| it.is("enqueue"))
                    && let Some(text) = value.text("content")
                {
                    emit.event(Kind::MessageQueued {
                        text: Text::raw(text),
                        change: QueueChange::Queued,
                        message_id: None,
                        steers: false,
                    });
                }
            }
            "last-prompt"
            | "mode"
            | "permission-mode"
            | "file-history-snapshot"
            | "summary"
            | "api-request"
            | "api-request-blob"
            | "api-request-shape"
            | "atis-latch"
            | "cost-state"
            | "tools-used"
            | "control_request"
            | "control_response"
            | "keep_alive" => {}
            other => emit.unknown(other),
        }
    }

    fn end(&mut self, emit: &mut Emit<'_>) {
        self.tell_partial(emit);
        self.spending.tell_all(emit);
        for call in self.calls.give_up(|_| true) {
            self.lists.call_without_result(&call, emit);
        }
    }

    fn needles(&self) -> &'static [&'static str] {
        match self.form {
            None | Some(Form::Stream) => STREAM,
            Some(Form::Transcript) => TRANSCRIPT,
        }
    }

    fn is_telling(&self, found: &[u8]) -> bool {
        !found.starts_with(b"\"T") || Tool::is_named(found)
    }

    fn share(&mut self, shared: &mut Shared) {
        self.lists.share(&mut shared.0);
    }

    fn is_waiting(&self) -> bool {
        // Until the form is known, and the time at which the session started.
        self.form.is_none() || self.lists.awaits_time() || !self.calls.is_empty()
    }
}

/// Reports that the account's usage limit is reached. The line is also written while there is only
/// a warning, or nothing to say.
fn usage_limit(value: &Object<'_>, emit: &mut Emit<'_>) {
    let Some(info) = value.object("rate_limit_info") else { return };
    if !info.text("status").is_some_and(|it| it.is("rejected")) {
        return;
    }
    let until = info.get("resetsAt").and_then(|it| it.i64()).and_then(crate::limit::from_number);
    let message = match until {
        Some(until) => format!("usage limit reached; try again at {until}"),
        None => "usage limit reached".to_owned(),
    };
    let code = Some(Text::from("rate_limit"));
    emit.event(Kind::Error { message: Text::from(message), code, recoverable: false });
}

impl Claude {
    /// The sub-agent that a line belongs to.
    fn agent_of<'a>(&self, line: &Line<'a>) -> Option<Cow<'a, str>> {
        if let Some(call) = line.parent {
            let call = call.cow();
            return Some(match self.agents.get(&*call) {
                Some(agent) => Cow::Owned(agent.clone()),
                None => call,
            });
        }
        let is_sub = line.is_sidechain && line.form == Some(Form::Transcript);
        is_sub.then(|| line.agent.map_or(Cow::Borrowed("sidechain"), |it| it.cow()))
    }

    fn session_starts(
        &mut self,
        owner: &Owner<'_>,
        line: &Line<'_>,
        model: Option<Str<'_>>,
        emit: &mut Emit<'_>,
    ) {
        if owner.agent.is_none() && self.session != owner.session {
            owner.session.as_ref().clone_into(&mut self.session);
            self.cost = 0.0;
            emit.event(Kind::SessionStarted {
                model: model.map(Text::raw),
                cwd: line.cwd.map(Text::raw),
                version: line.version.map(Text::raw),
            });
        }
    }

    fn turn_starts(&mut self, owner: &Owner<'_>, prompt: Option<Text<'_>>, emit: &mut Emit<'_>) {
        // Calls of the last turn will not get a result any more.
        self.give_up(owner, emit);
        self.spending.tell(owner, emit);
        self.is_turn_open = true;
        self.last.clear();
        match prompt {
            Some(_) => emit.event(Kind::TurnStarted { prompt, turn_id: None }),
            // The stream repeats the prompt, if at all, after it reports the start of the turn.
            None => emit.turn_starts(),
        }
    }

    fn turn_ends(
        &mut self,
        owner: &Owner<'_>,
        status: Outcome,
        reason: Option<Text<'_>>,
        emit: &mut Emit<'_>,
    ) {
        self.tell_partial(emit);
        self.give_up(owner, emit);
        self.spending.tell(owner, emit);
        self.is_turn_open = false;
        emit.event(Kind::TurnCompleted { status, reason });
    }

    /// Gives up the owner's calls without a result. Those of other agents may still get one.
    fn give_up(&mut self, owner: &Owner<'_>, emit: &mut Emit<'_>) {
        if self.calls.is_empty() {
            return;
        }
        let is_his = |call: &Call| {
            call.session == *owner.session && call.agent.as_deref() == owner.agent.as_deref()
        };
        for call in self.calls.give_up(is_his) {
            self.lists.call_without_result(&call, emit);
        }
    }

    fn assistant(&mut self, line: &Line<'_>, owner: &Owner<'_>, emit: &mut Emit<'_>) {
        self.partial.clear();
        let Some(message) = line.message else {
            return emit.warn("an assistant line without a message");
        };
        let nothing = Object::default();
        let message = if let Part::Object(message) = message { message } else { &nothing };
        let (mut stop_reason, mut id, mut usage) = (None, None, None);
        for (key, value) in message.fields() {
            match key {
                "stop_reason" => stop_reason = value.str(),
                "id" => id = value.str(),
                "usage" => usage = Some(value),
                _ => {}
            }
        }
        self.spending.begins(owner, id, emit);
        let mut has_text = false;
        match message.part() {
            Some(Part::Array(blocks)) => {
                for block in blocks {
                    has_text |= self.block(block, id, line, owner, emit);
                }
            }
            Some(Part::Text(text)) => {
                has_text = true;
                self.say(Text::from(&**text), line, emit);
            }
            Some(Part::Object(_) | Part::Other) | None => {}
        }
        if let (Some(id), Some(usage)) = (id, usage) {
            self.spending.used(owner, id, usage, emit);
        }
        if line.form == Some(Form::Transcript) {
            let is_over = stop_reason.is_some_and(|it| it.is("end_turn")) && has_text;
            if line.error.is_some() {
                self.turn_ends(owner, Outcome::Error, Some(Text::from(API_ERROR)), emit);
            } else if is_over {
                self.give_up(owner, emit);
                // Each text of the last message has its own line, and each line says that it is the
                // last.
                let id = id.map_or("", |it| it.literal());
                if id.is_empty() || self.last != id {
                    id.clone_into(&mut self.last);
                    self.turn_ends(owner, Outcome::Success, stop_reason.map(Text::raw), emit);
                }
            }
        }
    }

    /// Reports a text of the model, or an error that the program reports in its place.
    fn say(&mut self, text: Text<'_>, line: &Line<'_>, emit: &mut Emit<'_>) {
        emit.event(match line.error {
            Some(code) => {
                Kind::Error { message: text, code: Some(Text::raw(code)), recoverable: false }
            }
            None => Kind::Text { role: Role::Assistant, text, delta: false, citations: &[] },
        });
    }

    /// Handles one block of the model's message. Returns whether it was a text.
    fn block(
        &mut self,
        block: &Object<'_>,
        message_id: Option<Str<'_>>,
        line: &Line<'_>,
        owner: &Owner<'_>,
        emit: &mut Emit<'_>,
    ) -> bool {
        let (mut kind, mut text, mut id, mut name, mut input) = (None, None, None, None, None);
        for (key, value) in block.fields() {
            match key {
                "type" => kind = value.str(),
                "text" | "thinking" => text = value.str(),
                "id" => id = value.str(),
                "name" => name = value.str(),
                "input" => input = Some(value),
                _ => {}
            }
        }
        let kind = kind.map_or(Cow::Borrowed(""), |it| it.cow());
        match (&*kind, text) {
            ("text", Some(text)) => {
                self.say(Text::raw(text), line, emit);
                return true;
            }
            ("thinking", Some(text)) => {
                emit.event(Kind::Thinking { text: Text::raw(text), delta: false });
            }
            ("tool_use" | "server_tool_use" | "mcp_tool_use", _) => {
                let (Some(id), Some(name)) = (id, name) else {
                    emit.warn("a tool call without id or name");
                    return false;
                };
                match Tool::parse(name.literal()) {
                    Some(tool) => self.called(tool, id, input, message_id, owner, emit),
                    None => {
                        let input = input.and_then(|it| emit.input(it));
                        let (call_id, name) = (Text::raw(id), Text::raw(name));
                        emit.event(Kind::ToolScheduled { call_id, name, input });
                    }
                }
            }
            ("redacted_thinking", _) => {}
            (other, _) => emit.unknown(&format!("assistant/{other}")),
        }
        false
    }

    fn called(
        &mut self,
        tool: Tool,
        id: Str<'_>,
        input: Option<Value<'_>>,
        message_id: Option<Str<'_>>,
        owner: &Owner<'_>,
        emit: &mut Emit<'_>,
    ) {
        let message = digest(&[message_id.map_or("", |it| it.literal())]);
        let call = Call {
            id: id.cow().into_owned(),
            session: owner.session.clone().into_owned(),
            agent: owner.agent.as_deref().map(str::to_owned),
            what: Asked { tool, at: self.lists.now(), message },
            input: input.map_or("{}", |it| it.raw()).to_owned(),
            is_wish: tool == Tool::TodoWrite,
        };
        for call in calls::dead(&mut self.calls, &call) {
            results::count_lost(&call, emit);
        }
        if self.calls.push(call) {
            emit.warn("too many calls without a result; the oldest are given up");
        }
    }

    fn user(
        &mut self,
        line: &Line<'_>,
        timestamp: Option<i64>,
        owner: &Owner<'_>,
        emit: &mut Emit<'_>,
    ) {
        let content = match line.message {
            Some(Part::Object(message)) => message.part(),
            Some(Part::Array(_) | Part::Text(_) | Part::Other) | None => None,
        };
        let blocks = match content {
            Some(Part::Array(blocks)) => blocks,
            Some(Part::Text(text)) => return self.said(Text::from(&**text), line, owner, emit),
            Some(Part::Object(_) | Part::Other) => return,
            None => return emit.warn("a user line without content"),
        };
        let is_single = blocks.len() == 1;
        for block in blocks {
            let kind = block.text("type").map_or(Cow::Borrowed(""), |it| it.cow());
            match &*kind {
                "tool_result" => {
                    let structured = line.result.filter(|_| is_single);
                    self.tool_result(block, structured, timestamp, owner, emit);
                }
                "text" => {
                    if let Some(text) = block.text("text") {
                        self.said(Text::raw(text), line, owner, emit);
                    }
                }
                "image" | "document" => {}
                other => emit.unknown(&format!("user/{other}")),
            }
        }
    }

    /// Handles a text in the user's place.
    fn said(&mut self, text: Text<'_>, line: &Line<'_>, owner: &Owner<'_>, emit: &mut Emit<'_>) {
        let is_interrupt = text.begins("[Request interrupted by user");
        let is_local = ["<local-command-", "<command-", "<bash-", "<ide_", "<system-reminder>"]
            .into_iter()
            .any(|it| text.begins(it));
        if owner.agent.is_none() && line.form == Some(Form::Transcript) {
            if is_interrupt {
                return self.turn_ends(owner, Outcome::Cancelled, Some(text), emit);
            }
            if !line.is_machine && !is_local && self.begun_by != emit.line() {
                self.begun_by = emit.line();
                return self.turn_starts(owner, Some(text), emit);
            }
            if text.begins("Stop hook feedback:") {
                // A hook refused the stop.
                self.give_up(owner, emit);
                if !self.is_turn_open {
                    self.turn_starts(owner, None, emit);
                }
            }
        }
        if !line.is_machine
            && let Some(agent) = &owner.agent
        {
            if is_interrupt && owner.has_own_file {
                return self.turn_ends(owner, Outcome::Cancelled, Some(text), emit);
            }
            // The prompt of a sub-agent. The stream already reported it when the sub-agent started.
            let is_told = self.agents.values().any(|it| **it == **agent);
            if !is_told {
                emit.event(Kind::TurnStarted { prompt: Some(text), turn_id: None });
            }
            return;
        }
        let is_user = !line.is_machine && !is_local && !is_interrupt;
        let role = if is_user { Role::User } else { Role::System };
        emit.event(Kind::Text { role, text, delta: false, citations: &[] });
    }

    fn tool_result(
        &mut self,
        block: &Object<'_>,
        structured: Option<Value<'_>>,
        timestamp: Option<i64>,
        owner: &Owner<'_>,
        emit: &mut Emit<'_>,
    ) {
        let (mut id, mut content, mut is_error) = (None, None, false);
        for (key, value) in block.fields() {
            match key {
                "tool_use_id" => id = value.str(),
                "content" => content = Some(value),
                "is_error" => is_error = value.bool() == Some(true),
                _ => {}
            }
        }
        let Some(id) = id else { return emit.warn("a tool result without the id of its call") };
        let known = if self.calls.is_empty() { None } else { self.calls.take(&id.cow()) };
        let is_wanted =
            known.is_some() || emit.wants(KindName::ToolCompleted) || emit.awaits(&id.cow());
        let output = content.filter(|_| is_wanted).and_then(joined);
        if let Some(call) = known {
            if !is_error {
                let said = output.as_ref().map_or(Cow::Borrowed(""), Text::to_str);
                self.lists.call_succeeded(&call, structured, &said, timestamp, owner, emit);
            }
            return;
        }
        let is_stopped = || {
            structured.is_some_and(|it| {
                it.str().is_some_and(|it| it.is("User rejected tool use"))
                    || it.get("interrupted").and_then(Value::bool) == Some(true)
            })
        };
        let status = match is_error {
            _ if is_stopped() => Outcome::Cancelled,
            true => Outcome::Error,
            false => Outcome::Success,
        };
        emit.event(Kind::ToolCompleted { call_id: Text::raw(id), name: None, status, output });
    }

    fn system(
        &mut self,
        value: &Object<'_>,
        line: &Line<'_>,
        owner: &Owner<'_>,
        emit: &mut Emit<'_>,
    ) {
        let subtype = line.subtype.map_or("", |it| it.literal()).trim_matches('"');
        match subtype {
            "init" => {
                self.session_starts(owner, line, value.text("model"), emit);
                // The line is repeated for each turn of the same process.
                self.turn_starts(owner, None, emit);
            }
            "task_started" if self.form == Some(Form::Stream) => {
                self.agent_starts(value, owner, emit);
            }
            "task_notification" => self.agent_ends(value, owner, emit),
            "api_retry" | "api_error" => {
                let message = line.error.map_or(Text::from("retrying"), Text::raw);
                let code = value.get("error_status").and_then(|it| it.u64());
                let code = code.map(|it| Text::from(it.to_string()));
                emit.event(Kind::Error { message, code, recoverable: true });
            }
            "turn_duration" => {
                self.give_up(owner, emit);
                if self.is_turn_open {
                    self.turn_ends(owner, Outcome::Success, None, emit);
                }
            }
            "notification" => {
                if let Some(text) = value.text("text").map(Text::raw) {
                    emit.event(Kind::Text {
                        role: Role::System,
                        text,
                        delta: false,
                        citations: &[],
                    });
                }
            }
            "compact_boundary"
            | "status"
            | "hook_started"
            | "hook_progress"
            | "hook_response"
            | "task_started"
            | "task_progress"
            | "task_updated"
            | "thinking_tokens"
            | "stop_hook_summary"
            | "local_command"
            | "away_summary"
            | "informational"
            | "background_tasks_changed"
            | "permission_denied" => {}
            other => emit.unknown(&format!("system/{other}")),
        }
    }

    fn agent_starts(&mut self, value: &Object<'_>, owner: &Owner<'_>, emit: &mut Emit<'_>) {
        let (Some(call), Some(task)) = (value.text("tool_use_id"), value.text("task_id")) else {
            return;
        };
        emit.event(Kind::ToolStarted { call_id: Text::raw(call), name: None, input: None });
        if value.text("task_type").is_some_and(|it| !it.is("local_agent")) {
            return;
        }
        let agent = task.cow();
        if self.agents.len() >= MOST_AGENTS {
            self.agents.pop_first();
        }
        if call.literal().len() + agent.len() <= 512 {
            self.agents.insert(call.cow().into_owned(), agent.clone().into_owned());
        }
        emit.of(Who { session: &owner.session, agent: Some(&agent) });
        emit.event(Kind::TurnStarted {
            prompt: value.text("prompt").map(Text::raw),
            turn_id: None,
        });
    }

    fn agent_ends(&mut self, value: &Object<'_>, owner: &Owner<'_>, emit: &mut Emit<'_>) {
        let (Some(task), Some(word)) = (value.text("task_id"), value.text("status")) else {
            return;
        };
        let status = match &*word.cow() {
            "completed" => Outcome::Success,
            "stopped" | "killed" | "cancelled" => Outcome::Cancelled,
            _ => Outcome::Error,
        };
        let agent = task.cow();
        if !self.agents.values().any(|it| **it == *agent) {
            // Other background work.
            return;
        }
        emit.of(Who { session: &owner.session, agent: Some(&agent) });
        let owner =
            Owner { session: owner.session.clone(), agent: Some(agent), has_own_file: false };
        self.give_up(&owner, emit);
        emit.event(Kind::TurnCompleted { status, reason: Some(Text::raw(word)) });
    }

    fn result(&mut self, value: &Object<'_>, owner: &Owner<'_>, emit: &mut Emit<'_>) {
        if let Some(usage) = value.get("usage") {
            let mut usage = self.spending.settles(owner, &spent(usage), emit);
            // The cost is that of the process so far, the tokens are those of the turn.
            if let Some(total) = value.get("total_cost_usd").and_then(|it| it.f64()) {
                let before = if total >= self.cost { self.cost } else { 0.0 };
                self.cost = total;
                // Rounded, because the subtraction is inexact.
                usage.cost_usd = Some(((total - before) * 1e9).round() / 1e9);
            }
            if usage != Usage::default() {
                emit.event(Kind::Usage(usage));
            }
        }
        let subtype = value.text("subtype");
        let is_error = value.is_true("is_error");
        let terminal = value.text("terminal_reason");
        let is_aborted = terminal.is_some_and(|it| it.literal().starts_with("\"aborted"));
        // For a stopped turn these are diagnostics, not errors.
        let errors = value.get("errors").filter(|_| !is_aborted).map(Value::items);
        for error in errors.into_iter().flatten().take(16) {
            if let Some(message) = error.str().map(Text::raw) {
                let code = subtype.map(Text::raw);
                emit.event(Kind::Error { message, code, recoverable: false });
            }
        }
        let is_success = subtype.is_some_and(|it| it.is("success"));
        let (status, reason) = match is_error {
            false => (Outcome::Success, terminal.or(subtype).map(Text::raw)),
            true if is_aborted => (Outcome::Cancelled, terminal.map(Text::raw)),
            // An API error is marked as a success.
            true if is_success => (Outcome::Error, Some(Text::from(API_ERROR))),
            true => (Outcome::Error, subtype.map(Text::raw)),
        };
        self.turn_ends(owner, status, reason, emit);
    }

    /// Collects the parts of an answer. The whole answer follows on its own line, unless it is cut
    /// off.
    fn stream_event(&mut self, line: &Line<'_>) {
        let Some(event) = line.event.filter(|_| line.parent.is_none()) else { return };
        let Some(event) = event.object() else { return };
        let delta = event.object("delta");
        let text = delta.filter(|it| it.text("type").is_some_and(|it| it.is("text_delta")));
        match text.and_then(|it| it.text("text")) {
            Some(text) if self.partial.len() + text.literal().len() <= MOST_PARTIAL => {
                self.partial.push_str(&text.cow());
            }
            Some(_) => {}
            None => {
                let kind = event.text("type");
                if kind.is_some_and(|it| it.is("message_start") || it.is("content_block_stop")) {
                    self.partial.clear();
                }
            }
        }
    }

    /// Reports an answer that was cut off.
    fn tell_partial(&mut self, emit: &mut Emit<'_>) {
        if !self.partial.is_empty() {
            let text = Text::from(std::mem::take(&mut self.partial));
            emit.event(Kind::Text { role: Role::Assistant, text, delta: true, citations: &[] });
        }
    }

    fn attachment(&mut self, line: &Line<'_>, owner: &Owner<'_>, emit: &mut Emit<'_>) {
        let Some(attachment) = line.attachment.and_then(Value::object) else { return };
        let kind = attachment.text("type").map_or("", |it| it.literal()).trim_matches('"');
        match kind {
            "task_reminder" | "todo_reminder" if self.form == Some(Form::Transcript) => {
                self.lists.reminder(kind, &attachment, owner, emit);
            }
            "max_turns_reached" => {
                self.turn_ends(owner, Outcome::Error, attachment.text("type").map(Text::raw), emit);
            }
            "queued_command" => {
                if let Some(text) = attachment.text("prompt").map(Text::raw) {
                    emit.event(Kind::Text { role: Role::User, text, delta: false, citations: &[] });
                }
            }
            "hook_blocking_error"
            | "hook_success"
            | "hook_additional_context"
            | "agent_listing_delta"
            | "skill_listing"
            | "deferred_tools_delta"
            | "mcp_instructions_delta"
            | "plan_mode"
            | "plan_mode_exit"
            | "budget_usd"
            | "date"
            | "environment"
            | "model"
            | "prompt_snapshot"
            | "remote_session_change"
            | "session_context"
            | "silent_turn_reminder" => {}
            other => emit.unknown(&format!("attachment/{other}")),
        }
    }
}
