//! Overviews of plans.

use std::collections::HashMap;

use punchlist_model::store::turns::TextSearch;
use punchlist_model::store::{
    AttachmentKey, Filter, FoundAt, FoundItem, ItemSearch, ProjectSums, Summary,
};
use punchlist_model::{Number, PlanId, Progress, Slice, Status};
use rusqlite::{Connection, Row, params};

use crate::attachments;
use crate::columns::{self, Columns};
use crate::load::Failure;
use crate::rows::{self, PlanKey, millis};

/// Whether a plan is archived. Rules contain no text that somebody wrote.
macro_rules! is_archived {
    () => {
        "(instr(ifnull(rules, ''), '\"archived\":true') > 0)"
    };
}

/// A statement that selects plans, most recently changed first. There is no index for this order: every change
/// of a plan would have to write it, and reading ten thousand rows takes a few milliseconds.
macro_rules! select_plans {
    ($which:literal) => {
        concat!(
            "SELECT ",
            $crate::rows::plan_columns!(""),
            " FROM plan WHERE ",
            $which,
            " AND (?3 IS NULL OR updated_at < ?3 OR (updated_at = ?3 AND id > ?4)) \
             AND (?5 IS NULL OR ",
            is_archived!(),
            " = ?5) ORDER BY updated_at DESC, id LIMIT ?6"
        )
    };
}

/// The plans that match, most recently changed first.
pub(crate) fn list(conn: &Connection, filter: &Filter) -> Result<Vec<Summary>, Failure> {
    let (whole_id, project, name) = (filter.whole_id(), &filter.project, &filter.name);
    let (sql, first, second) = match (whole_id, project, name) {
        (Some(id), ..) => (select_plans!("id = ?1 AND ?2 IS NULL"), Some(id.to_string()), None),
        (None, Some(project), Some(name)) => {
            let sql = select_plans!("project = ?1 AND name = ?2");
            (sql, Some(project.clone()), Some(name.clone()))
        }
        (None, Some(project), None) => {
            (select_plans!("project = ?1 AND ?2 IS NULL"), Some(project.clone()), None)
        }
        (None, None, Some(name)) => {
            (select_plans!("?1 IS NULL AND name = ?2"), None, Some(name.clone()))
        }
        (None, None, None) => (select_plans!("?1 IS NULL AND ?2 IS NULL"), None, None),
    };
    // SQLite compares neither parts of ids nor texts as we do, so rows are left out below.
    let is_left_out_here = filter.id.is_some() || filter.text.is_some();
    let most = filter.most.filter(|_| !is_left_out_here).map_or(-1, i64::from);
    let (at, id) = filter.after.map(|(at, id)| (millis(at), id.to_string())).unzip();
    let mut select = conn.prepare_cached(sql)?;
    let mut rows = select.query(params![first, second, at, id, filter.archived, most])?;
    let mut plans = Vec::new();
    while plans.len() < filter.limit()
        && let Some(row) = rows.next()?
    {
        // A plan whose id cannot be read is skipped; the others are listed.
        let Ok((key, plan)) = rows::plan(row) else { continue };
        if filter.fits(&plan) {
            plans.push((key, plan));
        }
    }
    let keys: Vec<i64> = plans.iter().map(|(key, _)| key.0).collect();
    let keys = rows::json(&keys);
    let progress = progress(conn, &keys)?;
    let mut attachments = attachments::newest(conn, &keys)?;
    let summary = |(key, plan): (PlanKey, Slice)| {
        summary(plan, progress.get(&key.0).copied(), attachments.remove(&key.0))
    };
    Ok(plans.into_iter().map(summary).collect())
}

/// What the plans of each project add up to.
pub(crate) fn projects(
    conn: &Connection,
    project: Option<&str>,
) -> Result<Vec<ProjectSums>, Failure> {
    const SQL: &str = concat!(
        "SELECT project, count(*), sum(open > 0 AND NOT ",
        is_archived!(),
        "), sum",
        is_archived!(),
        ", sum(open), max(updated_at) FROM plan WHERE ?1 IS NULL OR project = ?1 \
         GROUP BY project ORDER BY project"
    );
    let mut select = conn.prepare_cached(SQL)?;
    let mut rows = select.query([project])?;
    let mut projects = Vec::new();
    while let Some(row) = rows.next()? {
        projects.push(project_sums(row)?);
    }
    Ok(projects)
}

/// Reads a row of sums.
pub(crate) fn project_sums<R: Columns>(row: &R) -> Result<ProjectSums, R::Error> {
    let count = |column| -> Result<u32, R::Error> {
        Ok(u32::try_from(columns::number::<R, i64>(row, column)?).unwrap_or(u32::MAX))
    };
    Ok(ProjectSums {
        project: columns::string(row, 0)?,
        plans: count(1)?,
        unfinished: count(2)?,
        archived: count(3)?,
        open: count(4)?,
        updated_at: columns::time(row, 5)?,
    })
}

/// The summary of a plan, of which the header is loaded.
pub(crate) fn summary(
    plan: Slice,
    progress: Option<Progress>,
    attachment: Option<AttachmentKey>,
) -> Summary {
    Summary {
        id: plan.id,
        progress: progress.unwrap_or_else(|| Progress::of(0, 0, false)),
        attachment,
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
    }
}

/// The items of which a text contains the text. SQLite ignores case for ASCII only, so the texts are
/// compared here.
pub(crate) fn search(conn: &Connection, search: &ItemSearch) -> Result<Vec<FoundItem>, Failure> {
    let mut select = conn.prepare_cached(
        "SELECT plan.id, plan.project, plan.title, item.number, item.title, item.status, \
         item.context, item.completion_criteria, ifnull(item.outcome, ''), plan.updated_at \
         FROM plan JOIN item ON item.plan = plan.key WHERE ?1 IS NULL OR plan.project = ?1 \
         ORDER BY plan.updated_at DESC, plan.id, item.number",
    )?;
    let (text, most) = (TextSearch::new(&search.text), usize::try_from(search.most));
    let most = most.unwrap_or(usize::MAX);
    let mut rows = select.query([&search.project])?;
    let mut found = Vec::new();
    while found.len() < most
        && let Some(row) = rows.next()?
    {
        let is_in = |column: usize| -> rusqlite::Result<bool> {
            Ok(text.is_in_title(row.get_ref(column)?.as_str().unwrap_or_default()))
        };
        let at = FoundAt {
            updated_at: columns::time(row, 9)?,
            plan: rows::parsed(row, 0, str::parse::<PlanId>)?,
            number: Number(row.get(3)?),
        };
        if !search.begins_before(at) || !(is_in(4)? || is_in(6)? || is_in(7)? || is_in(8)?) {
            continue;
        }
        found.push(FoundItem {
            at,
            project: row.get(1)?,
            plan_title: row.get(2)?,
            title: row.get(4)?,
            status: rows::parsed(row, 5, status)?,
        });
    }
    Ok(found)
}

fn status(text: &str) -> Result<Status, String> {
    let known = Status::ALL.into_iter().find(|it| it.as_str() == text);
    known.ok_or_else(|| format!("unknown status {text:?}"))
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
