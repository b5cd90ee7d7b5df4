//! A run for programs: unified events, one a line. Pure.
//!
//! The run is the agent, and each item that it takes on is a call. The list comes whole with every change
//! of the plan, as it does from any other agent.

use punchlist_formats::stream::event::{AgentId, AgentType, Event, Kind, Outcome, Text};
use punchlist_formats::watch::tell;
use punchlist_model::{Number, Plan, RunId};

/// Writes a run's events down.
pub(crate) struct Teller {
    agent: AgentId,
    /// How many events were told, lists left aside.
    told: u64,
}

impl Teller {
    /// Of this run.
    pub(crate) fn new(run: RunId) -> Self {
        Self { agent: AgentId::new(run.to_string()), told: 0 }
    }

    fn event(&mut self, now: i64, kind: Kind<'_>, out: &mut Vec<u8>) {
        self.told += 1;
        let event = Event {
            agent: &self.agent,
            agent_type: AgentType::Punchlist,
            timestamp: Some(now),
            line: self.told,
            index: 0,
            kind,
        };
        event.write_json(out);
    }

    /// The run has begun, in this directory.
    pub(crate) fn begins(&mut self, cwd: &str, what: &str, now: i64, out: &mut Vec<u8>) {
        let version = Some(Text::from(env!("CARGO_PKG_VERSION")));
        let kind = Kind::SessionStarted { model: None, cwd: Some(Text::from(cwd)), version };
        self.event(now, kind, out);
        self.event(now, Kind::TurnStarted { prompt: Some(Text::from(what)) }, out);
    }

    /// The plan as it is now.
    pub(crate) fn list(&self, plan: &Plan, out: &mut Vec<u8>) {
        tell::list_of(&self.agent, plan, out);
    }

    /// An item is to be done by this tool.
    pub(crate) fn scheduled(&mut self, item: Number, tool: &str, now: i64, out: &mut Vec<u8>) {
        let (call_id, name) = (id(item), Text::from(tool));
        self.event(now, Kind::ToolScheduled { call_id, name, input: None }, out);
    }

    /// A person is asked.
    pub(crate) fn asks(&mut self, item: Number, question: &str, now: i64, out: &mut Vec<u8>) {
        let question = Text::from(question);
        self.event(now, Kind::ToolWaiting { call_id: id(item), question }, out);
    }

    /// Somebody answered.
    pub(crate) fn answered(
        &mut self,
        item: Number,
        answer: &str,
        by: &str,
        now: i64,
        out: &mut Vec<u8>,
    ) {
        let (answer, by) = (Text::from(answer), Some(Text::from(by)));
        self.event(now, Kind::ToolAnswered { call_id: id(item), answer, by }, out);
    }

    /// An item begins.
    pub(crate) fn started(&mut self, item: Number, tool: &str, now: i64, out: &mut Vec<u8>) {
        let name = Some(Text::from(tool));
        self.event(now, Kind::ToolStarted { call_id: id(item), name, input: None }, out);
    }

    /// An item's call ended.
    pub(crate) fn completed(
        &mut self,
        item: Number,
        status: Outcome,
        output: &str,
        now: i64,
        out: &mut Vec<u8>,
    ) {
        let output = (!output.is_empty()).then(|| Text::from(output));
        let call_id = id(item);
        self.event(now, Kind::ToolCompleted { call_id, name: None, status, output }, out);
    }

    /// The run is over.
    pub(crate) fn ends(&mut self, status: Outcome, words: &str, now: i64, out: &mut Vec<u8>) {
        let reason = Some(Text::from(words));
        self.event(now, Kind::TurnCompleted { status, reason }, out);
    }
}

fn id(item: Number) -> Text<'static> {
    Text::from(item.to_string())
}
