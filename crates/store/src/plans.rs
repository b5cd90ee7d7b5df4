//! Plans at a glance.

use punchlist_model::Progress;
use punchlist_model::store::{Filter, Summary};
use rusqlite::{Connection, Params};

use crate::attachments;
use crate::load::Failure;
use crate::rows::{self, PlanKey, select_plan};

/// The plans that fit, most recently changed first.
pub(crate) fn list(conn: &Connection, filter: &Filter) -> Result<Vec<Summary>, Failure> {
    match (&filter.project, &filter.name) {
        (Some(project), Some(name)) => {
            let sql =
                select_plan!("plan WHERE project = ?1 AND name = ?2 ORDER BY updated_at DESC, id");
            select(conn, filter, sql, (project, name))
        }
        (Some(project), None) => {
            let sql = select_plan!("plan WHERE project = ?1 ORDER BY updated_at DESC, id");
            select(conn, filter, sql, [project])
        }
        (None, Some(name)) => {
            let sql = select_plan!("plan WHERE name = ?1 ORDER BY updated_at DESC, id");
            select(conn, filter, sql, [name])
        }
        (None, None) => select(conn, filter, select_plan!("plan ORDER BY updated_at DESC, id"), []),
    }
}

fn select(
    conn: &Connection,
    filter: &Filter,
    sql: &'static str,
    params: impl Params,
) -> Result<Vec<Summary>, Failure> {
    let mut select = conn.prepare_cached(sql)?;
    let mut rows = select.query(params)?;
    let mut plans = Vec::new();
    while let Some(row) = rows.next()? {
        // One that is not even known by name is passed over, and the others are there.
        let Ok((key, plan)) = rows::plan(row) else { continue };
        if !filter.fits(plan.id, &plan.project, plan.name.as_deref()) {
            continue;
        }
        plans.push(Summary {
            id: plan.id,
            progress: progress(conn, key)?,
            attachment: attachments::newest(conn, key)?,
            made_for: plan.made_for,
            revision: plan.revision,
            end: plan.end,
            archived: plan.rules.archived,
            open: plan.open,
            created_at: plan.created_at,
            updated_at: plan.updated_at,
            project: plan.project,
            name: plan.name,
            title: plan.title,
        });
    }
    Ok(plans)
}

/// What `Plan::progress` says of the whole plan, without loading it.
fn progress(conn: &Connection, key: PlanKey) -> rusqlite::Result<Progress> {
    let mut select = conn.prepare_cached(
        "WITH counted AS MATERIALIZED (SELECT number, parent, status FROM item \
         WHERE plan = ?1 AND superseded_at IS NULL AND status <> 'cancelled' \
         AND CASE WHEN json_valid(extra) THEN extra ->> '$.metadata.worker' END IS NULL) \
         SELECT count(*), ifnull(sum(status = 'completed'), 0), \
         EXISTS (SELECT 1 FROM counted WHERE status <> 'completed') FROM counted \
         WHERE number NOT IN (SELECT parent FROM counted WHERE parent IS NOT NULL)",
    )?;
    select.query_row([key.0], |row| Ok(Progress::of(row.get(1)?, row.get(0)?, row.get(2)?)))
}
