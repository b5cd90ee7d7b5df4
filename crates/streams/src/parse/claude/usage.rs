//! The usage of messages. Each line of a message has a usage, and they differ: the first lines are
//! written while the answer is still growing, so the last one counts.
//!
//! The usage is reported when the agent's next message begins or its turn ends. If another line of
//! the message follows, the difference is reported. Several agents may write into one file at the
//! same time; each is counted separately.
//!
//! The result at the end of a printed turn has the sum of the agent's own messages. What the messages
//! have not reported of it, mostly tokens of the answers, is reported then. A turn that is killed has
//! no result.

use super::Owner;
use crate::event::{Kind, Usage};
use crate::json::{Object, Str, Value};
use crate::parse::emit::{Emit, Who};
use crate::parse::names::LONGEST_NAME;

/// Maximum of agents whose messages are counted at the same time.
const MOST_AGENTS: usize = 64;

/// What is used.
#[derive(Default, Debug)]
pub(super) struct Spending {
    /// The last message of each agent, which may still grow.
    messages: Vec<Message>,
    /// What was reported of the agent itself, without sub-agents.
    reported: Usage,
    /// The sum of its results.
    settled: Usage,
}

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

    /// Reports the usage that was not reported yet, and adds it to `reported` unless it is a sub-agent's.
    fn tell(&mut self, reported: &mut Usage, emit: &mut Emit<'_>) {
        let rest = beyond(&self.used, &self.reported);
        // Texts of the program in the model's place cost nothing.
        if rest == Usage::default() || self.used.output_tokens == Some(0) {
            return;
        }
        if self.agent.is_none() {
            *reported = sum(reported, &rest);
        }
        self.reported = self.used;
        emit.at(Who { session: &self.session, agent: self.agent.as_deref() }, self.timestamp);
        let count = |it: Option<u64>| it.unwrap_or(0);
        let context = count(self.used.input_tokens).saturating_add(count(self.used.output_tokens));
        emit.event(Kind::Usage(Usage { context_tokens: Some(context), ..rest }));
    }
}

impl Spending {
    /// Starts a line of a message. If it is a new message, the usage of the agent's last one is
    /// reported.
    pub(super) fn begins(&mut self, owner: &Owner<'_>, id: Option<Str<'_>>, emit: &mut Emit<'_>) {
        let Some(at) = self.messages.iter().position(|it| it.is_of(owner)) else { return };
        let is_same = id.is_some_and(|it| self.messages[at].id == it.literal());
        if !is_same {
            let timestamp = emit.timestamp();
            self.messages.remove(at).tell(&mut self.reported, emit);
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
        if let Some(known) = self.messages.iter_mut().find(|it| it.is_of(owner)) {
            (known.used, known.timestamp) = (used, timestamp);
            return;
        }
        if self.messages.len() >= MOST_AGENTS {
            self.messages.remove(0).tell(&mut self.reported, emit);
            emit.at(owner.who(), timestamp);
        }
        self.messages.push(Message {
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
        if let Some(known) = self.messages.iter_mut().find(|it| it.is_of(owner)) {
            let timestamp = emit.timestamp();
            known.tell(&mut self.reported, emit);
            emit.at(owner.who(), timestamp);
        }
    }

    /// Handles the end of the stream.
    pub(super) fn tell_all(&mut self, emit: &mut Emit<'_>) {
        self.messages.drain(..).for_each(|mut it| it.tell(&mut self.reported, emit));
    }

    /// Handles the result of a printed turn. Returns the part of its usage that no message has reported.
    pub(super) fn settles(
        &mut self,
        owner: &Owner<'_>,
        usage: &Usage,
        emit: &mut Emit<'_>,
    ) -> Usage {
        self.tell(owner, emit);
        self.settled = sum(&self.settled, usage);
        let rest = beyond(&self.settled, &self.reported);
        self.reported = sum(&self.reported, &rest);
        rest
    }
}

fn sum(one: &Usage, other: &Usage) -> Usage {
    let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    };
    Usage {
        input_tokens: sum(one.input_tokens, other.input_tokens),
        output_tokens: sum(one.output_tokens, other.output_tokens),
        cached_tokens: sum(one.cached_tokens, other.cached_tokens),
        ..Usage::default()
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
