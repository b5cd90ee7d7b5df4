//! What messages used. The lines of one message each say so, and differ: the first ones are written while
//! the answer still grows, so the last one counts.
//!
//! It is told when the agent's next message begins or its turn ends. Should a line of the message come after
//! that, what it adds is told too. Agents may write side by side into one file; each is counted by itself.

use super::Owner;
use crate::event::{Kind, Usage};
use crate::json::{Object, Str, Value};
use crate::parse::emit::{Emit, Who};
use crate::parse::names::LONGEST_NAME;

/// The most agents whose messages are counted at once.
const MOST_AGENTS: usize = 64;

/// Messages that may still grow.
#[derive(Default, Debug)]
pub(super) struct Spending(Vec<Message>);

#[derive(Debug)]
struct Message {
    session: String,
    agent: Option<String>,
    /// The message's id, as it was written.
    id: String,
    /// When its last line was written.
    timestamp: Option<i64>,
    used: Usage,
    told: Usage,
}

impl Message {
    fn is_of(&self, owner: &Owner<'_>) -> bool {
        self.session == *owner.session && self.agent.as_deref() == owner.agent.as_deref()
    }

    /// Tells what was not told yet.
    fn tell(&mut self, emit: &mut Emit<'_>) {
        let rest = beyond(&self.used, &self.told);
        // What the program says in the model's place costs nothing.
        if rest == Usage::default() || self.used.output_tokens == Some(0) {
            return;
        }
        self.told = self.used;
        emit.at(Who { session: &self.session, agent: self.agent.as_deref() }, self.timestamp);
        emit.event(Kind::Usage(rest));
    }
}

impl Spending {
    /// A line of a message begins. What the agent's last message used is told first, if this is another.
    pub(super) fn begins(&mut self, owner: &Owner<'_>, id: Option<Str<'_>>, emit: &mut Emit<'_>) {
        let Some(at) = self.0.iter().position(|it| it.is_of(owner)) else { return };
        let is_same = id.is_some_and(|it| self.0[at].id == it.literal());
        if !is_same {
            let timestamp = emit.timestamp();
            self.0.remove(at).tell(emit);
            emit.at(owner.who(), timestamp);
        }
    }

    /// A line says what its message has used so far.
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
            told: Usage::default(),
        });
    }

    /// The agent's turn ends.
    pub(super) fn tell(&mut self, owner: &Owner<'_>, emit: &mut Emit<'_>) {
        if let Some(known) = self.0.iter_mut().find(|it| it.is_of(owner)) {
            let timestamp = emit.timestamp();
            known.tell(emit);
            emit.at(owner.who(), timestamp);
        }
    }

    /// The stream ends.
    pub(super) fn tell_all(&mut self, emit: &mut Emit<'_>) {
        self.0.drain(..).for_each(|mut it| it.tell(emit));
    }
}

/// What is used beyond what was told.
fn beyond(used: &Usage, told: &Usage) -> Usage {
    let rest = |used: Option<u64>, told: Option<u64>| match (used, told) {
        (Some(used), Some(told)) => Some(used.saturating_sub(told)).filter(|it| *it > 0),
        (used, None) => used,
        (None, Some(_)) => None,
    };
    Usage {
        input_tokens: rest(used.input_tokens, told.input_tokens),
        output_tokens: rest(used.output_tokens, told.output_tokens),
        cached_tokens: rest(used.cached_tokens, told.cached_tokens),
        ..Usage::default()
    }
}

/// Tokens as the API counts them: what came from a cache is not in `input_tokens`.
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
