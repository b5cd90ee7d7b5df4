//! Gives the plans of a project that was moved to its new directory.

use punchlist_model::store::Error;
use punchlist_model::store::maintenance::project_after_move;
use punchlist_model::{PlanId, Slice};
use rusqlite::{Connection, Params, params};

use crate::load::Failure;
use crate::rows::{self, PlanKey, select_plan};
use crate::{access, conversations, save};

/// Does what [`MaintenanceStore::move_project`] promises.
///
/// [`MaintenanceStore::move_project`]: punchlist_model::store::maintenance::MaintenanceStore::move_project
pub(crate) fn move_project(
    conn: &Connection,
    from: &str,
    to: &str,
) -> Result<Vec<PlanId>, Failure> {
    let plans = plans(conn)?;
    let mut moved = Vec::new();
    for (key, plan) in plans {
        let Some(project) = project_after_move(&plan.project, from, to) else { continue };
        if let Some(name) = &plan.name {
            let mut select =
                conn.prepare_cached("SELECT 1 FROM plan WHERE project = ?1 AND name = ?2")?;
            if select.exists(params![project, name])? {
                return Err(Error::NameTaken(name.clone()).into());
            }
        }
        let made_for = plan.made_for.map(|it| it.in_project(&project));
        // A plan that is there for the same already stays it.
        let made_for = match made_for {
            Some(it) if save::plan_for(conn, &it)?.is_none_or(|id| id == plan.id) => Some(it),
            Some(_) | None => None,
        };
        save::made_for(conn, key, None)?;
        execute(conn, "UPDATE plan SET project = ?2 WHERE key = ?1", params![key.0, project])?;
        save::made_for(conn, key, made_for.as_ref())?;
        moved.push(plan.id);
    }
    // A conversation that is already attached at the new place stays unchanged.
    for (select, update) in [
        (
            "SELECT DISTINCT project FROM attachment",
            "UPDATE OR IGNORE attachment SET project = ?2 WHERE project = ?1",
        ),
        (
            "SELECT DISTINCT project FROM session",
            "UPDATE session SET project = ?2, version = version + 1 WHERE project = ?1",
        ),
        ("SELECT DISTINCT project FROM run", "UPDATE run SET project = ?2 WHERE project = ?1"),
    ] {
        let mut found = conn.prepare_cached(select)?;
        let found = found.query_map([], |row| row.get::<_, String>(0))?;
        for project in found.collect::<rusqlite::Result<Vec<_>>>()? {
            if let Some(there) = project_after_move(&project, from, to) {
                execute(conn, update, params![project, there])?;
            }
        }
    }
    conversations::move_project(conn, from, to)?;
    access::move_project(conn, from, to)?;
    Ok(moved)
}

fn plans(conn: &Connection) -> rusqlite::Result<Vec<(PlanKey, Slice)>> {
    let mut select = conn.prepare_cached(select_plan!("plan ORDER BY key"))?;
    let mut rows = select.query([])?;
    let mut plans = Vec::new();
    while let Some(row) = rows.next()? {
        plans.push(rows::plan(row)?);
    }
    Ok(plans)
}

fn execute(conn: &Connection, sql: &'static str, params: impl Params) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute(params).map(drop)
}
