//! Parses agents that speak the Agent Client Protocol: JSON-RPC, one message per line.
//!
//! A stream has the agent's messages, and the client's too if both directions were recorded. Plans
//! are always whole. Some agents send each plan twice. No entry is dropped: its text is shown
//! whatever its status is. If a program has a list that the protocol does not show, a warning says
//! so.

mod entries;
mod ids;
mod tools;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use ids::Requests;

use crate::event::joined;
use crate::event::{Kind, Outcome, Role, Text, Usage};
use crate::json::{Object, Str, Value};
use crate::parse::Agent;
use crate::parse::emit::{Emit, Who};
use crate::parse::names::{MOST_AGENTS, Names, digest, name, tell};
use crate::parse::ours;

/// The state between lines.
#[derive(Default, Debug)]
pub(super) struct Acp {
    names: Names,
    sessions: BTreeMap<String, Session>,
    /// Sessions that got the warning about a hidden list.
    hidden: BTreeSet<String>,
    /// The session of this line; empty if the line names none.
    session: String,
    /// The session that was named last, for answers that name none.
    last: String,
    requests: Requests,
}

/// The state of a session.
#[derive(Default, Debug)]
struct Session {
    /// A digest of the plan that was reported last.
    reported: Option<u64>,
    /// Whether the session is being loaded, so that its history is repeated.
    is_loading: bool,
}

impl Agent for Acp {
    fn line(&mut self, line: &Object<'_>, emit: &mut Emit<'_>) {
        // A recording of both directions has each message in a wrapper.
        let inner = line.object("msg").filter(|_| line.has("dir"));
        let message = inner.as_ref().unwrap_or(line);
        let Some(method) = message.text("method") else {
            return self.answer(message, emit);
        };
        let Some(params) = message.get("params") else { return };
        let params = &params.object().unwrap_or_default();
        self.go_to(params.text("sessionId"), emit);
        match method.literal() {
            "\"session/update\"" => match params.object("update") {
                Some(update) => self.update(&update, emit),
                None => emit.warn("an update without content"),
            },
            "\"session/new\"" => self.requests.asked(message, "", false, params),
            "\"session/load\"" | "\"session/resume\"" => {
                self.session().is_loading = true;
                self.requests.asked(message, &self.session, false, params);
                let cwd = params.text("cwd").map(Text::raw);
                emit.event(Kind::SessionStarted { model: None, cwd, version: None });
            }
            "\"session/prompt\"" => {
                self.session().is_loading = false;
                self.requests.asked(message, &self.session, true, params);
                let prompt = params.get("prompt").and_then(joined);
                emit.event(Kind::TurnStarted { prompt, turn_id: None });
            }
            "\"session/request_permission\"" => {
                let call = params.object("toolCall");
                if let Some(id) = call.as_ref().and_then(|it| it.text("toolCallId")) {
                    let title = call.as_ref().and_then(|it| it.text("title"));
                    let question = title.map_or(Text::from("permission"), Text::raw);
                    self.requests.waits(message, &self.session, id);
                    emit.event(Kind::ToolWaiting { call_id: Text::raw(id), question });
                }
            }
            "\"initialize\""
            | "\"authenticate\""
            | "\"session/cancel\""
            | "\"session/set_mode\""
            | "\"session/set_model\""
            | "\"session/set_config_option\""
            | "\"session/list\""
            | "\"session/close\"" => {}
            // Requests of the agent to its client.
            other if other.starts_with("\"fs/") || other.starts_with("\"terminal/") => {}
            _ => emit.unknown(&method.cow()),
        }
    }

    fn end(&mut self, _: &mut Emit<'_>) {}

    fn needles(&self) -> &'static [&'static str] {
        // The first needle is the beginning of all updates about plans; the others are calls that
        // change a hidden list.
        &[
            "\"plan",
            "\"write_todos__",
            "\"tracker_",
            "\"update_plan\"",
            "\"session/load\"",
            "\"session/resume\"",
            "\"session/prompt\"",
            ours::NEEDLE,
            ours::SERVER,
        ]
    }

    fn is_waiting(&self) -> bool {
        false
    }
}

impl Acp {
    fn go_to(&mut self, session: Option<Str<'_>>, emit: &mut Emit<'_>) {
        let session = session.and_then(name).unwrap_or_default();
        session.as_ref().clone_into(&mut self.session);
        if !session.is_empty() {
            session.as_ref().clone_into(&mut self.last);
        }
        emit.at(Who { session: &self.session, agent: None }, None);
    }

