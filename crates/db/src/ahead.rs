//! The next ready item, which is asked for more often than anything else, and what is remembered
//! between two looks at it.
//!
//! A plan is what it is at a revision, so whatever is remembered with its revision holds as long as the
//! plan has that revision. That is looked up each time; nothing here has to be told of anything.

use punchlist_model::store::Applied;
use punchlist_model::{Plan, PlanId, Revision};
use rusqlite::{OptionalExtension, Row};

use crate::load::{Loader, header_at};
use crate::rows::{self, PLAN_COLUMNS, PlanKey};
use crate::rows::{plan_columns, ready_columns};
use crate::session::Session;

/// What is remembered of the plan that was looked at last.
pub(crate) struct Known {
    id: PlanId,
    /// Where it was found.
    key: PlanKey,
    header: Option<Header>,
    /// The revision that was looked at last.
    seen: Option<Revision>,
    /// What was answered, once it was asked for twice.
    slice: Option<Plan>,
}

/// A plan at a revision.
struct Header {
    /// The plan without items.
    plan: Plan,
    /// Something is in progress.
    running: bool,
}

impl Header {
    /// Of a slice, which always has all that is in progress.
    fn of(slice: &Plan) -> Self {
        Self { plan: slice.header(), running: slice.in_progress().next().is_some() }
    }
}

impl Known {
    fn at(id: PlanId, key: PlanKey) -> Self {
        Self { id, key, header: None, seen: None, slice: None }
    }

    /// A change was made here: what the plan is now need not be read.
    pub(crate) fn changed(&mut self, applied: &Applied) {
        if self.id == applied.plan.id {
            self.header = Some(Header::of(&applied.plan));
            self.slice = None;
        }
    }
}

/// The slice with the next ready item, if there is one. Needs no transaction.
pub(crate) fn next(
    conn: &Session<'_>,
    id: PlanId,
    memory: &mut Option<Known>,
) -> rusqlite::Result<Option<Plan>> {
    if !conn.keeps() {
        return once(conn, id);
    }
    let known = match memory {
        Some(known) if known.id == id => known,
        Some(_) | None => {
            let mut select = conn.statement("SELECT key FROM plan WHERE id = ?1")?;
            let key = select.query_row([id.to_string()], |row| row.get(0).map(PlanKey));
            let Some(key) = key.optional()? else { return Ok(None) };
            memory.insert(Known::at(id, key))
        }
    };
    match remembered(conn, known)? {
        Some(slice) => Ok(Some(slice)),
        None => again(conn, known),
    }
}

/// For who looks once: everything by one statement.
fn once(conn: &Session<'_>, id: PlanId) -> rusqlite::Result<Option<Plan>> {
    let mut select = conn.statement(HEADER_AND_NEXT)?;
    let mut found = select.query([id.to_string()])?;
    let Some(row) = found.next()? else { return Ok(None) };
    let (key, plan) = rows::plan(row)?;
    complete(conn, key, plan, row.get(PLAN_COLUMNS)?, row, PLAN_COLUMNS + 1).map(Some)
}

/// For who looks more often: the header is mostly known.
fn again(conn: &Session<'_>, known: &mut Known) -> rusqlite::Result<Option<Plan>> {
    let mut select = conn.statement(NEXT)?;
    let mut found = select.query([known.key.0])?;
    let Some(row) = found.next()? else { return Ok(None) };
    let revision = rows::revision(row, 0)?;
    let plan = match &known.header {
        Some(header) if header.plan.revision == revision => {
            complete(conn, known.key, header.plan.clone(), header.running, row, 1)?
        }
        Some(_) | None => {
            let header = header_at(conn, known.key)?;
            let plan = complete(conn, known.key, header, true, row, 1)?;
            known.header = Some(Header::of(&plan));
            plan
        }
    };
    // Keeping the answer costs something, and mostly the plan is changed before the next look.
    let twice = known.seen.replace(revision) == Some(revision);
    known.slice = twice.then(|| plan.clone());
    Ok(Some(plan))
}

/// The answer, if it is remembered and still holds.
fn remembered(conn: &Session<'_>, known: &Known) -> rusqlite::Result<Option<Plan>> {
    let Some(slice) = &known.slice else { return Ok(None) };
    let mut select = conn.statement("SELECT revision FROM plan WHERE key = ?1")?;
    let mut found = select.query([known.key.0])?;
    let Some(row) = found.next()? else { return Ok(None) };
    Ok((rows::revision(row, 0)? == slice.revision).then(|| slice.clone()))
}

/// Puts the item whose columns begin at the n-th into a plan, and what is in progress, if anything
/// is. As long as the row's statement is not at its end, others see the same state.
fn complete(
    conn: &Session<'_>,
    key: PlanKey,
    plan: Plan,
    running: bool,
    row: &Row<'_>,
    n: usize,
) -> rusqlite::Result<Plan> {
    let mut loader = Loader { conn, key, plan };
    if running {
        loader.in_progress()?;
        loader.dependencies()?;
    }
    if let Some(number) = rows::ready(row, n, &mut loader.plan.items)? {
        loader.item(number)?;
    }
    Ok(loader.plan)
}

/// The header, whether anything is in progress, and the next ready item.
pub(crate) const HEADER_AND_NEXT: &str = concat!(
    "SELECT ",
    plan_columns!("p."),
    ", EXISTS (SELECT 1 FROM item INDEXED BY item_running \
     WHERE plan = p.key AND status = 'in_progress' AND superseded_at IS NULL), ",
    ready_columns!("i."),
    " FROM plan p CROSS JOIN item i INDEXED BY item_ready WHERE p.id = ?1 \
     AND i.plan = p.key AND i.status = 'pending' AND i.unmet = 0 AND i.waiting_on IS NULL \
     AND i.position IS NOT NULL ORDER BY ifnull(i.priority, 4294967295), i.position LIMIT 1"
);

/// The revision and the next ready item. Plans are never deleted, so a key that was found is the same
/// plan's for ever.
pub(crate) const NEXT: &str = concat!(
    "SELECT (SELECT revision FROM plan WHERE key = ?1), ",
    ready_columns!(""),
    " FROM item INDEXED BY item_ready WHERE plan = ?1 AND status = 'pending' AND unmet = 0 \
     AND waiting_on IS NULL AND position IS NOT NULL \
     ORDER BY ifnull(priority, 4294967295), position LIMIT 1"
);
