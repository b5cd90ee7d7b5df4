//! Everything that writes to a plan: load, decide, write, in one transaction.
//!
//! What may happen is decided in the model; here is only the order of the steps.

use punchlist_model::decide::{decide_since, journal_needed};
use punchlist_model::needs::{Around, Needs, Reach};
use punchlist_model::store::{Applied, Change, Entry, Error, Kind, NewPlan, kept};
use punchlist_model::{Ctx, Decision, Event, ItemRef, Plan, PlanId, Revision, forget, undo};
use rusqlite::params;

use crate::journal::Place;
use crate::load::{self, Failure, Loaded};
use crate::recent::{Header, Recent};
use crate::rows::PlanKey;
use crate::session::Session;
use crate::{attachments, calls, journal, messages, save};

/// Makes an empty plan.
pub(crate) fn create(conn: &Session<'_>, new: NewPlan) -> Result<Plan, Failure> {
    let mut plan = Plan::new(new.id, new.project, kept(new.at));
    plan.name = new.name;
    plan.title = new.title;
    plan.rules = new.rules;
    check_new(conn, &plan)?;
    save::new_plan(conn, &plan)?;
    Ok(plan)
}

/// What came of a change.
pub(crate) struct Changed {
    pub(crate) key: PlanKey,
    pub(crate) applied: Applied,
    /// Who has seen it by making it, now.
    pub(crate) seen_by: Option<String>,
    /// Whether that is the conversation that made this change.
    pub(crate) is_shown: bool,
    /// Where the plan's journal ends.
    pub(crate) last: Option<Place>,
}

/// Decides a change and writes what follows.
pub(crate) fn change(
    conn: &Session<'_>,
    id: PlanId,
    change: Change,
    recent: &mut Recent,
    recalls: bool,
) -> Result<Changed, Failure> {
    let (header, runs) = match recent.header(conn, id, recalls)? {
        Some(header) => (header, false),
        None => load::header_and_running(conn, id)?,
    };
    let Header { key, plan, seen_by: before, last } = header;
    check_revision(conn, key, &plan, change.expect)?;
    let ctx = Ctx { now: kept(change.ctx.now), ..change.ctx };
    let loaded = load::fill_if(conn, key, plan, &Needs::of(&change.ops), runs)?;
    let since = match journal_needed(&change.ops, &ctx) {
        Some(base) => journal::after(conn, key, id, base, u32::MAX)?,
        None => Vec::new(),
    };
    let decision = decide_since(&loaded.plan, &change.ops, &ctx, &since)?;
    let old = loaded.plan.revision;
    let (applied, last) = commit(conn, loaded, last, decision, (change.kind, None), &ctx)?;
    if applied.decision.events.is_empty() {
        return Ok(Changed { key, applied, seen_by: before, is_shown: false, last });
    }
    let change = Change { ctx, ..change };
    let shown = change.has_shown(applied.revision());
    // Mostly it is the same one as before.
    let seen_by = match (before, shown) {
        (Some(before), Some(key)) if attachments::is_named(&before, key) => Some(before),
        (before, shown) => {
            let now = shown.map(attachments::name);
            see(conn, key, now.as_deref(), before, old)?;
            now
        }
    };
    Ok(Changed { key, applied, seen_by, is_shown: shown.is_some(), last })
}

/// Takes back the caller's last change.
pub(crate) fn undo(
    conn: &Session<'_>,
    id: PlanId,
    ctx: Ctx,
    expect: Option<Revision>,
) -> Result<Applied, Failure> {
    let (key, plan) = load::header(conn, id)?;
    check_revision(conn, key, &plan, expect)?;
    let ctx = Ctx { now: kept(ctx.now), ..ctx };
    // What is taken back is mostly near the end: the end is read first, then more of it.
    let mut most = 64_u32;
    loop {
        let entries = journal::newest(conn, key, id, most)?;
        if let Some((entry, since)) = undo::target(&entries, &ctx.actor) {
            let loaded = load::fill(conn, key, plan, &Needs::whole())?;
            let decision = undo::undo(&loaded.plan, entry, since, &ctx)?;
            see(conn, key, None, load::seen_by(conn, key)?, loaded.plan.revision)?;
            let (last, kind) = (journal::last(conn, key)?, (Kind::Undo, Some(entry.revision)));
            return commit(conn, loaded, last, decision, kind, &ctx).map(|it| it.0);
        }
        if entries.len() < usize::try_from(most).unwrap_or(usize::MAX) {
            return Err(undo::Conflict::Nothing(ctx.actor.name).into());
        }
        most = most.saturating_mul(4);
    }
}

