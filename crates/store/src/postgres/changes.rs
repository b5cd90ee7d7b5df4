//! Everything that writes to a plan: load, decide, write, in one transaction of two round trips.
//!
//! The model decides; this file has only the order of the steps.

use std::sync::{Mutex, PoisonError};

use punchlist_model::decide::{decide_since, journal_needed};
use punchlist_model::needs::{Around, Needs, Reach};
use punchlist_model::row_changes::RowChanges;
use punchlist_model::store::{Applied, Change, Entry, Error, Kind, NewPlan, kept};
use punchlist_model::{
    Ctx, Decision, ItemRef, MadeFor, Plan, PlanId, Revision, Slice, WriteId, forget, undo,
};

use super::error::Failure;
use super::tx::{Now, Tx};
use super::values::params;
use super::{attachments, calls, journal, load, messages, save};
use crate::changes::{EntryKind, Prepared};
use crate::rows::PlanKey;

/// The ids under which earlier tries of a write may have been committed.
#[derive(Default)]
pub(crate) struct Tries(Mutex<Vec<WriteId>>);

impl Tries {
    fn ids(&self) -> Vec<WriteId> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, id: WriteId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(id);
    }
}

/// Creates an empty plan.
pub(crate) async fn create(tx: &Tx, new: NewPlan) -> Result<Plan, Failure> {
    let now = tx.now(new.at);
    let plan = NewPlan { at: now.get().await?, ..new }.plan();
    check_new(tx, &plan).await?;
    save::new_plan(tx, &plan).await?;
    Ok(plan)
}

/// Records what a plan was made for.
pub(crate) async fn set_made_for(
    tx: &Tx,
    id: PlanId,
    what: Option<MadeFor>,
) -> Result<(), Failure> {
    let (key, _) = load::locked_header(tx, id).get().await?;
    check_made_for(tx, id, what.as_ref()).await?;
    save::made_for(tx, key, what.as_ref());
    Ok(())
}

/// Decides a change and writes the result.
pub(crate) async fn change(
    tx: &Tx,
    id: PlanId,
    change: Change,
    tries: &Tries,
) -> Result<Applied, Failure> {
    let needs = Needs::of(&change.ops);
    // All of this is sent at once. The lock comes first, so the rest sees the plan as nobody else can
    // change it any longer.
    let header = match change.skip_locked {
        true => load::free_header(tx, id),
        false => load::locked_header(tx, id),
    };
    let now = tx.checked_now(change.ctx.now);
    let items = load::items(tx, id, &needs);
    let since =
        journal_needed(&change.ops, &change.ctx).map(|base| journal::after(tx, id, base, u32::MAX));
    let mut writes = tries.ids();
    writes.extend(change.write);
    let repeated = journal::of_writes(tx, id, &writes);
    let (key, plan) = match header.get().await {
        Err(Failure::Store(Error::NoPlan(_))) if change.skip_locked => {
            load::header(tx, id).get().await?;
            let what = "another process is changing the plan at this moment; nothing was changed";
            return Err(Error::Busy(what.to_owned()).into());
        }
        header => header?,
    };
    let now = now.get().await?;
    if let Some(entry) = repeated.get().await? {
        return Ok(Applied::repeated(entry, items.fill(plan).await?));
    }
    check_revision(tx, &plan, change.expect).await?;
    let change = Change { ctx: Ctx { now, ..change.ctx }, ..change };
    let revision = plan.revision;
    let plan = items.fill(plan).await?;
    let since = match since {
        Some(entries) => entries.get(revision).await?,
        None => Vec::new(),
    };
    let decision = decide_since(&plan, &change.ops, &change.ctx, &since)?;
    let entry_kind = EntryKind { kind: change.kind, undoes: None, write: change.write };
    let applied = commit(tx, key, plan, decision, entry_kind, &change.ctx, tries).await?;
    if !applied.decision.events.is_empty()
        && let Some(key) = change.has_shown(applied.revision())
    {
        attachments::shown(tx, key, applied.revision());
    }
    Ok(applied)
}

/// The context of a write, with the time that counts.
async fn timed(now: Now, ctx: Ctx) -> Result<Ctx, Failure> {
    Ok(Ctx { now: now.get().await?, ..ctx })
}

/// Undoes the caller's last change.
pub(crate) async fn undo(
    tx: &Tx,
    id: PlanId,
    ctx: Ctx,
    expect: Option<Revision>,
    tries: &Tries,
) -> Result<Applied, Failure> {
    let (header, now) = (load::locked_header(tx, id), tx.now(ctx.now));
    let (key, plan) = header.get().await?;
    if let Some(entry) = journal::of_writes(tx, id, &tries.ids()).get().await? {
        let plan = load::all_items(tx, id).fill(plan).await?;
        return Ok(Applied::repeated(entry, plan));
    }
    check_revision(tx, &plan, expect).await?;
    let ctx = timed(now, ctx).await?;
    // The change to undo is usually near the end of the journal, so the end is read first, then
    // more.
    let mut most = 64_u64;
    loop {
        let after = Revision(plan.revision.0.saturating_sub(most));
        let entries = journal::after(tx, id, after, u32::MAX).get(plan.revision).await?;
        if let Some((entry, since)) = undo::target(&entries, &ctx.actor) {
            let plan = Plan::from_all(load::all_items(tx, id).fill(plan).await?);
            let decision = undo::undo(&plan, entry, since, &ctx)?;
            let entry_kind =
                EntryKind { kind: Kind::Undo, undoes: Some(entry.revision), write: None };
            return commit(tx, key, plan.into(), decision, entry_kind, &ctx, tries).await;
        }
        if after == Revision(0) {
            return Err(undo::Conflict::Nothing(ctx.actor.name).into());
        }
        most = most.saturating_mul(4);
    }
}

