//! Events as JSON lines for programs: first the known state, then new events.

use std::collections::{BTreeMap, BTreeSet};

use punchlist_bridge::watch::Told;
use punchlist_streams::event::{Event, Kind, KindName, KindSet};

use super::plans::Plans;

/// Collects events as lines of JSON, in the order in which they are printed.
pub(super) struct JsonEvents<'a> {
    /// The kinds of events that are printed.
    only: KindSet,
    /// Lists that the store has as plans are printed from there.
    plans: &'a Plans,
    /// The time of reading, for sources that do not say when an event happened.
    now: i64,
    /// The state from earlier events: each agent's session and its last list.
    before: BTreeMap<(String, KindName), Vec<u8>>,
    /// The lines of new events.
    live: Vec<u8>,
    /// The states that are in `live`. An older file's addition to one of them comes after it.
    printed: BTreeSet<(String, KindName)>,
    /// The progress of reading.
    progress: &'a mut dyn FnMut(u64, u64),
}

impl<'a> JsonEvents<'a> {
    pub(super) fn new(
        only: KindSet,
        plans: &'a Plans,
        now: i64,
        progress: &'a mut dyn FnMut(u64, u64),
    ) -> Self {
        Self {
            only,
            plans,
            now,
            before: BTreeMap::new(),
            live: Vec::new(),
            printed: BTreeSet::new(),
            progress,
        }
    }

    /// All lines, older ones first.
    pub(super) fn take(self) -> Vec<u8> {
        let mut all: Vec<u8> = self.before.into_values().flatten().collect();
        all.extend_from_slice(&self.live);
        all
    }
}

impl Told for JsonEvents<'_> {
    fn event(&mut self, event: &Event<'_>, live: bool) {
        let name = event.kind.name();
        if !self.only.has(name) {
            return;
        }
        let id = event.agent.as_str();
        if let Kind::TodoList { .. } = event.kind {
            let (session, sub_agent) = id.split_once('/').unwrap_or((id, ""));
            if self.plans.keeps(session, sub_agent) {
                return;
            }
        }
        let is_state = matches!(name, KindName::SessionStarted | KindName::TodoList);
        if !live && !is_state {
            return;
        }
        let event = Event { timestamp: event.timestamp.or(Some(self.now)), ..event.clone() };
        let key = (id.to_owned(), name);
        if live || self.printed.contains(&key) {
            event.write_json(&mut self.live);
            if is_state {
                self.printed.insert(key);
            }
        } else {
            let line = self.before.entry(key).or_default();
            line.clear();
            event.write_json(line);
        }
    }

    fn progress(&mut self, done: u64, total: u64) {
        (self.progress)(done, total);
    }
}
