//! Writes rows: executes the changes that the model describes, each kind with one statement.

use punchlist_model::row_changes::{Link, RowChanges};
use punchlist_model::{Item, MadeFor, Plan, PlanId, Slice};

use super::error::Failure;
use super::load::int;
use super::tx::{Tx, missing};
use super::values::{Value, ints, params};
use crate::columns;
use crate::rows::{self, PlanKey, millis, signed};

/// Inserts the row of a plan.
pub(crate) async fn new_plan(tx: &Tx, plan: &Plan) -> Result<PlanKey, Failure> {
    let (is_own, file, conversation) = rows::made_for_columns(plan.made_for.as_ref());
    let row = tx.first(
        "INSERT INTO punchlist.plan(id, project, name, title, revision, rules, goal, \"end\", \
         next_number, placed, open, created_at, updated_at, is_own, plan_file, conversation_key) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
         RETURNING key",
        params![
            plan.id.to_string(),
            &plan.project,
            &plan.name,
            &plan.title,
            signed(plan.revision),
            rows::rules(plan),
            rows::goal(plan),
            plan.end.as_str(),
            plan.next_number.0,
            plan.placed,
            plan.open,
            plan.created_at,
            plan.updated_at,
            is_own,
            file,
            conversation,
        ],
    );
    let row = row.await?.ok_or_else(|| missing("key of the plan"))?;
    columns::number(&row, 0).map(PlanKey)
}

/// Writes a plan's row after a change. `with_fields` says whether more than its counts changed.
pub(crate) fn plan(tx: &Tx, key: PlanKey, plan: &Slice, with_fields: bool) {
    tx.run(
        "UPDATE punchlist.plan SET revision = $2, next_number = $3, placed = $4, open = $5, \
         updated_at = $6 WHERE key = $1",
        params![
            key.0,
            signed(plan.revision),
            plan.next_number.0,
            plan.placed,
            plan.open,
            plan.updated_at,
        ],
    );
    if with_fields {
        tx.run(
            "UPDATE punchlist.plan SET name = $2, title = $3, rules = $4, goal = $5, \"end\" = $6 \
             WHERE key = $1",
            params![
                key.0,
                &plan.name,
                &plan.title,
                rows::rules(plan),
                rows::goal(plan),
                plan.end.as_str(),
            ],
        );
    }
}

/// Writes what a plan was made for.
pub(crate) fn made_for(tx: &Tx, key: PlanKey, what: Option<&MadeFor>) {
    let (is_own, file, conversation) = rows::made_for_columns(what);
    tx.run(
        "UPDATE punchlist.plan SET is_own = $2, plan_file = $3, conversation_key = $4 WHERE key = $1",
        params![key.0, is_own, file, conversation],
    );
}

/// The plan that was made for `what`.
pub(crate) async fn plan_for(tx: &Tx, what: &MadeFor) -> Result<Option<PlanId>, Failure> {
    let (sql, value) = match what {
        MadeFor::Project(project) => {
            ("SELECT id FROM punchlist.plan WHERE project = $1 AND is_own", project.clone())
        }
        MadeFor::File(path) => ("SELECT id FROM punchlist.plan WHERE plan_file = $1", path.clone()),
        MadeFor::Conversation(key) => (
            "SELECT id FROM punchlist.plan WHERE conversation_key = $1",
            rows::conversation_key(key),
        ),
    };
    let row = tx.first(sql, params![value]).await?;
    row.map(|row| columns::parsed(&row, 0, str::parse::<PlanId>)).transpose()
}

/// Executes the changes to the items and dependencies of a plan.
pub(crate) fn items(tx: &Tx, key: PlanKey, changes: &RowChanges) {
    for shift in &changes.shifts {
        tx.run(
            "UPDATE punchlist.item SET position = position + $4 \
             WHERE plan = $1 AND position BETWEEN $2 AND $3",
            params![key.0, shift.from.0, shift.to.0, i64::from(shift.by)],
        );
    }
    if !changes.inserted.is_empty() {
        tx.run(INSERT, item_params(key, &changes.inserted));
    }
    if !changes.updated.is_empty() {
        tx.run(UPDATE, item_params(key, &changes.updated));
    }
    links(
        tx,
        "DELETE FROM punchlist.dependency d USING unnest($2::int8[], $3::int8[]) AS n(item, on_item) \
         WHERE d.plan = $1 AND d.item = n.item AND d.on_item = n.on_item",
        key,
        &changes.unlinked,
    );
    links(
        tx,
        "INSERT INTO punchlist.dependency(plan, item, on_item) \
         SELECT $1, n.item, n.on_item FROM unnest($2::int8[], $3::int8[]) AS n(item, on_item)",
        key,
        &changes.linked,
    );
    if !changes.recounted.is_empty() || !changes.blocking.is_empty() {
        let (counted, blocking) = (&changes.recounted, &changes.blocking);
        let numbers = |of: &std::collections::BTreeSet<_>| ints(of.iter().map(|it| int(*it)));
        tx.run(RECOUNT, vec![Value::from(key.0), numbers(counted), numbers(blocking)]);
    }
}

