//! The next ready item, which is asked for more often than anything else, and what is remembered
//! between two looks at it.
//!
//! A plan is what it is at a revision, so whatever is remembered with its revision holds as long as the
//! plan has that revision. That is looked up each time, so nothing here has to be told of anything. What
//! is told all the same, a change that was made here, only spares reading: which item is next is always
//! asked, and at most what it looks like is known.

use std::collections::BTreeMap;

use punchlist_model::store::Applied;
use punchlist_model::{Event, Item, Number, Plan, PlanId};
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
    last: Option<Last>,
    /// The item that was ready when it was looked at last.
    shown: Option<Number>,
}

/// A plan as it was when it was looked at, or changed here.
struct Last {
    /// At its revision, with the answer or a guess at it.
    plan: Plan,
    /// Something is in progress.
    running: bool,
    /// Whether the items are what was answered. Otherwise there is at most one: after a change, the
    /// item that is likely to be next.
    is_answer: bool,
    /// The one item of the answer, where the answer itself was given away.
    spare: Option<Item>,
}

impl Last {
    /// What was answered, whole or without its items. A slice always has all that is in progress.
    fn answered(plan: &Plan, whole: bool) -> Self {
        let running = plan.in_progress().next().is_some();
        let plan = if whole { plan.clone() } else { plan.header() };
        Self { plan, running, is_answer: whole, spare: None }
    }

    /// What a change came to, and the likely next item: of those that were at hand before and after
    /// it. The guess costs a copy of an item, and mostly spares reading one.
    fn changed(before: Option<Self>, applied: &Applied) -> Self {
        let mut plan = applied.plan.header();
        let running = applied.plan.in_progress().next().is_some();
        if !running {
            let left = before.and_then(|it| it.untouched(applied));
            let order = |item: &Item| (item.priority.unwrap_or(u32::MAX), item.position);
            let guess = match (left, applied.plan.next_ready()) {
                (Some(left), Some(item)) if order(item) < order(&left) => Some(item.clone()),
                (Some(left), Some(_) | None) => Some(left),
                (None, item) => item.cloned(),
            };
            plan.items.extend(guess.map(|item| (item.number, item)));
        }
        Self { plan, running, is_answer: false, spare: None }
    }

    /// The ready item of before a change, if the change was the next one and left the item as it was.
    fn untouched(mut self, applied: &Applied) -> Option<Item> {
        let events = &applied.decision.events;
        let next = self.plan.revision.0.saturating_add(u64::from(!events.is_empty()));
        if applied.revision().0 != next {
            return None;
        }
        let item = match self.spare {
            Some(item) => item,
            None => {
                let number = self.plan.next_ready()?.number;
                self.plan.items.remove(&number)?
            }
        };
        let number = item.number;
        let is_left = |event: &Event| match event {
            Event::Added { item: new } => {
                new.number != number && new.position.is_none_or(|it| Some(it) > item.position)
            }
            Event::Changed { number: changed, .. } => *changed != number,
            // These may move any item.
            Event::Moved { .. } | Event::Superseded { .. } | Event::Restored { .. } => false,
            Event::PlanChanged { .. } => true,
            Event::Forgotten { .. } => false,
        };
        events.iter().all(is_left).then_some(item)
    }

    /// What was answered, once more.
    fn answer(&mut self) -> Plan {
        if let Some(item) = self.spare.take() {
            self.plan.items.insert(item.number, item);
        }
        self.plan.clone()
    }

    /// Whether the items are the answer now.
    fn holds(&self, conn: &Session<'_>, key: PlanKey) -> rusqlite::Result<bool> {
        let (sql, guess) = match self.plan.items.first_key_value() {
            _ if self.is_answer => (REVISION, None),
            Some((number, _)) => (NEXT_NUMBER, Some(*number)),
            None => return Ok(false),
        };
        let mut select = conn.statement(sql)?;
        let mut found = select.query([key.0])?;
        let Some(row) = found.next()? else { return Ok(false) };
        if rows::revision(row, 0)? != self.plan.revision {
            return Ok(false);
        }
        guess.map_or(Ok(true), |number| Ok(number.0 == row.get::<_, u32>(1)?))
    }
}

