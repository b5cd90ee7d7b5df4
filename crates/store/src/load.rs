//! Reading a plan: the header, and the slice that somebody needs.
//!
//! What a slice is, [`Plan::slice`] says; a property test holds the two together.

use std::collections::BTreeSet;
use std::path::Path;

use punchlist_model::needs::{Around, Needs};
use punchlist_model::store::Error;
use punchlist_model::undo::Conflict;
use punchlist_model::{ItemId, ItemRef, Number, Plan, PlanId, Refusal};
use rusqlite::{OptionalExtension, Params};

use crate::error::explain;
use crate::journal::Place;
use crate::recent::Header;
use crate::rows::{self, PLAN_COLUMNS, PlanKey, plan_columns, select_item, select_plan};
use crate::session::Session;

/// A plan as it was loaded.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) key: PlanKey,
    pub(crate) plan: Plan,
    /// Whether all items are there.
    pub(crate) whole: bool,
    /// Of these items, all that depend on them are there.
    pub(crate) surrounded: BTreeSet<Number>,
}

impl Loaded {
    /// Whether it is known that nothing depends on an item.
    pub(crate) fn is_leaf(&self, number: Number) -> bool {
        (self.whole || self.surrounded.contains(&number))
            && !self.plan.items.values().any(|it| it.depends_on.contains(&number))
    }
}

/// What may go wrong while loading: the plan is missing, or the database is.
#[derive(Debug)]
pub(crate) enum Failure {
    Store(Error),
    Sqlite(rusqlite::Error),
}

impl Failure {
    /// What it means for the database at `path`.
    pub(crate) fn explain(self, path: &Path) -> Error {
        match self {
            Self::Store(error) => error,
            Self::Sqlite(error) => explain(path, error),
        }
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Store(refusal.into())
    }
}

impl From<Conflict> for Failure {
    fn from(conflict: Conflict) -> Self {
        Self::Store(conflict.into())
    }
}

/// The plan without its items.
pub(crate) fn header(conn: &Session<'_>, id: PlanId) -> Result<(PlanKey, Plan), Failure> {
    let mut select = conn.statement(select_plan!("plan WHERE id = ?1"))?;
    let found = select.query_row([id.to_string()], rows::plan).optional()?;
    found.ok_or(Failure::Store(Error::NoPlan(id)))
}

/// The same for a plan whose row is known.
pub(crate) fn header_at(conn: &Session<'_>, key: PlanKey) -> rusqlite::Result<Plan> {
    let mut select = conn.statement(select_plan!("plan WHERE key = ?1"))?;
    select.query_row([key.0], rows::plan).map(|(_, plan)| plan)
}

/// The plan without its items, and whether any of them is in progress.
pub(crate) fn header_and_running(
    conn: &Session<'_>,
    id: PlanId,
) -> Result<(Header, bool), Failure> {
    let mut select = conn.statement(HEADER_AND_RUNNING)?;
    let found = select.query_row([id.spelt(&mut [0; 36])], |row| {
        let (key, plan) = rows::plan(row)?;
        let last = row.get::<_, Option<i64>>(PLAN_COLUMNS + 2)?.map(Place);
        let header = Header { key, plan, seen_by: row.get(PLAN_COLUMNS + 1)?, last };
        Ok((header, row.get(PLAN_COLUMNS)?))
    });
    found.optional()?.ok_or(Failure::Store(Error::NoPlan(id)))
}

/// Who has seen the newest revision of a plan by making it.
pub(crate) fn seen_by(conn: &Session<'_>, key: PlanKey) -> rusqlite::Result<Option<String>> {
    let mut select = conn.statement("SELECT seen_by FROM plan WHERE key = ?1")?;
    select.query_row([key.0], |row| row.get(0))
}

/// The part of a plan that `needs` names.
pub(crate) fn slice(conn: &Session<'_>, id: PlanId, needs: &Needs) -> Result<Loaded, Failure> {
    let (key, plan) = header(conn, id)?;
    Ok(fill(conn, key, plan, needs)?)
}

/// Whether the next ready item is all that is asked for.
pub(crate) fn is_next_only(needs: &Needs) -> bool {
    let Needs { whole, next, items } = needs;
    *next && !whole && items.is_empty()
}

/// Adds to a header the items that `needs` names.
pub(crate) fn fill(
    conn: &Session<'_>,
    key: PlanKey,
    plan: Plan,
    needs: &Needs,
) -> rusqlite::Result<Loaded> {
    fill_if(conn, key, plan, needs, true)
}

