//! Everything that writes to a plan: load, decide, write, in one transaction.
//!
//! The model decides; this file has only the order of the steps.

use punchlist_model::decide::{decide_since, journal_needed};
use punchlist_model::needs::{Around, Needs, Reach};
use punchlist_model::row_changes::RowChanges;
use punchlist_model::store::{Applied, Change, Entry, Error, Kind, NewPlan, kept};
use punchlist_model::{
    Ctx, Decision, ItemRef, MadeFor, Plan, PlanId, Revision, Slice, WriteId, forget, undo,
};
use rusqlite::{Connection, params};

use crate::load::{self, Failure, Loaded};
use crate::rows::PlanKey;
use crate::{attachments, calls, journal, messages, save};

/// Creates an empty plan.
pub(crate) fn create(conn: &Connection, new: NewPlan) -> Result<Plan, Failure> {
    let plan = new.plan();
    check_new(conn, &plan)?;
    save::new_plan(conn, &plan)?;
    Ok(plan)
}

/// Records what a plan was made for.
pub(crate) fn set_made_for(
    conn: &Connection,
    id: PlanId,
    what: Option<&MadeFor>,
) -> Result<(), Failure> {
    let (key, _) = load::header(conn, id)?;
    check_made_for(conn, id, what)?;
    Ok(save::made_for(conn, key, what)?)
}

/// Decides a change and writes the result.
pub(crate) fn change(conn: &Connection, id: PlanId, change: Change) -> Result<Applied, Failure> {
    let (key, plan) = load::header(conn, id)?;
    let needs = Needs::of(&change.ops);
    if let Some(write) = change.write
        && let Some(entry) = journal::of_write(conn, key, id, write)?
    {
        let loaded = load::fill(conn, key, plan, &needs)?;
        return Ok(Applied::repeated(entry, loaded.plan));
    }
    check_revision(conn, key, &plan, change.expect)?;
    let change = Change { ctx: Ctx { now: kept(change.ctx.now), ..change.ctx }, ..change };
    let loaded = load::fill(conn, key, plan, &needs)?;
    let since = match journal_needed(&change.ops, &change.ctx) {
        Some(base) => journal::after(conn, key, id, base, u32::MAX)?,
        None => Vec::new(),
    };
    let decision = decide_since(&loaded.plan, &change.ops, &change.ctx, &since)?;
    let entry_kind = EntryKind { kind: change.kind, undoes: None, write: change.write };
    let applied = commit(conn, loaded, decision, entry_kind, &change.ctx)?;
    if !applied.decision.events.is_empty()
        && let Some(key) = change.has_shown(applied.revision())
    {
        attachments::shown(conn, key, applied.revision())?;
    }
    Ok(applied)
}

/// Undoes the caller's last change.
pub(crate) fn undo(
    conn: &Connection,
    id: PlanId,
    ctx: Ctx,
    expect: Option<Revision>,
) -> Result<Applied, Failure> {
    let (key, plan) = load::header(conn, id)?;
    check_revision(conn, key, &plan, expect)?;
    let ctx = Ctx { now: kept(ctx.now), ..ctx };
    // The change to undo is usually near the end of the journal, so the end is read first, then
    // more.
    let mut most = 64_u64;
    loop {
        let after = Revision(plan.revision.0.saturating_sub(most));
        let entries = journal::after(conn, key, id, after, u32::MAX)?;
        if let Some((entry, since)) = undo::target(&entries, &ctx.actor) {
            let plan = load::whole(conn, key, plan)?;
            let decision = undo::undo(&plan, entry, since, &ctx)?;
            let loaded = Loaded { key, plan: plan.into() };
            let entry_kind =
                EntryKind { kind: Kind::Undo, undoes: Some(entry.revision), write: None };
            return commit(conn, loaded, decision, entry_kind, &ctx);
        }
        if after == Revision(0) {
            return Err(undo::Conflict::Nothing(ctx.actor.name).into());
        }
        most = most.saturating_mul(4);
    }
}

/// Erases texts from rows and journal. The caller must purge what remains in the files.
pub(crate) fn forget(
    conn: &Connection,
    id: PlanId,
    item: Option<&ItemRef>,
    ctx: Ctx,
) -> Result<Applied, Failure> {
    let (key, plan) = load::header(conn, id)?;
    let needs = match item {
        // The warnings need its dependants and sub-items.
        Some(item) => {
            let around = vec![Around::Dependants, Around::Children];
            Needs { items: vec![Reach { item: item.clone(), around }], ..Needs::default() }
        }
        None => Needs::whole(),
    };
    let loaded = load::fill(conn, key, plan, &needs)?;
    let number = item.map(|item| forget::target(&loaded.plan, item)).transpose()?;
    let mut scrubbed_to = Revision(0);
    loop {
        let entries = journal::after(conn, key, id, scrubbed_to, 256)?;
        let Some(last) = entries.last() else { break };
        scrubbed_to = last.revision;
        for entry in entries {
            let mut scrubbed = entry.clone();
            forget::scrub(&mut scrubbed, number);
            if scrubbed != entry {
                journal::rewrite(conn, key, &scrubbed)?;
            }
        }
    }
    calls::forget(conn, key, number)?;
    if number.is_none() {
        messages::forget(conn, key)?;
    }
    let ctx = Ctx { now: kept(ctx.now), ..ctx };
    let decision = forget::decide(&loaded.plan, number, ctx.now);
    let entry_kind = EntryKind { kind: Kind::Forget, undoes: None, write: None };
    commit(conn, loaded, decision, entry_kind, &ctx)
}

