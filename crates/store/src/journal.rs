//! The journal: one row a change, in the order of their commits.
//!
//! `seq` counts over all plans. SQLite has one writer at a time, so rows become visible in its
//! order, and a follower that has seen one has seen all before it. The entries of one plan are a chain:
//! each names the one before it, and the plan's row names the last. So an entry is one row in one tree,
//! and the few that are in an index let a reader begin in the middle.

use punchlist_model::store::{Cursor, Entry, Kind, Scope};
use punchlist_model::{Actor, ActorKind, PlanId, Revision, Timestamp};
use rusqlite::{OptionalExtension, Row, params};

use crate::error::strange;
use crate::events;
use crate::rows::{self, PlanKey, millis, signed};
use crate::session::Session;

/// Where an entry stands among those of all plans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place(pub(crate) i64);

/// Appends an entry after the one where the plan's chain ends. The plan's row has to be told that it
/// ends at this one now.
pub(crate) fn append(
    conn: &Session<'_>,
    key: PlanKey,
    before: Option<Place>,
    entry: &Entry,
) -> rusqlite::Result<Place> {
    let mut insert = conn.statement(
        "INSERT INTO journal(plan, revision, at, actor_kind, actor, kind, undoes, events, before) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    let place = insert.insert(params![
        key.0,
        signed(entry.revision),
        millis(entry.at),
        entry.actor.kind.as_str(),
        entry.actor.name,
        entry.kind.as_str(),
        entry.undoes.map(signed),
        events::written(&entry.events),
        before.map(|it| it.0),
    ])?;
    Ok(Place(place))
}

/// Notes where the chain of a plan ends. A change does so with the rest of the plan's row.
pub(crate) fn ends_at(conn: &Session<'_>, key: PlanKey, last: Place) -> rusqlite::Result<()> {
    let mut update = conn.statement("UPDATE plan SET last_entry = ?2 WHERE key = ?1")?;
    update.execute(params![key.0, last.0])?;
    Ok(())
}

/// What an entry's reader needs, in order.
macro_rules! entry_columns {
    () => {
        "journal.revision, at, actor_kind, actor, kind, undoes, events"
    };
}

/// The entries of a plan after a revision, oldest first.
pub(crate) fn after(
    conn: &Session<'_>,
    key: PlanKey,
    plan: PlanId,
    after: Revision,
    most: u32,
) -> rusqlite::Result<Vec<Entry>> {
    let entries = placed_after(conn, key, plan, after, most)?;
    Ok(entries.into_iter().map(|it| it.1).collect())
}

/// The same, each with its place.
pub(crate) fn placed_after(
    conn: &Session<'_>,
    key: PlanKey,
    plan: PlanId,
    after: Revision,
    most: u32,
) -> rusqlite::Result<Vec<(Place, Entry)>> {
    let wanted = usize::try_from(most).unwrap_or(usize::MAX);
    let from = match marked(conn, key, Revision(after.0.saturating_add(most.into())))? {
        None => last(conn, key)?,
        mark => mark,
    };
    let mut entries = walk(conn, plan, from, after, usize::MAX)?;
    entries.truncate(wanted);
    Ok(entries)
}

/// The newest entries of a plan, oldest first.
pub(crate) fn newest(
    conn: &Session<'_>,
    key: PlanKey,
    plan: PlanId,
    most: u32,
) -> rusqlite::Result<Vec<Entry>> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let entries = walk(conn, plan, last(conn, key)?, Revision(0), most)?;
    Ok(entries.into_iter().map(|it| it.1).collect())
}

/// Where the chain of a plan ends.
pub(crate) fn last(conn: &Session<'_>, key: PlanKey) -> rusqlite::Result<Option<Place>> {
    let mut select = conn.statement("SELECT last_entry FROM plan WHERE key = ?1")?;
    select.query_row([key.0], |row| Ok(row.get::<_, Option<i64>>(0)?.map(Place)))
}

/// The first entry in the index that is not older than a revision: where there is none, few are left.
fn marked(conn: &Session<'_>, key: PlanKey, from: Revision) -> rusqlite::Result<Option<Place>> {
    let mut select = conn.statement(MARK)?;
    let found = select.query_row(params![key.0, signed(from)], |row| row.get(0).map(Place));
    found.optional()
}

