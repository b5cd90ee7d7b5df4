//! A session as unified events, one JSON object per line. Pure.

use punchlist_engine::workers::Agent;
use punchlist_formats::view::questions;
use punchlist_model::{ConversationId, Timestamp};
use punchlist_streams::event::{
    self, AgentId, AgentType, Kind, Outcome, RawJson, Role, Text, Usage,
};
use punchlist_streams::watch::tell;

use super::event::{Ended, Event, LeaderEvent};
use super::queue::{QueueChange, Queued};
use crate::provider::{Arguments, Citation, ModelCall};
use crate::turn::{Abort, Ending, Purpose};

/// Writes a session as unified events.
pub struct JsonEvents {
    agent: AgentId,
    agent_type: AgentType,
    /// The directory and the request of a session whose id is not known yet.
    begins: Option<(String, String)>,
    /// How many events were written, without lists.
    written: u64,
    /// The calls of questions that wait.
    waiting: Vec<(punchlist_model::QuestionId, String)>,
    /// The tools of the plan. Programs are told the list in place of their calls.
    plan_tools: Vec<String>,
    /// Whether the text that arrives is meant for the user.
    is_shown: bool,
}

impl JsonEvents {
    /// The events of this session.
    pub fn new(session: ConversationId) -> Self {
        Self::of(session.to_string(), AgentType::Punchlist)
    }

    /// The events of a session that another agent leads. It has the agent's name until its id is known.
    pub fn led_by(agent: Agent, directory: &str, request: &str) -> Self {
        let agent_type = match agent {
            Agent::Claude => AgentType::ClaudeCode,
            Agent::Codex => AgentType::OpenaiCodex,
            Agent::Gemini => AgentType::GoogleGemini,
        };
        let begins = Some((directory.to_owned(), request.to_owned()));
        Self { begins, ..Self::of(agent.as_str().to_owned(), agent_type) }
    }

    fn of(id: String, agent_type: AgentType) -> Self {
        Self {
            agent: AgentId::new(id),
            agent_type,
            begins: None,
            written: 0,
            waiting: Vec::new(),
            plan_tools: Vec::new(),
            is_shown: true,
        }
    }

    /// The same, where these are the tools of the plan.
    #[must_use]
    pub fn with_plan_tools(mut self, tools: Vec<String>) -> Self {
        self.plan_tools = tools;
        self
    }

    /// The lines for the start of a session.
    pub fn started(&mut self, model: &str, cwd: &str, now: Timestamp) -> Vec<u8> {
        let mut out = Vec::new();
        let version = Some(Text::from(env!("CARGO_PKG_VERSION")));
        let (model, cwd) = (Some(Text::from(model)), Some(Text::from(cwd)));
        self.write(now, Kind::SessionStarted { model, cwd, version }, &mut out);
        out
    }

