//! What parsers write into: it knows the line, numbers the events and drops those that nobody wants.
//!
//! A parser says who and when, then what. It contains nothing that depends on an agent.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::names::tell;
use super::ours::{Answered, Ours, Took};
use crate::event::{AgentId, AgentType, Event, Kind, KindName, KindSet, RawJson, Role};
use crate::json::{Object, Str, Value};
use crate::parser::{Options, Sink};

/// The most names of unknown kinds that are counted apart, and the longest of them.
const MOST_UNKNOWN: usize = 64;
const LONGEST_UNKNOWN: usize = 80;

/// What a stream had in it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Lines, read or skipped.
    pub lines: u64,
    /// Events, wanted or not, of the lines that were read.
    pub events: u64,
    /// How often a list was told.
    pub lists: u64,
    /// How often a todo tool was called. Calls without any list mean that the format has changed.
    pub todo_calls: u64,
    /// Warnings, wanted or not.
    pub warnings: u64,
    /// Kinds of lines that we do not know, and how often each came.
    pub unknown: BTreeMap<String, u64>,
    /// The version of the program that wrote the stream, as far as a line that we do not know says so.
    pub version: Option<String>,
}

impl Tally {
    /// Counts a kind that we do not know.
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

/// Who speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Who<'a> {
    /// The session or thread; empty if the source has not said.
    pub(crate) session: &'a str,
    /// The sub-agent.
    pub(crate) agent: Option<&'a str>,
}

/// What outlives a line.
#[derive(Debug)]
pub(crate) struct Core {
    agent_type: AgentType,
    only: KindSet,
    name: Option<String>,
    session: String,
    sub: Option<String>,
    agent: AgentId,
    timestamp: Option<i64>,
    /// What is added to the numbers of events that their agent's own file does not tell.
    apart: u32,
    /// How many events the line has had: lists, and others.
    lists: u32,
    others: u32,
    /// Which part of a line is told, where one line has what others write a line each.
    part: Option<u64>,
    /// A turn that has begun, until it is known whether the next thing is its prompt.
    held: Option<Held>,
    /// Calls of our own tools.
    pub(super) ours: Ours,
    pub(crate) tally: Tally,
}

/// A turn of which was not told yet that it began.
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

    /// Begins the next line.
    pub(crate) fn next_line(&mut self) {
        self.tally.lines += 1;
        (self.lists, self.others) = (0, 0);
        self.part = None;
        self.timestamp = None;
    }

    /// Whether a call of one of our own tools awaits its result.
    pub(crate) fn is_waiting(&self) -> bool {
        self.ours.is_waiting()
    }

    /// Goes over lines that are not looked at.
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

/// The way out for one line.
pub(crate) struct Emit<'a> {
    core: &'a mut Core,
    sink: &'a mut dyn Sink,
}

impl<'a> Emit<'a> {
    pub(crate) fn new(core: &'a mut Core, sink: &'a mut dyn Sink) -> Self {
        Self { core, sink }
    }

    /// Says whose the following events are, and when they happened.
    pub(crate) fn at(&mut self, who: Who<'_>, timestamp: Option<i64>) {
        if !self.core.is_at(who) {
            self.core.go_to(who);
        }
        self.core.timestamp = timestamp;
    }

    /// Says whose the following events are; they happened when those before them did.
    pub(crate) fn of(&mut self, who: Who<'_>) {
        let timestamp = self.core.timestamp;
        self.at(who, timestamp);
    }

    /// Says that the following events are told by another file than that of whoever they belong to, such as a
    /// sub-agent's. That has lines with the same numbers as the agent's own, and no two events may have one id.
    pub(crate) fn within_file_of(&mut self, file: Option<&str>) {
        self.core.apart = file.map_or(0, number);
    }

    /// Whether events of a kind go anywhere. One that does not must still be told, for its number.
    pub(crate) fn wants(&self, kind: KindName) -> bool {
        self.core.only.has(kind)
    }

    /// The id of whoever speaks, as events carry it.
    pub(crate) fn agent_id(&self) -> &str {
        self.core.agent.as_str()
    }

    /// When what is told happens.
    pub(crate) fn timestamp(&self) -> Option<i64> {
        self.core.timestamp
    }

