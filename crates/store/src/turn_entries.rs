//! The turns of conversations, and their entries.
//!
//! An entry is written once. A turn's row and the conversation's row have running totals of what the
//! entries have used, so that a list reads no entries.

use punchlist_model::store::turns::{
    EntryFilter, NewEntry, TextSearch, Turn, TurnEntry, TurnRecord, Used,
};
use punchlist_model::store::{Error, kept};
use punchlist_model::{ConversationId, PlanId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::conversations::{self, ConversationKey, used, used_columns};
use crate::error::strange;
use crate::load::Failure;
use crate::rows::{self, millis};

/// Writes a turn, appends its entries, and updates the conversation. Returns the number of the last
/// entry.
pub(crate) fn record(
    conn: &Connection,
    id: ConversationId,
    runner: &str,
    record: TurnRecord,
) -> Result<u64, Failure> {
    let (key, mut conversation) = conversations::get(conn, id)?;
    conversation.check_held_by(runner)?;
    let TurnRecord { turn, entries, state, at } = record;
    let at = kept(at);
    let mut new_use = Used::default();
    entries.iter().for_each(|it| new_use += it.used);

    let before = used_before(conn, key, turn.number)?;
    if before.is_none() {
        conversation.turns += 1;
        conversation.stop_asked_at = None;
    }
    let mut used = before.unwrap_or_default();
    used += new_use;
    let turn = turn.kept(used);
    write_turn(conn, key, &turn)?;
    let last = append(conn, key, turn.number, at, entries)?;

    conversation.used += new_use;
    conversation.state = state.kept();
    conversation.changed_at = at;
    conversations::recorded(conn, key, &conversation)?;
    Ok(last)
}

/// What the stored entries of a turn have used; `None` if the turn is not stored.
fn used_before(
    conn: &Connection,
    key: ConversationKey,
    turn: u32,
) -> rusqlite::Result<Option<Used>> {
    let mut select = conn.prepare_cached(
        "SELECT calls, input, output, cost_micros FROM turn \
         WHERE conversation = ?1 AND number = ?2",
    )?;
    select.query_row(params![key.0, turn], |row| used(row, 0)).optional()
}

fn write_turn(conn: &Connection, key: ConversationKey, turn: &Turn) -> Result<(), Failure> {
    let plan = match turn.plan {
        Some(plan) => {
            let mut select = conn.prepare_cached("SELECT key FROM plan WHERE id = ?1")?;
            let found = select.query_row([plan.to_string()], |row| row.get::<_, i64>(0));
            Some(found.optional()?.ok_or(Error::NoPlan(plan))?)
        }
        None => None,
    };
    let [calls, input, output, cost_micros] = used_columns(turn.used);
    let mut write = conn.prepare_cached(
        "INSERT INTO turn(conversation, number, id, plan, began_at, ended_at, ending, calls, \
         input, output, cost_micros, machine) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
         ON CONFLICT(conversation, number) DO UPDATE SET id = excluded.id, plan = excluded.plan, \
         began_at = excluded.began_at, ended_at = excluded.ended_at, ending = excluded.ending, \
         calls = excluded.calls, input = excluded.input, output = excluded.output, \
         cost_micros = excluded.cost_micros, machine = excluded.machine",
    )?;
    write.execute(params![
        key.0,
        turn.number,
        turn.id,
        plan,
        millis(turn.began_at),
        turn.ended_at.map(millis),
        turn.ending,
        calls,
        input,
        output,
        cost_micros,
        turn.machine,
    ])?;
    Ok(())
}

/// Appends entries. Returns the number of the conversation's last entry.
fn append(
    conn: &Connection,
    key: ConversationKey,
    turn: u32,
    at: Timestamp,
    entries: Vec<NewEntry>,
) -> Result<u64, Failure> {
    let mut select = conn
        .prepare_cached("SELECT ifnull(max(number), 0) FROM turn_entry WHERE conversation = ?1")?;
    let mut last = select.query_row([key.0], |row| number(row, 0))?;
    let mut insert = conn.prepare_cached(
        "INSERT INTO turn_entry(conversation, number, turn, at, kind, calls, input, output, \
         cost_micros, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    for NewEntry { kind, body, used } in entries {
        last += 1;
        let is_answer = used != Used::default();
        let [calls, input, output, cost_micros] =
            used_columns(used).map(|it| is_answer.then_some(it));
        insert.execute(params![
            key.0,
            signed(last),
            turn,
            millis(at),
            kind,
            calls,
            input,
            output,
            cost_micros,
            body,
        ])?;
    }
    Ok(last)
}

/// The turns of a conversation, oldest first.
pub(crate) fn turns(conn: &Connection, id: ConversationId) -> Result<Vec<Turn>, Failure> {
    let (key, _) = conversations::get(conn, id)?;
    let mut select = conn.prepare_cached(
        "SELECT number, turn.id, plan.id, began_at, ended_at, ending, calls, input, output, \
         cost_micros, machine FROM turn LEFT JOIN plan ON plan.key = turn.plan \
         WHERE conversation = ?1 ORDER BY number",
    )?;
    let found = select.query_map([key.0], turn)?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn turn(row: &Row<'_>) -> rusqlite::Result<Turn> {
    let has_plan = row.get_ref(2)?.as_str_or_null()?.is_some();
    Ok(Turn {
        number: row.get(0)?,
        id: row.get(1)?,
        plan: if has_plan { Some(rows::parsed(row, 2, str::parse::<PlanId>)?) } else { None },
        began_at: rows::time(row, 3)?,
        ended_at: rows::optional_time(row, 4)?,
        ending: row.get(5)?,
        used: used(row, 6)?,
        machine: row.get(10)?,
    })
}

/// A statement that selects the columns of an entry, in the order in which [`entry`] reads them.
/// The last entry comes first.
macro_rules! select_entry {
    ($where:literal) => {
        concat!(
            "SELECT number, turn, at, kind, calls, input, output, cost_micros, body \
             FROM turn_entry WHERE conversation = ?1 AND number > ?2 ",
            $where,
            " ORDER BY number DESC LIMIT ?4"
        )
    };
}

pub(crate) const OF_TURN: &str = select_entry!("AND turn = ?3");
pub(crate) const OF_ALL_TURNS: &str = select_entry!("AND ?3 IS NULL");

/// The entries of a conversation that match, oldest first.
pub(crate) fn entries(
    conn: &Connection,
    id: ConversationId,
    filter: &EntryFilter,
) -> Result<Vec<TurnEntry>, Failure> {
    let (key, _) = conversations::get(conn, id)?;
    let mut select = conn.prepare_cached(match filter.turn {
        Some(_) => OF_TURN,
        None => OF_ALL_TURNS,
    })?;
    let most = if filter.last == 0 { -1 } else { i64::from(filter.last) };
    let found = select.query_map(params![key.0, signed(filter.after), filter.turn, most], entry)?;
    let mut found = found.collect::<rusqlite::Result<Vec<_>>>()?;
    found.reverse();
    Ok(found)
}

fn entry(row: &Row<'_>) -> rusqlite::Result<TurnEntry> {
    Ok(TurnEntry {
        number: number(row, 0)?,
        turn: row.get(1)?,
        at: rows::time(row, 2)?,
        kind: row.get(3)?,
        used: used(row, 4)?,
        body: row.get(8)?,
    })
}

/// Whether an entry of the conversation contains the text.
pub(crate) fn contain(
    conn: &Connection,
    key: ConversationKey,
    text: &TextSearch,
) -> rusqlite::Result<bool> {
    let mut select = conn.prepare_cached("SELECT body FROM turn_entry WHERE conversation = ?1")?;
    let mut rows = select.query([key.0])?;
    while let Some(row) = rows.next()? {
        if text.is_in_body(row.get_ref(0)?.as_str()?) {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(crate) const USED_SINCE: &str = "SELECT calls, input, output, cost_micros FROM turn_entry \
     WHERE at >= ?1 AND calls IS NOT NULL";

/// What all model calls since `since` have used. Added up here, because the sum of SQLite fails if it
/// is too large.
pub(crate) fn used_since(conn: &Connection, since: Timestamp) -> Result<Used, Failure> {
    let mut select = conn.prepare_cached(USED_SINCE)?;
    let mut total = Used::default();
    let mut rows = select.query([millis(since)])?;
    while let Some(row) = rows.next()? {
        total += used(row, 0)?;
    }
    Ok(total)
}

/// A column with the number of an entry.
fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|error| strange(column, error))
}

/// The number of an entry as a column.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
