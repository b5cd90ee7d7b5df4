//! Writes rows: executes the changes that the model describes.

use std::collections::BTreeSet;

use punchlist_model::row_changes::{Link, RowChanges, Shift};
use punchlist_model::{Item, MadeFor, Number, Plan, PlanId, Slice};
use rusqlite::{Connection, OptionalExtension, params};

use crate::rows::{self, PlanKey, millis, signed};

/// Inserts the row of a plan.
pub(crate) fn new_plan(conn: &Connection, plan: &Plan) -> rusqlite::Result<PlanKey> {
    let mut insert = conn.prepare_cached(
        "INSERT INTO plan(id, project, name, title, revision, rules, goal, end, next_number, \
         placed, open, created_at, updated_at, is_own, plan_file, conversation_key) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    )?;
    let (is_own, file, conversation) = rows::made_for_columns(plan.made_for.as_ref());
    insert
        .insert(params![
            plan.id.to_string(),
            plan.project,
            plan.name,
            plan.title,
            signed(plan.revision),
            rows::rules(plan),
            rows::goal(plan),
            plan.end.as_str(),
            plan.next_number.0,
            plan.placed,
            plan.open,
            millis(plan.created_at),
            millis(plan.updated_at),
            is_own,
            file,
            conversation,
        ])
        .map(PlanKey)
}

/// Writes a plan's row after a change. `with_fields` says whether more than its counts changed.
pub(crate) fn plan(
    conn: &Connection,
    key: PlanKey,
    plan: &Slice,
    with_fields: bool,
) -> rusqlite::Result<()> {
    let mut update = conn.prepare_cached(
        "UPDATE plan SET revision = ?2, next_number = ?3, placed = ?4, open = ?5, \
         updated_at = ?6 WHERE key = ?1",
    )?;
    update.execute(params![
        key.0,
        signed(plan.revision),
        plan.next_number.0,
        plan.placed,
        plan.open,
        millis(plan.updated_at),
    ])?;
    if with_fields {
        let mut update = conn.prepare_cached(
            "UPDATE plan SET name = ?2, title = ?3, rules = ?4, goal = ?5, end = ?6 WHERE key = ?1",
        )?;
        let (rules, goal) = (rows::rules(plan), rows::goal(plan));
        update.execute(params![key.0, plan.name, plan.title, rules, goal, plan.end.as_str()])?;
    }
    Ok(())
}

/// Writes what a plan was made for.
pub(crate) fn made_for(
    conn: &Connection,
    key: PlanKey,
    what: Option<&MadeFor>,
) -> rusqlite::Result<()> {
    let mut update = conn.prepare_cached(
        "UPDATE plan SET is_own = ?2, plan_file = ?3, conversation_key = ?4 WHERE key = ?1",
    )?;
    let (is_own, file, conversation) = rows::made_for_columns(what);
    update.execute(params![key.0, is_own, file, conversation])?;
    Ok(())
}

/// The plan that was made for `what`.
pub(crate) fn plan_for(conn: &Connection, what: &MadeFor) -> rusqlite::Result<Option<PlanId>> {
    let (sql, value) = match what {
        MadeFor::Project(project) => {
            ("SELECT id FROM plan WHERE project = ?1 AND is_own = 1", project.clone())
        }
        MadeFor::File(path) => ("SELECT id FROM plan WHERE plan_file = ?1", path.clone()),
        MadeFor::Conversation(key) => {
            ("SELECT id FROM plan WHERE conversation_key = ?1", rows::conversation_key(key))
        }
    };
    let mut select = conn.prepare_cached(sql)?;
    let found = select.query_row([value], |row| rows::parsed(row, 0, str::parse::<PlanId>));
    found.optional()
}

/// Executes the changes to the items and dependencies of a plan.
pub(crate) fn items(conn: &Connection, key: PlanKey, changes: &RowChanges) -> rusqlite::Result<()> {
    for shift in &changes.shifts {
        self::shift(conn, key, shift)?;
    }
    for item in &changes.inserted {
        insert(conn, key, item)?;
    }
    for item in &changes.updated {
        update(conn, key, item)?;
    }
    for link in &changes.unlinked {
        unlink(conn, key, *link)?;
    }
    for link in &changes.linked {
        self::link(conn, key, *link)?;
    }
    recount(conn, key, &changes.recounted, &changes.blocking)
}

fn shift(conn: &Connection, key: PlanKey, shift: &Shift) -> rusqlite::Result<()> {
    let mut update = conn.prepare_cached(SHIFT)?;
    update.execute(params![key.0, shift.from.0, shift.to.0, shift.by])?;
    Ok(())
}

/// Shifts a range of positions.
pub(crate) const SHIFT: &str = "UPDATE item SET position = position + ?4 \
    WHERE plan = ?1 AND position BETWEEN ?2 AND ?3";

fn insert(conn: &Connection, key: PlanKey, item: &Item) -> rusqlite::Result<()> {
    write(
        conn,
        "INSERT INTO item(plan, number, id, position, status, priority, parent, attempt, \
         created_at, started_at, completed_at, superseded_at, depends_on, waiting_on, claim, \
         title, active_form, agent_type, owner, outcome, context, completion_criteria, extra) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, \
         ?18, ?19, ?20, ?21, ?22, ?23)",
        key,
        item,
    )
}

fn update(conn: &Connection, key: PlanKey, item: &Item) -> rusqlite::Result<()> {
    write(
        conn,
        "UPDATE item SET id = ?3, position = ?4, status = ?5, priority = ?6, parent = ?7, \
         attempt = ?8, created_at = ?9, started_at = ?10, completed_at = ?11, \
         superseded_at = ?12, depends_on = ?13, waiting_on = ?14, claim = ?15, title = ?16, \
         active_form = ?17, agent_type = ?18, owner = ?19, outcome = ?20, context = ?21, \
         completion_criteria = ?22, extra = ?23 WHERE plan = ?1 AND number = ?2",
        key,
        item,
    )
}

/// Executes a statement with all columns of an item.
fn write(conn: &Connection, sql: &'static str, key: PlanKey, item: &Item) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute(params![
        key.0,
        item.number.0,
        item.id.to_string(),
        item.position.map(|it| it.0),
        item.status.as_str(),
        item.priority,
        item.parent.map(|it| it.0),
        item.attempt.0,
        millis(item.created_at),
        item.started_at.map(millis),
        item.completed_at.map(millis),
        item.superseded_at.map(millis),
        rows::number_list(&item.depends_on),
        item.waiting_on,
        item.claim.as_ref().map(rows::json),
        item.title,
        item.active_form,
        item.agent_type,
        item.owner,
        item.outcome,
        item.context,
        item.completion_criteria,
        rows::extra(item),
    ])?;
    Ok(())
}

