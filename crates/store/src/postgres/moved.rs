//! Gives the plans of a project that was moved to its new name.

use punchlist_model::store::Error;
use punchlist_model::store::maintenance::project_after_move;
use punchlist_model::{PlanId, Slice};

use super::error::Failure;
use super::tx::Tx;
use super::values::params;
use super::{access, conversations, save};
use crate::columns::string;
use crate::rows::{self, PlanKey, plan_columns};

/// Does what [`MaintenanceStore::move_project`] promises.
///
/// [`MaintenanceStore::move_project`]: punchlist_model::store::maintenance::MaintenanceStore::move_project
///
/// `directories` are those of the project, before and after, if the project's files moved as well.
pub(crate) async fn move_project(
    tx: &Tx,
    from: &str,
    to: &str,
    directories: Option<(&str, &str)>,
) -> Result<Vec<PlanId>, Failure> {
    const PLANS: &str = concat!(
        "SELECT ",
        plan_columns!("plan."),
        " FROM punchlist.plan AS plan WHERE starts_with(plan.project, $1) \
         ORDER BY plan.key FOR NO KEY UPDATE"
    );
    let rows = tx.query(PLANS, params![from]).await?;
    let plans: Result<Vec<(PlanKey, Slice)>, Failure> = rows.iter().map(rows::plan).collect();
    let mut moved = Vec::new();
    for (key, plan) in plans? {
        let Some(project) = project_after_move(&plan.project, from, to) else { continue };
        if let Some(name) = &plan.name {
            let taken = "SELECT 1::int8 FROM punchlist.plan WHERE project = $1 AND name = $2";
            if tx.first(taken, params![&project, name]).await?.is_some() {
                return Err(Error::NameTaken(name.clone()).into());
            }
        }
        let made_for = plan.made_for.map(|it| it.in_project(&project));
        // A plan that is there for the same already stays it.
        let made_for = match made_for {
            Some(it) if save::plan_for(tx, &it).await?.is_none_or(|id| id == plan.id) => Some(it),
            Some(_) | None => None,
        };
        save::made_for(tx, key, None);
        let sql = "UPDATE punchlist.plan SET project = $2 WHERE key = $1";
        tx.run(sql, params![key.0, project]);
        save::made_for(tx, key, made_for.as_ref());
        moved.push(plan.id);
    }
    // A conversation that is already attached at the new place stays unchanged.
    for (select, update) in [
        (
            "SELECT DISTINCT project FROM punchlist.attachment",
            "UPDATE punchlist.attachment AS a SET project = $2 WHERE project = $1 AND NOT EXISTS ( \
             SELECT 1 FROM punchlist.attachment b WHERE b.project = $2 AND b.agent = a.agent \
             AND b.conversation = a.conversation AND b.sub_agent = a.sub_agent AND b.turn = a.turn)",
        ),
        (
            "SELECT DISTINCT project FROM punchlist.session",
            "UPDATE punchlist.session SET project = $2, version = version + 1 WHERE project = $1",
        ),
        (
            "SELECT DISTINCT project FROM punchlist.run",
            "UPDATE punchlist.run SET project = $2 WHERE project = $1",
        ),
        (
            "SELECT DISTINCT project FROM punchlist.checkout",
            "UPDATE punchlist.checkout AS c SET project = $2 WHERE project = $1 AND NOT EXISTS ( \
             SELECT 1 FROM punchlist.checkout d WHERE d.project = $2 AND d.host = c.host \
             AND d.directory = c.directory)",
        ),
    ] {
        for row in tx.query(select, Vec::new()).await? {
            let project = string(&row, 0)?;
            if let Some(there) = project_after_move(&project, from, to) {
                tx.run(update, params![project, there]);
            }
        }
    }
    access::move_project(tx, from, to).await?;
    conversations::move_project(tx, from, to, directories).await?;
    Ok(moved)
}
