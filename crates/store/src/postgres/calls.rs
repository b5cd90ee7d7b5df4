//! Runs and their calls. Each transition of a call is a row, as in the SQLite store.

use std::collections::{BTreeMap, HashMap};

use punchlist_model::call::{Asked, CallRecord, CallState, RunFilter, RunRecord, Said};
use punchlist_model::event::TOMBSTONE;
use punchlist_model::store::Error;
use punchlist_model::{Number, RunId, Timestamp};
use serde_json::Value as Json;

use super::error::Failure;
use super::load::int;
use super::questions;
use super::tx::{Answer, Tx};
use super::values::{Value, ints, params};
use crate::calls::{call, run, state};
use crate::columns;
use crate::rows::{self, PlanKey, millis};

/// The row number of a run.
#[derive(Clone, Copy)]
pub(crate) struct RunKey(pub(crate) i64);

/// Records the start of a run.
pub(crate) async fn begin(tx: &Tx, run: RunRecord) -> Result<(), Failure> {
    let now = tx.now(run.begun_at);
    let run = RunRecord { begun_at: now.get().await?, ..run }.kept();
    let row = tx.first(
        "INSERT INTO punchlist.run(id, project, plan, what, process, begun_at, ended_at) \
         SELECT $1, $2, (SELECT key FROM punchlist.plan WHERE id = $3), $4, $5, $6, $7 \
         WHERE $3::text IS NULL OR EXISTS (SELECT 1 FROM punchlist.plan WHERE id = $3) \
         ON CONFLICT DO NOTHING RETURNING key",
        params![
            run.id.to_string(),
            &run.project,
            run.plan.map(|it| it.to_string()),
            &run.what,
            run.process.as_ref().map(rows::json),
            run.begun_at,
            run.ended_at,
        ],
    );
    if row.await?.is_some() {
        return Ok(());
    }
    let known = "SELECT 1::int8 FROM punchlist.run WHERE id = $1";
    match (tx.first(known, params![run.id.to_string()]).await?, run.plan) {
        (None, Some(plan)) => Err(Error::NoPlan(plan).into()),
        _ => Err(RunRecord::begun_already(run.id).into()),
    }
}

/// Records the end of a run, unless it has one.
pub(crate) async fn end(tx: &Tx, id: RunId, now: Timestamp) -> Result<(), Failure> {
    let now = tx.now(now);
    let key = key(tx, id).await?;
    tx.run(
        "UPDATE punchlist.run SET ended_at = $2 WHERE key = $1 AND ended_at IS NULL",
        params![key.0, now.get().await?],
    );
    Ok(())
}

/// The runs that match, newest first.
pub(crate) async fn runs(tx: &Tx, filter: &RunFilter) -> Result<Vec<RunRecord>, Failure> {
    let answer = tx.query(
        "SELECT run.id, run.project, plan.id, what, process, begun_at, ended_at \
         FROM punchlist.run LEFT JOIN punchlist.plan ON plan.key = run.plan \
         WHERE ($1::text IS NULL OR run.project = $1) AND ($2::text IS NULL OR plan.id = $2) \
         AND NOT ($3 AND ended_at IS NOT NULL) ORDER BY run.key DESC LIMIT $4",
        params![
            &filter.project,
            filter.plan.map(|it| it.to_string()),
            filter.running,
            filter.most.map(i64::from),
        ],
    );
    answer.await?.iter().map(run).collect()
}

/// The row of a run, which is locked: its calls change one by one.
async fn key(tx: &Tx, id: RunId) -> Result<RunKey, Failure> {
    let sql = "SELECT key FROM punchlist.run WHERE id = $1 FOR NO KEY UPDATE";
    found(tx.query(sql, params![id.to_string()]), id).await
}

async fn found(answer: Answer, id: RunId) -> Result<RunKey, Failure> {
    let rows = answer.await?;
    let row = rows.first().ok_or(Error::NoRun(id))?;
    columns::number(row, 0).map(RunKey)
}

/// Records the current states of calls, and their questions.
pub(crate) async fn record(
    tx: &Tx,
    id: RunId,
    calls: Vec<CallRecord>,
    asked: Vec<Asked>,
) -> Result<(), Failure> {
    let run = key(tx, id).await?;
    write(tx, id, run, calls.into_iter().map(CallRecord::kept).collect()).await?;
    for question in asked {
        questions::ask(tx, id, run, question.kept()).await?;
    }
    Ok(())
}

