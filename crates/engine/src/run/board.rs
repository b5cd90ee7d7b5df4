//! The state of a run, item by item: the data for the view and for the summary. Pure.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use punchlist_formats::text;
use punchlist_formats::view::run::{Run, State, Step};
use punchlist_model::call::Printed;
use punchlist_model::{Item, Level, Number, Plan, Progress, Status};

use super::schedule::{Held, Schedule, Task, Tree};
use crate::workers::sub_lists;

/// How many lines of output are shown under a step.
const UNDER: usize = 3;

/// The state of a run.
pub struct Board {
    title: String,
    how: Vec<String>,
    rows: Vec<Row>,
    places: BTreeMap<Number, usize>,
    /// When the run began, in milliseconds since 1970.
    began: i64,
    /// The plan's progress.
    pub(crate) progress: Progress,
}

struct Row {
    title: String,
    depth: usize,
    worker: String,
    phase: Phase,
    /// When its current phase began.
    since: Option<i64>,
    /// How long the item ran, once it has ended.
    ms: Option<u64>,
    /// What the item waits for before it begins.
    waits: String,
    /// The last line of output while it runs.
    said: String,
    /// The last lines of output, once it is done.
    printed: Printed,
    /// Whether the item was closed in this run and not before.
    is_new: bool,
    /// Whether progress counts the item.
    is_leaf: bool,
}

/// The phase of an item in this run.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Phase {
    Open,
    Running,
    Asks,
    Done(Option<Level>),
    Failed {
        what: String,
        log: Option<String>,
    },
    /// A rule denied the item.
    Denied(String),
    /// A person refused the item, possibly with a reason.
    Refused(Option<String>),
    Left(String),
    Cancelled(String),
}

/// How many items ended how.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sum {
    /// Items completed in this run.
    pub done: usize,
    /// How many of these are checked or approved.
    pub sure: usize,
    /// Items completed before this run.
    pub before: usize,
    /// Failed items, with the reason.
    pub failed: Vec<String>,
    /// Items denied by a rule, with the rule.
    pub denied: Vec<String>,
    /// Items refused by a person, with the reason if given.
    pub refused: Vec<String>,
    /// Items that are open for any other reason.
    pub left: usize,
    /// Whether everything is closed.
    pub is_over: bool,
}

impl Board {
    /// The board before anything has begun.
    pub(crate) fn new(
        plan: &Plan,
        tree: &Tree,
        schedule: &Schedule,
        how: Vec<String>,
        now: i64,
    ) -> Self {
        let titles =
            |number: Number| plan.get(number).map(|it| it.title.clone()).unwrap_or_default();
        let mut rows = Vec::new();
        let mut places = BTreeMap::new();
        let leaves = plan.leaves();
        // Entries of an agent's own list are shown beside the item that the agent works on.
        for item in plan.listed().into_iter().filter(|it| !sub_lists::is_entry(it)) {
            let phase = match (item.status, schedule.held.get(&item.number)) {
                (Status::Completed, _) => Phase::Done(item.evidence_level()),
                (Status::Cancelled, _) => {
                    Phase::Cancelled(item.outcome.clone().unwrap_or_default())
                }
                (Status::Pending | Status::InProgress, Some(why)) => {
                    Phase::Left(why.words(&titles))
                }
                (Status::Pending | Status::InProgress, None) => Phase::Open,
            };
            let task = tree.task(item);
            let worker = match &task {
                Some(Task::Agent(agent)) => agent.clone(),
                Some(Task::Step | Task::ByHand) | None => String::new(),
            };
            places.insert(item.number, rows.len());
            rows.push(Row {
                title: item.title.clone(),
                depth: depth(plan, item),
                worker,
                phase,
                since: None,
                ms: None,
                waits: waits(plan, item, task.as_ref()),
                said: String::new(),
                printed: Printed::default(),
                is_new: false,
                is_leaf: leaves.contains(&item.number),
            });
        }
        let title = plan.title.clone();
        let progress = plan.progress();
        Self { title, how, rows, places, began: now, progress }
    }

    /// Whether the board has exactly the items of this plan.
    pub(crate) fn has_rows_of(&self, plan: &Plan) -> bool {
        let listed: Vec<Number> = plan
            .listed()
            .iter()
            .filter(|it| !sub_lists::is_entry(it))
            .map(|it| it.number)
            .collect();
        listed.len() == self.rows.len() && listed.iter().all(|it| self.places.contains_key(it))
    }

    /// What is said above the board, and when the run began.
    pub(crate) fn how(&self) -> (Vec<String>, i64) {
        (self.how.clone(), self.began)
    }