    fn session(&mut self) -> &mut Session {
        if !self.sessions.contains_key(&self.session) && self.sessions.len() >= MOST_AGENTS {
            self.sessions.pop_first();
        }
        self.sessions.entry(self.session.clone()).or_default()
    }

    /// Handles an answer to a request. Its fields say what it is, the request says which session it
    /// belongs to.
    fn answer(&mut self, message: &Object<'_>, emit: &mut Emit<'_>) {
        let result = message.object("result");
        let result = result.as_ref();
        let outcome = result.and_then(|it| it.object("outcome"));
        if let Some(outcome) = outcome {
            let Some((session, call)) = self.requests.answered(message) else { return };
            emit.at(Who { session: &session, agent: None }, None);
            let answer = outcome.text("optionId").or_else(|| outcome.text("outcome"));
            let answer = answer.map_or(Text::from("unknown"), Text::raw);
            let call_id = Text::from(call);
            return emit.event(Kind::ToolAnswered { call_id, answer, by: None });
        }
        let asked = self.requests.take(message);
        let reason = result.and_then(|it| it.text("stopReason"));
        let new = result.and_then(|it| it.text("sessionId"));
        let session = match (&asked, new.and_then(name)) {
            (_, Some(new)) => new.into_owned(),
            (Some(asked), None) => asked.session.clone(),
            (None, None) => self.last.clone(),
        };
        emit.at(Who { session: &session, agent: None }, None);
        if let (Some(result), Some(reason)) = (result, reason) {
            if let Some(usage) = spent(result) {
                emit.event(Kind::Usage(usage));
            }
            let status = match reason.literal() {
                "\"end_turn\"" => Outcome::Success,
                "\"cancelled\"" => Outcome::Cancelled,
                _ => Outcome::Error,
            };
            return emit.event(Kind::TurnCompleted { status, reason: Some(Text::raw(reason)) });
        }
        if new.is_some() {
            let cwd = asked.as_ref().and_then(|it| it.cwd.clone()).map(Text::from);
            return emit.event(Kind::SessionStarted { model: None, cwd, version: None });
        }
        let error = message.object("error");
        if let (Some(error), Some(asked)) = (error, asked) {
            let details = error.path(&["data", "details"]).and_then(|it| it.str());
            let message = details.or_else(|| error.text("message"));
            let message = message.map_or(Text::from("unknown"), Text::raw);
            let code =
                error.get("code").and_then(|it| it.i64()).map(|it| Text::from(it.to_string()));
            emit.event(Kind::Error { message, code, recoverable: false });
            if asked.is_turn {
                emit.event(Kind::TurnCompleted { status: Outcome::Error, reason: None });
            }
        }
    }

    fn update(&mut self, update: &Object<'_>, emit: &mut Emit<'_>) {
        let kind = update.text("sessionUpdate");
        match kind.map_or("", |it| it.literal()) {
            "\"plan\"" => self.plan(update.get("entries"), None, emit),
            "\"plan_update\"" => self.plan_update(update, emit),
            "\"plan_removed\"" => match update.text("planId") {
                Some(id) => {
                    self.session().reported = None;
                    emit.todo_call();
                    let todo_id = format!("{}#{}", emit.agent_id(), id.cow());
                    tell(todo_id, &mut [], false, emit);
                }
                None => emit.warn("a plan was removed, but its id is missing"),
            },
            "\"agent_message_chunk\"" => said(Role::Assistant, update, emit),
            "\"user_message_chunk\"" => said(Role::User, update, emit),
            "\"agent_thought_chunk\"" => {
                if let Some(text) = update.get("content").and_then(joined) {
                    emit.event(Kind::Thinking { text, delta: true });
                }
            }
            "\"tool_call\"" => self.tool_call(update, emit),
            "\"tool_call_update\"" => {
                if !self.is_hidden_list(update, emit) {
                    tools::updated(update, emit);
                }
            }
            "\"usage_update\"" => {
                let cost = update.path(&["cost", "amount"]).and_then(Value::f64);
                let is_usd = update.path(&["cost", "currency"]).and_then(Value::str);
                let usage = Usage {
                    cost_usd: cost.filter(|_| is_usd.is_some_and(|it| it.is("USD"))),
                    context_tokens: update.get("used").and_then(Value::u64),
                    context_window: update.get("size").and_then(Value::u64),
                    cumulative: true,
                    ..Usage::default()
                };
                if usage.cost_usd.is_some() || usage.context_tokens.is_some() {
                    emit.event(Kind::Usage(usage));
                }
            }
            "\"available_commands_update\""
            | "\"current_mode_update\""
            | "\"config_option_update\""
            | "\"session_info_update\""
            | "\"notice\""
            | "\"compaction_update\""
            | "\"compaction_summary_chunk\"" => {}
            _ => emit.unknown_in("session/update", kind),
        }
    }

