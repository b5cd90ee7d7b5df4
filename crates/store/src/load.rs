//! Loads a plan: the header, and the slice that a caller needs.
//!
//! `Plan::slice` defines what a slice is; a property test checks that both agree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use punchlist_model::needs::{Around, Needs};
use punchlist_model::store::Error;
use punchlist_model::undo::Conflict;
use punchlist_model::{ItemId, ItemRef, Number, Plan, PlanId, Position, Refusal, Slice};
use rusqlite::{Connection, OptionalExtension, Params};

use crate::error::explain;
use crate::rows::{self, PlanKey, select_item, select_plan};

/// A loaded plan.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) key: PlanKey,
    pub(crate) plan: Slice,
}

/// Why a transaction failed: an error for the caller, or one of SQLite.
#[derive(Debug)]
pub(crate) enum Failure {
    Store(Error),
    Sqlite(rusqlite::Error),
}

impl Failure {
    /// The store's error for the database at `path`.
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
pub(crate) fn header(conn: &Connection, id: PlanId) -> Result<(PlanKey, Slice), Failure> {
    let mut select = conn.prepare_cached(select_plan!("plan WHERE id = ?1"))?;
    let found = select.query_row([id.to_string()], |row| rows::plan(row)).optional()?;
    found.ok_or(Failure::Store(Error::NoPlan(id)))
}

/// The slice of a plan that `needs` describes.
pub(crate) fn slice(conn: &Connection, id: PlanId, needs: &Needs) -> Result<Loaded, Failure> {
    let (key, plan) = header(conn, id)?;
    Ok(fill(conn, key, plan, needs)?)
}

/// Adds all items to a header.
pub(crate) fn whole(conn: &Connection, key: PlanKey, mut plan: Slice) -> rusqlite::Result<Plan> {
    load(conn, select_item!("item WHERE plan = ?1"), [key.0], &mut plan)?;
    Ok(Plan::from_all(plan))
}

/// Adds the items that `needs` describes to a header. A few statements about sets of numbers find
/// the items, whatever their number; then one statement loads them.
pub(crate) fn fill(
    conn: &Connection,
    key: PlanKey,
    mut plan: Slice,
    needs: &Needs,
) -> rusqlite::Result<Loaded> {
    if needs.whole {
        return Ok(Loaded { key, plan: whole(conn, key, plan)?.into() });
    }
    let search = Search { conn, key };
    let mut wanted = BTreeSet::from_iter(search.numbers(IN_PROGRESS, [key.0])?);
    let mut starts: BTreeMap<Around, BTreeSet<Number>> = BTreeMap::new();
    for (reach, numbers) in needs.items.iter().zip(search.matching(needs)?) {
        wanted.extend(&numbers);
        for around in &reach.around {
            starts.entry(*around).or_default().extend(&numbers);
        }
    }
    for (around, from) in starts {
        wanted.extend(search.around(around, &from)?);
    }
    if needs.next {
        let from = wanted.clone();
        wanted.extend(search.around(Around::Dependencies, &from)?);
        wanted.extend(search.around(Around::Children, &from)?);
        plan.next = search.numbers(NEXT_READY, [key.0])?.first().copied();
        wanted.extend(plan.next);
    }
    if !wanted.is_empty() {
        load(conn, ITEMS, (key.0, rows::json(&wanted)), &mut plan)?;
    }
    Ok(Loaded { key, plan })
}

/// Loads the items that a statement selects into a slice.
fn load(
    conn: &Connection,
    sql: &'static str,
    params: impl Params,
    plan: &mut Slice,
) -> rusqlite::Result<()> {
    let mut select = conn.prepare_cached(sql)?;
    let mut rows = select.query(params)?;
    while let Some(row) = rows.next()? {
        let item = rows::item(row)?;
        plan.items.insert(item.number, item);
    }
    Ok(())
}

/// Finds items by their numbers.
struct Search<'c> {
    conn: &'c Connection,
    key: PlanKey,
}

