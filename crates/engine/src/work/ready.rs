//! Which items of a plan a worker can take now. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use punchlist_formats::hook::Agent;
use punchlist_model::{Item, Number, Plan, Status};

use crate::run::{Attendance, Chosen, Resumed, Schedule, Task, Tree};

/// Which kinds of items a worker takes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Kinds {
    /// Items with a command or a check.
    pub run: bool,
    /// Items for these agents.
    pub agents: BTreeSet<String>,
}

/// A text that is no kind.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no kind {0:?}: use run, or an agent ({names})", names = agent_names())]
pub struct UnknownKind(String);

fn agent_names() -> String {
    Agent::ALL.map(Agent::as_str).join(", ")
}

impl FromStr for Kinds {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "run" {
            return Ok(Self { run: true, ..Self::default() });
        }
        let agent = Agent::named(text).ok_or_else(|| UnknownKind(text.to_owned()))?;
        Ok(Self { agents: BTreeSet::from([agent.as_str().to_owned()]), ..Self::default() })
    }
}

impl Kinds {
    /// What a machine can do: commands, and the agents whose program it has.
    pub fn of_machine(has_program: impl Fn(&str) -> bool) -> Self {
        let agents = Agent::ALL.map(Agent::as_str).into_iter().filter(|it| has_program(it));
        Self { run: true, agents: agents.map(str::to_owned).collect() }
    }

    /// Both kinds together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.run |= other.run;
        self.agents.extend(other.agents);
        self
    }

    fn take(&self, task: &Task) -> bool {
        match task {
            Task::Step => self.run,
            Task::Agent(name) => {
                let agent = Agent::named(name);
                agent.is_some_and(|it| self.agents.contains(it.as_str()))
            }
            Task::ByHand => false,
        }
    }
}

/// An item that a worker can take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Candidate {
    pub(crate) number: Number,
    pub(crate) task: Task,
    /// Set if the item was interrupted.
    pub(crate) resumed: Option<Resumed>,
}

/// What is to be done with an open item, as far as interruptions are concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Take(Option<Resumed>),
    /// Only a person can decide.
    AskPerson,
}

fn next(item: &Item) -> Next {
    let value = item.metadata.as_ref().and_then(|it| it.get(Item::INTERRUPTED));
    let Some(value) = value else { return Next::Take(None) };
    // A person was asked. The item is ready again, so they have said yes.
    let is_allowed = value.as_str() == Some(Item::ASKED);
    let may_repeat = item.retry.is_some_and(|most| item.interruptions() <= most);
    match (is_allowed || may_repeat, item.check.is_some()) {
        (true, _) => Next::Take(Some(Resumed::Again)),
        (false, true) => Next::Take(Some(Resumed::CheckOnly)),
        (false, false) => Next::AskPerson,
    }
}

/// The items that a worker can take now, those with the lowest priority number first.
pub(crate) fn candidates(plan: &Plan, tree: &Tree, kinds: &Kinds) -> Vec<Candidate> {
    // Questions are answered from elsewhere, so nothing is held back for lack of a person.
    let attendance = Attendance { person: true, ..Attendance::default() };
    let schedule = Schedule::build(plan, tree, &Chosen::All, &attendance, &BTreeMap::new());
    let ready = schedule.planned.into_iter().filter(|it| it.after.is_empty());
    let mut found: Vec<(&Item, Candidate)> = ready
        .filter_map(|it| {
            let item = plan.get(it.number).filter(|it| it.status == Status::Pending)?;
            let Next::Take(resumed) = next(item) else { return None };
            let takes = kinds.take(&it.task);
            takes.then_some((item, Candidate { number: it.number, task: it.task, resumed }))
        })
        .collect();
    found.sort_by_key(|(item, _)| (item.priority.unwrap_or(u32::MAX), item.position));
    found.into_iter().map(|(_, it)| it).collect()
}

/// The interrupted items that only a person can decide about.
pub(crate) fn undecided(plan: &Plan) -> Vec<&Item> {
    let is_left = |it: &&Item| {
        let is_free = it.status == Status::Pending && it.waiting_on.is_none();
        is_free && !it.is_workers() && next(it) == Next::AskPerson
    };
    plan.listed().into_iter().filter(is_left).collect()
}

/// Whether a worker of some kind could take an item now, or has one in progress.
pub(crate) fn is_under_way(plan: &Plan, tree: &Tree) -> bool {
    let all = Kinds { run: true, agents: Agent::ALL.map(|it| it.as_str().to_owned()).into() };
    let is_taken = |it: &Item| !it.is_workers() && it.claim.is_some();
    plan.in_progress().any(is_taken) || !candidates(plan, tree, &all).is_empty()
}
