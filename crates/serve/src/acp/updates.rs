//! What happens in a turn, as updates for the client. Pure, except that the announcement of a call may
//! read a file.

use std::collections::BTreeSet;
use std::path::PathBuf;

use punchlist_agent::provider::ModelCall;
use punchlist_agent::session::{Ended, Event, is_for_user};
use punchlist_agent::turn::{Abort, Ending};
use punchlist_model::{Item, Plan, Status};
use serde_json::{Value, json};

use super::tool_call;

/// What a session shows, besides the events themselves.
#[derive(Clone)]
pub(super) struct Shown {
    /// The directory that relative paths begin at.
    pub(super) root: PathBuf,
    /// The tools of the plan are not shown as calls: the plan itself is.
    pub(super) plan_tools: Vec<String>,
}

impl Shown {
    pub(super) fn is_plans(&self, tool: &str) -> bool {
        self.plan_tools.iter().any(|it| it == tool)
    }
}

/// Turns events into updates.
pub(super) struct Updates {
    shown: Shown,
    /// Whether the text that arrives is meant for the user.
    is_shown: bool,
    /// Whether text of the present answer has arrived.
    has_text: bool,
    /// Whether text of an earlier answer was sent, so that the next begins a paragraph.
    has_text_before: bool,
    /// The text of the present answer that was sent.
    sent: String,
    /// The calls that the client knows.
    known: BTreeSet<String>,
}

impl Updates {
    pub(super) fn new(shown: Shown) -> Self {
        Self {
            shown,
            is_shown: true,
            has_text: false,
            has_text_before: false,
            sent: String::new(),
            known: BTreeSet::new(),
        }
    }

    /// The updates for an event; may be none.
    pub(super) fn event(&mut self, event: &Event) -> Vec<Value> {
        match event {
            Event::Calling(purpose) => {
                self.is_shown = is_for_user(*purpose);
                self.has_text_before |= self.has_text;
                self.has_text = false;
                self.sent.clear();
                Vec::new()
            }
            Event::Text(text) if self.is_shown => self.text(text),
            Event::Thinking(text) => vec![chunk("agent_thought_chunk", text)],
            Event::Retry { why, wait } => {
                self.has_text_before |= self.has_text;
                self.has_text = false;
                self.sent.clear();
                info(&format!("{why} Trying again in {} s.", wait.as_secs().max(1)))
            }
            Event::Answered { text, calls, .. } => {
                let is_whole = self.is_shown && !self.has_text;
                let mut updates = if is_whole { self.text(text) } else { Vec::new() };
                updates.extend(calls.iter().filter_map(|it| self.announce(it)));
                updates
            }
            Event::CallStarted(call) => {
                let status = json!({"toolCallId": call.id.0, "status": "in_progress"});
                self.call(call, status)
            }
            Event::CallEnded { call, is_error, text, .. } => {
                self.call(call, tool_call::ended(call, *is_error, text))
            }
            Event::Plan { now, .. } => vec![plan(now)],
            Event::Refused { open, .. } => {
                let items = if *open == 1 { "1 item is" } else { &format!("{open} items are") };
                info(&format!("The answer is not accepted yet: {items} open."))
            }
            Event::Steered(text) => vec![chunk("user_message_chunk", text)],
            Event::NotQueued { why, .. } => info(&format!("Not queued: {why}.")),
            Event::Info(text) => info(text),
            Event::Compacting => info("Summarising the conversation."),
            Event::Compacted => info("Older parts of the conversation were summarised."),
            Event::Waiting { until, on } => {
                let until = until.map(|it| format!(" until {it}")).unwrap_or_default();
                info(&format!("Waiting for {on}{until}."))
            }
            Event::Worker { event, .. } => {
                if let Event::Answered { calls, .. } = &**event {
                    // What a worker says is the result of the call that delegates.
                    return calls.iter().filter_map(|it| self.announce(it)).collect();
                }
                self.event(event)
            }
            Event::Ended(ended) => self.ended(ended),
            Event::Began { .. }
            | Event::Text(_)
            | Event::CallOutput { .. }
            | Event::Asked { .. }
            | Event::Settled { .. }
            | Event::Queued(_)
            | Event::Leader(_) => Vec::new(),
        }
    }

