//! Loads a plan: the header, and the slice that a caller needs, each with one statement, whatever the
//! number of items. Both are sent together.
//!
//! `Plan::slice` defines what a slice is; the conformance suite checks that both agree.

use std::fmt::Write;

use punchlist_model::needs::{Around, Needs};
use punchlist_model::store::Error;
use punchlist_model::{ItemRef, Number, Plan, PlanId, Slice};
use tokio_postgres::Row;

use super::error::Failure;
use super::tx::{Answer, Tx};
use super::values::{Value, params};
use crate::columns::Columns;
use crate::rows::{self, PlanKey, item_columns, plan_columns};

/// A statement that selects the header of a plan by its id.
macro_rules! select_header {
    ($rest:literal) => {
        concat!(
            "SELECT ",
            plan_columns!("plan."),
            " FROM punchlist.plan AS plan WHERE plan.id = $1",
            $rest
        )
    };
}

const HEADER: &str = select_header!("");
/// The same, and nobody else changes the plan until this transaction ends.
const LOCKED_HEADER: &str = select_header!(" FOR NO KEY UPDATE");

/// The same; nothing if somebody else changes the plan now.
const FREE_HEADER: &str = select_header!(" FOR NO KEY UPDATE SKIP LOCKED");

/// The key of the plan with the id `$1`.
macro_rules! plan_key {
    () => {
        "(SELECT key FROM punchlist.plan WHERE id = $1)"
    };
}
pub(crate) use plan_key;

/// The header of a plan that was asked for.
pub(crate) struct Header {
    id: PlanId,
    answer: Answer,
}

/// Asks for a header.
pub(crate) fn header(tx: &Tx, id: PlanId) -> Header {
    Header { id, answer: tx.query(HEADER, params![id.to_string()]) }
}

/// Asks for a header and locks the plan.
pub(crate) fn locked_header(tx: &Tx, id: PlanId) -> Header {
    Header { id, answer: tx.query(LOCKED_HEADER, params![id.to_string()]) }
}

/// The same, unless somebody else has locked it: then there seems to be no such plan.
pub(crate) fn free_header(tx: &Tx, id: PlanId) -> Header {
    Header { id, answer: tx.query(FREE_HEADER, params![id.to_string()]) }
}

impl Header {
    pub(crate) async fn get(self) -> Result<(PlanKey, Slice), Failure> {
        let rows = self.answer.await?;
        rows::plan(rows.first().ok_or(Error::NoPlan(self.id))?)
    }
}

/// The items of a plan that were asked for.
pub(crate) struct Items {
    answer: Answer,
    is_whole: bool,
}

/// Asks for the items that `needs` describes.
pub(crate) fn items(tx: &Tx, id: PlanId, needs: &Needs) -> Items {
    let (sql, params) = statement(id, needs);
    Items { answer: tx.query(sql, params), is_whole: needs.whole }
}

/// Asks for all items.
pub(crate) fn all_items(tx: &Tx, id: PlanId) -> Items {
    items(tx, id, &Needs::whole())
}

impl Items {
    /// Adds the items to a header.
    pub(crate) async fn fill(self, mut plan: Slice) -> Result<Slice, Failure> {
        for row in self.answer.await? {
            let item = rows::item(&row)?;
            if is_next(&row)? {
                plan.next = Some(item.number);
            }
            plan.items.insert(item.number, item);
        }
        Ok(if self.is_whole { Plan::from_all(plan).into() } else { plan })
    }
}

/// Whether the row is that of the next ready item, which the column after the item's columns says.
fn is_next(row: &Row) -> Result<bool, Failure> {
    Ok(row.int(22)?.is_some_and(|it| it != 0))
}

/// The whole plan.
pub(crate) async fn whole(tx: &Tx, id: PlanId) -> Result<Plan, Failure> {
    let (header, items) = (header(tx, id), all_items(tx, id));
    let (_, plan) = header.get().await?;
    Ok(Plan::from_all(items.fill(plan).await?))
}

/// The slice of a plan that `needs` describes.
pub(crate) async fn slice(tx: &Tx, id: PlanId, needs: &Needs) -> Result<Slice, Failure> {
    let (header, items) = (header(tx, id), items(tx, id, needs));
    let (_, plan) = header.get().await?;
    items.fill(plan).await
}