impl Known {
    /// A change was made here: what the plan is now need not be read.
    pub(crate) fn changed(&mut self, applied: &Applied) {
        if self.id == applied.plan.id {
            self.last = Some(Last::changed(self.last.take(), applied));
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
            memory.insert(Known { id, key, last: None, shown: None })
        }
    };
    again(conn, known)
}

/// For who looks once: everything by one statement.
fn once(conn: &Session<'_>, id: PlanId) -> rusqlite::Result<Option<Plan>> {
    let mut select = conn.statement(HEADER_AND_NEXT)?;
    let mut found = select.query([id.to_string()])?;
    let Some(row) = found.next()? else { return Ok(None) };
    let (key, plan) = rows::plan(row)?;
    let (plan, _) = complete(conn, key, plan, row.get(PLAN_COLUMNS)?, row, PLAN_COLUMNS + 1)?;
    Ok(Some(plan))
}

/// For who looks more often: the answer is mostly known, and only has to be held against the rows.
fn again(conn: &Session<'_>, known: &mut Known) -> rusqlite::Result<Option<Plan>> {
    if let Some(last) = &mut known.last
        && last.holds(conn, known.key)?
    {
        if last.is_answer {
            return Ok(Some(last.answer()));
        }
        // Mostly it is asked for once: the answer is given away, and the item kept.
        let header = last.plan.header();
        let plan = std::mem::replace(&mut last.plan, header);
        last.is_answer = true;
        last.spare = plan.items.values().next().cloned();
        known.shown = last.spare.as_ref().map(|it| it.number);
        return Ok(Some(plan));
    }
    let mut select = conn.statement(NEXT)?;
    let mut found = select.query([known.key.0])?;
    let Some(row) = found.next()? else { return Ok(None) };
    let revision = rows::revision(row, 0)?;
    let (header, running) = match known.last.take() {
        Some(last) if last.plan.revision == revision => {
            (Plan { items: BTreeMap::new(), ..last.plan }, last.running)
        }
        Some(_) | None => (header_at(conn, known.key)?, true),
    };
    let (plan, number) = complete(conn, known.key, header, running, row, 1)?;
    // Keeping items costs something, and mostly an item is taken when it was shown once.
    let twice = known.shown.replace(number) == Some(number);
    known.last = Some(Last::answered(&plan, twice));
    Ok(Some(plan))
}

/// Puts the item whose columns begin at the n-th into a plan, and what is in progress, if anything
/// is; and says which item that is. As long as the row's statement is not at its end, others see the
/// same state.
fn complete(
    conn: &Session<'_>,
    key: PlanKey,
    plan: Plan,
    running: bool,
    row: &Row<'_>,
    n: usize,
) -> rusqlite::Result<(Plan, Number)> {
    let mut loader = Loader::new(conn, key, plan);
    if running {
        loader.in_progress()?;
        loader.obstacles()?;
    }
    let (number, is_there) = rows::ready(row, n, &mut loader.plan.items)?;
    if !is_there {
        loader.item(number)?;
    }
    Ok((loader.plan, number))
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

/// The revision. Plans are never deleted, so a key that was found is the same plan's for ever.
const REVISION: &str = "SELECT revision FROM plan WHERE key = ?1";

/// A statement about the revision and the next ready item.
macro_rules! select_next {
    ($($of_item:expr),*) => {
        concat!(
            "SELECT revision, ",
            $($of_item,)*
            " FROM plan CROSS JOIN item i INDEXED BY item_ready WHERE key = ?1 AND plan = ?1 \
             AND status = 'pending' AND unmet = 0 AND waiting_on IS NULL AND i.position IS NOT NULL \
             ORDER BY ifnull(priority, 4294967295), position LIMIT 1"
        )
    };
}

/// The revision, and the number of the next ready item.
pub(crate) const NEXT_NUMBER: &str = select_next!("number");

/// The revision, and the next ready item.
pub(crate) const NEXT: &str = select_next!(ready_columns!("i."));
