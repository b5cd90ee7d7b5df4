//! Parses Codex's rollout files: what it stores of a thread, with times, and plans with all
//! statuses.
//!
//! Most things are there twice, as what the model sees (`response_item`) and as what happened
//! (`event_msg`). Messages, reasoning and calls are read from the first, because every version has
//! them there; messages of the user and of hooks, and the end of a call, from the second.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use super::items::{self, Sort};
use super::plan::ARGUMENTS;
use super::script::Plans;
use crate::event::joined;
use crate::event::{Kind, Outcome, Role, Text};
use crate::json::{self, Object, Str, Value};
use crate::parse::emit::{Emit, Who};
use crate::parse::names::{Names, digest, name};
use crate::parse::pending::{Call, Pending};
use crate::parse::time::Clock;
use crate::parse::todo;

/// Maximum of calls that are stored as reported, or with their end.
const MOST_CALLS: usize = 4_096;

/// The name of the plan tool, also in scripts.
const PLAN: &str = "update_plan";

/// The two ways to write a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// A tool call.
    Call,
    /// A script that contains the call.
    Script,
}

/// The state between lines.
#[derive(Default, Debug)]
pub(super) struct Rollout {
    clock: Clock,
    /// The thread of the file, once it is known.
    thread: Option<String>,
    /// The root thread.
    session: String,
    /// The thread, if it belongs to a sub-agent.
    agent: Option<String>,
    names: Names,
    pending: Pending<Way>,
    /// Calls that were reported, and calls whose end the program has reported.
    calls: VecDeque<u64>,
    outcomes: BTreeMap<u64, Outcome>,
    /// The usage that was reported last.
    spent: u64,
}

impl Rollout {
    pub(super) fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Sets the thread, for files whose first line has an older format.
    pub(super) fn is_of(&mut self, thread: &str) {
        self.session = thread.to_owned();
        self.thread = Some(thread.to_owned());
    }

