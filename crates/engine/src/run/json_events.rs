//! A run as unified events, one JSON object per line. Pure.
//!
//! The run is the agent, and each item is a call. Every change of the plan writes the whole list,
//! as for any other agent. Each call is reported as scheduled exactly once, before its other
//! events, and each wait for a person is followed by an answer.

use std::collections::BTreeMap;

use punchlist_formats::view::questions;
use punchlist_model::{Number, RunId, Timestamp};
use punchlist_streams::event::{self, AgentId, AgentType, Kind, Outcome, RawJson, Text};
use punchlist_streams::watch::tell;
use serde_json::Value;

use super::end::Ended;
use super::front_end::Event;

/// Writes a run as unified events, one JSON object per line.
pub struct JsonEvents {
    agent: AgentId,
    /// How many events were written, without lists.
    written: u64,
    /// The call of each item.
    calls: BTreeMap<Number, Call>,
}

/// The call of an item, and what was reported of it.
struct Call {
    tool: String,
    /// The arguments as JSON.
    input: String,
    is_scheduled: bool,
    is_waiting: bool,
    /// Whether somebody has changed the arguments since they were reported.
    is_changed: bool,
}

impl JsonEvents {
    /// The events of this run.
    pub fn new(run: RunId) -> Self {
        Self { agent: AgentId::new(run.to_string()), written: 0, calls: BTreeMap::new() }
    }

    /// The lines for an event; empty if programs are not told about it.
    pub fn event(&mut self, event: Event<'_>, now: Timestamp) -> Vec<u8> {
        let (now, mut out) = (now.as_millisecond(), Vec::new());
        match event {
            Event::Begins { directory, name, .. } => {
                self.begins(&directory.to_string_lossy(), name, now, &mut out);
            }
            Event::Plan(plan) => {
                tell::list(&self.agent, AgentType::Punchlist, plan, &mut out);
            }
            Event::Planned { item, tool, arguments } => self.planned(item, tool, arguments),
            Event::Changed { item, arguments } => self.changed(item, arguments),
            Event::Scheduled(item) => self.scheduled(item, now, &mut out),
            Event::Asked { item, what } => self.asks(item, what, now, &mut out),
            Event::Answered { asked, answered, .. } => {
                if let Some(item) = asked.item {
                    let (word, by) = (questions::word(&answered.answer), &*answered.by.name);
                    self.answered(item, &word, Some(by), now, &mut out);
                }
            }
            Event::Starts(item) => self.started(item, now, &mut out),
            Event::Completed { item, status, text } => {
                self.completed(item, status, text, now, &mut out);
            }
            Event::Held(_)
            | Event::Retries(_)
            | Event::Stops(_)
            | Event::Printed { .. }
            | Event::Lost(_)
            | Event::Question(_)
            | Event::Withdrawn(_)
            | Event::Over => {}
        }
        out
    }

    /// The lines for the end of the run.
    pub fn end(&mut self, ended: &Ended, now: Timestamp) -> Vec<u8> {
        let status = match (ended.code(), ended.sum.is_broken()) {
            (None, _) => Outcome::Success,
            (Some(_), true) => Outcome::Error,
            (Some(_), false) => Outcome::Cancelled,
        };
        let words = format!("{}\n{}", ended.sum.words(), ended.aim.words);
        let (reason, mut out) = (Some(Text::from(words.trim_end())), Vec::new());
        self.write(now.as_millisecond(), Kind::TurnCompleted { status, reason }, &mut out);
        out
    }

    /// Stores the call for an item.
    fn planned(&mut self, item: Number, tool: &str, input: &Value) {
        let (tool, input) = (tool.to_owned(), input.to_string());
        let call = Call { tool, input, is_scheduled: false, is_waiting: false, is_changed: false };
        self.calls.insert(item, call);
    }

    /// Stores changed arguments of a call.
    fn changed(&mut self, item: Number, input: &Value) {
        if let Some(call) = self.calls.get_mut(&item) {
            (call.input, call.is_changed) = (input.to_string(), true);
        }
    }

    fn write(&mut self, now: i64, kind: Kind<'_>, out: &mut Vec<u8>) {
        self.written += 1;
        let event = event::Event {
            agent: &self.agent,
            agent_type: AgentType::Punchlist,
            timestamp: Some(now),
            line: self.written,
            index: 0,
            kind,
        };
        event.write_json(out);
    }

    /// Reports the start of the run.
    fn begins(&mut self, cwd: &str, what: &str, now: i64, out: &mut Vec<u8>) {
        let version = Some(Text::from(env!("CARGO_PKG_VERSION")));
        let kind = Kind::SessionStarted { model: None, cwd: Some(Text::from(cwd)), version };
        self.write(now, kind, out);
        self.write(now, Kind::TurnStarted { prompt: Some(Text::from(what)), turn_id: None }, out);
    }

    /// Reports a call as scheduled, once.
    fn scheduled(&mut self, item: Number, now: i64, out: &mut Vec<u8>) {
        let Some(call) = self.calls.get_mut(&item) else { return };
        if std::mem::replace(&mut call.is_scheduled, true) {
            return;
        }
        let (tool, input) = (call.tool.clone(), call.input.clone());
        let (call_id, name) = (id(item), Text::from(tool.as_str()));
        self.write(now, Kind::ToolScheduled { call_id, name, input: RawJson::of(&input) }, out);
    }

