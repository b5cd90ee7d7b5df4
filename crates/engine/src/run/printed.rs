//! The last lines that steps printed, for the screen and for questions about later steps.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use punchlist_model::call::{CallStore, Printed};
use punchlist_model::{Item, Number, Plan, PlanId, Status};
use punchlist_sched::call::Output;

use super::schedule::{Schedule, Task};
use crate::fail::Fail;
use crate::outputs::{self, last_call};

/// How many lines of a step a question shows.
const LINES: usize = 8;
/// Maximum length of a line, in characters.
const LONGEST: usize = 500;
/// How many steps' output a question shows.
const STEPS: usize = 3;

/// The last lines of an output; `None` if it is empty.
pub(crate) fn of(title: &str, output: &Output) -> Option<Printed> {
    let text = output.text.trim_end();
    let all: Vec<&str> = text.lines().collect();
    let last = all.iter().skip(all.len().saturating_sub(LINES));
    let lines: Vec<String> = last.map(|it| it.chars().take(LONGEST).collect()).collect();
    let shown = lines.len() as u64;
    let before = outputs::lines(output).saturating_sub(shown);
    (!lines.is_empty()).then(|| Printed { title: title.to_owned(), lines, before })
}

/// The output of the steps that an item depends on, and of their sub-items.
pub(crate) fn before(
    plan: &Plan,
    printed: &BTreeMap<Number, Printed>,
    item: &Item,
) -> Vec<Printed> {
    let items = reach(plan, &item.depends_on);
    let listed = plan.listed().into_iter().filter(|it| items.contains(&it.number));
    let all: Vec<&Printed> = listed.filter_map(|it| printed.get(&it.number)).collect();
    all.iter().skip(all.len().saturating_sub(STEPS)).map(|it| (*it).clone()).collect()
}

/// These items and all below them.
fn reach(plan: &Plan, from: &BTreeSet<Number>) -> BTreeSet<Number> {
    let mut items = from.clone();
    // A sub-item comes after its parent in the list.
    for item in plan.listed() {
        if item.parent.is_some_and(|it| items.contains(&it)) {
            items.insert(item.number);
        }
    }
    items
}

/// The output from earlier runs of completed steps on which an item depends that a person will be
/// asked about.
pub(crate) async fn earlier(
    store: &dyn CallStore,
    outputs: &Path,
    plan: &Plan,
    schedule: &Schedule,
) -> Result<BTreeMap<Number, Printed>, Fail> {
    let is_asked = |task: &Task, item: &Item| item.approve || *task == Task::ByHand;
    let mut needed = BTreeSet::new();
    for planned in &schedule.planned {
        if let Some(item) = plan.get(planned.number).filter(|it| is_asked(&planned.task, it)) {
            needed.extend(reach(plan, &item.depends_on));
        }
    }
    let mut found = BTreeMap::new();
    for item in needed.into_iter().filter_map(|it| plan.get(it)) {
        if item.status == Status::Completed
            && let Some(printed) = last(store, outputs, plan.id, item).await?
        {
            found.insert(item.number, printed);
        }
    }
    Ok(found)
}

async fn last(
    store: &dyn CallStore,
    outputs: &Path,
    plan: PlanId,
    item: &Item,
) -> Result<Option<Printed>, Fail> {
    let call = last_call::of(store, outputs, plan, item.number).await?;
    Ok(call.and_then(|it| of(&item.title, it.output())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_those_before_are_counted() {
        let text: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let printed = of("Build", &Output::text(text)).unwrap();
        assert_eq!((printed.before, printed.lines.len()), (12, 8));
        assert_eq!(printed.lines.last().unwrap(), "line 20");
        let last = printed.last(3);
        assert_eq!((last.before, last.lines.len()), (17, 3));
        assert_eq!(of("Build", &Output::text("\n\n")), None);
    }
}