/// The same where it is known whether any item is in progress.
pub(crate) fn fill_if(
    conn: &Session<'_>,
    key: PlanKey,
    plan: Plan,
    needs: &Needs,
    runs: bool,
) -> rusqlite::Result<Loaded> {
    let mut loader = Loader::new(conn, key, plan);
    if needs.whole {
        loader.everything()?;
    } else {
        if runs {
            loader.in_progress()?;
        }
        for reach in &needs.items {
            for number in loader.meant(&reach.item)? {
                loader.item(number)?;
                for around in &reach.around {
                    loader.around(number, *around)?;
                }
            }
        }
        if needs.next {
            loader.obstacles()?;
            loader.items(NEXT_READY)?;
        }
    }
    Ok(loader.loaded(needs.whole))
}

/// Adds items to a plan, each once.
pub(crate) struct Loader<'s, 'c> {
    pub(crate) conn: &'s Session<'c>,
    pub(crate) key: PlanKey,
    pub(crate) plan: Plan,
    surrounded: BTreeSet<Number>,
}

impl<'s, 'c> Loader<'s, 'c> {
    pub(crate) fn new(conn: &'s Session<'c>, key: PlanKey, plan: Plan) -> Self {
        Self { conn, key, plan, surrounded: BTreeSet::new() }
    }

    fn loaded(self, whole: bool) -> Loaded {
        let Self { key, plan, surrounded, .. } = self;
        Loaded { key, plan, whole, surrounded }
    }

    fn everything(&mut self) -> rusqlite::Result<()> {
        self.items(select_item!("item WHERE plan = ?1"))
    }

    /// Loads the items that a statement about the plan gives.
    fn items(&mut self, sql: &'static str) -> rusqlite::Result<()> {
        let mut select = self.conn.statement(sql)?;
        let mut rows = select.query([self.key.0])?;
        while let Some(row) = rows.next()? {
            let item = rows::item(row, 0)?;
            self.plan.items.insert(item.number, item);
        }
        Ok(())
    }

    /// Loads an item unless it is there; whether it is now.
    pub(crate) fn item(&mut self, number: Number) -> rusqlite::Result<bool> {
        if self.plan.items.contains_key(&number) {
            return Ok(true);
        }
        let mut select =
            self.conn.statement(select_item!("item WHERE plan = ?1 AND number = ?2"))?;
        let found =
            select.query_row((self.key.0, number.0), |row| rows::item(row, 0)).optional()?;
        Ok(found.map(|item| self.plan.items.insert(number, item)).is_some())
    }

    pub(crate) fn in_progress(&mut self) -> rusqlite::Result<()> {
        let numbers = self.numbers(IN_PROGRESS, [self.key.0])?;
        numbers.into_iter().try_for_each(|number| self.item(number).map(drop))
    }

    /// What the items so far directly depend on, and what is directly under them: whether they would be
    /// ready if they were put back.
    pub(crate) fn obstacles(&mut self) -> rusqlite::Result<()> {
        let loaded: Vec<Number> = self.plan.items.keys().copied().collect();
        for number in loaded {
            self.around(number, Around::Dependencies)?;
            self.around(number, Around::Children)?;
        }
        Ok(())
    }

    /// The items that a reference may mean: none, one, or the first two.
    fn meant(&mut self, item: &ItemRef) -> rusqlite::Result<Vec<Number>> {
        match item {
            ItemRef::Number(number) => Ok(vec![*number]),
            ItemRef::Batch(_) => Ok(Vec::new()),
            ItemRef::Position(position) => self.numbers(AT_POSITION, (self.key.0, position.0)),
            ItemRef::Id(id) => self.of_id(*id),
            ItemRef::Both(number, id) => self.of_both(*number, *id),
            // Ids are ASCII, so every one that begins with the prefix sorts before this end. Only
            // people ask so, and the whole plan is looked through for them.
            ItemRef::Prefix(prefix) => self.numbers(
                "SELECT number FROM item WHERE plan = ?1 AND id >= ?2 AND id < ?3 \
                 ORDER BY number LIMIT 2",
                (self.key.0, prefix, format!("{prefix}\u{10ffff}")),
            ),
        }
    }