    /// The lines for an event; empty if programs are not told about it.
    pub fn event(&mut self, event: &Event, now: Timestamp) -> Vec<u8> {
        let mut out = Vec::new();
        match event {
            Event::Calling(purpose) => self.is_shown = is_for_user(*purpose),
            Event::Text(text) if self.is_shown => self.said(text, true, &[], now, &mut out),
            Event::Thinking(text) => {
                let text = Text::from(text.as_str());
                self.write(now, Kind::Thinking { text, delta: true }, &mut out);
            }
            Event::Retry { why, wait } => {
                let message = format!("{why}; repeated in {} s", wait.as_secs());
                let message = Text::from(message.as_str());
                self.write(now, Kind::Error { message, code: None, recoverable: true }, &mut out);
            }
            Event::Answered { citations, calls, usage, cost_micros, .. } => {
                self.sources(citations, now, &mut out);
                self.usage(*usage, *cost_micros, now, &mut out);
                calls.iter().for_each(|it| self.scheduled(it, now, &mut out));
            }
            Event::CallStarted(call) if self.is_plans(call) => {}
            Event::CallEnded { call, .. } if self.is_plans(call) => {}
            Event::CallStarted(call) => {
                let (call_id, name) = (id(call), Some(Text::from(call.tool.as_str())));
                self.write(now, Kind::ToolStarted { call_id, name, input: None }, &mut out);
            }
            Event::CallEnded { call, is_error, is_cancelled, text } => {
                let status = match (is_error, is_cancelled) {
                    (_, true) => Outcome::Cancelled,
                    (true, false) => Outcome::Error,
                    (false, false) => Outcome::Success,
                };
                let (call_id, name) = (id(call), Some(Text::from(call.tool.as_str())));
                let output = Some(Text::from(text.as_str()));
                self.write(now, Kind::ToolCompleted { call_id, name, status, output }, &mut out);
            }
            Event::Asked { asked, call } => {
                let what = asked.command.as_deref().unwrap_or(&asked.what);
                self.waiting.push((asked.id, call.id.0.clone()));
                let (call_id, question) = (id(call), Text::from(what));
                self.write(now, Kind::ToolWaiting { call_id, question }, &mut out);
            }
            Event::Settled { question, answered } => {
                let Some(at) = self.waiting.iter().position(|(it, _)| it == question) else {
                    return out;
                };
                let (_, call_id) = self.waiting.remove(at);
                let word = answered.as_ref().map(|it| questions::word(&it.answer));
                let word = word.unwrap_or_else(|| "no longer asked".to_owned());
                let by = answered.as_ref().map(|it| Text::from(it.by.name.as_str()));
                let (call_id, answer) = (Text::from(call_id.as_str()), Text::from(word.as_str()));
                self.write(now, Kind::ToolAnswered { call_id, answer, by }, &mut out);
            }
            Event::Plan { now: plan, .. } => {
                // The plan was changed before what was told meanwhile. The order of events is that of
                // their times.
                tell::list_at(&self.agent, self.agent_type, plan, now, &mut out);
            }
            Event::Refused { open, .. } => {
                let text = format!("the answer was not accepted: {open} items are open");
                self.write(now, Kind::Info { text: Text::from(text.as_str()) }, &mut out);
            }
            Event::Steered(text) => {
                let (role, text) = (Role::User, Text::from(text.as_str()));
                let kind = Kind::Text { role, text, delta: false, citations: &[] };
                self.write(now, kind, &mut out);
            }
            Event::Queued(queued) => self.queued(queued, now, &mut out),
            Event::NotQueued { why, .. } => {
                let message = Text::from(why.as_str());
                self.write(now, Kind::Error { message, code: None, recoverable: true }, &mut out);
            }
            Event::Info(text) => {
                self.write(now, Kind::Info { text: Text::from(text.as_str()) }, &mut out);
            }
            Event::Compacting => {}
            Event::Compacted => {
                let text = Text::from("older parts of the conversation were summarised");
                self.write(now, Kind::Info { text }, &mut out);
            }
            Event::Waiting { until, on } => {
                let until = until.map(|it| format!(" until {it}")).unwrap_or_default();
                let text = format!("waits for {on}{until}");
                self.write(now, Kind::Info { text: Text::from(text.as_str()) }, &mut out);
            }
            Event::Worker { worker, event } => {
                let sub_agent = AgentId::new(format!("{}/{worker}", self.agent.as_str()));
                let agent = std::mem::replace(&mut self.agent, sub_agent);
                // The text of a worker is told as the result of the call.
                let is_shown = std::mem::replace(&mut self.is_shown, false);
                out = self.event(event, now);
                (self.agent, self.is_shown) = (agent, is_shown);
            }
            Event::Leader(event) => self.leader(event, now, &mut out),
            Event::Ended(ended) => self.ended(ended, now, &mut out),
            Event::Began { id, request, .. } => {
                let prompt = (!request.is_empty()).then(|| Text::from(request.as_str()));
                let turn_id = Some(Text::from(id.as_str()));
                self.write(now, Kind::TurnStarted { prompt, turn_id }, &mut out);
            }
            Event::Text(_) | Event::CallOutput { .. } => {}
        }
        out
    }

    /// Writes what the agent says.
    fn said(
        &mut self,
        text: &str,
        delta: bool,
        cited: &[Citation],
        now: Timestamp,
        out: &mut Vec<u8>,
    ) {
        let citations: Vec<event::Citation<'_>> = cited.iter().map(citation).collect();
        let (role, text, citations) = (Role::Assistant, Text::from(text), &citations[..]);
        self.write(now, Kind::Text { role, text, delta, citations }, out);
    }

    /// Writes what the text so far refers to. That arrives with the end of the answer.
    fn sources(&mut self, citations: &[Citation], now: Timestamp, out: &mut Vec<u8>) {
        if self.is_shown && !citations.is_empty() {
            self.said("", true, citations, now, out);
        }
    }

    fn queued(&mut self, queued: &Queued, now: Timestamp, out: &mut Vec<u8>) {
        let (change, message) = match &queued.change {
            QueueChange::Added(it) => (event::QueueChange::Queued, it),
            QueueChange::Edited(it) => (event::QueueChange::Edited, it),
            QueueChange::Removed(it) => (event::QueueChange::Removed, it),
            QueueChange::Taken(it) => (event::QueueChange::Taken, it),
            QueueChange::Paused(is_paused) if !queued.waiting.is_empty() => {
                let words = if *is_paused { "paused" } else { "taken up again" };
                let text = format!("the queue is {words}");
                return self.write(now, Kind::Info { text: Text::from(text.as_str()) }, out);
            }
            QueueChange::Reordered | QueueChange::Paused(_) => return,
        };
        let (text, id) = (Text::from(message.text.as_str()), message.id.to_string());
        let kind = Kind::MessageQueued {
            text,
            change,
            message_id: Some(Text::from(id.as_str())),
            steers: message.steer,
        };
        self.write(now, kind, out);
    }

