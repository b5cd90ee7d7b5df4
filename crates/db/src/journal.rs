//! The journal: one row a change, in the order of their commits.
//!
//! `seq` counts over all plans. SQLite has one writer at a time, so rows become visible in its
//! order, and a follower that has seen one has seen all before it.

use punchlist_model::store::{Cursor, Entry, Kind, Scope};
use punchlist_model::{Actor, ActorKind, PlanId, Revision};
use rusqlite::{Params, Row, params};

use crate::error::strange;
use crate::rows::{self, PlanKey, millis, signed};
use crate::session::Session;

/// Appends an entry.
pub(crate) fn append(conn: &Session<'_>, key: PlanKey, entry: &Entry) -> rusqlite::Result<()> {
    let mut insert = conn.statement(
        "INSERT INTO journal(plan, revision, at, actor_kind, actor, kind, undoes, events) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    insert.execute(params![
        key.0,
        signed(entry.revision),
        millis(entry.at),
        entry.actor.kind.as_str(),
        entry.actor.name,
        entry.kind.as_str(),
        entry.undoes.map(signed),
        rows::json(&entry.events),
    ])?;
    Ok(())
}

/// What an entry's reader needs, in order.
const ENTRY: &str = "journal.revision, at, actor_kind, actor, kind, undoes, events";

/// The entries of a plan after a revision, oldest first.
pub(crate) fn after(
    conn: &Session<'_>,
    key: PlanKey,
    plan: PlanId,
    after: Revision,
    most: u32,
) -> rusqlite::Result<Vec<Entry>> {
    let sql = format!(
        "SELECT {ENTRY} FROM journal WHERE plan = ?1 AND revision > ?2 ORDER BY revision LIMIT ?3"
    );
    entries(conn, &sql, params![key.0, signed(after), most], plan)
}

/// The newest entries of a plan, oldest first.
pub(crate) fn newest(
    conn: &Session<'_>,
    key: PlanKey,
    plan: PlanId,
    most: u32,
) -> rusqlite::Result<Vec<Entry>> {
    let sql =
        format!("SELECT {ENTRY} FROM journal WHERE plan = ?1 ORDER BY revision DESC LIMIT ?2");
    let mut entries = entries(conn, &sql, params![key.0, most], plan)?;
    entries.reverse();
    Ok(entries)
}

fn entries(
    conn: &Session<'_>,
    sql: &str,
    params: impl Params,
    plan: PlanId,
) -> rusqlite::Result<Vec<Entry>> {
    let mut select = conn.statement(sql)?;
    let found = select.query_map(params, |row| entry(row, plan))?;
    found.collect()
}

fn entry(row: &Row<'_>, plan: PlanId) -> rusqlite::Result<Entry> {
    let kind = rows::parsed(row, 2, actor_kind)?;
    Ok(Entry {
        plan,
        revision: rows::revision(row, 0)?,
        at: rows::time(row, 1)?,
        actor: Actor { kind, name: row.get(3)? },
        kind: rows::parsed(row, 4, |text| {
            Kind::parse(text).ok_or_else(|| format!("unknown kind of change {text:?}"))
        })?,
        undoes: row
            .get::<_, Option<i64>>(5)?
            .map(|it| u64::try_from(it).map(Revision).map_err(|error| strange(5, error)))
            .transpose()?,
        events: rows::from_json(row, 6)?.unwrap_or_default(),
    })
}

fn actor_kind(text: &str) -> Result<ActorKind, String> {
    [ActorKind::Person, ActorKind::Agent, ActorKind::Engine]
        .into_iter()
        .find(|kind| kind.as_str() == text)
        .ok_or_else(|| format!("unknown kind of actor {text:?}"))
}

/// Replaces the events of an entry: only for a person's word to forget.
pub(crate) fn rewrite(conn: &Session<'_>, key: PlanKey, entry: &Entry) -> rusqlite::Result<()> {
    let mut update =
        conn.statement("UPDATE journal SET events = ?3 WHERE plan = ?1 AND revision = ?2")?;
    update.execute(params![key.0, signed(entry.revision), rows::json(&entry.events)])?;
    Ok(())
}

/// The place of the newest entry.
pub(crate) fn end(conn: &Session<'_>) -> rusqlite::Result<i64> {
    let mut select = conn.statement("SELECT ifnull(max(seq), 0) FROM journal")?;
    select.query_row([], |row| row.get(0))
}

/// What a follower has not seen yet, at most `most`.
pub(crate) fn following(
    conn: &Session<'_>,
    after: i64,
    scope: &Scope,
    most: u32,
) -> rusqlite::Result<Vec<(i64, Entry)>> {
    let (scoped, plan) = match scope {
        Scope::All => ("", None),
        Scope::Plan(plan) => (" AND plan.id = ?3", Some(plan.to_string())),
    };
    let sql = format!(
        "SELECT {ENTRY}, seq, plan.id FROM journal JOIN plan ON plan.key = journal.plan \
         WHERE seq > ?1{scoped} ORDER BY seq LIMIT ?2"
    );
    let mut select = conn.statement(&sql)?;
    let read = |row: &Row<'_>| -> rusqlite::Result<(i64, Entry)> {
        let plan = rows::parsed(row, 8, str::parse::<PlanId>)?;
        Ok((row.get(7)?, entry(row, plan)?))
    };
    let found = match plan {
        None => select.query_map(params![after, most], read)?,
        Some(plan) => select.query_map(params![after, most, plan], read)?,
    };
    found.collect()
}

/// The cursor after a place.
pub(crate) fn cursor(seq: i64) -> Cursor {
    Cursor::After(seq.to_string())
}
