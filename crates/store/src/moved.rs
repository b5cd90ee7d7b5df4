//! Giving the plans of a project that has moved to its new place.

use punchlist_model::store::{AttachmentKey, Error};
use punchlist_model::{MadeFor, PlanId, Slice};
use rusqlite::{Connection, Params, params};

use crate::load::Failure;
use crate::rows::{self, PlanKey, select_plan};
use crate::save;
use crate::sqlite::Sqlite;

impl Sqlite {
    /// Gives everything of the project `from`, and of the projects in directories below it, to the
    /// project `to` and the same directories there: plans, who is attached to them, sessions and runs.
    /// The plans that it is about. Fails with [`Error::NameTaken`] if there is a plan of the same name
    /// already.
    pub fn move_project(&self, from: &str, to: &str) -> Result<Vec<PlanId>, Error> {
        self.write(|conn| move_all(conn, from, to))
    }
}

/// What a project is called after the move; nothing if it is not below `from`.
fn after(project: &str, from: &str, to: &str) -> Option<String> {
    let rest = project.strip_prefix(from)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| format!("{to}{rest}"))
}

fn move_all(conn: &Connection, from: &str, to: &str) -> Result<Vec<PlanId>, Failure> {
    let plans = plans(conn)?;
    let mut moved = Vec::new();
    for (key, plan) in plans {
        let Some(project) = after(&plan.project, from, to) else { continue };
        if let Some(name) = &plan.name {
            let mut select =
                conn.prepare_cached("SELECT 1 FROM plan WHERE project = ?1 AND name = ?2")?;
            if select.exists(params![project, name])? {
                return Err(Error::NameTaken(name.clone()).into());
            }
        }
        let made_for = plan.made_for.map(|it| match it {
            MadeFor::Project(_) => MadeFor::Project(project.clone()),
            MadeFor::File(path) => MadeFor::File(path),
            MadeFor::Conversation(it) => {
                MadeFor::Conversation(AttachmentKey { project: project.clone(), ..it })
            }
        });
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
    // One that is attached at the new place already is left as it is.
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
            if let Some(there) = after(&project, from, to) {
                execute(conn, update, params![project, there])?;
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_a_directory_moves_with_it_and_nothing_else() {
        let check = |project, expected: Option<&str>| {
            assert_eq!(after(project, "/a/b", "/x").as_deref(), expected, "{project}");
        };
        check("/a/b", Some("/x"));
        check("/a/b/c/d", Some("/x/c/d"));
        check("/a/bc", None);
        check("/a", None);
        check("", None);
    }
}
