//! The usage of messages. Each line of a message has a usage, and they differ: the first lines are
//! written while the answer is still growing, so the last one counts.
//!
//! The usage is reported when the agent's next message begins or its turn ends. If another line of
//! the message follows, the difference is reported. Several agents may write into one file at the
//! same time; each is counted separately.

use super::Owner;
use crate::event::{Kind, Usage};
use crate::json::{Object, Str, Value};
use crate::parse::emit::{Emit, Who};
use crate::parse::names::LONGEST_NAME;

/// Maximum of agents whose messages are counted at the same time.
const MOST_AGENTS: usize = 64;

/// The last message of each agent, which may still grow.
#[derive(Default, Debug)]
pub(super) struct Spending(Vec<Message>);

#[derive(Debug)]
struct Message {
    session: String,
    agent: Option<String>,
    /// The literal of the message's id.
    id: String,
    /// The time of its last line.
    timestamp: Option<i64>,
    used: Usage,
    reported: Usage,
}

impl Message {
    fn is_of(&self, owner: &Owner<'_>) -> bool {
        self.session == *owner.session && self.agent.as_deref() == owner.agent.as_deref()
    }

    /// Reports the usage that was not reported yet.
    fn tell(&mut self, emit: &mut Emit<'_>) {
        let rest = beyond(&self.used, &self.reported);
        // Texts of the program in the model's place cost nothing.
        if rest == Usage::default() || self.used.output_tokens == Some(0) {
            return;
        }
        self.reported = self.used;
        emit.at(Who { session: &self.session, agent: self.agent.as_deref() }, self.timestamp);
        emit.event(Kind::Usage(rest));
    }
}

impl Spending {
    /// Starts a line of a message. If it is a new message, the usage of the agent's last one is
    /// reported.
    pub(super) fn begins(&mut self, owner: &Owner<'_>, id: Option<Str<'_>>, emit: &mut Emit<'_>) {
        let Some(at) = self.0.iter().position(|it| it.is_of(owner)) else { return };
        let is_same = id.is_some_and(|it| self.0[at].id == it.literal());
        if !is_same {
            let timestamp = emit.timestamp();
            self.0.remove(at).tell(emit);
            emit.at(owner.who(), timestamp);
        }
    }

    /// Stores the usage of a message so far.
    pub(super) fn used(
        &mut self,
        owner: &Owner<'_>,
        id: Str<'_>,
        usage: Value<'_>,
        emit: &mut Emit<'_>,
    ) {
        if id.literal().len() > LONGEST_NAME || owner.session.len() > LONGEST_NAME {
            return;
        }
        let (used, timestamp) = (spent(usage), emit.timestamp());
        if let Some(known) = self.0.iter_mut().find(|it| it.is_of(owner)) {
            (known.used, known.timestamp) = (used, timestamp);
            return;
        }
        if self.0.len() >= MOST_AGENTS {
            self.0.remove(0).tell(emit);
            emit.at(owner.who(), timestamp);
        }
        self.0.push(Message {
            session: owner.session.clone().into_owned(),
            agent: owner.agent.as_deref().map(str::to_owned),
            id: id.literal().to_owned(),
            timestamp,
            used,
            reported: Usage::default(),
        });
    }

    /// Handles the end of the agent's turn.
    pub(super) fn tell(&mut self, owner: &Owner<'_>, emit: &mut Emit<'_>) {
        if let Some(known) = self.0.iter_mut().find(|it| it.is_of(owner)) {
            let timestamp = emit.timestamp();
            known.tell(emit);
            emit.at(owner.who(), timestamp);
        }
    }

    /// Handles the end of the stream.
    pub(super) fn tell_all(&mut self, emit: &mut Emit<'_>) {
        self.0.drain(..).for_each(|mut it| it.tell(emit));
    }
}

/// The part of the usage that was not reported yet.
fn beyond(used: &Usage, reported: &Usage) -> Usage {
    let rest = |used: Option<u64>, reported: Option<u64>| match (used, reported) {
        (Some(used), Some(reported)) => Some(used.saturating_sub(reported)).filter(|it| *it > 0),
        (used, None) => used,
        (None, Some(_)) => None,
    };
    Usage {
        input_tokens: rest(used.input_tokens, reported.input_tokens),
        output_tokens: rest(used.output_tokens, reported.output_tokens),
        cached_tokens: rest(used.cached_tokens, reported.cached_tokens),
        ..Usage::default()
    }
}

/// Reads tokens as the API counts them: cached ones are not in `input_tokens`.
pub(super) fn spent(usage: Value<'_>) -> Usage {
    let (mut input, mut created, mut cached, mut output) = (None, None, None, None);
    for (key, value) in usage.object().iter().flat_map(Object::fields) {
        match key {
            "input_tokens" => input = value.u64(),
            "cache_creation_input_tokens" => created = value.u64(),
            "cache_read_input_tokens" => cached = value.u64(),
            "output_tokens" => output = value.u64(),
            _ => {}
        }
    }
    let sum = |it: u64| it.saturating_add(created.unwrap_or(0)).saturating_add(cached.unwrap_or(0));
    Usage {
        input_tokens: input.map(sum),
        output_tokens: output,
        cached_tokens: cached,
        ..Usage::default()
    }
}
