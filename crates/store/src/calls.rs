//! Runs and their calls.
//!
//! Each transition of a call is a row. A call's state is its newest row; its request is in the
//! newest row that has one, so that the text is not stored twice. There is no second table with one
//! row per call: every verb reads the whole schema when it opens the database, so each table costs
//! time.

use std::collections::{BTreeMap, HashMap};

use punchlist_model::call::{Asked, CallRecord, CallState, RunFilter, RunRecord, Said};
use punchlist_model::event::TOMBSTONE;
use punchlist_model::store::{Error, kept};
use punchlist_model::{Attempt, Number, PlanId, RunId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use crate::columns::{Columns, number, optional_number, optional_parsed, string};
use crate::load::Failure;
use crate::questions;
use crate::rows::{self, PlanKey, millis};

/// The row number of a run.
#[derive(Clone, Copy)]
pub(crate) struct RunKey(pub(crate) i64);

/// Records the start of a run.
pub(crate) fn begin(conn: &Connection, run: RunRecord) -> Result<(), Failure> {
    let run = run.kept();
    let plan = match run.plan {
        Some(plan) => {
            let mut select = conn.prepare_cached("SELECT key FROM plan WHERE id = ?1")?;
            let found = select.query_row([plan.to_string()], |row| row.get::<_, i64>(0));
            Some(found.optional()?.ok_or(Error::NoPlan(plan))?)
        }
        None => None,
    };
    let mut insert = conn.prepare_cached(
        "INSERT INTO run(id, project, plan, what, process, begun_at, ended_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
    )?;
    let written = insert.execute(params![
        run.id.to_string(),
        run.project,
        plan,
        run.what,
        run.process.as_ref().map(rows::json),
        millis(run.begun_at),
        run.ended_at.map(millis),
    ])?;
    if written == 1 { Ok(()) } else { Err(RunRecord::begun_already(run.id).into()) }
}

/// Records the end of a run, unless it has one.
pub(crate) fn end(conn: &Connection, id: RunId, now: Timestamp) -> Result<(), Failure> {
    let key = key(conn, id)?;
    let mut update =
        conn.prepare_cached("UPDATE run SET ended_at = ?2 WHERE key = ?1 AND ended_at IS NULL")?;
    update.execute(params![key.0, millis(kept(now))])?;
    Ok(())
}

/// The runs that match, newest first.
pub(crate) fn runs(conn: &Connection, filter: &RunFilter) -> Result<Vec<RunRecord>, Failure> {
    let mut select = conn.prepare_cached(
        "SELECT run.id, run.project, plan.id, what, process, begun_at, ended_at \
         FROM run LEFT JOIN plan ON plan.key = run.plan \
         WHERE (?1 IS NULL OR run.project = ?1) AND (?2 IS NULL OR plan.id = ?2) \
         AND NOT (?3 AND ended_at IS NOT NULL) ORDER BY run.key DESC LIMIT ?4",
    )?;
    let plan = filter.plan.map(|plan| plan.to_string());
    let most = filter.most.map_or(-1, i64::from);
    let found =
        select.query_map(params![filter.project, plan, filter.running, most], |row| run(row))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

pub(crate) fn run<R: Columns>(row: &R) -> Result<RunRecord, R::Error> {
    Ok(RunRecord {
        id: rows::parsed(row, 0, str::parse::<RunId>)?,
        project: string(row, 1)?,
        plan: optional_parsed(row, 2, str::parse::<PlanId>)?,
        what: string(row, 3)?,
        process: rows::from_json(row, 4)?,
        begun_at: rows::time(row, 5)?,
        ended_at: rows::optional_time(row, 6)?,
    })
}

fn key(conn: &Connection, id: RunId) -> Result<RunKey, Failure> {
    let mut select = conn.prepare_cached("SELECT key FROM run WHERE id = ?1")?;
    let found = select.query_row([id.to_string()], |row| row.get(0).map(RunKey));
    found.optional()?.ok_or(Failure::Store(Error::NoRun(id)))
}

/// Records the current states of calls, and their questions.
pub(crate) fn record(
    conn: &Connection,
    id: RunId,
    calls: Vec<CallRecord>,
    asked: Vec<Asked>,
) -> Result<(), Failure> {
    let run = key(conn, id)?;
    write(conn, id, run, calls.into_iter().map(CallRecord::kept))?;
    for question in asked {
        questions::ask(conn, id, run, question.kept())?;
    }
    Ok(())
}

fn write(
    conn: &Connection,
    id: RunId,
    run: RunKey,
    calls: impl IntoIterator<Item = CallRecord>,
) -> Result<(), Failure> {
    let mut select = conn.prepare_cached(BEFORE)?;
    let mut insert = conn.prepare_cached(
        "INSERT INTO call(run, number, item, tool, state, attempt, at, request, detail) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for call in calls {
        let request = rows::json(&call.request);
        let before = select.query_row(params![run.0, call.number, request], |row| {
            Ok((state(row, 0)?, row.get::<_, Option<bool>>(1)?))
        });
        let before = before.optional()?;
        if let Some((before, _)) = before {
            before.check(id, call.number, call.state)?;
        }
        let is_same = before.is_some_and(|(_, is_same)| is_same == Some(true));
        insert.execute(params![
            run.0,
            call.number,
            call.item.map(|it| it.0),
            call.tool,
            call.state.as_str(),
            call.attempt.0,
            millis(call.at),
            (!is_same).then_some(request),
            call.detail.as_ref().map(rows::json),
        ])?;
    }
    Ok(())
}

/// A call's state, and whether its request is unchanged. A forgotten request counts as unchanged.
pub(crate) const BEFORE: &str = "SELECT state, (SELECT request IN (?3, 'null') FROM call \
     WHERE run = ?1 AND number = ?2 AND request IS NOT NULL ORDER BY seq DESC LIMIT 1) \
     FROM call WHERE run = ?1 AND number = ?2 ORDER BY seq DESC LIMIT 1";

/// The calls of a run in their current states, by number.
pub(crate) fn list(conn: &Connection, id: RunId) -> Result<Vec<CallRecord>, Failure> {
    let mut calls = BTreeMap::new();
    tell(conn, id, |call| {
        calls.insert(call.number, call);
    })?;
    Ok(calls.into_values().collect())
}

/// Every transition of a run's calls, in order.
pub(crate) fn story(conn: &Connection, id: RunId) -> Result<Vec<CallRecord>, Failure> {
    let mut calls = Vec::new();
    tell(conn, id, |call| calls.push(call))?;
    Ok(calls)
}

fn tell(conn: &Connection, id: RunId, mut to: impl FnMut(CallRecord)) -> Result<(), Failure> {
    let run = key(conn, id)?;
    let mut select = conn.prepare_cached(
        "SELECT number, item, tool, state, attempt, detail, at, request FROM call \
         WHERE run = ?1 ORDER BY seq",
    )?;
    let mut asked: HashMap<u32, Value> = HashMap::new();
    let mut found = select.query([run.0])?;
    while let Some(row) = found.next()? {
        let mut call = call(row)?;
        if let Some(request) = rows::from_json(row, 7)? {
            asked.insert(call.number, request);
        }
        call.request = asked.get(&call.number).cloned().unwrap_or_default();
        to(call);
    }
    Ok(())
}

/// A call without its request.
pub(crate) fn call<R: Columns>(row: &R) -> Result<CallRecord, R::Error> {
    Ok(CallRecord {
        number: number(row, 0)?,
        item: optional_number(row, 1)?.map(Number),
        tool: string(row, 2)?,
        request: Value::Null,
        state: state(row, 3)?,
        attempt: Attempt(number(row, 4)?),
        detail: rows::from_json(row, 5)?,
        at: rows::time(row, 6)?,
    })
}

/// A column that holds a state.
pub(crate) fn state<R: Columns>(row: &R, column: usize) -> Result<CallState, R::Error> {
    rows::parsed(row, column, |text| {
        CallState::parse(text).ok_or_else(|| format!("unknown state {text:?}"))
    })
}

/// Cancels the calls of a run that were executing.
pub(crate) fn interrupt(
    conn: &Connection,
    id: RunId,
    now: Timestamp,
    outputs: &Said,
) -> Result<Vec<CallRecord>, Failure> {
    let calls = list(conn, id)?;
    let found: Vec<CallRecord> =
        calls.iter().filter_map(|call| call.interrupted(now, outputs)).collect();
    write(conn, id, key(conn, id)?, found.iter().cloned())?;
    Ok(found)
}

/// Erases the texts of one item's calls and questions, or of all runs on a plan.
pub(crate) fn forget(
    conn: &Connection,
    plan: PlanKey,
    item: Option<Number>,
) -> Result<(), Failure> {
    let item = item.map(|it| it.0);
    if item.is_none() {
        let mut update = conn.prepare_cached("UPDATE run SET what = ?2 WHERE plan = ?1")?;
        update.execute(params![plan.0, TOMBSTONE])?;
    }
    let mut update = conn.prepare_cached(
        "UPDATE call SET request = iif(request IS NULL, NULL, 'null'), detail = NULL \
         WHERE run IN (SELECT key FROM run WHERE plan = ?1) AND (?2 IS NULL OR item = ?2)",
    )?;
    update.execute(params![plan.0, item])?;
    questions::forget(conn, plan, item)
}
