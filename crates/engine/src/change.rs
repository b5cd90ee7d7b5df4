//! Changing a plan for a caller: claims of processes that have ended are free, and a caller whose
//! change conflicts with others is told what they did.

use punchlist_formats::text::Line;
use punchlist_formats::view::{self, log};
use punchlist_model::needs::{Around, Needs, Reach};
use punchlist_model::store::{Applied, Change, Error, PlanStore};
use punchlist_model::{
    Actor, Broken, Item, ItemRef, Op, Plan, PlanId, Process, Refusal, Revision, Slice, decide,
};

use crate::fail::{Code, Fail};

/// Returns the processes that hold claims in a plan and are known to have ended.
pub type Gone<'a> = &'a (dyn Fn(&Slice) -> Vec<Process> + Sync);

/// Changes a plan. Claims of processes that have ended count as free.
pub async fn change(
    store: &dyn PlanStore,
    plan: PlanId,
    mut change: Change,
    gone: Gone<'_>,
) -> Result<Applied, Error> {
    let begins = change.ops.iter().any(begins);
    if begins {
        change.ctx.gone = gone(&store.read(plan, Needs::header()).await?);
    }
    match store.change(plan, change.clone()).await {
        // The processes are only checked after a refusal, because most changes meet no foreign
        // claim.
        Err(Error::Refused(refusal)) if !begins && is_held(&refusal) => {
            change.ctx.gone = gone(&store.read(plan, Needs::header()).await?);
            if change.ctx.gone.is_empty() {
                return Err(Error::Refused(refusal));
            }
            store.change(plan, change).await
        }
        other => other,
    }
}

/// Whether an operation claims an item. Then it matters which processes have ended.
fn begins(op: &Op) -> bool {
    matches!(
        op,
        Op::Start(_)
            | Op::Next
            | Op::Replace(_)
            | Op::ReplaceAll(_)
            | Op::Reopen { start: true, .. }
    )
}

fn is_held(refusal: &Refusal) -> bool {
    refusal.problems.iter().any(|problem| matches!(problem.broken, Broken::HeldByOther { .. }))
}

/// Whether a change could be the first one of a new plan. The check runs before the plan is
/// created, so that a refused change leaves no empty plan behind.
pub fn check_first(change: &Change) -> Result<(), Fail> {
    // A plan that does not exist yet is at revision 0.
    if let Some(expected) = change.expect.filter(|it| *it != Revision(0)) {
        let message = format!("there is no plan here yet (you had revision {expected})");
        return Err(Fail::new(Code::Conflict, message).hint(
            "`--expect 0` or `--expect any` makes one; `punchlist plans --all` shows those elsewhere.",
        ));
    }
    let empty = Plan::new(PlanId(change.ctx.ids.nth(0)), "", change.ctx.now);
    decide(&empty, &change.ops, &change.ctx)?;
    Ok(())
}

/// Completes a change's slice with the dependencies and sub-items that decide whether its items are
/// ready. The slice need not contain them. A new item can only have new sub-items, which are there
/// already.
pub async fn with_obstacles(store: &dyn PlanStore, mut applied: Applied) -> Result<Applied, Error> {
    let lacks = |item: &&Item| {
        item.depends_on.iter().any(|on| applied.plan.get(*on).is_none())
            || (applied.plan.is_ready(item) && !applied.decision.added.contains(&item.number))
    };
    let around = |item: &Item| Reach {
        item: ItemRef::Number(item.number),
        around: vec![Around::Dependencies, Around::Children],
    };
    let items: Vec<Reach> = view::change::changed(&applied).filter(lacks).map(around).collect();
    if items.is_empty() {
        return Ok(applied);
    }
    let needs = Needs { items, ..Needs::default() };
    for (number, item) in store.read(applied.plan.id, needs).await?.items {
        applied.plan.items.entry(number).or_insert(item);
    }
    Ok(applied)
}

/// The error for a failed change. After a revision conflict it includes what others did meanwhile.
pub async fn explain(
    store: &dyn PlanStore,
    error: Error,
    reader: Option<&Actor>,
    options: &view::Options,
) -> Fail {
    let Error::Revision { plan, since, .. } = &error else { return error.into() };
    let lines = store.whole(*plan).await.map(|plan| {
        let show = log::Show { reader, times: log::Times::Hidden, only: None };
        log::log(&plan, since, show, options).iter().map(Line::to_plain).collect()
    });
    Fail::from(error).details(lines.unwrap_or_default())
}

/// Describes what an undo undid. The journal has both changes.
pub async fn undid(store: &dyn PlanStore, applied: &Applied) -> Result<Vec<String>, Error> {
    let entry = async |revision: Revision| {
        let before = Revision(revision.0.saturating_sub(1));
        let entries = store.journal(applied.plan.id, before, 1).await?;
        Ok::<_, Error>(entries.into_iter().next())
    };
    let Some(undo) = entry(applied.revision()).await? else { return Ok(Vec::new()) };
    let Some(undone) = undo.undoes else { return Ok(Vec::new()) };
    let undone_in_plan = entry(undone).await?.zip(applied.whole());
    Ok(undone_in_plan.map(|(undone, plan)| log::undid(&plan, &undone, &undo)).unwrap_or_default())
}
