//! Merges a Markdown checklist into a plan: new items are added and ticked boxes count. Existing
//! items are not removed or changed otherwise.

use std::collections::BTreeSet;

use punchlist_formats::planfile::{self, FileItem, PlanFile, Severity, Tick};
use punchlist_model::{
    Check, ItemRef, NewItem, Number, Op, Origin, Patch, Plan, PlanPatch, Run, Status,
};

use crate::fail::Fail;

/// The result of comparing a checklist with a plan.
pub struct Merge {
    /// The operations, to be applied in one change; empty if the plan has everything already.
    pub ops: Vec<Op>,
    /// Differences between file and plan that were left as they are.
    pub notes: Vec<String>,
}

/// Parses a checklist. `name` is the file's name in error messages. A file without items is an
/// error.
pub fn checklist(text: &str, name: &str) -> Result<PlanFile, Fail> {
    let file = planfile::read(text);
    if file.items.is_empty() {
        return Err(Fail::usage(format!("{name} has no item of a checklist")).hint(
            "an item is a line like `- [ ] Build`; `punchlist add -` takes a title a line.",
        ));
    }
    let mistakes = file.problems.iter().filter(|it| it.severity == Severity::Error);
    let drawn: Vec<String> = mistakes.map(|it| planfile::draw(name, text, it)).take(10).collect();
    if !drawn.is_empty() {
        return Err(Fail::usage(format!("{name} has mistakes in it; nothing was imported"))
            .details(drawn)
            .hint("fix that and import it again."));
    }
    Ok(file)
}

/// Compares a checklist with a plan. `name` is the source in the evidence of ticked boxes.
pub fn merge(file: &PlanFile, plan: Option<&Plan>, name: &str, origin: Origin) -> Merge {
    let known = match plan {
        Some(plan) => planfile::matched(file, plan),
        None => vec![None; file.items.len()],
    };
    let mut new = 0;
    let refs: Vec<ItemRef> = known
        .iter()
        .map(|number| {
            number.map_or_else(
                || {
                    new += 1;
                    ItemRef::Batch(new)
                },
                ItemRef::Number,
            )
        })
        .collect();
    let mut merge = Merge { ops: Vec::new(), notes: Vec::new() };
    // A plan that is created for the file gets the file's title.
    if let (None, Some(title)) = (plan, &file.title) {
        let patch = PlanPatch { title: Some(title.clone()), ..PlanPatch::default() };
        merge.ops.push(Op::Plan(Box::new(patch)));
    }
    for (at, item) in file.items.iter().enumerate().filter(|(at, _)| known[*at].is_none()) {
        merge.ops.push(Op::Add(Box::new(new_item(at, item, &refs, origin))));
    }
    // Dependencies on later items of the file are added once all items exist.
    for (at, item) in file.items.iter().enumerate().filter(|(at, _)| known[*at].is_none()) {
        let later: Vec<ItemRef> =
            after(item).filter(|it| *it >= at).map(|it| refs[it].clone()).collect();
        if !later.is_empty() {
            let patch = Patch { after: later, ..Patch::default() };
            merge.ops.push(Op::Edit { item: refs[at].clone(), patch: Box::new(patch) });
        }
    }
    settle(file, plan, &known, &refs, name, origin, &mut merge);
    merge
}

fn after(item: &FileItem) -> impl Iterator<Item = usize> {
    item.fields.after.iter().copied()
}

fn new_item(at: usize, item: &FileItem, refs: &[ItemRef], origin: Origin) -> NewItem {
    let fields = &item.fields;
    NewItem {
        title: item.title.clone(),
        context: item.context.clone(),
        completion_criteria: fields.criteria.clone().unwrap_or_default(),
        agent_type: fields.agent.clone(),
        parent: item.parent.map(|parent| refs[parent].clone()),
        depends_on: after(item).filter(|it| *it < at).map(|it| refs[it].clone()).collect(),
        check: fields.verify.clone().map(|command| Check {
            command,
            covers: fields.covers.clone(),
            origin,
        }),
        run: fields.run.clone().map(|command| Run { command, origin }),
        approve: fields.approve,
        retry: fields.retry.map(|it| it.times),
        timeout: fields.timeout,
        ..NewItem::default()
    }
}

/// Applies ticked boxes from the bottom up, so that sub-items are closed before their parent. A
/// parent stays open while one of its sub-items is open.
fn settle(
    file: &PlanFile,
    plan: Option<&Plan>,
    known: &[Option<Number>],
    refs: &[ItemRef],
    name: &str,
    origin: Origin,
    merge: &mut Merge,
) {
    let item = |number: Option<Number>| plan.and_then(|plan| plan.get(number?));
    let ours: BTreeSet<Number> = known.iter().flatten().copied().collect();
    let listed = plan.map(|plan| plan.listed()).unwrap_or_default();
    let others: BTreeSet<Number> = listed
        .iter()
        .filter(|it| it.is_open() && !ours.contains(&it.number))
        .filter_map(|it| it.parent)
        .collect();
    // The entries with a sub-item that stays open.
    let mut holding: BTreeSet<usize> = BTreeSet::new();
    for (at, wanted) in file.items.iter().enumerate().rev() {
        let is_open = item(known[at]).is_none_or(|it| it.is_open());
        let is_holding =
            holding.contains(&at) || known[at].is_some_and(|number| others.contains(&number));
        match wanted.tick {
            Tick::Done | Tick::Skipped if is_open && is_holding => {
                holding.extend(wanted.parent);
                merge.notes.push(format!(
                    "line {}: \"{}\" stays open, because something under it is open",
                    wanted.line, wanted.title
                ));
            }
            Tick::Done if is_open => merge.ops.push(match origin {
                Origin::Person => Op::Tick { item: refs[at].clone(), by: name.to_owned() },
                Origin::Agent => {
                    let item = refs[at].clone();
                    Op::Complete { item, outcome: None, with_children: false }
                }
            }),
            Tick::Skipped if is_open => {
                merge.ops.push(Op::Cancel { item: refs[at].clone(), reason: None });
            }
            Tick::Open | Tick::Begun if is_open => holding.extend(wanted.parent),
            Tick::Open | Tick::Begun => {
                let done = item(known[at]).map_or(Status::Completed, |it| it.status);
                merge.notes.push(format!(
                    "line {}: \"{}\" stays {}; `punchlist reopen` opens it again",
                    wanted.line,
                    wanted.title,
                    done.words()
                ));
            }
            Tick::Done | Tick::Skipped => {}
        }
    }
}