/// Erases texts from rows and journal. The caller must rewrite the tables.
pub(crate) async fn forget(
    tx: &Tx,
    id: PlanId,
    item: Option<ItemRef>,
    ctx: Ctx,
    tries: &Tries,
) -> Result<Applied, Failure> {
    let needs = match &item {
        // The warnings need its dependants and sub-items.
        Some(item) => {
            let around = vec![Around::Dependants, Around::Children];
            Needs { items: vec![Reach { item: item.clone(), around }], ..Needs::default() }
        }
        None => Needs::whole(),
    };
    let (header, now) = (load::locked_header(tx, id), tx.now(ctx.now));
    let items = load::items(tx, id, &needs);
    let (key, plan) = header.get().await?;
    let revision = plan.revision;
    let plan = items.fill(plan).await?;
    if let Some(entry) = journal::of_writes(tx, id, &tries.ids()).get().await? {
        return Ok(Applied::repeated(entry, plan));
    }
    let number = item.as_ref().map(|item| forget::target(&plan, item)).transpose()?;
    let mut scrubbed_to = Revision(0);
    while scrubbed_to < revision {
        let entries = journal::after(tx, id, scrubbed_to, 256).get(revision).await?;
        let Some(last) = entries.last() else { break };
        scrubbed_to = last.revision;
        for entry in entries {
            let mut scrubbed = entry.clone();
            forget::scrub(&mut scrubbed, number);
            if scrubbed != entry {
                journal::rewrite(tx, key, &scrubbed);
            }
        }
    }
    calls::forget(tx, key, number).await?;
    if number.is_none() {
        messages::forget(tx, key);
    }
    let ctx = timed(now, ctx).await?;
    let decision = forget::decide(&plan, number, ctx.now);
    let entry_kind = EntryKind { kind: Kind::Forget, undoes: None, write: None };
    commit(tx, key, plan, decision, entry_kind, &ctx, tries).await
}

/// Imports a plan with its journal.
pub(crate) async fn import(tx: &Tx, plan: &Plan, entries: &[Entry]) -> Result<(), Failure> {
    /// How many entries are sent at once.
    const CHUNK: usize = 1000;
    check_new(tx, plan).await?;
    let key = save::new_plan(tx, plan).await?;
    save::items(tx, key, &RowChanges::of_new(plan));
    for entries in entries.chunks(CHUNK) {
        journal::append_all(tx, key, None, entries);
    }
    Ok(())
}

/// Writes a decision.
async fn commit(
    tx: &Tx,
    key: PlanKey,
    plan: Slice,
    decision: Decision,
    entry_kind: EntryKind,
    ctx: &Ctx,
    tries: &Tries,
) -> Result<Applied, Failure> {
    if decision.events.is_empty() {
        return Ok(Applied { revision: plan.revision, plan, decision });
    }
    let ctx = &Ctx { now: kept(ctx.now), ..ctx.clone() };
    let prepared = Prepared::of(&plan, decision, &entry_kind, ctx);
    let Prepared { plan, changes, entry, write, .. } = &prepared;
    if changes.plan_fields {
        check_name(tx, plan).await?;
    }
    save::items(tx, key, changes);
    save::plan(tx, key, plan, changes.plan_fields);
    journal::append(tx, key, *write, entry);
    tries.add(*write);
    tx.ring(format!("{} {}", plan.id, plan.revision));
    Ok(prepared.applied())
}

async fn check_revision(tx: &Tx, plan: &Slice, expect: Option<Revision>) -> Result<(), Failure> {
    match expect {
        Some(expected) if expected != plan.revision => {
            let entries = journal::after(tx, plan.id, expected, u32::MAX);
            let since = entries.get(plan.revision).await?;
            let (plan, actual) = (plan.id, plan.revision);
            Err(Error::Revision { plan, expected, actual, since }.into())
        }
        Some(_) | None => Ok(()),
    }
}

async fn check_new(tx: &Tx, plan: &Plan) -> Result<(), Failure> {
    let exists = "SELECT 1::int8 FROM punchlist.plan WHERE id = $1";
    if tx.first(exists, params![plan.id.to_string()]).await?.is_some() {
        return Err(Error::Exists(plan.id).into());
    }
    check_made_for(tx, plan.id, plan.made_for.as_ref()).await?;
    check_name(tx, plan).await
}

async fn check_made_for(tx: &Tx, id: PlanId, what: Option<&MadeFor>) -> Result<(), Failure> {
    let Some(what) = what else { return Ok(()) };
    match save::plan_for(tx, what).await?.filter(|it| *it != id) {
        Some(other) => Err(Error::AlreadyMade(other).into()),
        None => Ok(()),
    }
}

/// Checks that a name is free. Whoever takes it meanwhile causes a conflict, and this is tried again.
async fn check_name(tx: &Tx, plan: &Slice) -> Result<(), Failure> {
    let Some(name) = &plan.name else { return Ok(()) };
    let taken = "SELECT 1::int8 FROM punchlist.plan WHERE project = $1 AND name = $2 AND id <> $3";
    let params = params![&plan.project, name, plan.id.to_string()];
    if tx.first(taken, params).await?.is_some() {
        return Err(Error::NameTaken(name.clone()).into());
    }
    Ok(())
}