const ALL: &str = concat!(
    "SELECT ",
    item_columns!("i."),
    ", false FROM punchlist.item AS i WHERE i.plan = ",
    plan_key!()
);

const IN_PROGRESS: &str = concat!(
    "SELECT ",
    item_columns!("i."),
    ", false FROM punchlist.item AS i WHERE i.plan = ",
    plan_key!(),
    " AND i.status = 'in_progress' AND i.superseded_at IS NULL"
);

/// The bit of a neighbourhood in the parameter of the statement.
fn bit(around: Around) -> i64 {
    match around {
        Around::Dependencies => 1,
        Around::AllDependencies => 2,
        Around::Dependants => 4,
        Around::Children => 8,
        Around::Ancestors => 16,
    }
}

/// The references of `needs`, as columns.
#[derive(Default)]
struct References {
    numbers: Vec<Option<i64>>,
    ids: Vec<Option<String>>,
    positions: Vec<Option<i64>>,
    prefixes: Vec<Option<String>>,
    around: Vec<Option<i64>>,
}

impl References {
    fn of(needs: &Needs) -> Self {
        let mut found = Self::default();
        for reach in &needs.items {
            let (mut number, mut id, mut position, mut prefix) = (None, None, None, None);
            match &reach.item {
                ItemRef::Batch(_) => continue,
                ItemRef::Number(it) => number = Some(i64::from(it.0)),
                ItemRef::Id(it) => id = Some(it.to_string()),
                ItemRef::Both(n, it) => {
                    number = Some(i64::from(n.0));
                    id = Some(it.to_string());
                }
                ItemRef::Position(it) => position = Some(i64::from(it.0)),
                ItemRef::Prefix(it) => prefix = Some(it.clone()),
            }
            found.numbers.push(number);
            found.ids.push(id);
            found.positions.push(position);
            found.prefixes.push(prefix);
            found.around.push(Some(reach.around.iter().map(|it| bit(*it)).sum()));
        }
        found
    }

    fn has(&self, around: Around) -> bool {
        self.around.iter().flatten().any(|it| it & bit(around) != 0)
    }
}

/// The statement that selects the items that `needs` describes, and its parameters.
fn statement(id: PlanId, needs: &Needs) -> (std::borrow::Cow<'static, str>, Vec<Value>) {
    let mut params = params![id.to_string()];
    if needs.whole {
        return (ALL.into(), params);
    }
    let references = References::of(needs);
    if references.around.is_empty() && !needs.next {
        return (IN_PROGRESS.into(), params);
    }
    let sql = sliced(&references, needs.next);
    if !references.around.is_empty() {
        params.extend([
            Value::Ints(references.numbers),
            Value::Texts(references.ids),
            Value::Ints(references.positions),
            Value::Texts(references.prefixes),
            Value::Ints(references.around),
        ]);
    }
    (sql.into(), params)
}

/// A query for each number in a table: `OFFSET 0` keeps the planner from turning a few seeks in an
/// index into a join with the whole table.
fn each(from: &str, query: &str, condition: &str) -> String {
    format!(
        " UNION SELECT x.number FROM {from} CROSS JOIN LATERAL ({query} OFFSET 0) x({NUMBER}) \
         {condition}"
    )
}

const NUMBER: &str = "number";
const DEPENDENCIES: &str = "SELECT d.on_item FROM punchlist.dependency d WHERE d.plan = (SELECT key FROM p) AND d.item = f.number";
const DEPENDANTS: &str = "SELECT d.item FROM punchlist.dependency d WHERE d.plan = (SELECT key FROM p) AND d.on_item = f.number";
const CHILDREN: &str = "SELECT c.number FROM punchlist.item c WHERE c.plan = (SELECT key FROM p) AND c.parent = f.number";
const PARENT: &str = "SELECT c.parent FROM punchlist.item c WHERE c.plan = (SELECT key FROM p) \
     AND c.number = f.number AND c.parent IS NOT NULL";

