//! The events of a record, for readers that follow agents.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::read;
use crate::event::owned::{self, AgentEvent};
use crate::event::{
    AgentId, AgentType, Citation, Event, Item, Kind, Outcome, QueueChange, RawJson, Role, Status,
    Text, Usage,
};
use crate::lines::{LONGEST_LINE, Lines, Piece};

/// Maximum of agents whose ids are kept. A team has far fewer.
const MOST_AGENTS: usize = 256;

/// Reads a record as events. Each event has the number of its line; its id is made from that.
pub struct RecordEvents {
    lines: Lines,
    line: u64,
    agents: BTreeMap<String, AgentId>,
    own: AgentId,
}

impl Default for RecordEvents {
    fn default() -> Self {
        let own = AgentId::new(AgentType::Punchlist.name().to_owned());
        Self { lines: Lines::new(LONGEST_LINE), line: 0, agents: BTreeMap::new(), own }
    }
}

impl RecordEvents {
    /// Adds bytes, and tells the events of the lines that they complete.
    pub fn push(&mut self, chunk: &[u8], sink: &mut dyn FnMut(&Event<'_>)) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.push(chunk, |piece| self.piece(piece, sink));
        self.lines = lines;
    }

    /// Ends the record.
    pub fn end(&mut self, sink: &mut dyn FnMut(&Event<'_>)) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.end(|piece| self.piece(piece, sink));
    }

    fn piece(&mut self, piece: Piece<'_>, sink: &mut dyn FnMut(&Event<'_>)) {
        match piece {
            Piece::Lines(lines) => {
                let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
                for line in lines.split(|it| *it == b'\n') {
                    self.line += 1;
                    match read(line.trim_ascii()) {
                        Ok(Some((_, event))) => self.event(&event, sink),
                        Ok(None) => {}
                        Err(why) => self.warn(why, sink),
                    }
                }
            }
            Piece::TooLong(bytes) => {
                self.line += 1;
                let why = format!("a line of {bytes} bytes; at most {LONGEST_LINE} are read");
                self.warn(why, sink);
            }
        }
    }

    fn warn(&self, why: String, sink: &mut dyn FnMut(&Event<'_>)) {
        let kind = Kind::Warning { line: self.line, why: why.into() };
        let agent_type = AgentType::Punchlist;
        let (agent, line) = (&self.own, self.line);
        sink(&Event { agent, agent_type, timestamp: None, line, index: 0, kind });
    }

    fn event(&mut self, event: &AgentEvent, sink: &mut dyn FnMut(&Event<'_>)) {
        if !self.agents.contains_key(&event.agent_id) {
            if self.agents.len() >= MOST_AGENTS {
                self.agents.pop_first();
            }
            let id = AgentId::new(event.agent_id.clone());
            self.agents.insert(event.agent_id.clone(), id);
        }
        let Some(agent) = self.agents.get(&event.agent_id) else { return };
        let items = if let owned::Kind::TodoList { items, .. } = &event.kind {
            items.iter().map(item).collect()
        } else {
            Vec::new()
        };
        let citations = if let owned::Kind::Text { citations, .. } = &event.kind {
            citations.iter().map(citation).collect()
        } else {
            Vec::new()
        };
        let input = if let owned::Kind::ToolScheduled { input, .. }
        | owned::Kind::ToolStarted { input, .. } = &event.kind
        {
            input.as_ref().map(serde_json::Value::to_string)
        } else {
            None
        };
        let input = input.as_deref().and_then(RawJson::of);
        sink(&Event {
            agent,
            agent_type: agent_type(event.agent_type),
            timestamp: event.timestamp,
            line: self.line,
            index: 0,
            kind: kind(&event.kind, Parts { items: &items, citations: &citations, input }),
        });
    }
}

fn agent_type(it: owned::AgentType) -> AgentType {
    match it {
        owned::AgentType::ClaudeCode => AgentType::ClaudeCode,
        owned::AgentType::OpenaiCodex => AgentType::OpenaiCodex,
        owned::AgentType::GoogleGemini => AgentType::GoogleGemini,
        owned::AgentType::Acp => AgentType::Acp,
        owned::AgentType::Punchlist => AgentType::Punchlist,
    }
}

fn outcome(it: owned::Outcome) -> Outcome {
    match it {
        owned::Outcome::Success => Outcome::Success,
        owned::Outcome::Error => Outcome::Error,
        owned::Outcome::Cancelled => Outcome::Cancelled,
    }
}

fn item(it: &owned::Item) -> Item<'_> {
    let status = match it.status {
        owned::Status::Pending => Status::Pending,
        owned::Status::InProgress => Status::InProgress,
        owned::Status::Completed => Status::Completed,
        owned::Status::Cancelled => Status::Cancelled,
    };
    Item {
        text: text(&it.text),
        status,
        id: maybe(it.id.as_ref()),
        active_form: maybe(it.active_form.as_ref()),
        blocked: it.blocked,
        waiting_on: maybe(it.waiting_on.as_ref()),
        parent: maybe(it.parent.as_ref()),
        assumed: it.assumed,
        unconfirmed: it.unconfirmed,
        source_status: maybe(it.source_status.as_ref()),
    }
}

fn citation(it: &owned::Citation) -> Citation<'_> {
    let owned::Citation { title, url, quote } = it;
    Citation {
        title: maybe(title.as_ref()),
        url: maybe(url.as_ref()),
        quote: maybe(quote.as_ref()),
    }
}

fn text(it: &str) -> Text<'_> {
    Text::from(it)
}