    /// The line that is read, counted from 1, or the part of one.
    pub(crate) fn line(&self) -> u64 {
        self.core.part.unwrap_or(self.core.tally.lines)
    }

    /// Says that the following events belong to a part of the line, counted from 1. A file that is written
    /// anew as it grows has the same parts under other lines each time, and events keep their ids.
    pub(crate) fn part(&mut self, part: u64) {
        self.core.part = Some(part);
        (self.core.lists, self.core.others) = (0, 0);
    }

    /// Whether the result of this call is awaited, though it is no tool of the agent's own list.
    pub(crate) fn awaits(&self, call: &str) -> bool {
        self.core.ours.awaits(call)
    }

    /// A turn begins. What the user says next is its prompt; if anything else comes next, it has none.
    pub(crate) fn turn_starts(&mut self) {
        self.begin_held();
        self.core.held = Some(Held {
            session: self.core.session.clone(),
            sub: self.core.sub.clone(),
            timestamp: self.core.timestamp,
        });
    }

    /// Tells of a turn that was held back.
    pub(crate) fn begin_held(&mut self) {
        let Some(held) = self.core.held.take() else { return };
        let now = Held {
            session: std::mem::take(&mut self.core.session),
            sub: self.core.sub.take(),
            timestamp: self.core.timestamp,
        };
        self.go_to(&held);
        self.tell(Kind::TurnStarted { prompt: None });
        self.go_to(&now);
    }

    fn go_to(&mut self, to: &Held) {
        let Held { session, sub, timestamp } = to;
        self.core.go_to(Who { session, agent: sub.as_deref() });
        self.core.timestamp = *timestamp;
    }

    /// Something happened.
    pub(crate) fn event(&mut self, kind: Kind<'_>) {
        let is_held = self
            .core
            .held
            .as_ref()
            .is_some_and(|it| it.session == self.core.session && it.sub == self.core.sub);
        let kind = if is_held && let Kind::Text { role: Role::User, text, .. } = kind {
            self.core.held = None;
            Kind::TurnStarted { prompt: Some(text) }
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

    /// A tool of ours was answered: the session's plan is told.
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
        // Lists are counted apart: where only they are wanted, much that comes before them is not read.
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

    /// Something on this line could not be read, or not be believed.
    pub(crate) fn warn<'t>(&mut self, why: impl Into<Cow<'t, str>>) {
        let line = self.line();
        self.event(Kind::Warning { line, why: why.into() });
    }

    /// The arguments of a call as they are passed on. Without them, if others could not read them.
    pub(crate) fn input<'v>(&mut self, value: Value<'v>) -> Option<RawJson<'v>> {
        match RawJson::checked(value) {
            Ok(input) => input,
            Err(flaw) => {
                self.warn(format!("the arguments of a call are left out: {flaw}"));
                None
            }
        }
    }

    /// A kind of line that we do not know.
    pub(crate) fn unknown(&mut self, kind: &str) {
        self.core.tally.unknown(kind);
    }

    /// Notes which version wrote a line of a kind that we do not know, if it says so.
    pub(crate) fn note_version(&mut self, line: &Object<'_>) {
        if self.core.tally.version.is_some() || self.core.tally.unknown.is_empty() {
            return;
        }
        let names = ["version", "cli_version", "claude_code_version", "cliVersion"];
        let found = names.into_iter().find_map(|it| line.text(it));
        let version = found.map(|it| it.cow().chars().take(LONGEST_UNKNOWN).collect());
        self.core.tally.version = version;
    }

    /// A kind of something within a line that we do not know, by the name that it has or lacks.
    pub(crate) fn unknown_in(&mut self, area: &str, name: Option<Str<'_>>) {
        let name = name.map_or(Cow::Borrowed(""), |it| it.cow());
        self.unknown(&format!("{area}/{name}"));
    }

    /// A todo tool was called.
    pub(crate) fn todo_call(&mut self) {
        self.core.tally.todo_calls += 1;
    }
}

/// A number for a name that is the same everywhere and always, beyond those that a line's events have.
fn number(name: &str) -> u32 {
    // FNV-1a.
    let hash = name
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (1 << 30) | (hash >> 2)
}