/// The statement for a few items and those around them.
fn sliced(references: &References, next: bool) -> String {
    let mut sql = "WITH RECURSIVE p AS MATERIALIZED (SELECT key FROM punchlist.plan WHERE id = $1)"
        .to_owned();
    let has_references = !references.around.is_empty();
    if has_references {
        sql += MATCHED;
    }
    for (around, name, query) in [
        (Around::AllDependencies, "all_dependencies", DEPENDENCIES),
        (Around::Ancestors, "ancestors", PARENT),
    ] {
        if references.has(around) {
            let rest = each(&format!("{name} f"), query, "");
            // Writing into a string cannot fail.
            let _ = write!(
                sql,
                ", {name}(number) AS (SELECT number FROM matched WHERE around & {} <> 0{rest})",
                bit(around)
            );
        }
    }
    sql += ", wanted(number) AS (SELECT i.number FROM punchlist.item i \
            WHERE i.plan = (SELECT key FROM p) AND i.status = 'in_progress' \
            AND i.superseded_at IS NULL";
    if has_references {
        sql += " UNION SELECT number FROM matched";
    }
    for (around, query) in [
        (Around::Dependencies, DEPENDENCIES),
        (Around::Dependants, DEPENDANTS),
        (Around::Children, CHILDREN),
    ] {
        if references.has(around) {
            sql += &each("matched f", query, &format!("WHERE f.around & {} <> 0", bit(around)));
        }
    }
    for (around, name) in
        [(Around::AllDependencies, "all_dependencies"), (Around::Ancestors, "ancestors")]
    {
        if references.has(around) {
            let _ = write!(sql, " UNION SELECT number FROM {name}");
        }
    }
    sql.push(')');
    let (from, is_next) = if next {
        sql += NEXT;
        sql += ", near(number) AS (SELECT number FROM wanted";
        sql += &each("wanted f", DEPENDENCIES, "");
        sql += &each("wanted f", CHILDREN, "");
        sql += " UNION SELECT number FROM next)";
        ("near", "i.number IS NOT DISTINCT FROM (SELECT number FROM next)")
    } else {
        ("wanted", "false")
    };
    let _ = write!(
        sql,
        " SELECT {}, {is_next} FROM {from} f CROSS JOIN LATERAL (SELECT * FROM punchlist.item c \
         WHERE c.plan = (SELECT key FROM p) AND c.number = f.number OFFSET 0) i",
        item_columns!("i.")
    );
    sql
}

/// The numbers of the items that each reference matches: none, one, or the first two.
const MATCHED: &str = ", refs(number, id, position, prefix, around) AS MATERIALIZED ( \
    SELECT * FROM unnest($2::int8[], $3::text[], $4::int8[], $5::text[], $6::int8[])), \
    matched(number, around) AS ( \
    SELECT r.number, r.around FROM refs r WHERE r.number IS NOT NULL AND r.id IS NULL \
    UNION ALL SELECT x.number, r.around FROM refs r CROSS JOIN LATERAL ( \
    SELECT i.number FROM punchlist.item i WHERE i.plan = (SELECT key FROM p) AND i.id = r.id \
    ORDER BY i.number LIMIT 1) x WHERE r.id IS NOT NULL AND r.number IS NULL \
    UNION ALL SELECT x.number, r.around FROM refs r CROSS JOIN LATERAL ( \
    SELECT i.number FROM punchlist.item i WHERE i.plan = (SELECT key FROM p) \
    AND i.number = r.number AND i.id = r.id OFFSET 0) x WHERE r.id IS NOT NULL \
    UNION ALL SELECT x.number, r.around FROM refs r CROSS JOIN LATERAL ( \
    SELECT i.number FROM punchlist.item i WHERE i.plan = (SELECT key FROM p) \
    AND i.position = r.position OFFSET 0) x WHERE r.position IS NOT NULL \
    UNION ALL SELECT x.number, r.around FROM refs r CROSS JOIN LATERAL ( \
    SELECT i.number FROM punchlist.item i WHERE i.plan = (SELECT key FROM p) \
    AND i.id >= r.prefix AND i.id < r.prefix || 'g' ORDER BY i.number LIMIT 2) x \
    WHERE r.prefix IS NOT NULL)";

/// The next ready item: one seek in `item_ready`, whatever the size of the plan.
const NEXT: &str = ", next(number) AS MATERIALIZED (SELECT i.number FROM punchlist.item i \
    WHERE i.plan = (SELECT key FROM p) AND i.status = 'pending' AND i.unmet = 0 \
    AND i.waiting_on IS NULL AND i.position IS NOT NULL \
    ORDER BY coalesce(i.priority, 4294967295), i.position LIMIT 1)";

/// The number of an item as a parameter.
pub(crate) fn int(number: Number) -> i64 {
    i64::from(number.0)
}