    fn row(&mut self, number: Number) -> Option<&mut Row> {
        self.places.get(&number).and_then(|at| self.rows.get_mut(*at))
    }

    /// An item begins.
    pub(crate) fn begins(&mut self, number: Number, now: i64) {
        if let Some(row) = self.row(number) {
            (row.phase, row.since, row.ms) = (Phase::Running, Some(now), None);
        }
    }

    /// An item wrote a line.
    pub(crate) fn says(&mut self, number: Number, line: &str) {
        if let Some(row) = self.row(number)
            && !line.trim().is_empty()
        {
            line.trim().clone_into(&mut row.said);
        }
    }

    /// An item is done and has printed this output.
    pub(crate) fn printed(&mut self, number: Number, printed: Printed) {
        if let Some(row) = self.row(number) {
            row.printed = printed.last(UNDER);
        }
    }

    /// A person is asked about an item.
    pub(crate) fn asks(&mut self, number: Number, now: i64) {
        if let Some(row) = self.row(number) {
            (row.phase, row.since) = (Phase::Asks, Some(now));
        }
    }

    /// An item waits again: it was allowed, or will be retried.
    pub(crate) fn waits(&mut self, number: Number, why: &str) {
        if let Some(row) = self.row(number) {
            (row.phase, row.since) = (Phase::Open, None);
            why.clone_into(&mut row.waits);
        }
    }

    /// An item is done.
    pub(crate) fn done(&mut self, number: Number, level: Option<Level>, now: i64) {
        self.ends(number, Phase::Done(level), now);
    }

    /// An item failed.
    pub(crate) fn failed(&mut self, number: Number, what: &str, log: Option<String>, now: i64) {
        self.ends(number, Phase::Failed { what: what.to_owned(), log }, now);
    }

    /// A rule denied an item.
    pub(crate) fn denied(&mut self, number: Number, rule: &str, now: i64) {
        self.ends(number, Phase::Denied(rule.to_owned()), now);
    }

    /// A person refused an item.
    pub(crate) fn refused(&mut self, number: Number, reason: Option<String>, now: i64) {
        self.ends(number, Phase::Refused(reason), now);
    }

    /// An item will not be done in this run.
    pub(crate) fn left(&mut self, number: Number, why: impl Into<String>, now: i64) {
        self.ends(number, Phase::Left(why.into()), now);
    }

    fn ends(&mut self, number: Number, phase: Phase, now: i64) {
        if let Some(row) = self.row(number) {
            if row.phase == Phase::Running {
                row.ms = row.since.map(|since| span(since, now));
            }
            (row.phase, row.since, row.is_new) = (phase, None, true);
        }
    }

    /// The data for the view.
    pub fn view(&self, now: i64) -> Run {
        Run {
            title: self.title.clone(),
            how: self.how.clone(),
            steps: self.rows.iter().map(|it| it.step(now)).collect(),
            progress: self.progress,
            ms: span(self.began, now),
            hint: String::new(),
        }
    }

    /// One item for the view.
    pub fn step(&self, number: Number, now: i64) -> Option<Step> {
        self.places.get(&number).and_then(|at| self.rows.get(*at)).map(|it| it.step(now))
    }

    /// The result of the run so far.
    pub fn sum(&self) -> Sum {
        let mut sum = Sum { is_over: true, ..Sum::default() };
        // A parent is counted through its sub-items, unless only the parent is left.
        let mut above = 0;
        for row in &self.rows {
            match &row.phase {
                Phase::Done(level) if row.is_new && row.is_leaf => {
                    sum.done += 1;
                    sum.sure += usize::from(level.is_some_and(|it| it > Level::Reported));
                }
                Phase::Done(_) => sum.before += usize::from(row.is_leaf),
                Phase::Cancelled(_) => {}
                Phase::Failed { what, log } => {
                    let log = log.as_ref().map(|it| format!(", log {it}")).unwrap_or_default();
                    sum.failed.push(format!("{} ({what}{log})", text::one_line(&row.title)));
                }
                Phase::Denied(rule) => {
                    sum.denied.push(format!("{} (by {rule})", text::one_line(&row.title)));
                }
                Phase::Refused(reason) => {
                    let title = text::one_line(&row.title);
                    let reason = reason.as_ref().map(|it| format!(" ({})", text::one_line(it)));
                    sum.refused.push(format!("{title}{}", reason.unwrap_or_default()));
                }
                Phase::Open | Phase::Running | Phase::Asks | Phase::Left(_) => {
                    *(if row.is_leaf { &mut sum.left } else { &mut above }) += 1;
                }
            }
        }
        if sum.left == 0 && !sum.is_broken() && sum.refused.is_empty() {
            sum.left = above;
        }
        sum.is_over = !sum.is_broken() && sum.refused.is_empty() && sum.left == 0;
        sum
    }
}