    fn leader(&mut self, event: &LeaderEvent, now: Timestamp, out: &mut Vec<u8>) {
        match event {
            LeaderEvent::Began { session, model, version } => {
                self.agent = AgentId::new(session.clone());
                let (cwd, request) = self.begins.take().unwrap_or_default();
                let cwd = Some(Text::from(cwd.as_str()));
                let model = model.as_deref().map(Text::from);
                let version = version.as_deref().map(Text::from);
                self.write(now, Kind::SessionStarted { model, cwd, version }, out);
                let prompt = Some(Text::from(request.as_str()));
                self.write(now, Kind::TurnStarted { prompt, turn_id: None }, out);
            }
            LeaderEvent::Call(call) => self.scheduled(call, now, out),
            LeaderEvent::Used(usage) => self.write(now, Kind::Usage(*usage), out),
        }
    }

    fn is_plans(&self, call: &ModelCall) -> bool {
        self.plan_tools.contains(&call.tool)
    }

    fn scheduled(&mut self, call: &ModelCall, now: Timestamp, out: &mut Vec<u8>) {
        if self.is_plans(call) {
            return;
        }
        let input = match &call.arguments {
            Arguments::Object(arguments) => arguments.to_string(),
            Arguments::Invalid(text) => serde_json::Value::from(text.as_str()).to_string(),
        };
        let (call_id, name) = (id(call), Text::from(call.tool.as_str()));
        self.write(now, Kind::ToolScheduled { call_id, name, input: RawJson::of(&input) }, out);
    }

    fn usage(
        &mut self,
        usage: crate::provider::TokenUsage,
        cost_micros: Option<u64>,
        now: Timestamp,
        out: &mut Vec<u8>,
    ) {
        let usage = Usage {
            input_tokens: Some(usage.input),
            output_tokens: Some(usage.output),
            cached_tokens: (usage.cache_read > 0).then_some(usage.cache_read),
            reasoning_tokens: (usage.thinking > 0).then_some(usage.thinking),
            context_tokens: Some(usage.input.saturating_add(usage.output)),
            context_window: None,
            cost_usd: cost_micros.map(|it| it as f64 / 1_000_000.0),
            cumulative: false,
        };
        self.write(now, Kind::Usage(usage), out);
    }

    fn ended(&mut self, ended: &Ended, now: Timestamp, out: &mut Vec<u8>) {
        if !ended.answer.is_empty() {
            self.said(&ended.answer, false, &ended.citations, now, out);
        }
        if let Ending::Failed(why) = &ended.ending {
            let message = Text::from(why.as_str());
            self.write(now, Kind::Error { message, code: None, recoverable: false }, out);
        }
        let status = match (&ended.ending, ended.exit()) {
            (Ending::Aborted(_), _) => Outcome::Cancelled,
            (_, 0 | 7) => Outcome::Success,
            _ => Outcome::Error,
        };
        let reason = ended.ending.words();
        let reason = Some(Text::from(reason.as_str()));
        self.write(now, Kind::TurnCompleted { status, reason }, out);
    }

    fn write(&mut self, now: Timestamp, kind: Kind<'_>, out: &mut Vec<u8>) {
        self.written += 1;
        let event = event::Event {
            agent: &self.agent,
            agent_type: self.agent_type,
            timestamp: Some(now.as_millisecond()),
            line: self.written,
            index: 0,
            kind,
        };
        event.write_json(out);
    }
}

/// Whether the answer to a model call is meant for the user. The others are for the runtime.
pub fn is_for_user(purpose: Purpose) -> bool {
    match purpose {
        Purpose::Work
        | Purpose::FinalAnswer
        | Purpose::Direct
        | Purpose::Item(_)
        | Purpose::Plan => true,
        Purpose::Classify | Purpose::Validate => false,
    }
}

/// A citation without what the provider left empty.
fn citation(cited: &Citation) -> event::Citation<'_> {
    fn given(text: &str) -> Option<Text<'_>> {
        Some(text).filter(|it| !it.is_empty()).map(Text::from)
    }
    let Citation { title, url, quote } = cited;
    event::Citation { title: given(title), url: given(url), quote: given(quote) }
}

fn id(call: &ModelCall) -> Text<'_> {
    Text::from(call.id.0.as_str())
}

impl Ending {
    /// How a turn ended, in words.
    pub fn words(&self) -> String {
        match self {
            Self::Answered => "answered".to_owned(),
            Self::Asked => "the answer asks you something".to_owned(),
            Self::Planned => "planned".to_owned(),
            Self::LetGo => "the model stopped with items open".to_owned(),
            Self::Limit => "the limit of model calls or steps was reached".to_owned(),
            Self::Stuck => "items are open, and none can be started".to_owned(),
            Self::PlanningFailed => "no plan was made".to_owned(),
            Self::NotValidated => "the task was not found complete".to_owned(),
            Self::Unfit => "the answer does not fit the output schema".to_owned(),
            Self::Failed(why) => why.clone(),
            Self::Aborted(Abort::User) => "stopped".to_owned(),
            Self::Aborted(Abort::Budget(why)) => why.clone(),
        }
    }
}
