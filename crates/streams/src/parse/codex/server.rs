//! Parses messages of `codex app-server`: JSON-RPC without the version field, many threads in one
//! stream.
//!
//! Only the server's notifications are read. A recording of both directions has each message in a
//! wrapper with its direction.

use std::collections::BTreeMap;

use super::items::{self, Sort};
use super::plan::NOTIFIED;
use crate::event::{Kind, Outcome, Text};
use crate::json::Object;
use crate::parse::emit::{Emit, Who};
use crate::parse::names::{MOST_AGENTS, Names, name};
use crate::parse::{time, todo};

/// The state between lines.
#[derive(Default, Debug)]
pub(super) struct Server {
    names: Names,
    /// The root threads of sub-agents' threads.
    roots: BTreeMap<String, String>,
}

impl Server {
    pub(super) fn line(&mut self, line: &Object<'_>, emit: &mut Emit<'_>) {
        let is_ours = line.text("dir").is_some_and(|it| it.is("send"));
        let inner = line.object("msg");
        let message = inner.as_ref().unwrap_or(line);
        let Some(method) = message.text("method").filter(|_| !is_ours) else { return };
        let Some(params) = message.get("params") else { return };
        let params = &params.object().unwrap_or_default();
        let thread = params.object("thread");
        if let Some(thread) = thread.as_ref().filter(|_| method.literal() == "\"thread/started\"") {
            self.belongs(thread);
        }
        let id = thread.as_ref().and_then(|it| it.text("id")).or_else(|| params.text("threadId"));
        let id = id.and_then(name).unwrap_or_default();
        let timestamp = message.get("emittedAtMs").and_then(time::millis);
        match self.roots.get(&*id) {
            Some(root) => emit.at(Who { session: root, agent: Some(&id) }, timestamp),
            None => emit.at(Who { session: &id, agent: None }, timestamp),
        }
        match method.literal() {
            "\"thread/started\"" => {
                let field = |name| thread.as_ref().and_then(|it| it.text(name)).map(Text::raw);
                emit.event(Kind::SessionStarted {
                    model: field("model"),
                    cwd: field("cwd"),
                    version: field("cliVersion"),
                });
            }
            "\"turn/started\"" => emit.turn_starts(),
            "\"turn/completed\"" => turn_completed(params, emit),
            "\"turn/plan/updated\"" => self.plan(params, emit),
            "\"item/started\"" => item(params, items::started, emit),
            "\"item/completed\"" => item(params, items::completed, emit),
            "\"thread/tokenUsage/updated\"" => {
                if let Some(total) = params.path(&["tokenUsage", "total"]) {
                    let total = total.object().unwrap_or_default();
                    let last = params.path(&["tokenUsage", "last"]).and_then(|it| it.object());
                    let window = params.path(&["tokenUsage", "modelContextWindow"]);
                    let window = window.and_then(|it| it.u64());
                    emit.event(Kind::Usage(items::spent_with(&total, last, window)));
                }
            }
            "\"error\"" => {
                let error = params.get("error").map(|it| it.object().unwrap_or_default());
                let error = error.as_ref().unwrap_or(params);
                if let Some(message) = error.text("message").map(Text::raw) {
                    let recoverable = params.is_true("willRetry");
                    emit.event(Kind::Error { message, code: None, recoverable });
                }
            }
            "\"warning\"" | "\"configWarning\"" => {
                let message = params.text("message").or_else(|| params.text("summary"));
                if let Some(message) = message.map(Text::raw) {
                    emit.event(Kind::Error { message, code: None, recoverable: true });
                }
            }
            "\"item/commandExecution/requestApproval\"" | "\"item/fileChange/requestApproval\"" => {
                if let Some(call) = params.text("itemId") {
                    let question = params.text("reason").or_else(|| params.text("command"));
                    let question = question.map_or(Text::from("approval"), Text::raw);
                    emit.event(Kind::ToolWaiting { call_id: Text::raw(call), question });
                }
            }
            // Parts of messages that follow as a whole, and messages that belong to no turn.
            "\"item/agentMessage/delta\""
            | "\"item/reasoning/summaryPartAdded\""
            | "\"item/reasoning/summaryTextDelta\""
            | "\"item/reasoning/textDelta\""
            | "\"item/commandExecution/outputDelta\""
            | "\"item/fileChange/outputDelta\""
            | "\"turn/diff/updated\""
            | "\"thread/status/changed\""
            | "\"thread/readState/changed\""
            | "\"thread/goal/updated\""
            | "\"account/rateLimits/updated\""
            | "\"remoteControl/status/changed\""
            | "\"hook/started\""
            | "\"hook/completed\"" => {}
            _ => emit.unknown(&method.cow()),
        }
    }

    /// Stores the parent of a sub-agent's thread.
    fn belongs(&mut self, thread: &Object<'_>) {
        let is_sub = thread.text("parentThreadId").is_some();
        let (id, root) = (thread.text("id"), thread.text("sessionId"));
        if let (Some(id), Some(root)) = (id.and_then(name), root.and_then(name))
            && is_sub
            && id != root
        {
            if self.roots.len() >= MOST_AGENTS {
                self.roots.pop_first();
            }
            self.roots.insert(id.into_owned(), root.into_owned());
        }
    }

    fn plan(&mut self, params: &Object<'_>, emit: &mut Emit<'_>) {
        emit.todo_call();
        match params.get("plan").filter(|it| it.is_array()) {
            Some(plan) => self.names.tell(&mut todo::whole(plan, NOTIFIED, emit), false, emit),
            None => emit.warn("a plan without steps"),
        }
    }
}

fn item(params: &Object<'_>, tell: fn(Sort, &Object<'_>, &mut Emit<'_>), emit: &mut Emit<'_>) {
    let Some(item) = params.object("item") else {
        return emit.warn("a line without its item");
    };
    match Sort::of(&item) {
        Some(sort) => tell(sort, &item, emit),
        None => emit.unknown_in("item", item.text("type")),
    }
}

fn turn_completed(params: &Object<'_>, emit: &mut Emit<'_>) {
    let turn = params.get("turn").map(|it| it.object().unwrap_or_default());
    let turn = turn.as_ref().unwrap_or(params);
    if let Some(message) = turn.path(&["error", "message"]).and_then(|it| it.str()) {
        let message = Text::raw(message);
        emit.event(Kind::Error { message, code: None, recoverable: false });
    }
    let word = turn.text("status");
    let status = match word.map_or("", |it| it.literal()) {
        "\"completed\"" => Outcome::Success,
        "\"interrupted\"" => Outcome::Cancelled,
        _ => Outcome::Error,
    };
    emit.event(Kind::TurnCompleted { status, reason: word.map(Text::raw) });
}