/// The query of [`marked`]. Of a plan's entries the index has every sixteenth.
pub(crate) const MARK: &str = "SELECT seq FROM journal INDEXED BY journal_mark \
    WHERE plan = ?1 AND revision >= ?2 AND revision % 16 = 0 ORDER BY revision LIMIT 1";

/// The entries from a place back to a revision, at most `most`; given oldest first.
fn walk(
    conn: &Session<'_>,
    plan: PlanId,
    from: Option<Place>,
    after: Revision,
    most: usize,
) -> rusqlite::Result<Vec<(Place, Entry)>> {
    let mut select = conn.statement(concat!(
        "SELECT ",
        entry_columns!(),
        ", before FROM journal WHERE seq = ?1"
    ))?;
    let (mut entries, mut next) = (Vec::new(), from);
    while let Some(place) = next.filter(|_| entries.len() < most) {
        // One that is missing is an error: the chain would end there as if nothing had been before.
        let found = select.query_row([place.0], |row| {
            Ok((entry(row, plan)?, row.get::<_, Option<i64>>(7)?.map(Place)))
        });
        let missing = || strange(7, format!("entry {} of the journal is missing", place.0));
        let (entry, before) = found.optional()?.ok_or_else(missing)?;
        if entry.revision <= after {
            break;
        }
        // Revisions have no gaps, so the one before the first that is wanted need not be read.
        let is_first = entry.revision.0 == after.0.saturating_add(1);
        if before.is_some_and(|it| it.0 >= place.0) {
            return Err(strange(7, format!("entry {} comes after {before:?}", place.0)));
        }
        entries.push((place, entry));
        next = before.filter(|_| !is_first);
    }
    entries.reverse();
    Ok(entries)
}

/// An entry from its row. What cannot be read of it does not take the others with it: it is told as the
/// least that it may be.
fn entry(row: &Row<'_>, plan: PlanId) -> rusqlite::Result<Entry> {
    let kind = rows::parsed(row, 2, actor_kind).unwrap_or(ActorKind::Agent);
    let undoes: Option<i64> = row.get(5)?;
    Ok(Entry {
        plan,
        revision: rows::revision(row, 0)?,
        at: rows::time(row, 1).unwrap_or(Timestamp::UNIX_EPOCH),
        actor: Actor { kind, name: row.get(3).unwrap_or_default() },
        kind: Kind::parse(row.get_ref(4)?.as_str().unwrap_or_default()).unwrap_or(Kind::Edit),
        undoes: undoes.and_then(|it| u64::try_from(it).ok()).map(Revision),
        events: events::read(row.get_ref(6)?.as_str().unwrap_or_default()),
    })
}

fn actor_kind(text: &str) -> Result<ActorKind, String> {
    [ActorKind::Person, ActorKind::Agent, ActorKind::Engine]
        .into_iter()
        .find(|kind| kind.as_str() == text)
        .ok_or_else(|| format!("unknown kind of actor {text:?}"))
}

/// Replaces the events of an entry: only for a person's word to forget.
pub(crate) fn rewrite(conn: &Session<'_>, place: Place, entry: &Entry) -> rusqlite::Result<()> {
    let mut update = conn.statement("UPDATE journal SET events = ?2 WHERE seq = ?1")?;
    update.execute(params![place.0, events::written(&entry.events)])?;
    Ok(())
}

/// The place of the newest entry.
pub(crate) fn end(conn: &Session<'_>) -> rusqlite::Result<i64> {
    let mut select = conn.statement("SELECT ifnull(max(seq), 0) FROM journal")?;
    select.query_row([], |row| row.get(0))
}

/// A statement about what a follower has not seen yet.
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

/// What a follower has not seen yet, at most `most`.
pub(crate) fn following(
    conn: &Session<'_>,
    after: i64,
    scope: &Scope,
    most: u32,
) -> rusqlite::Result<Vec<(i64, Entry)>> {
    let (sql, plan) = match scope {
        Scope::All => (following!(""), None),
        Scope::Plan(plan) => (following!(" AND plan.id = ?3"), Some(plan.to_string())),
    };
    let mut select = conn.statement(sql)?;
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
