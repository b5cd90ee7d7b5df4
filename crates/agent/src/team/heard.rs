//! The events of a member: those of its program under the member's name, and our own about its turns.
//! Pure.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use punchlist_model::Timestamp;
use punchlist_streams::event::owned::AgentEvent;
use punchlist_streams::event::{AgentId, AgentType, Event, Kind, Outcome, QueueChange, Text};

use crate::workers::WorkerEnd;

/// Renames events.
pub(super) struct Heard {
    name: String,
    agent: AgentId,
    agent_type: AgentType,
    /// How many events are our own, of this and of those [`Self::beside`] it.
    own: Arc<AtomicU32>,
    /// How many streams were read. Each counts its lines and its lists from the beginning.
    streams: u32,
    /// The lines of the streams before, and the last line of this one.
    lines_before: u64,
    last_line: u64,
}

impl Heard {
    pub(super) fn new(name: &str, agent_type: AgentType) -> Self {
        Self {
            name: name.to_owned(),
            agent: AgentId::new(name.to_owned()),
            agent_type,
            own: Arc::default(),
            streams: 0,
            lines_before: 0,
            last_line: 0,
        }
    }

    /// The same for events that do not come from the member's turn. No two have the same id.
    pub(super) fn beside(&self) -> Self {
        Self { own: Arc::clone(&self.own), ..Self::new(&self.name, self.agent_type) }
    }

    /// The queue of the member's messages has changed.
    pub(super) fn queued(
        &mut self,
        text: &str,
        id: &str,
        change: QueueChange,
        now: Timestamp,
    ) -> Option<AgentEvent> {
        let (text, message_id) = (Text::from(text), Some(Text::from(id)));
        self.own(Kind::MessageQueued { text, change, message_id, steers: false }, now)
    }

    /// A new stream begins.
    pub(super) fn stream_begins(&mut self) {
        self.streams += 1;
        self.lines_before = self.last_line;
    }

    /// An event of the program under the member's name; `None` for those about turns, which are told
    /// once per turn however the program ends, and for what a person typed.
    pub(super) fn renamed(&mut self, event: &Event<'_>, now: Timestamp) -> Option<AgentEvent> {
        let sub = event.agent.as_str().split_once('/').map(|it| it.1);
        if sub.is_none()
            && matches!(event.kind, Kind::TurnStarted { .. } | Kind::TurnCompleted { .. })
        {
            return None;
        }
        let mut event = event.clone();
        let of_sub = sub.map(|it| AgentId::new(format!("{}/{it}", self.name)));
        event.agent = of_sub.as_ref().unwrap_or(&self.agent);
        event.agent_type = self.agent_type;
        event.timestamp = event.timestamp.or_else(|| Some(now.as_millisecond()));
        event.line += self.lines_before;
        self.last_line = self.last_line.max(event.line);
        if let Kind::TodoList { todo_id, .. } = &mut event.kind
            && self.streams > 1
        {
            *todo_id = Cow::Owned(format!("{todo_id}@{}", self.streams));
        }
        owned(&event)
    }

    /// The member begins a turn.
    pub(super) fn begins(&mut self, prompt: &str, now: Timestamp) -> Vec<AgentEvent> {
        self.own(Kind::TurnStarted { prompt: Some(Text::from(prompt)), turn_id: None }, now)
            .into_iter()
            .collect()
    }

    /// A note about the member.
    pub(super) fn note(&mut self, text: &str, now: Timestamp) -> Option<AgentEvent> {
        self.own(Kind::Info { text: Text::from(text) }, now)
    }

    /// A call of the member waits for a permission.
    pub(super) fn waits(
        &mut self,
        call: &str,
        question: &str,
        now: Timestamp,
    ) -> Option<AgentEvent> {
        let (call_id, question) = (Text::from(call), Text::from(question));
        self.own(Kind::ToolWaiting { call_id, question }, now)
    }

