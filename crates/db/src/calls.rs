//! Runs and their calls: where each call stands, and how it came there.
//!
//! A transition is a row of `call_event`, numbered within its run. A call's own row says where it
//! stands and which events hold the rest: `last` is its newest, `asks` the one with the request that
//! counts. So no text is kept twice.

use std::collections::HashMap;

use punchlist_model::call::{Asked, CallRecord, CallState, RunFilter, RunRecord};
use punchlist_model::event::TOMBSTONE;
use punchlist_model::store::{Error, kept};
use punchlist_model::{Attempt, Number, PlanId, Process, RunId, Timestamp};
use rusqlite::{OptionalExtension, Row, params};
use serde_json::Value;

use crate::load::Failure;
use crate::questions;
use crate::rows::{self, PlanKey, millis};
use crate::session::Session;

/// A run's place in the database.
#[derive(Clone, Copy)]
pub(crate) struct RunKey(pub(crate) i64);

/// Notes that a run has begun.
pub(crate) fn begin(conn: &Session<'_>, run: RunRecord) -> Result<(), Failure> {
    let run = run.kept();
    let plan = match run.plan {
        Some(plan) => {
            let mut select = conn.statement("SELECT key FROM plan WHERE id = ?1")?;
            let found = select.query_row([plan.to_string()], |row| row.get::<_, i64>(0));
            Some(found.optional()?.ok_or(Error::NoPlan(plan))?)
        }
        None => None,
    };
    let mut insert = conn.statement(
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

/// Notes that a run has ended, unless that is known.
pub(crate) fn end(conn: &Session<'_>, id: RunId, now: Timestamp) -> Result<(), Failure> {
    let key = key(conn, id)?;
    let mut update =
        conn.statement("UPDATE run SET ended_at = ?2 WHERE key = ?1 AND ended_at IS NULL")?;
    update.execute(params![key.0, millis(kept(now))])?;
    Ok(())
}

/// The runs that fit, the one that began last first.
pub(crate) fn runs(conn: &Session<'_>, filter: &RunFilter) -> Result<Vec<RunRecord>, Failure> {
    let mut select = conn.statement(
        "SELECT run.id, run.project, plan.id, what, process, begun_at, ended_at \
         FROM run LEFT JOIN plan ON plan.key = run.plan \
         WHERE (?1 IS NULL OR run.project = ?1) AND (?2 IS NULL OR plan.id = ?2) \
         AND NOT (?3 AND ended_at IS NOT NULL) ORDER BY run.key DESC LIMIT ?4",
    )?;
    let plan = filter.plan.map(|plan| plan.to_string());
    let most = filter.most.map_or(-1, i64::from);
    let found = select.query_map(params![filter.project, plan, filter.running, most], run)?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn run(row: &Row<'_>) -> rusqlite::Result<RunRecord> {
    let has_plan = row.get_ref(2)?.as_str_or_null()?.is_some();
    Ok(RunRecord {
        id: rows::parsed(row, 0, str::parse::<RunId>)?,
        project: row.get(1)?,
        plan: if has_plan { Some(rows::parsed(row, 2, str::parse::<PlanId>)?) } else { None },
        what: row.get(3)?,
        process: rows::from_json::<Process>(row, 4)?,
        begun_at: rows::time(row, 5)?,
        ended_at: rows::optional_time(row, 6)?,
    })
}

fn key(conn: &Session<'_>, id: RunId) -> Result<RunKey, Failure> {
    let mut select = conn.statement("SELECT key FROM run WHERE id = ?1")?;
    let found = select.query_row([id.spelt(&mut [0; 36])], |row| row.get(0).map(RunKey));
    found.optional()?.ok_or(Failure::Store(Error::NoRun(id)))
}

/// Writes down where calls stand now, and what they ask.
pub(crate) fn record(
    conn: &Session<'_>,
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

/// What is known of a call before it moves.
struct Before {
    state: CallState,
    /// The event with its request.
    asks: i64,
    /// Whether that request is still the same. What was forgotten stays so.
    same: bool,
}

fn write(
    conn: &Session<'_>,
    id: RunId,
    run: RunKey,
    calls: impl IntoIterator<Item = CallRecord>,
) -> Result<(), Failure> {
    let mut select = conn.statement(
        "SELECT call.state, asks, request IN (?3, 'null') FROM call \
         JOIN call_event ON call_event.run = call.run AND seq = asks \
         WHERE call.run = ?1 AND number = ?2",
    )?;
    let mut upsert = conn.statement(
        "INSERT INTO call(run, number, item, tool, state, last, asks) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE \
         SET state = excluded.state, last = excluded.last, asks = excluded.asks",
    )?;
    let mut insert = conn.statement(
        "INSERT INTO call_event(run, seq, call, state, attempt, at, request, detail) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let mut seq = newest(conn, run)?;
    for call in calls {
        let request = rows::json(&call.request);
        let before = select.query_row(params![run.0, call.number, request], |row| {
            Ok(Before { state: state(row, 0)?, asks: row.get(1)?, same: row.get(2)? })
        });
        let before = before.optional()?;
        if let Some(before) = &before {
            before.state.check(id, call.number, call.state)?;
        }
        seq += 1;
        let asks = before.filter(|it| it.same).map(|it| it.asks);
        upsert.execute(params![
            run.0,
            call.number,
            call.item.map(|it| it.0),
            call.tool,
            call.state.as_str(),
            seq,
            asks.unwrap_or(seq),
        ])?;
        insert.execute(params![
            run.0,
            seq,
            call.number,
            call.state.as_str(),
            call.attempt.0,
            millis(call.at),
            asks.is_none().then_some(request),
            call.detail.as_ref().map(rows::json),
        ])?;
    }
    Ok(())
}

/// The number of a run's newest event.
fn newest(conn: &Session<'_>, run: RunKey) -> rusqlite::Result<i64> {
    let mut select = conn.statement("SELECT ifnull(max(seq), 0) FROM call_event WHERE run = ?1")?;
    select.query_row([run.0], |row| row.get(0))
}

/// What a call's reader needs, in order.
macro_rules! select_call {
    ($rest:literal) => {
        concat!("SELECT number, item, tool, e.state, e.attempt, e.detail, e.at, ", $rest)
    };
}

/// The calls of a run as they stand, by number.
pub(crate) fn list(conn: &Session<'_>, id: RunId) -> Result<Vec<CallRecord>, Failure> {
    let run = key(conn, id)?;
    let mut select = conn.statement(select_call!(
        "a.request FROM call JOIN call_event e ON e.run = call.run AND e.seq = last \
         JOIN call_event a ON a.run = call.run AND a.seq = asks WHERE call.run = ?1 ORDER BY number"
    ))?;
    let found = select.query_map([run.0], |row| {
        Ok(CallRecord { request: request(row)?.unwrap_or_default(), ..call(row)? })
    })?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// Every transition of a run's calls, in order.
pub(crate) fn story(conn: &Session<'_>, id: RunId) -> Result<Vec<CallRecord>, Failure> {
    let run = key(conn, id)?;
    let mut select = conn.statement(select_call!(
        "e.request FROM call_event e JOIN call ON call.run = e.run AND number = e.call \
         WHERE e.run = ?1 ORDER BY seq"
    ))?;
    let mut asked: HashMap<u32, Value> = HashMap::new();
    let mut found = select.query([run.0])?;
    let mut calls = Vec::new();
    while let Some(row) = found.next()? {
        let mut call = call(row)?;
        if let Some(request) = request(row)? {
            asked.insert(call.number, request);
        }
        call.request = asked.get(&call.number).cloned().unwrap_or_default();
        calls.push(call);
    }
    Ok(calls)
}

/// A call without its request.
fn call(row: &Row<'_>) -> rusqlite::Result<CallRecord> {
    Ok(CallRecord {
        number: row.get(0)?,
        item: row.get::<_, Option<u32>>(1)?.map(Number),
        tool: row.get(2)?,
        request: Value::Null,
        state: state(row, 3)?,
        attempt: Attempt(row.get(4)?),
        detail: rows::from_json(row, 5)?,
        at: rows::time(row, 6)?,
    })
}

fn request(row: &Row<'_>) -> rusqlite::Result<Option<Value>> {
    rows::from_json(row, 7)
}

/// A column that holds a state.
pub(crate) fn state(row: &Row<'_>, column: usize) -> rusqlite::Result<CallState> {
    rows::parsed(row, column, |text| {
        CallState::parse(text).ok_or_else(|| format!("unknown state {text:?}"))
    })
}

/// What was executing becomes cancelled.
pub(crate) fn interrupt(
    conn: &Session<'_>,
    id: RunId,
    now: Timestamp,
) -> Result<Vec<CallRecord>, Failure> {
    let calls = list(conn, id)?;
    let found: Vec<CallRecord> = calls.iter().filter_map(|call| call.interrupted(now)).collect();
    write(conn, id, key(conn, id)?, found.iter().cloned())?;
    Ok(found)
}

/// Erases the texts of one item's calls and questions, or of all runs on a plan.
pub(crate) fn forget(
    conn: &Session<'_>,
    plan: PlanKey,
    item: Option<Number>,
) -> Result<(), Failure> {
    let item = item.map(|it| it.0);
    if item.is_none() {
        let mut update = conn.statement("UPDATE run SET what = ?2 WHERE plan = ?1")?;
        update.execute(params![plan.0, TOMBSTONE])?;
    }
    let mut update = conn.statement(
        "UPDATE call_event SET request = iif(request IS NULL, NULL, 'null'), detail = NULL \
         WHERE run IN (SELECT key FROM run WHERE plan = ?1) AND (?2 IS NULL OR call IN \
         (SELECT number FROM call WHERE call.run = call_event.run AND item = ?2))",
    )?;
    update.execute(params![plan.0, item])?;
    questions::forget(conn, plan, item)
}
