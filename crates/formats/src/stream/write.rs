//! Events as lines of JSON. What a line looks like is decided here and in [`super::owned`], and a test
//! holds the two together.

use uuid::Uuid;

use super::event::{Event, Item, Kind, KindName, RawJson, Text};
use super::json;

impl Event<'_> {
    /// The same for the same agent, line and index: `LINE:INDEX`, or `LINE:todo_list:INDEX` for a list, in
    /// a namespace that is the agent's id in a namespace of ours.
    pub fn id(&self) -> Uuid {
        let mut name = Vec::with_capacity(32);
        number(&mut name, self.line);
        name.push(b':');
        if self.kind.name() == KindName::TodoList {
            name.extend_from_slice(KindName::TodoList.name().as_bytes());
            name.push(b':');
        }
        number(&mut name, u64::from(self.index));
        Uuid::new_v5(&self.agent.namespace, &name)
    }

    /// Appends the event as one line of JSON, with its newline.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"eventId\":\"");
        let mut buffer = Uuid::encode_buffer();
        out.extend_from_slice(self.id().hyphenated().encode_lower(&mut buffer).as_bytes());
        out.extend_from_slice(b"\",\"agentId\":");
        json::write_string(&self.agent.id, out);
        out.extend_from_slice(b",\"agentType\":\"");
        out.extend_from_slice(self.agent_type.name().as_bytes());
        out.extend_from_slice(b"\",\"timestamp\":");
        match self.timestamp {
            Some(at) if at < 0 => {
                out.push(b'-');
                number(out, at.unsigned_abs());
            }
            Some(at) => number(out, at.unsigned_abs()),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"type\":\"");
        out.extend_from_slice(self.kind.name().name().as_bytes());
        out.push(b'"');
        self.kind.write_fields(out);
        out.extend_from_slice(b"}\n");
    }
}

impl Kind<'_> {
    fn write_fields(&self, out: &mut Vec<u8>) {
        match self {
            Self::SessionStarted { model, cwd, version } => {
                text(out, "model", model.as_ref());
                text(out, "cwd", cwd.as_ref());
                text(out, "version", version.as_ref());
            }
            Self::TurnStarted { prompt } => text(out, "prompt", prompt.as_ref()),
            Self::Text { role, text: said, delta } => {
                word(out, "role", role.name());
                text(out, "text", Some(said));
                flag(out, "delta", *delta);
            }
            Self::Thinking { text: said, delta } => {
                text(out, "text", Some(said));
                flag(out, "delta", *delta);
            }
            Self::ToolScheduled { call_id, name, input } => {
                text(out, "callId", Some(call_id));
                text(out, "name", Some(name));
                raw(out, "input", *input);
            }
            Self::ToolWaiting { call_id, question } => {
                text(out, "callId", Some(call_id));
                text(out, "question", Some(question));
            }
            Self::ToolAnswered { call_id, answer, by } => {
                text(out, "callId", Some(call_id));
                text(out, "answer", Some(answer));
                text(out, "by", by.as_ref());
            }
            Self::ToolStarted { call_id, name, input } => {
                text(out, "callId", Some(call_id));
                text(out, "name", name.as_ref());
                raw(out, "input", *input);
            }
            Self::ToolCompleted { call_id, name, status, output } => {
                text(out, "callId", Some(call_id));
                text(out, "name", name.as_ref());
                word(out, "status", status.name());
                text(out, "output", output.as_ref());
            }
            Self::MessageQueued { text: said } => text(out, "text", Some(said)),
            Self::TodoList { todo_id, items, unconfirmed } => {
                key(out, "todoId");
                json::write_string(todo_id, out);
                key(out, "items");
                out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    item.write(out);
                }
                out.push(b']');
                flag(out, "unconfirmed", *unconfirmed);
            }
            Self::Usage(usage) => {
                count(out, "inputTokens", usage.input_tokens);
                count(out, "outputTokens", usage.output_tokens);
                count(out, "cachedTokens", usage.cached_tokens);
                count(out, "reasoningTokens", usage.reasoning_tokens);
                if let Some(cost) = usage.cost_usd.filter(|it| it.is_finite()) {
                    key(out, "costUsd");
                    out.extend_from_slice(format!("{cost:?}").as_bytes());
                }
                flag(out, "cumulative", usage.cumulative);
            }
            Self::TurnCompleted { status, reason } => {
                word(out, "status", status.name());
                text(out, "reason", reason.as_ref());
            }
            Self::Error { message, code, recoverable } => {
                text(out, "message", Some(message));
                text(out, "code", code.as_ref());
                flag(out, "recoverable", *recoverable);
            }
            Self::Warning { line, why } => {
                count(out, "line", Some(*line));
                key(out, "why");
                json::write_string(why, out);
            }
        }
    }
}

fn key(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn text(out: &mut Vec<u8>, name: &str, value: Option<&Text<'_>>) {
    if let Some(value) = value {
        key(out, name);
        value.write(out);
    }
}

fn word(out: &mut Vec<u8>, name: &str, value: &str) {
    key(out, name);
    out.push(b'"');
    out.extend_from_slice(value.as_bytes());
    out.push(b'"');
}

fn flag(out: &mut Vec<u8>, name: &str, value: bool) {
    if value {
        key(out, name);
        out.extend_from_slice(b"true");
    }
}

fn count(out: &mut Vec<u8>, name: &str, value: Option<u64>) {
    if let Some(value) = value {
        key(out, name);
        number(out, value);
    }
}

fn raw(out: &mut Vec<u8>, name: &str, value: Option<RawJson<'_>>) {
    if let Some(value) = value.filter(|it| it.0 != "null") {
        key(out, name);
        out.extend_from_slice(value.0.as_bytes());
    }
}

/// Appends a number in decimal digits.
fn number(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

impl Item<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"text\":");
        self.text.write(out);
        out.extend_from_slice(b",\"status\":\"");
        out.extend_from_slice(self.status.name().as_bytes());
        out.push(b'"');
        text(out, "id", self.id.as_ref());
        text(out, "activeForm", self.active_form.as_ref());
        flag(out, "blocked", self.blocked);
        text(out, "waitingOn", self.waiting_on.as_ref());
        text(out, "parent", self.parent.as_ref());
        flag(out, "assumed", self.assumed);
        flag(out, "unconfirmed", self.unconfirmed);
        text(out, "sourceStatus", self.source_status.as_ref());
        out.push(b'}');
    }
}
