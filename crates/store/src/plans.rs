//! Overviews of plans.

use std::collections::HashMap;

use punchlist_model::store::{Filter, Summary};
use punchlist_model::{Progress, Slice};
use rusqlite::{Connection, Params, Row};

use crate::attachments;
use crate::load::Failure;
use crate::rows::{self, PlanKey, select_plan};

/// The plans that match, most recently changed first.
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
        // A plan whose id cannot be read is skipped; the others are listed.
        let Ok((key, plan)) = rows::plan(row) else { continue };
        if filter.fits(plan.id, &plan.project, plan.name.as_deref()) {
            plans.push((key, plan));
        }
    }
    let keys: Vec<i64> = plans.iter().map(|(key, _)| key.0).collect();
    let keys = rows::json(&keys);
    let progress = progress(conn, &keys)?;
    let mut attachments = attachments::newest(conn, &keys)?;
    let summary = |(key, plan): (PlanKey, Slice)| Summary {
        id: plan.id,
        progress: progress.get(&key.0).copied().unwrap_or_else(|| Progress::of(0, 0, false)),
        attachment: attachments.remove(&key.0),
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
    };
    Ok(plans.into_iter().map(summary).collect())
}

/// What `Plan::progress` returns, without loading the plans. `keys` is a JSON array. A plan without
/// countable items is missing from the result.
fn progress(conn: &Connection, keys: &str) -> rusqlite::Result<HashMap<i64, Progress>> {
    let mut select = conn.prepare_cached(
        "WITH counted AS MATERIALIZED (SELECT plan, number, parent, status = 'completed' AS done \
         FROM item WHERE plan IN (SELECT value FROM json_each(?1)) \
         AND superseded_at IS NULL AND status <> 'cancelled' \
         AND CASE WHEN json_valid(extra) THEN extra ->> '$.metadata.worker' END IS NULL), \
         marked AS (SELECT plan, done, (plan, number) NOT IN \
         (SELECT plan, parent FROM counted WHERE parent IS NOT NULL) AS is_leaf FROM counted) \
         SELECT plan, sum(is_leaf AND done), sum(is_leaf), max(NOT done) FROM marked GROUP BY plan",
    )?;
    let read =
        |row: &Row<'_>| Ok((row.get(0)?, Progress::of(row.get(1)?, row.get(2)?, row.get(3)?)));
    select.query_map([keys], read)?.collect()
}