    /// It was decided whether a call may run.
    pub(super) fn answered(
        &mut self,
        call: &str,
        answer: &str,
        by: Option<&str>,
        now: Timestamp,
    ) -> Option<AgentEvent> {
        let (call_id, answer) = (Text::from(call), Text::from(answer));
        self.own(Kind::ToolAnswered { call_id, answer, by: by.map(Text::from) }, now)
    }

    /// The member's turn has ended.
    pub(super) fn ends(&mut self, end: &WorkerEnd, now: Timestamp) -> Vec<AgentEvent> {
        let reason = end.to_string();
        let (status, is_error) = match end {
            WorkerEnd::Well => (Outcome::Success, false),
            WorkerEnd::Cancelled => (Outcome::Cancelled, false),
            WorkerEnd::Failed(_) | WorkerEnd::TimedOut(_) | WorkerEnd::UsageLimit { .. } => {
                (Outcome::Error, true)
            }
        };
        let message = Text::from(reason.as_str());
        let error = Kind::Error { message: message.clone(), code: None, recoverable: false };
        let error = is_error.then(|| self.own(error, now)).flatten();
        let ended = self.own(Kind::TurnCompleted { status, reason: Some(message) }, now);
        error.into_iter().chain(ended).collect()
    }

    /// An event of our own. Lines of streams count from 1, so line 0 is free for them.
    fn own(&mut self, kind: Kind<'_>, now: Timestamp) -> Option<AgentEvent> {
        let index = self.own.fetch_add(1, Ordering::Relaxed) + 1;
        owned(&Event {
            agent: &self.agent,
            agent_type: self.agent_type,
            timestamp: Some(now.as_millisecond()),
            line: 0,
            index,
            kind,
        })
    }
}

/// The event as plain data. Both forms have the same JSON.
fn owned(event: &Event<'_>) -> Option<AgentEvent> {
    let mut line = Vec::new();
    event.write_json(&mut line);
    serde_json::from_slice(&line).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use punchlist_streams::event::owned::Kind as Owned;
    use punchlist_streams::{Options, Source, Stream};

    use super::*;

    const LINES: &str = r#"{"type":"thread.started","thread_id":"t-1"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"item_0","type":"todo_list","items":[{"text":"A","completed":false}]}}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Done."}}
{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}
"#;

    fn turn(heard: &mut Heard, end: &WorkerEnd) -> Vec<AgentEvent> {
        let now = Timestamp::UNIX_EPOCH;
        heard.stream_begins();
        let mut all = heard.begins("Do it", now);
        let mut stream = Stream::new(Source::Codex, Options::default());
        let mut take = |event: &Event<'_>| all.extend(heard.renamed(event, now));
        stream.push(LINES.as_bytes(), &mut take);
        stream.end(&mut take);
        all.extend(heard.ends(end, now));
        all
    }

    #[test]
    fn events_carry_the_members_name_and_every_turn_begins_and_ends_once() {
        let mut heard = Heard::new("Max", AgentType::OpenaiCodex);
        let mut all = turn(&mut heard, &WorkerEnd::Well);
        all.extend(turn(&mut heard, &WorkerEnd::TimedOut(5)));
        assert!(all.iter().all(|it| it.agent_id == "Max" && it.timestamp.is_some()));
        let ids: BTreeSet<_> = all.iter().map(|it| it.event_id).collect();
        assert_eq!(ids.len(), all.len(), "{all:?}");
        let count = |is: fn(&Owned) -> bool| all.iter().filter(|it| is(&it.kind)).count();
        assert_eq!(count(|it| matches!(it, Owned::TurnStarted { .. })), 2);
        assert_eq!(count(|it| matches!(it, Owned::TurnCompleted { .. })), 2);
        assert_eq!(count(|it| matches!(it, Owned::Error { .. })), 1);
        let lists: BTreeSet<_> = all
            .iter()
            .filter_map(|it| {
                let Owned::TodoList { todo_id, .. } = &it.kind else { return None };
                Some(todo_id.clone())
            })
            .collect();
        assert_eq!(lists.len(), 2, "{lists:?}");
    }
}