fn links(tx: &Tx, sql: &'static str, key: PlanKey, links: &[Link]) {
    if !links.is_empty() {
        let items = ints(links.iter().map(|it| int(it.item)));
        let on = ints(links.iter().map(|it| int(it.on)));
        tx.run(sql, vec![Value::from(key.0), items, on]);
    }
}

/// The columns that a change writes, in the order of [`item_params`].
macro_rules! written_columns {
    ($of:literal) => {
        concat!(crate::rows::item_columns!($of), ", ", $of, "is_workers")
    };
}

/// The rows of the parameters.
macro_rules! written_rows {
    () => {
        concat!(
            "unnest($2::int8[], $3::text[], $4::int8[], $5::text[], $6::int8[], $7::int8[], \
             $8::int8[], $9::int8[], $10::int8[], $11::int8[], $12::int8[], $13::text[], \
             $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], \
             $20::text[], $21::text[], $22::text[], $23::text[], $24::bool[]) AS n(",
            written_columns!(""),
            ")"
        )
    };
}

const INSERT: &str = concat!(
    "INSERT INTO punchlist.item(plan, ",
    written_columns!(""),
    ") SELECT $1, ",
    written_columns!("n."),
    " FROM ",
    written_rows!()
);

const UPDATE: &str = concat!(
    "UPDATE punchlist.item AS i SET (",
    written_columns!(""),
    ") = ROW(",
    written_columns!("n."),
    ") FROM ",
    written_rows!(),
    " WHERE i.plan = $1 AND i.number = n.number"
);

fn item_params(key: PlanKey, items: &[Item]) -> Vec<Value> {
    let ints = |of: fn(&Item) -> Option<i64>| Value::Ints(items.iter().map(of).collect());
    let texts = |of: fn(&Item) -> Option<String>| Value::Texts(items.iter().map(of).collect());
    vec![
        Value::from(key.0),
        ints(|it| Some(int(it.number))),
        texts(|it| Some(it.id.to_string())),
        ints(|it| it.position.map(|it| i64::from(it.0))),
        texts(|it| Some(it.status.as_str().to_owned())),
        ints(|it| it.priority.map(i64::from)),
        ints(|it| it.parent.map(int)),
        ints(|it| Some(i64::from(it.attempt.0))),
        ints(|it| Some(millis(it.created_at))),
        ints(|it| it.started_at.map(millis)),
        ints(|it| it.completed_at.map(millis)),
        ints(|it| it.superseded_at.map(millis)),
        texts(|it| rows::number_list(&it.depends_on)),
        texts(|it| it.waiting_on.clone()),
        texts(|it| it.claim.as_ref().map(rows::json)),
        texts(|it| Some(it.title.clone())),
        texts(|it| it.active_form.clone()),
        texts(|it| it.agent_type.clone()),
        texts(|it| it.owner.clone()),
        texts(|it| it.outcome.clone()),
        texts(|it| Some(it.context.clone())),
        texts(|it| Some(it.completion_criteria.clone())),
        texts(rows::extra),
        Value::Bools(items.iter().map(|it| Some(it.is_workers())).collect()),
    ]
}

/// Recomputes `unmet` of items, and of the items that depend on those that began or ceased to block.
const RECOUNT: &str = "UPDATE punchlist.item AS i SET unmet = ( \
    SELECT count(*) FROM punchlist.dependency d \
    JOIN punchlist.item o ON o.plan = d.plan AND o.number = d.on_item \
    WHERE d.plan = $1 AND d.item = i.number \
    AND o.status <> 'completed' AND o.superseded_at IS NULL) + ( \
    SELECT count(*) FROM punchlist.item c WHERE c.plan = $1 AND c.parent = i.number \
    AND c.status IN ('pending', 'in_progress') AND c.superseded_at IS NULL) \
    FROM (SELECT unnest($2::int8[]) AS number \
    UNION SELECT x.item FROM unnest($3::int8[]) AS b(number) CROSS JOIN LATERAL ( \
    SELECT d.item FROM punchlist.dependency d WHERE d.plan = $1 AND d.on_item = b.number \
    OFFSET 0) x) AS n WHERE i.plan = $1 AND i.number = n.number";
