//! The journal: one row per change, in the order of commits.
//!
//! `seq` counts over all plans. SQLite has one writer at a time, so rows become visible in this
//! order, and a follower that has read one row has read all rows before it.

use std::borrow::Cow;

use punchlist_model::store::{Cursor, Entry, Kind, Scope};
use punchlist_model::{Actor, ActorKind, PlanId, Revision, Timestamp, WriteId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::columns::{Columns, optional_number, string};
use crate::events;
use crate::rows::{self, PlanKey, millis, signed};

/// Appends an entry. Imported entries have no write id.
pub(crate) fn append(
    conn: &Connection,
    key: PlanKey,
    write: Option<WriteId>,
    entry: &Entry,
) -> rusqlite::Result<()> {
    let mut insert = conn.prepare_cached(
        "INSERT INTO journal(plan, revision, write_id, at, actor_kind, actor, kind, undoes, events) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    insert.execute(params![
        key.0,
        signed(entry.revision),
        write.map(|it| it.to_string()),
        millis(entry.at),
        entry.actor.kind.as_str(),
        entry.actor.name,
        entry.kind.as_str(),
        entry.undoes.map(signed),
        rows::json(&entry.events),
    ])?;
    Ok(())
}

/// The columns of an entry, in the order in which [`entry`] reads them.
macro_rules! entry_columns {
    () => {
        "journal.revision, at, actor_kind, actor, kind, undoes, events"
    };
}
pub(crate) use entry_columns;

/// The entry with this write id.
pub(crate) fn of_write(
    conn: &Connection,
    key: PlanKey,
    plan: PlanId,
    write: WriteId,
) -> rusqlite::Result<Option<Entry>> {
    let mut select = conn.prepare_cached(concat!(
        "SELECT ",
        entry_columns!(),
        " FROM journal WHERE plan = ?1 AND write_id = ?2"
    ))?;
    select.query_row(params![key.0, write.to_string()], |row| entry(row, plan)).optional()
}

/// The entries of a plan after a revision, oldest first.
pub(crate) fn after(
    conn: &Connection,
    key: PlanKey,
    plan: PlanId,
    after: Revision,
    most: u32,
) -> rusqlite::Result<Vec<Entry>> {
    let mut select = conn.prepare_cached(AFTER)?;
    let mut rows = select.query(params![key.0, signed(after), most])?;
    let (mut entries, mut last) = (Vec::new(), after);
    // A gap must not look as if nothing had happened.
    let missing =
        |last| Row::strange(0, format!("the entry after {last} of the journal is missing"));
    while let Some(row) = rows.next()? {
        let entry = entry(row, plan)?;
        if entry.revision.0 != last.0.saturating_add(1) {
            return Err(missing(last));
        }
        last = entry.revision;
        entries.push(entry);
    }
    let is_all = u32::try_from(entries.len()).is_ok_and(|it| it < most);
    if is_all && last < revision(conn, key)? {
        return Err(missing(last));
    }
    Ok(entries)
}

/// The revision of a plan, which is that of its last journal entry.
fn revision(conn: &Connection, key: PlanKey) -> rusqlite::Result<Revision> {
    let mut select = conn.prepare_cached("SELECT revision FROM plan WHERE key = ?1")?;
    select.query_row([key.0], |row| rows::revision(row, 0))
}

/// The query of [`after`].
pub(crate) const AFTER: &str = concat!(
    "SELECT ",
    entry_columns!(),
    " FROM journal WHERE plan = ?1 AND revision > ?2 ORDER BY revision LIMIT ?3"
);

/// Reads an entry from a row. An unreadable part does not make the other entries unreadable: it is
/// replaced by a default.
pub(crate) fn entry<R: Columns>(row: &R, plan: PlanId) -> Result<Entry, R::Error> {
    let kind = rows::parsed(row, 2, actor_kind).unwrap_or(ActorKind::Agent);
    Ok(Entry {
        plan,
        revision: rows::revision(row, 0)?,
        at: rows::time(row, 1).unwrap_or(Timestamp::UNIX_EPOCH),
        actor: Actor { kind, name: string(row, 3).unwrap_or_default() },
        kind: Kind::parse(&text(row, 4)).unwrap_or(Kind::Edit),
        undoes: optional_number(row, 5).unwrap_or_default().map(Revision),
        events: events::read(&text(row, 6)),
    })
}

/// A text, or an empty one if it cannot be read.
fn text<R: Columns>(row: &R, column: usize) -> Cow<'_, str> {
    row.text(column).ok().flatten().unwrap_or_default()
}

fn actor_kind(text: &str) -> Result<ActorKind, String> {
    [ActorKind::Person, ActorKind::Agent, ActorKind::Engine]
        .into_iter()
        .find(|kind| kind.as_str() == text)
        .ok_or_else(|| format!("unknown kind of actor {text:?}"))
}

/// Replaces the events of an entry. Only `forget` does this.
pub(crate) fn rewrite(conn: &Connection, key: PlanKey, entry: &Entry) -> rusqlite::Result<()> {
    let mut update =
        conn.prepare_cached("UPDATE journal SET events = ?3 WHERE plan = ?1 AND revision = ?2")?;
    update.execute(params![key.0, signed(entry.revision), rows::json(&entry.events)])?;
    Ok(())
}

/// The `seq` of the newest entry.
pub(crate) fn end(conn: &Connection) -> rusqlite::Result<i64> {
    let mut select = conn.prepare_cached("SELECT ifnull(max(seq), 0) FROM journal")?;
    select.query_row([], |row| row.get(0))
}

/// A statement for the entries after a cursor.
macro_rules! following {
    ($scoped:literal) => {
        concat!(
            "SELECT ",
            entry_columns!(),
            ", seq, plan.id FROM journal JOIN plan ON plan.key = journal.plan WHERE seq > ?1",
            $scoped,
            " ORDER BY seq LIMIT ?2"
        )
    };
}

/// The entries after a cursor, at most `most`.
pub(crate) fn following(
    conn: &Connection,
    after: i64,
    scope: &Scope,
    most: u32,
) -> rusqlite::Result<Vec<(i64, Entry)>> {
    let (sql, plan) = match scope {
        Scope::All => (following!(""), None),
        Scope::Plan(plan) => (following!(" AND plan.id = ?3"), Some(plan.to_string())),
    };
    let mut select = conn.prepare_cached(sql)?;
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

/// The cursor after `seq`.
pub(crate) fn cursor(seq: i64) -> Cursor {
    Cursor::After(seq.to_string())
}
