//! Overviews of plans.

use std::collections::HashMap;

use punchlist_model::store::turns::TextSearch;
use punchlist_model::store::{Filter, FoundAt, FoundItem, ItemSearch, ProjectSums, Summary};
use punchlist_model::{Number, PlanId, Progress, Slice, Status};

use super::attachments;
use super::error::Failure;
use super::tx::Tx;
use super::values::{ints, params};
use crate::columns::{self, Columns};
use crate::plans::{project_sums, summary};
use crate::rows::{self, PlanKey, millis, plan_columns};

/// Whether a plan is archived. Rules contain no text that somebody wrote.
macro_rules! is_archived {
    () => {
        "(strpos(coalesce(plan.rules, ''), '\"archived\":true') > 0)"
    };
}

const SELECT: &str = concat!(
    "SELECT ",
    plan_columns!("plan."),
    " FROM punchlist.plan AS plan \
     WHERE ($1::text IS NULL OR plan.project = $1) AND ($2::text IS NULL OR plan.name = $2) \
     AND ($3::bigint IS NULL OR plan.updated_at < $3 OR (plan.updated_at = $3 AND plan.id > $4)) \
     AND ($5::boolean IS NULL OR ",
    is_archived!(),
    " = $5) AND ($6::text IS NULL OR plan.id = $6) \
     ORDER BY plan.updated_at DESC, plan.id LIMIT $7"
);

/// The plans that match, most recently changed first.
pub(crate) async fn list(tx: &Tx, filter: &Filter) -> Result<Vec<Summary>, Failure> {
    // PostgreSQL compares neither parts of ids nor texts as we do, so rows are left out below.
    let whole_id = filter.whole_id().map(|it| it.to_string());
    let is_left_out_here = filter.text.is_some() || (filter.id.is_some() && whole_id.is_none());
    let most = filter.most.filter(|_| !is_left_out_here).map(i64::from);
    let (at, id) = filter.after.map(|(at, id)| (millis(at), id.to_string())).unzip();
    let wanted = params![&filter.project, &filter.name, at, id, filter.archived, whole_id, most];
    let mut plans: Vec<(PlanKey, Slice)> = Vec::new();
    for row in tx.query(SELECT, wanted).await? {
        // A plan whose id cannot be read is skipped; the others are listed.
        let Ok((key, plan)) = rows::plan(&row) else { continue };
        if plans.len() < filter.limit() && filter.fits(&plan) {
            plans.push((key, plan));
        }
    }
    let keys = || ints(plans.iter().map(|(key, _)| key.0));
    let (progress, attachments) =
        (tx.query(PROGRESS, vec![keys()]), tx.query(attachments::NEWEST, vec![keys()]));
    let mut counted = HashMap::new();
    for row in progress.await? {
        let (done, all) = (columns::number(&row, 1)?, columns::number(&row, 2)?);
        let key: i64 = columns::number(&row, 0)?;
        counted.insert(key, Progress::of(done, all, columns::flag(&row, 3)?));
    }
    let mut attached = attachments::newest(attachments.await?)?;
    Ok(plans
        .into_iter()
        .map(|(key, plan)| summary(plan, counted.get(&key.0).copied(), attached.remove(&key.0)))
        .collect())
}

/// What the plans of each project add up to.
pub(crate) async fn projects(tx: &Tx, project: Option<&str>) -> Result<Vec<ProjectSums>, Failure> {
    const SQL: &str = concat!(
        "SELECT project, count(*), count(*) FILTER (WHERE open > 0 AND NOT ",
        is_archived!(),
        "), count(*) FILTER (WHERE ",
        is_archived!(),
        "), sum(open)::bigint, max(updated_at) FROM punchlist.plan AS plan \
         WHERE $1::text IS NULL OR project = $1 GROUP BY project ORDER BY project"
    );
    let project = project.map(str::to_owned);
    tx.query(SQL, params![&project]).await?.iter().map(project_sums).collect()
}

/// The items of which a text contains the text. The texts are compared here, as in the other stores.
pub(crate) async fn search(tx: &Tx, search: &ItemSearch) -> Result<Vec<FoundItem>, Failure> {
    let rows = tx.query(
        "SELECT plan.id, plan.project, plan.title, item.number, item.title, item.status, \
         item.context, item.completion_criteria, coalesce(item.outcome, ''), plan.updated_at \
         FROM punchlist.plan JOIN punchlist.item ON item.plan = plan.key \
         WHERE $1::text IS NULL OR plan.project = $1 \
         ORDER BY plan.updated_at DESC, plan.id, item.number",
        params![&search.project],
    );
    let text = TextSearch::new(&search.text);
    let most = usize::try_from(search.most).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for row in rows.await? {
        let mut is_in = false;
        for column in [4, 6, 7, 8] {
            is_in |= row.text(column)?.is_some_and(|it| text.is_in_title(&it));
        }
        let at = FoundAt {
            updated_at: columns::time(&row, 9)?,
            plan: columns::parsed(&row, 0, str::parse::<PlanId>)?,
            number: Number(columns::number(&row, 3)?),
        };
        if found.len() < most && is_in && search.begins_before(at) {
            found.push(FoundItem {
                at,
                project: columns::string(&row, 1)?,
                plan_title: columns::string(&row, 2)?,
                title: columns::string(&row, 4)?,
                status: columns::parsed(&row, 5, str::parse::<Status>)?,
            });
        }
    }
    Ok(found)
}

/// What `Plan::progress` returns, without loading the plans. A plan without countable items is missing
/// from the result.
const PROGRESS: &str = "WITH counted AS MATERIALIZED (SELECT plan, number, parent, \
    status = 'completed' AS done FROM punchlist.item WHERE plan = ANY($1) \
    AND superseded_at IS NULL AND status <> 'cancelled' AND NOT is_workers), \
    marked AS (SELECT c.plan, c.done, p.parent IS NULL AS is_leaf FROM counted c LEFT JOIN ( \
    SELECT DISTINCT plan, parent FROM counted WHERE parent IS NOT NULL) p \
    ON p.plan = c.plan AND p.parent = c.number) \
    SELECT plan, count(*) FILTER (WHERE is_leaf AND done), count(*) FILTER (WHERE is_leaf), \
    bool_or(NOT done) FROM marked GROUP BY plan";