    /// Reports that a call waits for a person.
    fn asks(&mut self, item: Number, question: &str, now: i64, out: &mut Vec<u8>) {
        self.scheduled(item, now, out);
        self.withdrawn(item, now, out);
        if let Some(call) = self.calls.get_mut(&item) {
            call.is_waiting = true;
        }
        let question = Text::from(question);
        self.write(now, Kind::ToolWaiting { call_id: id(item), question }, out);
    }

    /// Reports an answer.
    fn answered(
        &mut self,
        item: Number,
        answer: &str,
        by: Option<&str>,
        now: i64,
        out: &mut Vec<u8>,
    ) {
        if let Some(call) = self.calls.get_mut(&item) {
            call.is_waiting = false;
        }
        let (answer, by) = (Text::from(answer), by.map(Text::from));
        self.write(now, Kind::ToolAnswered { call_id: id(item), answer, by }, out);
    }

    /// Reports that a question was withdrawn without an answer.
    fn withdrawn(&mut self, item: Number, now: i64, out: &mut Vec<u8>) {
        if self.calls.get(&item).is_some_and(|it| it.is_waiting) {
            self.answered(item, "no longer asked", None, now, out);
        }
    }

    /// Reports that a call has started.
    fn started(&mut self, item: Number, now: i64, out: &mut Vec<u8>) {
        self.scheduled(item, now, out);
        self.withdrawn(item, now, out);
        let Some(call) = self.calls.get_mut(&item) else { return };
        let (tool, input) = (call.tool.clone(), call.input.clone());
        let is_changed = std::mem::take(&mut call.is_changed);
        let input = RawJson::of(&input).filter(|_| is_changed);
        let name = Some(Text::from(tool.as_str()));
        self.write(now, Kind::ToolStarted { call_id: id(item), name, input }, out);
    }

    /// Reports that a call has ended.
    fn completed(
        &mut self,
        item: Number,
        status: Outcome,
        output: &str,
        now: i64,
        out: &mut Vec<u8>,
    ) {
        self.scheduled(item, now, out);
        self.withdrawn(item, now, out);
        let tool = self.calls.get(&item).map(|it| it.tool.clone());
        let output = (!output.is_empty()).then(|| Text::from(output));
        let (call_id, name) = (id(item), tool.as_deref().map(Text::from));
        self.write(now, Kind::ToolCompleted { call_id, name, status, output }, out);
    }
}

fn id(item: Number) -> Text<'static> {
    Text::from(item.to_string())
}

#[cfg(test)]
mod tests {
    use punchlist_model::IdSource;
    use serde_json::json;

    use super::*;

    fn kinds(out: &[u8]) -> Vec<String> {
        let lines = std::str::from_utf8(out).unwrap().lines();
        let kind = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap();
            let text = |key: &str| event[key].as_str().map(|it| format!(" {it}"));
            let kind = event["type"].as_str().unwrap().to_owned();
            kind + &text("answer").or_else(|| text("name")).unwrap_or_default()
        };
        lines.map(kind).collect()
    }

    #[test]
    fn a_call_is_scheduled_once_and_whatever_waits_is_answered() {
        let at = Timestamp::UNIX_EPOCH;
        let (item, mut out) = (Number(1), Vec::new());
        let mut teller = JsonEvents::new(RunId(IdSource::fixed(at, 1).nth(0)));
        teller.planned(item, "shell", &json!({"item": 1, "command": "make"}));
        teller.scheduled(item, 0, &mut out);
        teller.asks(item, "make", 0, &mut out);
        teller.answered(item, "with other arguments", Some("she"), 0, &mut out);
        teller.changed(item, &json!({"item": 1, "command": "make all"}));
        teller.scheduled(item, 0, &mut out);
        teller.asks(item, "make all", 0, &mut out);
        teller.completed(item, Outcome::Cancelled, "", 0, &mut out);
        assert_eq!(
            kinds(&out),
            [
                "tool.scheduled shell",
                "tool.waiting",
                "tool.answered with other arguments",
                "tool.waiting",
                "tool.answered no longer asked",
                "tool.completed shell"
            ]
        );
    }

    #[test]
    fn a_call_that_never_got_so_far_is_scheduled_all_the_same_and_other_arguments_are_told() {
        let at = Timestamp::UNIX_EPOCH;
        let (item, mut out) = (Number(1), Vec::new());
        let mut teller = JsonEvents::new(RunId(IdSource::fixed(at, 1).nth(0)));
        teller.planned(item, "shell", &json!({"command": "make"}));
        teller.changed(item, &json!({"command": "make all"}));
        teller.started(item, 0, &mut out);
        assert_eq!(kinds(&out), ["tool.scheduled shell", "tool.started shell"]);
        let lines = String::from_utf8(out).unwrap();
        assert_eq!(lines.matches(r#""input":{"command":"make all"}"#).count(), 2, "{lines}");
    }
}
