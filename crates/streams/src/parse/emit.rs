//! The output of parsers: knows the line, numbers the events and drops unwanted ones.
//!
//! A parser first sets the agent and the time, then emits events. This file knows no agent.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::names::tell;
use super::ours::{Answered, Ours, Took};
use crate::event::{AgentId, AgentType, Event, Kind, KindName, KindSet, RawJson, Role};
use crate::json::{Object, Str, Value};
use crate::parser::{Options, Sink};

/// Maximum of unknown kinds that are counted by name, and maximum length of a name.
const MOST_UNKNOWN: usize = 64;
const LONGEST_UNKNOWN: usize = 80;

/// Counts of a stream.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Lines, parsed or skipped.
    pub lines: u64,
    /// Events of the parsed lines, wanted or not.
    pub events: u64,
    /// Lists that were reported.
    pub lists: u64,
    /// Calls of todo tools. Calls without any list mean that the format has changed.
    pub todo_calls: u64,
    /// Warnings, wanted or not.
    pub warnings: u64,
    /// Unknown kinds of lines, with their counts.
    pub unknown: BTreeMap<String, u64>,
    /// The version of the program, if an unknown line has it.
    pub version: Option<String>,
}

impl Tally {
    /// Counts an unknown kind.
    fn unknown(&mut self, kind: &str) {
        let mut end = kind.len().min(LONGEST_UNKNOWN);
        while !kind.is_char_boundary(end) {
            end -= 1;
        }
        let kind = kind.get(..end).unwrap_or_default();
        let known = self.unknown.contains_key(kind) || self.unknown.len() < MOST_UNKNOWN;
        let kind = if known { kind } else { "…" };
        *self.unknown.entry(kind.to_owned()).or_default() += 1;
    }
}

/// The agent of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Who<'a> {
    /// The session or thread; empty if it is unknown.
    pub(crate) session: &'a str,
    /// The sub-agent.
    pub(crate) agent: Option<&'a str>,
}

/// The state between lines.
#[derive(Debug)]
pub(crate) struct Core {
    agent_type: AgentType,
    only: KindSet,
    name: Option<String>,
    session: String,
    sub: Option<String>,
    agent: AgentId,
    timestamp: Option<i64>,
    /// An offset for the numbers of events that are not from the agent's own file.
    apart: u32,
    /// How many events the line has had: lists, and others.
    lists: u32,
    others: u32,
    /// The part of the line, if one line contains what others write as several lines.
    part: Option<u64>,
    /// A started turn, until it is known whether a prompt follows.
    held: Option<Held>,
    /// Calls of Punchlist's own tools.
    pub(super) ours: Ours,
    pub(crate) tally: Tally,
}

/// A started turn that was not reported yet.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Held {
    session: String,
    sub: Option<String>,
    timestamp: Option<i64>,
}

impl Core {
    pub(crate) fn new(agent_type: AgentType, options: &Options) -> Self {
        let name = options.agent.clone();
        let agent = AgentId::new(name.clone().unwrap_or_else(|| agent_type.name().to_owned()));
        let tally = Tally { lines: options.lines_before, ..Tally::default() };
        Self {
            agent_type,
            only: options.only,
            name,
            session: String::new(),
            sub: None,
            agent,
            timestamp: None,
            apart: 0,
            lists: 0,
            others: 0,
            part: None,
            held: None,
            ours: Ours::default(),
            tally,
        }
    }

    /// Starts the next line.
    pub(crate) fn next_line(&mut self) {
        self.tally.lines += 1;
        (self.lists, self.others) = (0, 0);
        self.part = None;
        self.timestamp = None;
    }

    /// Whether a call of one of Punchlist's own tools has no result yet.
    pub(crate) fn is_waiting(&self) -> bool {
        self.ours.is_waiting()
    }

    /// Skips lines.
    pub(crate) fn skip_lines(&mut self, lines: u64) {
        self.tally.lines += lines;
    }

    fn is_at(&self, who: Who<'_>) -> bool {
        self.session == who.session && self.sub.as_deref() == who.agent
    }

