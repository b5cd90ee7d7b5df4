//! The origin of commands and evidence in an imported plan.
//!
//! A file can claim anything: that a person typed a command, that a check passed, that somebody
//! approved an item. Claims that this machine has not recorded itself are downgraded: a command
//! becomes an agent's, evidence becomes a report. The same value is changed in items and in every
//! journal entry, so that the journal still leads to the items.

use std::collections::BTreeSet;

use punchlist_model::actor::ActorKind;
use punchlist_model::event::{Delta, PlanDelta};
use punchlist_model::item::RESERVED;
use punchlist_model::store::Entry;
use punchlist_model::{Actor, Check, Event, Evidence, Goal, Item, Level, Origin, Plan, Run};
use serde_json::{Map, Value};

/// What a plan claims and this machine has not recorded itself.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Claims {
    /// Commands that, according to the file, a person typed: the purpose and the command.
    pub commands: BTreeSet<(&'static str, String)>,
    /// Checks that, according to the file, were run, and approvals: the level, and who recorded it.
    pub evidence: BTreeSet<(&'static str, String)>,
}

impl Claims {
    /// Collects the claims from all items and journal entries.
    pub fn of(plan: &Plan, journal: &[Entry]) -> Self {
        let mut claims = Self::default();
        let (mut plan, mut journal) = (plan.clone(), journal.to_vec());
        each(&mut plan, &mut journal, &mut claims);
        claims
    }

    /// Whether the plan makes no such claims.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.evidence.is_empty()
    }

    /// The claims as text for a person: a count per kind and one line per claim.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut part = |all: &BTreeSet<(&'static str, String)>, one: &str, several: &str| {
            if let count @ 1.. = all.len() {
                lines.push(format!("{count} {}:", if count == 1 { one } else { several }));
                let line = |(kind, what): &(&str, String)| format!("    {kind}: {what}");
                lines.extend(all.iter().take(SHOWN).map(line));
                if count > SHOWN {
                    lines.push(format!("    and {} more", count - SHOWN));
                }
            }
        };
        part(
            &self.commands,
            "command that a person is said to have typed",
            "commands that a person is said to have typed",
        );
        part(&self.evidence, "check or approval", "checks and approvals");
        lines
    }
}

/// Maximum of lines per kind.
const SHOWN: usize = 50;

/// Downgrades all claims to an agent's. If an agent imports the plan, this includes the actor of
/// changes that, according to the file, a person made.
pub fn distrust(plan: &mut Plan, journal: &mut [Entry], by_agent: bool) {
    each(plan, journal, &mut Distrust);
    if by_agent {
        for entry in journal {
            if entry.actor.kind == ActorKind::Person {
                entry.actor = Actor::agent(std::mem::take(&mut entry.actor.name));
            }
        }
    }
}

/// Removes the directories in which commands of items run. Only a run of a plan file may set them.
pub fn without_places(plan: &mut Plan, journal: &mut [Entry]) {
    each(plan, journal, &mut Places);
}

/// A visitor that reads or changes parts of a plan.
trait Visitor {
    fn check(&mut self, _: &mut Check) {}
    fn run(&mut self, _: &mut Run) {}
    fn evidence(&mut self, _: &mut Evidence) {}
    fn goal(&mut self, _: &mut Goal) {}
    fn metadata(&mut self, _: &mut Option<Map<String, Value>>) {}
}

impl Visitor for Claims {
    fn check(&mut self, it: &mut Check) {
        if it.origin == Origin::Person {
            self.commands.insert(("verify", it.command.clone()));
        }
    }

    fn run(&mut self, it: &mut Run) {
        if it.origin == Origin::Person {
            self.commands.insert(("run", it.command.clone()));
        }
    }

    fn evidence(&mut self, it: &mut Evidence) {
        if it.level > Level::Reported {
            let what = it.run.as_ref().map(|run| format!(": {}", run.command)).unwrap_or_default();
            self.evidence.insert((it.level.as_str(), format!("by {}{what}", it.by)));
        }
    }

    fn goal(&mut self, it: &mut Goal) {
        if let Some(met) = it.met.as_ref().filter(|met| met.level > Level::Reported) {
            self.evidence.insert((met.level.as_str(), format!("by {}: the goal is met", met.by)));
        }
    }
}

struct Distrust;

impl Visitor for Distrust {
    fn check(&mut self, it: &mut Check) {
        it.origin = Origin::Agent;
    }

    fn run(&mut self, it: &mut Run) {
        it.origin = Origin::Agent;
    }

    fn evidence(&mut self, it: &mut Evidence) {
        if it.level > Level::Reported {
            (it.level, it.run) = (Level::Reported, None);
        }
    }

    fn goal(&mut self, it: &mut Goal) {
        if let Some(met) = &mut it.met {
            met.level = met.level.min(Level::Reported);
        }
    }
}

struct Places;

impl Visitor for Places {
    fn metadata(&mut self, it: &mut Option<Map<String, Value>>) {
        if let Some(map) = it {
            map.remove(RESERVED);
        }
        if it.as_ref().is_some_and(Map::is_empty) {
            *it = None;
        }
    }
}

fn each(plan: &mut Plan, journal: &mut [Entry], visitor: &mut dyn Visitor) {
    plan.items.values_mut().for_each(|item| of_item(item, visitor));
    if let Some(goal) = &mut plan.goal {
        visitor.goal(goal);
    }
    for event in journal.iter_mut().flat_map(|entry| &mut entry.events) {
        match event {
            Event::Added { item } => of_item(item, visitor),
            Event::Changed { deltas, .. } => deltas.iter_mut().for_each(|it| of_delta(it, visitor)),
            Event::PlanChanged { deltas } => {
                for delta in deltas {
                    if let PlanDelta::Goal { before, after } = delta {
                        [before, after].into_iter().flatten().for_each(|it| visitor.goal(it));
                    }
                }
            }
            Event::Moved { .. }
            | Event::Superseded { .. }
            | Event::Restored { .. }
            | Event::Forgotten { .. } => {}
        }
    }
}

fn of_item(item: &mut Item, visitor: &mut dyn Visitor) {
    item.check.iter_mut().for_each(|it| visitor.check(it));
    item.run.iter_mut().for_each(|it| visitor.run(it));
    item.evidence.iter_mut().for_each(|it| visitor.evidence(it));
    visitor.metadata(&mut item.metadata);
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other fields have no origin and no level")]
fn of_delta(delta: &mut Delta, visitor: &mut dyn Visitor) {
    match delta {
        Delta::Check { before, after } => {
            [before, after].into_iter().flatten().for_each(|it| visitor.check(it));
        }
        Delta::Run { before, after } => {
            [before, after].into_iter().flatten().for_each(|it| visitor.run(it));
        }
        Delta::Evidence { before, after } => {
            [before, after].into_iter().flatten().for_each(|it| visitor.evidence(it));
        }
        Delta::Metadata { before, after } => {
            visitor.metadata(before);
            visitor.metadata(after);
        }
        _ => {}
    }
}
