//! The end of a run: evidence, the summary, and the boxes in the file.

use std::fs;

use punchlist_formats::planfile;
use punchlist_formats::text;
use punchlist_formats::view::{Reader, goal};
use punchlist_model::goal::Reached;
use punchlist_model::{Actor, Evidence, Level, Number, Plan, Status, Timestamp};
use punchlist_sched::call::Output;
use punchlist_sched::run;

use super::board::Sum;
use super::plan_file::Source;
use crate::check::evidence;
use crate::fail::{Code, Fail};
use crate::outputs;

/// How many lines of a failed item's output are shown.
const SHOWN: usize = 12;

/// Evidence of a person's approval.
pub(crate) fn approved(by: &Actor, at: Timestamp) -> Evidence {
    Evidence { level: Level::Approved, at, by: by.name.clone(), run: None }
}

/// The closed ancestors of an item, nearest first.
pub(crate) fn closed_above(plan: &Plan, number: Number) -> Vec<Number> {
    let mut closed = Vec::new();
    let mut at = plan.get(number).and_then(|it| it.parent);
    while let Some(item) = at.and_then(|it| plan.get(it)) {
        if item.status != Status::Completed || closed.contains(&item.number) {
            break;
        }
        closed.push(item.number);
        at = item.parent;
    }
    closed
}

/// The error for a run that could not continue.
pub(crate) fn broken(why: &run::Error) -> Fail {
    Fail::new(Code::Unusable, why.to_string())
        .hint("what ran was ended; fix that and run it again to go on.")
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The plan as it is now.
    pub plan: Plan,
    /// How many items ended how.
    pub sum: Sum,
    /// The state of the goal.
    pub aim: Aim,
    /// The outputs of failed items.
    pub outputs: Vec<(Number, Output)>,
    /// Notes for a person.
    pub notes: Vec<String>,
    /// Whether there was nothing to do.
    pub is_idle: bool,
    /// Whether somebody stopped the run.
    pub is_stopped: bool,
}

/// The state of a plan's goal, if it has one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Aim {
    /// Whether no item is open and the goal is not reached.
    pub is_unmet: bool,
    /// A text about the goal, with line ends.
    pub words: String,
}

/// The state of this plan's goal.
pub(crate) fn aim(plan: &Plan, now: Timestamp, reader: Reader) -> Aim {
    if plan.goal.is_none() {
        return Aim { is_unmet: false, words: String::new() };
    }
    let stale = evidence::stale(plan);
    let is_unmet = matches!(plan.reached(&stale), Some(Reached::No(_)));
    Aim { is_unmet, words: goal::news(plan, &stale, now, reader) }
}

impl Ended {
    /// The exit code, if the run was no success.
    pub fn code(&self) -> Option<Code> {
        match (self.is_stopped, self.sum.is_broken(), self.sum.is_over) {
            (true, _, _) => Some(Code::Interrupted),
            (false, true, _) => Some(Code::ItemFailed),
            (false, false, true) if !self.aim.is_unmet => None,
            (false, false, _) => Some(Code::ItemsLeft),
        }
    }

    /// The last lines: the outputs of failed items, a summary, and the state of the goal.
    pub fn words(&self) -> String {
        words(&self.plan, &self.sum, &self.outputs, self.is_idle) + &self.aim.words
    }
}

fn words(plan: &Plan, sum: &Sum, outputs: &[(Number, Output)], idle: bool) -> String {
    let mut out = String::new();
    for (number, output) in outputs {
        let Some(item) = plan.get(*number) else { continue };
        let said: Vec<&str> = output.text.lines().collect();
        let from = said.len().saturating_sub(SHOWN);
        let before = outputs::lines(output).saturating_sub((said.len() - from) as u64);
        if said.is_empty() {
            continue;
        }
        out.push_str(&format!("\n{}\n", text::one_line(&item.title)));
        if before > 0 {
            let s = if before == 1 { "" } else { "s" };
            out.push_str(&format!("  … {before} line{s} before\n"));
        }
        for line in said.into_iter().skip(from) {
            out.push_str(&format!("  {}\n", text::one_line(line)));
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    if idle && sum.is_over {
        let done = plan.progress().completed;
        let s = if done == 1 { "" } else { "s" };
        out.push_str(&format!("All done already: {done} item{s}. `--fresh` starts over.\n"));
        return out;
    }
    out.push_str(&sum.words());
    out.push('\n');
    out
}

/// Writes the state of the items into the boxes of the file. Returns notes about what could not be
/// written.
pub(crate) fn write_back(source: &Source, plan: &Plan) -> Result<Vec<String>, Fail> {
    let fail = |why: &dyn std::fmt::Display| {
        Fail::ours(format!("the boxes of {} cannot be written: {why}", source.name))
    };
    // The file is read again, so that changes that somebody made meanwhile stay.
    let text = fs::read_to_string(&source.path).map_err(|why| fail(&why))?;
    let file = planfile::read(&text);
    let new = planfile::write_back(&text, &planfile::ticks(&file, plan));
    if new == text {
        return Ok(Vec::new());
    }
    punchlist_bridge::replace::rewrite(&source.path, new.as_bytes()).map_err(|why| fail(&why))?;
    Ok(Vec::new())
}
