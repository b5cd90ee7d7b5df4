//! The turns of conversations, and their entries.
//!
//! An entry is written once. A turn's row and the conversation's row have running totals of what the
//! entries have used, so that a list reads no entries.

use punchlist_model::store::turns::{
    ConversationState, EntryFilter, NewEntry, TextSearch, Turn, TurnEntry, TurnRecord, Used,
};
use punchlist_model::store::{Error, kept};
use punchlist_model::{ConversationId, PlanId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use crate::columns::{Columns, number, optional_parsed, optional_string, string};
use crate::conversations::{self, ConversationKey, used, used_columns};
use crate::load::Failure;
use crate::messages;
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
    let TurnRecord { turn, entries, taken, queue_paused, state, at } = record;
    let at = kept(at);
    messages::take(conn, &id.to_string(), &taken, at)?;
    if turn.ended_at.is_some() {
        messages::end_steering(conn, &id.to_string())?;
    }
    if state == ConversationState::Asked {
        messages::question_asked(conn, &id.to_string())?;
    }
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
    conversation.queue_paused = queue_paused.unwrap_or(conversation.queue_paused);
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
    let found = select.query_map([key.0], |row| turn(row))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

pub(crate) fn turn<R: Columns>(row: &R) -> Result<Turn, R::Error> {
    Ok(Turn {
        number: number(row, 0)?,
        id: string(row, 1)?,
        plan: optional_parsed(row, 2, str::parse::<PlanId>)?,
        began_at: rows::time(row, 3)?,
        ended_at: rows::optional_time(row, 4)?,
        ending: optional_string(row, 5)?,
        used: used(row, 6)?,
        machine: string(row, 10)?,
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
            " AND (?5 IS NULL OR kind = ?5) AND (?6 IS NULL OR kind <> ?6) \
             ORDER BY number DESC LIMIT ?4"
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
    let bound = params![key.0, signed(filter.after), filter.turn, most, filter.kind, filter.but];
    let found = select.query_map(bound, |row| entry(row))?;
    let mut found = found.collect::<rusqlite::Result<Vec<_>>>()?;
    found.reverse();
    Ok(found)
}

pub(crate) fn entry<R: Columns>(row: &R) -> Result<TurnEntry, R::Error> {
    Ok(TurnEntry {
        number: number(row, 0)?,
        turn: number(row, 1)?,
        at: rows::time(row, 2)?,
        kind: string(row, 3)?,
        used: used(row, 4)?,
        body: string(row, 8)?,
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

/// How many turns have worked on a plan, and what they have used.
pub(crate) fn used_on(conn: &Connection, plan: PlanId) -> Result<(u32, Used), Failure> {
    let mut select = conn.prepare_cached(
        "SELECT calls, input, output, cost_micros FROM turn \
         WHERE plan = (SELECT key FROM plan WHERE id = ?1)",
    )?;
    let (mut turns, mut total) = (0_u32, Used::default());
    let mut rows = select.query([plan.to_string()])?;
    while let Some(row) = rows.next()? {
        turns = turns.saturating_add(1);
        total += used(row, 0)?;
    }
    Ok((turns, total))
}

/// The number of an entry as a column.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