/// Erases texts from rows and journal. What is left of them in the files is the caller's to purge.
pub(crate) fn forget(
    conn: &Session<'_>,
    id: PlanId,
    item: Option<&ItemRef>,
    ctx: Ctx,
) -> Result<Applied, Failure> {
    let (key, plan) = load::header(conn, id)?;
    let needs = match item {
        // What depends on it and what is under it is told of.
        Some(item) => {
            let around = vec![Around::Dependants, Around::Children];
            Needs { items: vec![Reach { item: item.clone(), around }], ..Needs::default() }
        }
        None => Needs::whole(),
    };
    let loaded = load::fill(conn, key, plan, &needs)?;
    let number = item.map(|item| forget::target(&loaded.plan, item)).transpose()?;
    let mut seen = Revision(0);
    loop {
        let entries = journal::placed_after(conn, key, id, seen, 256)?;
        let Some((_, last)) = entries.last() else { break };
        seen = last.revision;
        for (place, entry) in entries {
            let mut scrubbed = entry.clone();
            forget::scrub(&mut scrubbed, number);
            if scrubbed != entry {
                journal::rewrite(conn, place, &scrubbed)?;
            }
        }
    }
    calls::forget(conn, key, number)?;
    if number.is_none() {
        messages::forget(conn, key)?;
    }
    let ctx = Ctx { now: kept(ctx.now), ..ctx };
    let decision = forget::decide(&loaded.plan, number, ctx.now);
    see(conn, key, None, load::seen_by(conn, key)?, loaded.plan.revision)?;
    let last = journal::last(conn, key)?;
    commit(conn, loaded, last, decision, (Kind::Forget, None), &ctx).map(|it| it.0)
}

/// Takes in a plan with its journal.
pub(crate) fn import(conn: &Session<'_>, plan: &Plan, entries: &[Entry]) -> Result<(), Failure> {
    check_new(conn, plan)?;
    let key = save::new_plan(conn, plan)?;
    save::all(conn, key, plan)?;
    let mut last = None;
    for entry in entries {
        last = Some(journal::append(conn, key, last, entry)?);
    }
    if let Some(last) = last {
        journal::ends_at(conn, key, last)?;
    }
    Ok(())
}

/// Notes who has seen a change by making it. `before` has seen the revision before so.
fn see(
    conn: &Session<'_>,
    key: PlanKey,
    now: Option<&str>,
    before: Option<String>,
    old: Revision,
) -> rusqlite::Result<()> {
    if now == before.as_deref() {
        return Ok(());
    }
    attachments::seen_by(conn, key, now, before.as_deref().map(|it| (it, old)))
}

/// Writes what was decided, after the `last` entry of the journal; with what it came to, the one that
/// is the last now. `undoes` is the revision that is taken back.
fn commit(
    conn: &Session<'_>,
    loaded: Loaded,
    last: Option<Place>,
    decision: Decision,
    (kind, undoes): (Kind, Option<Revision>),
    ctx: &Ctx,
) -> Result<(Applied, Option<Place>), Failure> {
    if decision.events.is_empty() {
        return Ok((Applied { plan: loaded.plan, decision }, last));
    }
    let key = loaded.key;
    // What else could touch the plan's own words is seldom, and then all of them are written.
    let items_only = decision.events.iter().all(|event| match event {
        Event::PlanChanged { .. } | Event::Forgotten { .. } => false,
        Event::Added { .. }
        | Event::Changed { .. }
        | Event::Moved { .. }
        | Event::Superseded { .. }
        | Event::Restored { .. } => true,
    });
    let mut plan = save::apply(conn, loaded, &decision.events)?;
    if !items_only {
        check_name(conn, &plan)?;
        save::words(conn, key, &plan)?;
    }
    plan.revision.0 += 1;
    plan.updated_at = ctx.now;
    let entry = Entry {
        plan: plan.id,
        revision: plan.revision,
        at: ctx.now,
        actor: ctx.actor.clone(),
        kind,
        undoes,
        events: decision.events,
    };
    let last = journal::append(conn, key, last, &entry)?;
    save::counts(conn, key, &plan, last)?;
    let decision = Decision { events: entry.events, ..decision };
    Ok((Applied { plan, decision }, Some(last)))
}

fn check_revision(
    conn: &Session<'_>,
    key: PlanKey,
    plan: &Plan,
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

fn check_new(conn: &Session<'_>, plan: &Plan) -> Result<(), Failure> {
    let mut select = conn.statement("SELECT 1 FROM plan WHERE id = ?1")?;
    if select.exists([plan.id.to_string()])? {
        return Err(Error::Exists(plan.id).into());
    }
    check_name(conn, plan)
}

fn check_name(conn: &Session<'_>, plan: &Plan) -> Result<(), Failure> {
    let Some(name) = &plan.name else { return Ok(()) };
    let mut select =
        conn.statement("SELECT 1 FROM plan WHERE project = ?1 AND name = ?2 AND id <> ?3")?;
    if select.exists(params![plan.project, name, plan.id.to_string()])? {
        return Err(Error::NameTaken(name.clone()).into());
    }
    Ok(())
}