impl Search<'_> {
    fn numbers(&self, sql: &'static str, params: impl Params) -> rusqlite::Result<Vec<Number>> {
        let mut select = self.conn.prepare_cached(sql)?;
        let found = select.query_map(params, |row| row.get(0).map(Number))?;
        found.collect()
    }

    /// For each reference, the items that it matches: none, one, or the first two.
    fn matching(&self, needs: &Needs) -> rusqlite::Result<Vec<Vec<Number>>> {
        let (ids, positions) = self.by_id_and_position(needs)?;
        let of_id = |id: &ItemId| ids.get(id).cloned().unwrap_or_default();
        let mut matching = Vec::with_capacity(needs.items.len());
        for reach in &needs.items {
            matching.push(match &reach.item {
                ItemRef::Number(number) => vec![*number],
                ItemRef::Batch(_) => Vec::new(),
                ItemRef::Position(position) => {
                    positions.get(position).copied().into_iter().collect()
                }
                ItemRef::Id(id) => of_id(id).into_iter().take(1).collect(),
                ItemRef::Both(number, id) => {
                    of_id(id).into_iter().filter(|it| it == number).collect()
                }
                // Ids are ASCII, so every id with this prefix sorts before this bound.
                ItemRef::Prefix(prefix) => self.numbers(
                    "SELECT number FROM item WHERE plan = ?1 AND id >= ?2 AND id < ?3 \
                     ORDER BY number LIMIT 2",
                    (self.key.0, prefix, format!("{prefix}\u{10ffff}")),
                )?,
            });
        }
        Ok(matching)
    }

    /// The numbers of all items that are referred to by id or position.
    #[expect(clippy::type_complexity, reason = "two maps, named where they are used")]
    fn by_id_and_position(
        &self,
        needs: &Needs,
    ) -> rusqlite::Result<(BTreeMap<ItemId, Vec<Number>>, BTreeMap<Position, Number>)> {
        let (mut ids, mut positions) = (BTreeSet::new(), BTreeSet::new());
        for reach in &needs.items {
            match &reach.item {
                ItemRef::Id(id) | ItemRef::Both(_, id) => drop(ids.insert(*id)),
                ItemRef::Position(position) => drop(positions.insert(*position)),
                ItemRef::Number(_) | ItemRef::Batch(_) | ItemRef::Prefix(_) => {}
            }
        }
        let (mut by_id, mut by_position) = (BTreeMap::<_, Vec<_>>::new(), BTreeMap::new());
        if !ids.is_empty() {
            let mut select = self.conn.prepare_cached(OF_IDS)?;
            let mut rows = select.query((self.key.0, rows::json(&ids)))?;
            while let Some(row) = rows.next()? {
                let id = rows::parsed(row, 0, str::parse::<ItemId>)?;
                by_id.entry(id).or_default().push(Number(row.get(1)?));
            }
        }
        if !positions.is_empty() {
            let mut select = self.conn.prepare_cached(AT_POSITIONS)?;
            let mut rows = select.query((self.key.0, rows::json(&positions)))?;
            while let Some(row) = rows.next()? {
                by_position.insert(Position(row.get(0)?), Number(row.get(1)?));
            }
        }
        Ok((by_id, by_position))
    }

    /// The items around these items.
    fn around(&self, around: Around, from: &BTreeSet<Number>) -> rusqlite::Result<Vec<Number>> {
        if from.is_empty() {
            return Ok(Vec::new());
        }
        let sql = match around {
            Around::Dependencies => DEPENDENCIES,
            Around::AllDependencies => ALL_DEPENDENCIES,
            Around::Dependants => DEPENDANTS,
            Around::Children => CHILDREN,
            Around::Ancestors => ANCESTORS,
        };
        self.numbers(sql, (self.key.0, rows::json(from)))
    }
}

/// Selects items by their numbers. Here and below, the list is joined and not searched with `IN`:
/// for `IN`, SQLite would first copy the list into a temporary table.
pub(crate) const ITEMS: &str = select_item!(
    "(SELECT value FROM json_each(?2)) AS wanted CROSS JOIN item \
    WHERE plan = ?1 AND number = wanted.value"
);

/// Selects the items in progress.
pub(crate) const IN_PROGRESS: &str = "SELECT number FROM item INDEXED BY item_status \
     WHERE plan = ?1 AND status = 'in_progress' AND superseded_at IS NULL";

/// Selects the next ready item: one seek in `item_ready`, whatever the size of the plan.
pub(crate) const NEXT_READY: &str = "SELECT number FROM item INDEXED BY item_ready \
    WHERE plan = ?1 AND status = 'pending' AND unmet = 0 AND waiting_on IS NULL \
    AND position IS NOT NULL ORDER BY ifnull(priority, 4294967295), position LIMIT 1";

pub(crate) const OF_IDS: &str = "SELECT id, number \
    FROM (SELECT value FROM json_each(?2)) AS wanted CROSS JOIN item \
    WHERE plan = ?1 AND id = wanted.value ORDER BY id, number";

pub(crate) const AT_POSITIONS: &str = "SELECT position, number \
    FROM (SELECT value FROM json_each(?2)) AS wanted CROSS JOIN item \
    WHERE plan = ?1 AND position = wanted.value";

pub(crate) const DEPENDENCIES: &str = "SELECT on_item \
    FROM (SELECT value FROM json_each(?2)) AS wanted CROSS JOIN dependency \
    WHERE plan = ?1 AND item = wanted.value";

pub(crate) const DEPENDANTS: &str = "SELECT item \
    FROM (SELECT value FROM json_each(?2)) AS wanted \
    CROSS JOIN dependency INDEXED BY dependency_on \
    WHERE plan = ?1 AND on_item = wanted.value";

pub(crate) const CHILDREN: &str = "SELECT number \
    FROM (SELECT value FROM json_each(?2)) AS wanted CROSS JOIN item INDEXED BY item_parent \
    WHERE plan = ?1 AND parent = wanted.value";

pub(crate) const ALL_DEPENDENCIES: &str = "WITH RECURSIVE found(number) AS ( \
    SELECT value FROM json_each(?2) UNION SELECT d.on_item FROM found \
    CROSS JOIN dependency d WHERE d.plan = ?1 AND d.item = found.number) SELECT number FROM found";

pub(crate) const ANCESTORS: &str = "WITH RECURSIVE found(number) AS ( \
    SELECT value FROM json_each(?2) UNION SELECT i.parent FROM found \
    CROSS JOIN item i WHERE i.plan = ?1 AND i.number = found.number AND i.parent IS NOT NULL) \
    SELECT number FROM found";