impl Sum {
    /// Whether items failed or were denied.
    pub fn is_broken(&self) -> bool {
        !self.failed.is_empty() || !self.denied.is_empty()
    }

    /// `3 done (2 checked), 1 failed: Publish (exit 1), 0 left. Run it again to retry.`
    pub fn words(&self) -> String {
        let sure = if self.sure > 0 { format!(" ({} checked)", self.sure) } else { String::new() };
        let counted = |what: &str, which: &[String]| match which {
            [] => format!("0 {what}"),
            which => format!("{} {what}: {}", which.len(), which.join(", ")),
        };
        let mut parts = vec![format!("{} done{sure}", self.done)];
        parts.extend((self.before > 0).then(|| format!("{} before", self.before)));
        parts.push(counted("failed", &self.failed));
        for (what, which) in [("denied", &self.denied), ("refused", &self.refused)] {
            parts.extend((!which.is_empty()).then(|| counted(what, which)));
        }
        parts.push(format!("{} left.", self.left));
        let next = match (self.failed.is_empty(), self.denied.is_empty()) {
            (false, _) => " Run it again to retry.",
            (true, false) => " Denied items stay open until the rule changes.",
            (true, true) if self.is_over => "",
            (true, true) => " Run it again to go on.",
        };
        parts.join(", ") + next
    }
}

impl Row {
    fn step(&self, now: i64) -> Step {
        let (state, note) = match &self.phase {
            Phase::Open => (State::Open, self.waits.clone()),
            Phase::Running => (State::Running, self.said.clone()),
            Phase::Asks => (State::Asks, "asks you".to_owned()),
            Phase::Done(level) => {
                let sure = level.is_some_and(|it| it > Level::Reported);
                let note = level.filter(|_| sure).map(Level::as_str).unwrap_or_default();
                (State::Done { sure }, note.to_owned())
            }
            Phase::Failed { what, log } => {
                let log = log.as_ref().map(|it| format!(", log {it}")).unwrap_or_default();
                (State::Failed, format!("{what}{log}"))
            }
            Phase::Denied(rule) => (State::Denied, format!("by {rule}")),
            Phase::Refused(reason) => (State::Refused, reason.clone().unwrap_or_default()),
            Phase::Left(why) => (State::Held, why.clone()),
            Phase::Cancelled(why) => (State::Cancelled, why.clone()),
        };
        Step {
            title: self.title.clone(),
            depth: self.depth,
            worker: self.worker.clone(),
            state,
            ms: self.since.map(|since| span(since, now)).or(self.ms),
            note,
            printed: self.printed.clone(),
        }
    }
}

impl Held {
    /// The reason, short enough for a line on a screen.
    pub fn words(&self, title: &dyn Fn(Number) -> String) -> String {
        match self {
            Self::After(number) => format!("after {}", title(*number)),
            Self::Under(number) => format!("open under it: {}", title(*number)),
            Self::NotChosen => "not chosen".to_owned(),
            Self::Waiting(on) => format!("waiting for: {on}"),
            Self::ByHand => "by hand; nobody to ask (--wait waits for an answer)".to_owned(),
            Self::Approval => {
                "asks; nobody to ask (--wait waits for an answer, --yes allows it)".to_owned()
            }
            Self::Interrupted => "interrupted (--retry-interrupted runs it again)".to_owned(),
            Self::Claimed(who) => format!("{who} holds it"),
            Self::Check(why) => (*why).to_owned(),
        }
    }
}

/// What an item waits for before it begins: `after Build, Test · asks`.
fn waits(plan: &Plan, item: &Item, task: Option<&Task>) -> String {
    let after: Vec<&str> = plan.blockers(item).map(|it| it.title.as_str()).collect();
    let after = (!after.is_empty()).then(|| format!("after {}", after.join(", ")));
    let asks = match task {
        Some(Task::ByHand) => Some("by hand".to_owned()),
        Some(Task::Step | Task::Agent(_)) => item.approve.then(|| "asks".to_owned()),
        None => None,
    };
    after.into_iter().chain(asks).collect::<Vec<_>>().join(" · ")
}

fn depth(plan: &Plan, item: &Item) -> usize {
    let mut depth = 0;
    let mut at = item.parent;
    // The limit ends a cycle; no plan is this deep.
    while let Some(parent) = at.and_then(|it| plan.get(it)).filter(|_| depth < 32) {
        depth += 1;
        at = parent.parent;
    }
    depth
}

fn span(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}