    /// Reports a whole plan. A plan without an id is the session's own.
    fn plan(&mut self, entries: Option<Value<'_>>, id: Option<Str<'_>>, emit: &mut Emit<'_>) {
        emit.todo_call();
        let Some(entries) = entries.filter(|it| it.is_array()) else {
            return emit.warn("a plan without entries");
        };
        let now = digest(&[id.map_or("", |it| it.literal()), entries.raw()]);
        let is_empty = entries.items().is_empty();
        let session = self.session();
        // When an agent repeats its history, an empty plan does not mean that the plan was cleared.
        if is_empty && (session.is_loading || session.reported.is_none()) {
            return;
        }
        if session.reported.replace(now) == Some(now) {
            return;
        }
        let mut items = entries::items(entries, emit);
        match id {
            Some(id) => {
                let todo_id = format!("{}#{}", emit.agent_id(), id.cow());
                tell(todo_id, &mut items, false, emit);
            }
            None => self.names.tell(&mut items, false, emit),
        }
    }

    fn plan_update(&mut self, update: &Object<'_>, emit: &mut Emit<'_>) {
        let Some(plan) = update.object("plan") else {
            return emit.warn("a plan without content");
        };
        match plan.text("type").map_or("", |it| it.literal()) {
            "\"items\"" => self.plan(plan.get("entries"), plan.text("planId"), emit),
            // Plain text, whose entries are unknown.
            "\"markdown\"" => {
                if let Some(text) = plan.text("content").map(Text::raw) {
                    emit.event(Kind::Text {
                        role: Role::Assistant,
                        text,
                        delta: false,
                        citations: &[],
                    });
                }
            }
            _ => emit.unknown_in("plan_update", plan.text("type")),
        }
    }

    fn tool_call(&mut self, update: &Object<'_>, emit: &mut Emit<'_>) {
        // Codex repeats its earlier plans as calls of its tool, including refused ones.
        if update.text("title").is_some_and(|it| it.literal() == "\"update_plan\"")
            && let Some(plan) = update.path(&["rawInput", "plan"])
        {
            let said = update.get("rawOutput").and_then(joined);
            let said = said.as_ref().map_or(Cow::Borrowed(""), Text::to_str);
            let is_done = update.text("status").is_some_and(|it| it.is("completed"));
            if is_done && (said.is_empty() || said.starts_with("Plan updated")) {
                emit.todo_call();
                let now = digest(&["", plan.raw()]);
                if self.session().reported.replace(now) != Some(now) {
                    let mut items = entries::steps(plan, emit);
                    self.names.tell(&mut items, false, emit);
                }
            }
            return;
        }
        if !self.is_hidden_list(update, emit) {
            tools::called(update, emit);
        }
    }

    /// Whether it is a call of Gemini CLI's todo tools, whose list the protocol does not show.
    fn is_hidden_list(&mut self, update: &Object<'_>, emit: &mut Emit<'_>) -> bool {
        let id = update.text("toolCallId").map_or("", |it| it.literal());
        let is_hidden = id.starts_with("\"write_todos__") || id.starts_with("\"tracker_");
        if is_hidden {
            emit.todo_call();
            if self.hidden.len() >= MOST_AGENTS {
                self.hidden.pop_first();
            }
            if self.hidden.insert(self.session.clone()) {
                emit.warn("the agent's list is not shown by its protocol; its chat file has it");
            }
        }
        is_hidden
    }
}

/// Reports a part of a message.
fn said(role: Role, update: &Object<'_>, emit: &mut Emit<'_>) {
    if let Some(text) = update.get("content").and_then(joined) {
        emit.event(Kind::Text { role, text, delta: true, citations: &[] });
    }
}

/// The usage of a turn, in the two forms that agents use.
fn spent(result: &Object<'_>) -> Option<Usage> {
    let usage = result.object("usage");
    let quota = || result.path(&["_meta", "quota", "token_count"])?.object();
    let usage = usage.or_else(quota)?;
    let count = |one: &str, other: &str| {
        usage.get(one).or_else(|| usage.get(other)).and_then(|it| it.u64())
    };
    Some(Usage {
        input_tokens: count("inputTokens", "input_tokens"),
        output_tokens: count("outputTokens", "output_tokens"),
        cached_tokens: count("cachedReadTokens", "cached_read_tokens"),
        ..Usage::default()
    })
}