    /// Text of the model, as it arrives.
    fn text(&mut self, text: &str) -> Vec<Value> {
        let text = if self.has_text { text } else { text.trim_start() };
        if text.is_empty() {
            return Vec::new();
        }
        let is_next_answer = !self.has_text && self.has_text_before;
        self.has_text = true;
        self.sent.push_str(text);
        let text = if is_next_answer { format!("\n\n{text}") } else { text.to_owned() };
        vec![chunk("agent_message_chunk", &text)]
    }

    fn announce(&mut self, call: &ModelCall) -> Option<Value> {
        if self.shown.is_plans(&call.tool) || !self.known.insert(call.id.0.clone()) {
            return None;
        }
        Some(update("tool_call", tool_call::announced(call, &self.shown.root)))
    }

    /// An update of a call, which the client hears of first if it does not know it.
    fn call(&mut self, call: &ModelCall, changed: Value) -> Vec<Value> {
        if self.shown.is_plans(&call.tool) {
            return Vec::new();
        }
        let announced = self.announce(call);
        announced.into_iter().chain([update("tool_call_update", changed)]).collect()
    }

    /// What the runtime adds to the model's answer.
    fn ended(&mut self, ended: &Ended) -> Vec<Value> {
        let added = match &ended.ending {
            Ending::Answered | Ending::Asked | Ending::Planned | Ending::LetGo | Ending::Limit => {
                let rest = ended.answer.strip_prefix(self.sent.trim_end());
                rest.unwrap_or(&ended.answer).trim_start_matches('\n').to_owned()
            }
            Ending::Stuck
            | Ending::PlanningFailed
            | Ending::NotValidated
            | Ending::Unfit
            | Ending::Aborted(Abort::Budget(_)) => format!("Stopped: {}.", ended.ending.words()),
            // The answer to the prompt says it.
            Ending::Failed(_) | Ending::Aborted(Abort::User) => String::new(),
        };
        self.has_text_before |= self.has_text;
        self.has_text = false;
        self.text(&added)
    }
}

/// An update of a kind.
pub(super) fn update(kind: &str, mut fields: Value) -> Value {
    fields["sessionUpdate"] = kind.into();
    fields
}

/// A piece of a message.
pub(super) fn chunk(kind: &str, text: &str) -> Value {
    update(kind, json!({"content": {"type": "text", "text": text}}))
}

/// A line of the runtime for the user.
pub(super) fn info(text: &str) -> Vec<Value> {
    vec![chunk("agent_thought_chunk", &format!("{text}\n"))]
}

/// The whole list. The protocol has no ids and no status for skipped items, so those are in `_meta`.
pub(super) fn plan(plan: &Plan) -> Value {
    let entries: Vec<Value> = plan.listed().into_iter().map(entry).collect();
    update("plan", json!({"entries": entries}))
}

fn entry(item: &Item) -> Value {
    let (status, content) = match item.status {
        Status::Pending => ("pending", item.title.clone()),
        Status::InProgress => ("in_progress", item.title.clone()),
        Status::Completed => ("completed", item.title.clone()),
        Status::Cancelled => ("completed", format!("{} (skipped)", item.title)),
    };
    let priority = match item.priority {
        Some(0) => "high",
        Some(1) | None => "medium",
        Some(_) => "low",
    };
    let mut ours = json!({"number": item.number.0, "status": item.status.as_str()});
    if let Some(parent) = item.parent {
        ours["parent"] = parent.0.into();
    }
    if let Some(on) = &item.waiting_on {
        ours["waitingOn"] = on.as_str().into();
    }
    json!({
        "content": content,
        "priority": priority,
        "status": status,
        "_meta": {"punchlist": ours},
    })
}