/// Imports a plan with its journal.
pub(crate) fn import(conn: &Connection, plan: &Plan, entries: &[Entry]) -> Result<(), Failure> {
    check_new(conn, plan)?;
    let key = save::new_plan(conn, plan)?;
    save::items(conn, key, &RowChanges::of_new(plan))?;
    for entry in entries {
        journal::append(conn, key, None, entry)?;
    }
    Ok(())
}

/// The fields of a journal entry that depend on the kind of change.
pub(crate) struct EntryKind {
    pub(crate) kind: Kind,
    /// The revision that is undone.
    pub(crate) undoes: Option<Revision>,
    /// The id of the write, if the caller gave one.
    pub(crate) write: Option<WriteId>,
}

/// A decision that has events, ready to be written.
pub(crate) struct Prepared {
    /// The plan after the change.
    pub(crate) plan: Slice,
    /// What happens to its rows.
    pub(crate) changes: RowChanges,
    /// The entry of the journal.
    pub(crate) entry: Entry,
    /// The id of the write.
    pub(crate) write: WriteId,
    decision: Decision,
}

impl Prepared {
    /// What a decision writes.
    pub(crate) fn of(
        plan: &Slice,
        mut decision: Decision,
        entry_kind: &EntryKind,
        ctx: &Ctx,
    ) -> Self {
        let (mut plan, changes) = RowChanges::of(plan, &decision.events);
        plan.revision.0 += 1;
        plan.updated_at = ctx.now;
        let entry = Entry {
            plan: plan.id,
            revision: plan.revision,
            at: ctx.now,
            actor: ctx.actor.clone(),
            kind: entry_kind.kind,
            undoes: entry_kind.undoes,
            events: std::mem::take(&mut decision.events),
        };
        let write = entry_kind.write.unwrap_or_else(|| ctx.ids.write(plan.revision));
        Self { plan, changes, entry, write, decision }
    }

    /// The result for the caller, once it is written.
    pub(crate) fn applied(self) -> Applied {
        let decision = Decision { events: self.entry.events, ..self.decision };
        Applied { revision: self.plan.revision, plan: self.plan, decision }
    }
}

/// Writes a decision.
fn commit(
    conn: &Connection,
    loaded: Loaded,
    decision: Decision,
    entry_kind: EntryKind,
    ctx: &Ctx,
) -> Result<Applied, Failure> {
    let Loaded { key, plan } = loaded;
    if decision.events.is_empty() {
        return Ok(Applied { revision: plan.revision, plan, decision });
    }
    let prepared = Prepared::of(&plan, decision, &entry_kind, ctx);
    let Prepared { plan, changes, entry, write, .. } = &prepared;
    if changes.plan_fields {
        check_name(conn, plan)?;
    }
    save::items(conn, key, changes)?;
    save::plan(conn, key, plan, changes.plan_fields)?;
    journal::append(conn, key, Some(*write), entry)?;
    Ok(prepared.applied())
}

fn check_revision(
    conn: &Connection,
    key: PlanKey,
    plan: &Slice,
    expect: Option<Revision>,
) -> Result<(), Failure> {
    match expect {
        Some(expected) if expected != plan.revision => {
            let since = journal::after(conn, key, plan.id, expected, u32::MAX)?;
            let (plan, actual) = (plan.id, plan.revision);
            Err(Error::Revision { plan, expected, actual, since }.into())
        }
        Some(_) | None => Ok(()),
    }
}

fn check_new(conn: &Connection, plan: &Plan) -> Result<(), Failure> {
    let mut select = conn.prepare_cached("SELECT 1 FROM plan WHERE id = ?1")?;
    if select.exists([plan.id.to_string()])? {
        return Err(Error::Exists(plan.id).into());
    }
    check_made_for(conn, plan.id, plan.made_for.as_ref())?;
    check_name(conn, plan)
}

fn check_made_for(conn: &Connection, id: PlanId, what: Option<&MadeFor>) -> Result<(), Failure> {
    let Some(what) = what else { return Ok(()) };
    match save::plan_for(conn, what)?.filter(|it| *it != id) {
        Some(other) => Err(Error::AlreadyMade(other).into()),
        None => Ok(()),
    }
}

fn check_name(conn: &Connection, plan: &Slice) -> Result<(), Failure> {
    let Some(name) = &plan.name else { return Ok(()) };
    let mut select =
        conn.prepare_cached("SELECT 1 FROM plan WHERE project = ?1 AND name = ?2 AND id <> ?3")?;
    if select.exists(params![plan.project, name, plan.id.to_string()])? {
        return Err(Error::NameTaken(name.clone()).into());
    }
    Ok(())
}