    fn go_to(&mut self, who: Who<'_>) {
        who.session.clone_into(&mut self.session);
        self.sub = who.agent.map(str::to_owned);
        let base = match &self.name {
            Some(name) => name,
            None if who.session.is_empty() => self.agent_type.name(),
            None => who.session,
        };
        self.agent = AgentId::new(match who.agent {
            Some(agent) => format!("{base}/{agent}"),
            None => base.to_owned(),
        });
    }
}

/// The output for one line.
pub(crate) struct Emit<'a> {
    core: &'a mut Core,
    sink: &'a mut dyn Sink,
}

impl<'a> Emit<'a> {
    pub(crate) fn new(core: &'a mut Core, sink: &'a mut dyn Sink) -> Self {
        Self { core, sink }
    }

    /// Sets the agent and the time of the following events.
    pub(crate) fn at(&mut self, who: Who<'_>, timestamp: Option<i64>) {
        if !self.core.is_at(who) {
            self.core.go_to(who);
        }
        self.core.timestamp = timestamp;
    }

    /// Sets the agent of the following events; the time stays.
    pub(crate) fn of(&mut self, who: Who<'_>) {
        let timestamp = self.core.timestamp;
        self.at(who, timestamp);
    }

    /// Says that the following events are read from another file than their agent's own, such as a
    /// sub-agent's events. The agent's own file has the same line numbers, and ids must be unique.
    pub(crate) fn within_file_of(&mut self, file: Option<&str>) {
        self.core.apart = file.map_or(0, number);
    }

    /// Whether events of a kind are wanted. Unwanted events must be emitted too, so that the
    /// numbers stay the same.
    pub(crate) fn wants(&self, kind: KindName) -> bool {
        self.core.only.has(kind)
    }

    /// The id of the present agent.
    pub(crate) fn agent_id(&self) -> &str {
        self.core.agent.as_str()
    }

    /// The present time.
    pub(crate) fn timestamp(&self) -> Option<i64> {
        self.core.timestamp
    }

    /// The present line number, from 1, or the part of the line.
    pub(crate) fn line(&self) -> u64 {
        self.core.part.unwrap_or(self.core.tally.lines)
    }

    /// Says that the following events belong to a part of the line, numbered from 1. A file that is
    /// rewritten as it grows has the same parts in other lines each time, and events must keep
    /// their ids.
    pub(crate) fn part(&mut self, part: u64) {
        self.core.part = Some(part);
        (self.core.lists, self.core.others) = (0, 0);
    }

    /// Whether this call of Punchlist's own tools has no result yet.
    pub(crate) fn awaits(&self, call: &str) -> bool {
        self.core.ours.awaits(call)
    }

    /// Starts a turn. A text of the user that follows is its prompt; after anything else, it has
    /// none.
    pub(crate) fn turn_starts(&mut self) {
        self.begin_held();
        self.core.held = Some(Held {
            session: self.core.session.clone(),
            sub: self.core.sub.clone(),
            timestamp: self.core.timestamp,
        });
    }

    /// Reports a turn that was held back.
    pub(crate) fn begin_held(&mut self) {
        let Some(held) = self.core.held.take() else { return };
        let now = Held {
            session: std::mem::take(&mut self.core.session),
            sub: self.core.sub.take(),
            timestamp: self.core.timestamp,
        };
        self.go_to(&held);
        self.tell(Kind::TurnStarted { prompt: None, turn_id: None });
        self.go_to(&now);
    }

    fn go_to(&mut self, to: &Held) {
        let Held { session, sub, timestamp } = to;
        self.core.go_to(Who { session, agent: sub.as_deref() });
        self.core.timestamp = *timestamp;
    }