fn maybe(it: Option<&String>) -> Option<Text<'_>> {
    it.map(|it| text(it))
}

/// The parts of an event that a borrowed kind refers to.
struct Parts<'a> {
    /// The items of a list.
    items: &'a [Item<'a>],
    /// The sources of a text.
    citations: &'a [Citation<'a>],
    /// The arguments of a call.
    input: Option<RawJson<'a>>,
}

/// The same kind with borrowed texts.
fn kind<'a>(kind: &'a owned::Kind, parts: Parts<'a>) -> Kind<'a> {
    use owned::Kind as Read;
    let Parts { items, citations, input } = parts;
    match kind {
        Read::SessionStarted { model, cwd, version } => Kind::SessionStarted {
            model: maybe(model.as_ref()),
            cwd: maybe(cwd.as_ref()),
            version: maybe(version.as_ref()),
        },
        Read::TurnStarted { prompt, turn_id } => {
            Kind::TurnStarted { prompt: maybe(prompt.as_ref()), turn_id: maybe(turn_id.as_ref()) }
        }
        Read::Text { role, text: words, delta, .. } => {
            let role = match role {
                owned::Role::Assistant => Role::Assistant,
                owned::Role::User => Role::User,
                owned::Role::System => Role::System,
            };
            Kind::Text { role, text: text(words), delta: *delta, citations }
        }
        Read::Thinking { text: words, delta } => {
            Kind::Thinking { text: text(words), delta: *delta }
        }
        Read::Info { text: words } => Kind::Info { text: text(words) },
        Read::ToolScheduled { call_id, name, .. } => {
            Kind::ToolScheduled { call_id: text(call_id), name: text(name), input }
        }
        Read::ToolWaiting { call_id, question } => {
            Kind::ToolWaiting { call_id: text(call_id), question: text(question) }
        }
        Read::ToolAnswered { call_id, answer, by } => Kind::ToolAnswered {
            call_id: text(call_id),
            answer: text(answer),
            by: maybe(by.as_ref()),
        },
        Read::ToolStarted { call_id, name, .. } => {
            Kind::ToolStarted { call_id: text(call_id), name: maybe(name.as_ref()), input }
        }
        Read::ToolCompleted { call_id, name, status, output } => Kind::ToolCompleted {
            call_id: text(call_id),
            name: maybe(name.as_ref()),
            status: outcome(*status),
            output: maybe(output.as_ref()),
        },
        Read::MessageQueued { text: words, change, message_id, steers } => {
            let change = match change {
                owned::QueueChange::Queued => QueueChange::Queued,
                owned::QueueChange::Edited => QueueChange::Edited,
                owned::QueueChange::Removed => QueueChange::Removed,
                owned::QueueChange::Taken => QueueChange::Taken,
            };
            let (message_id, steers) = (maybe(message_id.as_ref()), *steers);
            Kind::MessageQueued { text: text(words), change, message_id, steers }
        }
        Read::TodoList { todo_id, unconfirmed, .. } => {
            Kind::TodoList { todo_id: Cow::Borrowed(todo_id), items, unconfirmed: *unconfirmed }
        }
        Read::Usage {
            input_tokens,
            output_tokens,
            cached_tokens,
            reasoning_tokens,
            context_tokens,
            context_window,
            cost_usd,
            cumulative,
        } => Kind::Usage(Usage {
            input_tokens: *input_tokens,
            output_tokens: *output_tokens,
            cached_tokens: *cached_tokens,
            reasoning_tokens: *reasoning_tokens,
            context_tokens: *context_tokens,
            context_window: *context_window,
            cost_usd: *cost_usd,
            cumulative: *cumulative,
        }),
        Read::TurnCompleted { status, reason } => {
            Kind::TurnCompleted { status: outcome(*status), reason: maybe(reason.as_ref()) }
        }
        Read::Error { message, code, recoverable } => Kind::Error {
            message: text(message),
            code: maybe(code.as_ref()),
            recoverable: *recoverable,
        },
        Read::Warning { line, why } => Kind::Warning { line: *line, why: Cow::Borrowed(why) },
    }
}