    /// The item of an id: the one whose number the id tells, or one whose id tells nothing.
    fn of_id(&self, id: ItemId) -> rusqlite::Result<Vec<Number>> {
        let (mut room, told) = ([0; 36], id.told_number());
        let spelt = id.spelt(&mut room);
        // Most ids that tell nothing would tell a number that no item has.
        if told < self.plan.next_number {
            let found = self.numbers(TOLD, (self.key.0, told.0, spelt))?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        self.numbers(UNTOLD, (self.key.0, spelt))
    }

    /// The item of a number, if it has this id. Loads it, to see.
    fn of_both(&mut self, number: Number, id: ItemId) -> rusqlite::Result<Vec<Number>> {
        let was_there = self.plan.items.contains_key(&number);
        self.item(number)?;
        if self.plan.get(number).is_some_and(|it| it.id == id) {
            return Ok(vec![number]);
        }
        if !was_there {
            self.plan.items.remove(&number);
        }
        Ok(Vec::new())
    }

    fn around(&mut self, number: Number, around: Around) -> rusqlite::Result<()> {
        if around == Around::Dependants {
            self.surrounded.insert(number);
        }
        let mut seen = BTreeSet::from([number]);
        let mut waiting = vec![number];
        while let Some(number) = waiting.pop() {
            for next in self.beside(number, around)? {
                if self.item(next)? && around.is_transitive() && seen.insert(next) {
                    waiting.push(next);
                }
            }
        }
        Ok(())
    }

    fn beside(&self, number: Number, around: Around) -> rusqlite::Result<Vec<Number>> {
        let Some(item) = self.plan.get(number) else { return Ok(Vec::new()) };
        match around {
            Around::Dependencies | Around::AllDependencies => {
                Ok(item.depends_on.iter().copied().collect())
            }
            Around::Ancestors => Ok(item.parent.into_iter().collect()),
            Around::Dependants => self.numbers(
                "SELECT item FROM dependency WHERE plan = ?1 AND on_item = ?2",
                (self.key.0, number.0),
            ),
            Around::Children => self.numbers(
                "SELECT number FROM item WHERE plan = ?1 AND parent = ?2",
                (self.key.0, number.0),
            ),
        }
    }

    fn numbers(&self, sql: &'static str, params: impl Params) -> rusqlite::Result<Vec<Number>> {
        let mut select = self.conn.statement(sql)?;
        let found = select.query_map(params, |row| row.get(0).map(Number))?;
        found.collect()
    }
}

/// The items in progress, of which there are mostly none: only their numbers, because a cold start
/// pays for every column. Left to itself, SQLite would walk the whole plan for the few that are.
pub(crate) const IN_PROGRESS: &str = "SELECT number FROM item INDEXED BY item_running \
    WHERE plan = ?1 AND status = 'in_progress' AND superseded_at IS NULL";

/// The item at a position: the one of that number, unless it was moved, or one that was.
pub(crate) const AT_POSITION: &str = "SELECT number FROM item \
    WHERE plan = ?1 AND number = ?2 AND position = ?2 \
    UNION ALL SELECT number FROM item INDEXED BY item_position \
    WHERE plan = ?1 AND position = ?2 AND position <> number";

/// The item whose id tells its number.
pub(crate) const TOLD: &str = "SELECT number FROM item \
    WHERE plan = ?1 AND number = ?2 AND id = ?3 AND numbered IS NOT NULL";

/// The item of an id that does not.
pub(crate) const UNTOLD: &str = "SELECT number FROM item INDEXED BY item_id \
    WHERE plan = ?1 AND id = ?2 AND numbered IS NULL ORDER BY number LIMIT 1";

/// The header, whether anything is in progress, who has seen it and where its journal ends, in one
/// look.
pub(crate) const HEADER_AND_RUNNING: &str = concat!(
    "SELECT ",
    plan_columns!(""),
    ", EXISTS (SELECT 1 FROM item INDEXED BY item_running \
     WHERE plan = key AND status = 'in_progress' AND superseded_at IS NULL), seen_by, \
     last_entry FROM plan WHERE id = ?1"
);

/// The next ready item: one seek in `item_ready`, whatever the size of the plan.
pub(crate) const NEXT_READY: &str = select_item!(
    "item WHERE plan = ?1 AND status = 'pending' AND unmet = 0 AND waiting_on IS NULL \
     AND position IS NOT NULL ORDER BY ifnull(priority, 4294967295), position LIMIT 1"
);