fn link(conn: &Connection, key: PlanKey, link: Link) -> rusqlite::Result<()> {
    let mut insert =
        conn.prepare_cached("INSERT INTO dependency(plan, item, on_item) VALUES (?1, ?2, ?3)")?;
    insert.execute(params![key.0, link.item.0, link.on.0])?;
    Ok(())
}

fn unlink(conn: &Connection, key: PlanKey, link: Link) -> rusqlite::Result<()> {
    let mut delete = conn
        .prepare_cached("DELETE FROM dependency WHERE plan = ?1 AND item = ?2 AND on_item = ?3")?;
    delete.execute(params![key.0, link.item.0, link.on.0])?;
    Ok(())
}

/// Recomputes `unmet` of these items, and of the items that depend on those that began or ceased to
/// block.
fn recount(
    conn: &Connection,
    key: PlanKey,
    items: &BTreeSet<Number>,
    blocking: &BTreeSet<Number>,
) -> rusqlite::Result<()> {
    if items.is_empty() && blocking.is_empty() {
        return Ok(());
    }
    let mut update = conn.prepare_cached(RECOUNT)?;
    update.execute(params![key.0, rows::json(items), rows::json(blocking)])?;
    Ok(())
}

pub(crate) const RECOUNT: &str = "UPDATE item SET unmet = ( \
    SELECT count(*) FROM dependency d JOIN item o ON o.plan = d.plan AND o.number = d.on_item \
    WHERE d.plan = item.plan AND d.item = item.number \
    AND o.status <> 'completed' AND o.superseded_at IS NULL) + ( \
    SELECT count(*) FROM item c INDEXED BY item_parent \
    WHERE c.plan = item.plan AND c.parent = item.number \
    AND c.status IN ('pending', 'in_progress') AND c.superseded_at IS NULL) \
    WHERE plan = ?1 AND number IN (SELECT value FROM json_each(?2) \
    UNION SELECT item FROM dependency INDEXED BY dependency_on WHERE plan = ?1 \
    AND on_item IN (SELECT value FROM json_each(?3)))";