    pub(super) fn who(&self) -> Who<'_> {
        Who { session: &self.session, agent: self.agent.as_deref() }
    }

    pub(super) fn line(&mut self, line: &Object<'_>, emit: &mut Emit<'_>) {
        let Some(payload) = line.object("payload") else { return };
        let timestamp = line.get("timestamp").and_then(|it| self.clock.millis(it));
        let kind = line.text("type").map_or("", |it| it.literal());
        if kind == "\"session_meta\"" {
            return self.begins(&payload, timestamp, emit);
        }
        emit.at(self.who(), timestamp);
        match kind {
            "\"response_item\"" => self.response(&payload, emit),
            "\"event_msg\"" => self.happened(&payload, emit),
            "\"turn_context\""
            | "\"world_state\""
            | "\"token_usage_record\""
            | "\"inter_agent_communication_metadata\""
            | "\"compacted\"" => {}
            _ => emit.unknown(&line.text("type").map_or_else(Default::default, |it| it.cow())),
        }
    }

    fn begins(&mut self, meta: &Object<'_>, timestamp: Option<i64>, emit: &mut Emit<'_>) {
        let Some(thread) = meta.text("id").and_then(name) else {
            emit.at(self.who(), timestamp);
            return emit.warn("a thread without an id");
        };
        if self.thread.as_deref().is_some_and(|it| it != thread) {
            // A copy of the thread that this one was forked from.
            return;
        }
        let root = meta.text("session_id").and_then(name);
        let is_sub =
            meta.text("parent_thread_id").is_some() || meta.path(&["source", "subagent"]).is_some();
        match root.filter(|it| is_sub && *it != thread) {
            Some(root) => {
                self.session = root.into_owned();
                self.agent = Some(thread.clone().into_owned());
            }
            None => self.session = thread.clone().into_owned(),
        }
        self.thread = Some(thread.into_owned());
        emit.at(self.who(), timestamp);
        let model = meta.path(&["base_instructions", "provenance", "model"]);
        emit.event(Kind::SessionStarted {
            model: model.and_then(|it| it.str()).map(Text::raw),
            cwd: meta.text("cwd").map(Text::raw),
            version: meta.text("cli_version").map(Text::raw),
        });
    }

    /// Handles an item that the model wrote or was given.
    pub(super) fn response(&mut self, item: &Object<'_>, emit: &mut Emit<'_>) {
        match item.text("type").map_or("", |it| it.literal()) {
            "\"message\"" => {
                // Messages in the user's place are mostly the program's; the events have those of
                // the user.
                let is_model = item.text("role").is_some_and(|it| it.is("assistant"));
                if let Some(text) = item.get("content").filter(|_| is_model).and_then(joined) {
                    emit.event(Kind::Text {
                        role: Role::Assistant,
                        text,
                        delta: false,
                        citations: &[],
                    });
                }
            }
            "\"agent_message\"" => {
                // A message of another agent: the one that gave the task, or the one that did it.
                if let Some(text) = item.get("content").and_then(joined) {
                    emit.event(Kind::Text {
                        role: Role::System,
                        text,
                        delta: false,
                        citations: &[],
                    });
                }
            }
            "\"reasoning\"" => {
                if let Some(text) = item.get("summary").and_then(joined) {
                    emit.event(Kind::Thinking { text, delta: false });
                }
            }
            "\"function_call\"" => self.called(item, "arguments", emit),
            "\"custom_tool_call\"" => self.called(item, "input", emit),
            "\"tool_search_call\"" => self.searched(item, emit),
            "\"function_call_output\"" | "\"custom_tool_call_output\"" => self.answered(item, emit),
            "\"tool_search_output\"" => {
                if let Some(id) = item.text("call_id") {
                    let call_id = Text::raw(id);
                    let status = items::outcome(item).unwrap_or(Outcome::Success);
                    emit.event(Kind::ToolCompleted { call_id, name: None, status, output: None });
                }
            }
            "\"additional_tools\""
            | "\"local_shell_call\""
            | "\"compaction\""
            | "\"compaction_summary\""
            | "\"ghost_snapshot\""
            | "\"web_search_call\"" => {}
            _ => emit.unknown_in("response_item", item.text("type")),
        }
    }

    fn called(&mut self, item: &Object<'_>, field: &str, emit: &mut Emit<'_>) {
        let (Some(id), Some(tool)) = (item.text("call_id"), item.text("name")) else {
            return emit.warn("a tool call without id or name");
        };
        let input = item.text(field);
        let area = item.text("namespace");
        let is_custom = field == "input";
        if tool.literal() == "\"update_plan\"" && area.is_none() {
            return self.awaits(id, Way::Call, input, emit);
        }
        if is_custom && tool.literal() == "\"exec\"" {
            // The search for lists finds only the unescaped name.
            let script = input.filter(|it| it.literal().contains(PLAN));
            let plans = script.map(|it| Plans::of(&it.cow())).unwrap_or_default();
            if plans.is_any() {
                self.awaits(id, Way::Script, input, emit);
                if !plans.has_others {
                    return;
                }
            }
        }
        self.calls.push_back(digest(&[&id.cow()]));
        if self.calls.len() > MOST_CALLS {
            self.calls.pop_front();
        }
        let tool = tool.cow();
        let tool = match area.map(|it| it.cow()) {
            Some(area) if area.starts_with("mcp__") => format!("{area}__{tool}"),
            Some(area) => format!("{area}.{tool}"),
            None => tool.into_owned(),
        };
        // The arguments are JSON inside a text; otherwise the text itself is the argument.
        let inside = input.map_or(Cow::Borrowed(""), |it| it.cow());
        let inside = json::text(inside.as_bytes()).ok().filter(|_| !is_custom);
        let inner = inside.as_deref().and_then(|it| Value::read(it).ok());
        let input = inner.or_else(|| item.get(field).filter(|it| it.str().is_some()));
        let input = input.and_then(|it| emit.input(it));
        let (call_id, name) = (Text::raw(id), Text::from(tool));
        emit.event(Kind::ToolScheduled { call_id, name, input });
    }

    fn searched(&mut self, item: &Object<'_>, emit: &mut Emit<'_>) {
        if let Some(id) = item.text("call_id") {
            let input = item.get("arguments").and_then(|it| emit.input(it));
            emit.event(Kind::ToolScheduled {
                call_id: Text::raw(id),
                name: Text::from("tool_search"),
                input,
            });
        }
    }

    fn awaits(&mut self, id: Str<'_>, way: Way, input: Option<Str<'_>>, emit: &mut Emit<'_>) {
        let call = Call {
            id: id.cow().into_owned(),
            session: self.session.clone(),
            agent: self.agent.clone(),
            what: way,
            input: input.map_or_else(String::new, |it| it.cow().into_owned()),
            is_wish: true,
        };
        if self.pending.push(call) {
            emit.warn("too many calls without a result; the oldest are given up");
        }
    }

    fn answered(&mut self, item: &Object<'_>, emit: &mut Emit<'_>) {
        let Some(id) = item.text("call_id") else {
            return emit.warn("a tool result without the id of its call");
        };
        let output = item.get("output").and_then(joined);
        let known = digest(&[&id.cow()]);
        let outcome = self.outcomes.remove(&known);
        if let Some(call) = self.pending.take(&id.cow()) {
            let said = output.as_ref().map_or(Cow::Borrowed(""), Text::to_str);
            self.planned(&call, &said, emit);
            if !self.calls.contains(&known) {
                return;
            }
        }
        let status = outcome.unwrap_or_else(|| {
            let said = output.as_ref().map_or(Cow::Borrowed(""), Text::to_str);
            ended(&said)
        });
        let call_id = Text::raw(id);
        emit.event(Kind::ToolCompleted { call_id, name: None, status, output });
    }

    /// Handles the result of a plan. Only the text of the result says whether the plan was
    /// accepted.
    fn planned(&mut self, call: &Call<Way>, said: &str, emit: &mut Emit<'_>) {
        if call.what == Way::Script {
            // The script ran, but nothing records whether the call in it was reached.
            if said.starts_with("Script completed") || said.starts_with("Script running") {
                self.tell_script(&call.input, emit);
            }
            return;
        }
        match said {
            "Plan updated" => self.tell(&call.input, false, emit),
            _ if said.starts_with("unsupported call")
                || said.starts_with("failed to parse")
                || said.contains("not allowed") => {}
            _ => {
                emit.todo_call();
                let start: String = said.chars().take(60).collect();
                emit.warn(format!("unknown answer to a plan: {start:?}"));
            }
        }
    }

    fn tell_script(&mut self, script: &str, emit: &mut Emit<'_>) {
        let plans = Plans::of(script);
        for plan in &plans.written {
            self.tell(plan, true, emit);
        }
        if plans.computed > 0 {
            emit.todo_call();
            emit.warn("a script computed its plan, so the file does not contain it");
        }
    }

    fn tell(&mut self, arguments: &str, unconfirmed: bool, emit: &mut Emit<'_>) {
        emit.todo_call();
        let arguments = json::text(arguments.as_bytes()).ok();
        let arguments = arguments.as_deref().and_then(|it| Value::read(it).ok());
        let plan = arguments.and_then(|it| it.get("plan"));
        match plan.filter(|it| it.is_array()) {
            Some(plan) => {
                self.names.tell(&mut todo::whole(plan, ARGUMENTS, emit), unconfirmed, emit);
            }
            None => emit.warn("a plan was written, but its call has none"),
        }
    }

    /// Gives up calls that will not get a result any more.
    pub(super) fn give_up(&mut self, emit: &mut Emit<'_>) {
        for call in self.pending.give_up(|_| true).into_iter().filter(|it| it.is_wish) {
            emit.of(Who { session: &call.session, agent: call.agent.as_deref() });
            match call.what {
                Way::Script => self.tell_script(&call.input, emit),
                Way::Call => self.tell(&call.input, true, emit),
            }
        }
    }

    /// Handles an event of the program.
    fn happened(&mut self, event: &Object<'_>, emit: &mut Emit<'_>) {
        match event.text("type").map_or("", |it| it.literal()) {
            "\"task_started\"" | "\"turn_started\"" => {
                // A killed process left its turn open.
                self.give_up(emit);
                // The program reports the prompt afterwards.
                emit.turn_starts();
            }
            "\"task_complete\"" | "\"turn_complete\"" => {
                self.give_up(emit);
                let error = event.object("error");
                if let Some(error) = &error {
                    let message = error.text("message").map_or(Text::from("unknown"), Text::raw);
                    let code = error.text("codex_error_info").map(Text::raw);
                    emit.event(Kind::Error { message, code, recoverable: false });
                }
                let status = if error.is_some() { Outcome::Error } else { Outcome::Success };
                emit.event(Kind::TurnCompleted { status, reason: None });
            }
            "\"turn_aborted\"" => {
                self.give_up(emit);
                let reason = event.text("reason").map(Text::raw);
                emit.event(Kind::TurnCompleted { status: Outcome::Cancelled, reason });
            }
            "\"item_completed\"" => self.item(event, emit),
            // Older versions have no items.
            "\"user_message\"" => {
                if let Some(text) = event.text("message").map(Text::raw) {
                    emit.event(Kind::Text { role: Role::User, text, delta: false, citations: &[] });
                }
            }
            "\"token_count\"" => self.counted(event, emit),
            "\"error\"" | "\"stream_error\"" | "\"warning\"" => {
                if let Some(message) = event.text("message").map(Text::raw) {
                    let code = event.text("codex_error_info").map(Text::raw);
                    emit.event(Kind::Error { message, code, recoverable: true });
                }
            }
            "\"agent_message\""
            | "\"agent_reasoning\""
            | "\"thread_settings_applied\""
            | "\"thread_rolled_back\""
            | "\"context_compacted\""
            | "\"item_started\"" => {}
            _ => emit.unknown_in("event_msg", event.text("type")),
        }
    }

    fn counted(&mut self, event: &Object<'_>, emit: &mut Emit<'_>) {
        let Some(total) = event.path(&["info", "total_token_usage"]) else { return };
        let now = digest(&[total.raw()]);
        // This event is also written when only the limits have changed.
        if let Some(total) = total.object()
            && std::mem::replace(&mut self.spent, now) != now
        {
            let last = event.path(&["info", "last_token_usage"]).and_then(|it| it.object());
            let window = event.path(&["info", "model_context_window"]).and_then(|it| it.u64());
            emit.event(Kind::Usage(items::spent_with(&total, last, window)));
        }
    }

    fn item(&mut self, event: &Object<'_>, emit: &mut Emit<'_>) {
        let Some(item) = event.object("item") else {
            return emit.warn("a line without its item");
        };
        match Sort::of(&item) {
            // These are read from the response items.
            Some(Sort::Message | Sort::Reasoning | Sort::Todo | Sort::Silent) => {}
            Some(Sort::User | Sort::Hook | Sort::Warning) => {
                if let Some(sort) = Sort::of(&item) {
                    items::completed(sort, &item, emit);
                }
            }
            Some(
                sort @ (Sort::Command
                | Sort::FileChange
                | Sort::Mcp
                | Sort::Collab
                | Sort::WebSearch),
            ) => {
                let id = item.text("id").map_or_else(Default::default, |it| it.cow());
                let known = digest(&[&id]);
                match items::outcome(&item) {
                    // The result of the call follows on its own, and does not say how the call
                    // ended.
                    Some(outcome) if self.calls.contains(&known) => {
                        if self.outcomes.len() >= MOST_CALLS {
                            self.outcomes.pop_first();
                        }
                        self.outcomes.insert(known, outcome);
                    }
                    // A call made by a script.
                    Some(_) | None => items::completed(sort, &item, emit),
                }
            }
            None => emit.unknown_in("item", item.text("type")),
        }
    }
}

/// How a call ended, if there is only a text.
fn ended(said: &str) -> Outcome {
    let refusals = ["unsupported call", "failed to parse", "Script failed", "Script error"];
    if said.ends_with("aborted by user") {
        Outcome::Cancelled
    } else if refusals.iter().any(|it| said.starts_with(it)) {
        Outcome::Error
    } else {
        Outcome::Success
    }
}