    /// Emits an event.
    pub(crate) fn event(&mut self, kind: Kind<'_>) {
        let is_held = self
            .core
            .held
            .as_ref()
            .is_some_and(|it| it.session == self.core.session && it.sub == self.core.sub);
        let kind = if is_held && let Kind::Text { role: Role::User, text, .. } = kind {
            self.core.held = None;
            Kind::TurnStarted { prompt: Some(text), turn_id: None }
        } else {
            kind
        };
        self.begin_held();
        if self.core.sub.is_none() && matches!(kind, Kind::TurnStarted { .. }) {
            self.core.ours.give_up();
        }
        match self.core.ours.take(&kind) {
            Took::Nothing => self.tell(kind),
            Took::Call => {}
            Took::Answer(answer) => self.tell_ours(&answer),
            Took::Also(answer) => {
                self.tell(kind);
                self.tell_ours(&answer);
            }
        }
    }

    /// Reports the session's plan after a result of one of Punchlist's tools.
    fn tell_ours(&mut self, answer: &Answered) {
        self.core.tally.todo_calls += 1;
        let session = self.core.session.clone();
        let sub = self.core.sub.take();
        self.core.go_to(Who { session: &session, agent: None });
        let todo_id = format!("{}#punchlist", self.core.agent.as_str());
        let mut ours = std::mem::take(&mut self.core.ours);
        if let Some(mut items) = ours.answered(&session, answer) {
            tell(todo_id, &mut items, false, self);
        }
        self.core.ours = ours;
        self.core.go_to(Who { session: &session, agent: sub.as_deref() });
    }

    fn tell(&mut self, kind: Kind<'_>) {
        let line = self.line();
        let name = kind.name();
        let tally = &mut self.core.tally;
        tally.events += 1;
        tally.lists += u64::from(name == KindName::TodoList);
        tally.warnings += u64::from(name == KindName::Warning);
        // Lists are counted apart: if only lists are wanted, many lines before them are not parsed.
        let is_list = name == KindName::TodoList;
        let count = if is_list { &mut self.core.lists } else { &mut self.core.others };
        let index = self.core.apart.saturating_add(*count);
        *count += 1;
        if self.core.only.has(name) {
            self.sink.event(&Event {
                agent: &self.core.agent,
                agent_type: self.core.agent_type,
                timestamp: self.core.timestamp,
                line,
                index,
                kind,
            });
        }
    }

    /// Emits a warning about this line.
    pub(crate) fn warn<'t>(&mut self, why: impl Into<Cow<'t, str>>) {
        let line = self.line();
        self.event(Kind::Warning { line, why: why.into() });
    }

    /// The arguments of a call; `None` with a warning if other programs could not read them.
    pub(crate) fn input<'v>(&mut self, value: Value<'v>) -> Option<RawJson<'v>> {
        match RawJson::checked(value) {
            Ok(input) => input,
            Err(flaw) => {
                self.warn(format!("the arguments of a call are left out: {flaw}"));
                None
            }
        }
    }

    /// Counts an unknown kind of line.
    pub(crate) fn unknown(&mut self, kind: &str) {
        self.core.tally.unknown(kind);
    }

    /// Stores the version of the program from an unknown line, if it has one.
    pub(crate) fn note_version(&mut self, line: &Object<'_>) {
        if self.core.tally.version.is_some() || self.core.tally.unknown.is_empty() {
            return;
        }
        let names = ["version", "cli_version", "claude_code_version", "cliVersion"];
        let found = names.into_iter().find_map(|it| line.text(it));
        let version = found.map(|it| it.cow().chars().take(LONGEST_UNKNOWN).collect());
        self.core.tally.version = version;
    }

    /// Counts an unknown kind of something within a line, by its name.
    pub(crate) fn unknown_in(&mut self, area: &str, name: Option<Str<'_>>) {
        let name = name.map_or(Cow::Borrowed(""), |it| it.cow());
        self.unknown(&format!("{area}/{name}"));
    }

    /// Counts a call of a todo tool.
    pub(crate) fn todo_call(&mut self) {
        self.core.tally.todo_calls += 1;
    }
}

/// A stable hash of a name, larger than the event numbers of a line.
fn number(name: &str) -> u32 {
    // FNV-1a.
    let hash = name
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (1 << 30) | (hash >> 2)
}