async fn write(tx: &Tx, id: RunId, run: RunKey, calls: Vec<CallRecord>) -> Result<(), Failure> {
    if calls.is_empty() {
        return Ok(());
    }
    let mut before = before(tx, run, &calls).await?;
    let mut requests = Vec::with_capacity(calls.len());
    for call in &calls {
        let request = rows::json(&call.request);
        let is_same = match before.get(&call.number) {
            None => false,
            Some((state, known)) => {
                state.check(id, call.number, call.state)?;
                // A forgotten request counts as unchanged.
                known.as_deref().is_some_and(|it| it == request || it == "null")
            }
        };
        let known = match before.remove(&call.number) {
            Some((_, known)) if is_same => known,
            _ => Some(request.clone()),
        };
        before.insert(call.number, (call.state, known));
        requests.push((!is_same).then_some(request));
    }
    let numbers = |of: fn(&CallRecord) -> Option<i64>| Value::Ints(calls.iter().map(of).collect());
    let texts =
        |of: fn(&CallRecord) -> Option<String>| Value::Texts(calls.iter().map(of).collect());
    tx.run(
        "INSERT INTO punchlist.call(run, number, item, tool, state, attempt, at, detail, request) \
         SELECT $1, n.number, n.item, n.tool, n.state, n.attempt, n.at, n.detail, n.request \
         FROM unnest($2::int8[], $3::int8[], $4::text[], $5::text[], $6::int8[], $7::int8[], \
         $8::text[], $9::text[]) WITH ORDINALITY \
         AS n(number, item, tool, state, attempt, at, detail, request, place) ORDER BY n.place",
        vec![
            Value::from(run.0),
            numbers(|it| Some(i64::from(it.number))),
            numbers(|it| it.item.map(int)),
            texts(|it| Some(it.tool.clone())),
            texts(|it| Some(it.state.as_str().to_owned())),
            numbers(|it| Some(i64::from(it.attempt.0))),
            numbers(|it| Some(millis(it.at))),
            texts(|it| it.detail.as_ref().map(rows::json)),
            Value::Texts(requests),
        ],
    );
    Ok(())
}

/// The state of each of these calls that is known, and its newest request.
async fn before(
    tx: &Tx,
    run: RunKey,
    calls: &[CallRecord],
) -> Result<HashMap<u32, (CallState, Option<String>)>, Failure> {
    let answer = tx.query(
        "SELECT n.number, s.state, (SELECT c.request FROM punchlist.call c WHERE c.run = $1 \
         AND c.number = n.number AND c.request IS NOT NULL ORDER BY c.seq DESC LIMIT 1) \
         FROM (SELECT DISTINCT unnest($2::int8[]) AS number) n CROSS JOIN LATERAL ( \
         SELECT c.state FROM punchlist.call c WHERE c.run = $1 AND c.number = n.number \
         ORDER BY c.seq DESC LIMIT 1) s",
        vec![Value::from(run.0), ints(calls.iter().map(|it| i64::from(it.number)))],
    );
    let mut known = HashMap::new();
    for row in answer.await? {
        let request = columns::optional_string(&row, 2)?;
        known.insert(columns::number(&row, 0)?, (state(&row, 1)?, request));
    }
    Ok(known)
}

/// The calls of a run in their current states, by number.
pub(crate) async fn list(tx: &Tx, id: RunId) -> Result<Vec<CallRecord>, Failure> {
    let calls: BTreeMap<u32, CallRecord> =
        story(tx, id).await?.into_iter().map(|it| (it.number, it)).collect();
    Ok(calls.into_values().collect())
}

/// Every transition of a run's calls, in order.
pub(crate) async fn story(tx: &Tx, id: RunId) -> Result<Vec<CallRecord>, Failure> {
    let run = tx.query("SELECT key FROM punchlist.run WHERE id = $1", params![id.to_string()]);
    let rows = tx.query(
        "SELECT number, item, tool, state, attempt, detail, at, request FROM punchlist.call \
         WHERE run = (SELECT key FROM punchlist.run WHERE id = $1) ORDER BY seq",
        params![id.to_string()],
    );
    found(run, id).await?;
    let mut calls = Vec::new();
    let mut asked: HashMap<u32, Json> = HashMap::new();
    for row in rows.await? {
        let mut call = call(&row)?;
        if let Some(request) = rows::from_json(&row, 7)? {
            asked.insert(call.number, request);
        }
        call.request = asked.get(&call.number).cloned().unwrap_or_default();
        calls.push(call);
    }
    Ok(calls)
}

/// Cancels the calls of a run that were executing.
pub(crate) async fn interrupt(
    tx: &Tx,
    id: RunId,
    now: Timestamp,
    outputs: &Said,
) -> Result<Vec<CallRecord>, Failure> {
    let run = key(tx, id).await?;
    let now = tx.now(now);
    let calls = list(tx, id).await?;
    let now = now.get().await?;
    let found: Vec<CallRecord> =
        calls.iter().filter_map(|call| call.interrupted(now, outputs)).collect();
    write(tx, id, run, found.clone()).await?;
    Ok(found)
}

/// Erases the texts of one item's calls and questions, or of all runs on a plan.
pub(crate) async fn forget(tx: &Tx, plan: PlanKey, item: Option<Number>) -> Result<(), Failure> {
    if item.is_none() {
        let sql = "UPDATE punchlist.run SET what = $2 WHERE plan = $1";
        tx.run(sql, params![plan.0, TOMBSTONE]);
    }
    tx.run(
        "UPDATE punchlist.call SET request = CASE WHEN request IS NULL THEN NULL ELSE 'null' END, \
         detail = NULL WHERE run IN (SELECT key FROM punchlist.run WHERE plan = $1) \
         AND ($2::int8 IS NULL OR item = $2)",
        params![plan.0, item],
    );
    questions::forget(tx, plan, item).await
}
