//! Writes events as lines of JSON. The attributes of [`super::Event`]'s parts define the format,
//! and so does [`super::owned`]; a test compares the two.

use serde::Serialize;
use uuid::Uuid;

use super::{AgentType, Event, Kind, KindName};

/// An event in the form that is serialized.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    event_id: Uuid,
    agent_id: &'a str,
    agent_type: AgentType,
    timestamp: Option<i64>,
    #[serde(flatten)]
    kind: &'a Kind<'a>,
}

impl Event<'_> {
    /// The event's id. It is always the same for the same agent, line and index: `LINE:INDEX`, or
    /// `LINE:todo_list:INDEX` for a list, in the namespace of the agent's id.
    pub fn id(&self) -> Uuid {
        let Self { line, index, .. } = self;
        let kind = self.kind.name();
        let name = if kind == KindName::TodoList {
            format!("{line}:{kind}:{index}")
        } else {
            format!("{line}:{index}")
        };
        Uuid::new_v5(&self.agent.namespace, name.as_bytes())
    }

    /// Appends the event as one line of JSON, with its line break.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let written = Written {
            event_id: self.id(),
            agent_id: &self.agent.id,
            agent_type: self.agent_type,
            timestamp: self.timestamp,
            kind: &self.kind,
        };
        serde_json::to_writer(&mut *out, &written).expect("an event is JSON, and memory takes it");
        out.push(b'\n');
    }
}
