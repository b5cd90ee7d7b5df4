//! The turns of conversations, and their entries.

use punchlist_model::store::Error;
use punchlist_model::store::turns::{
    ConversationState, EntryFilter, NewEntry, TextSearch, Turn, TurnEntry, TurnRecord, Used,
};
use punchlist_model::{ConversationId, PlanId, Timestamp};

use super::error::Failure;
use super::tx::Tx;
use super::values::{Value, params};
use super::{conversations, messages};
use crate::columns::{self, Columns};
use crate::conversations::{ConversationKey, used, used_columns};
use crate::turn_entries::{entry, signed, turn};

/// Writes a turn, appends its entries, and updates the conversation. Returns the number of the last
/// entry.
pub(crate) async fn record(
    tx: &Tx,
    id: ConversationId,
    runner: &str,
    record: TurnRecord,
) -> Result<u64, Failure> {
    let (locked, now) = (conversations::locked(tx, id), tx.now(record.at));
    let (key, mut conversation) = conversations::found(locked, id).await?;
    conversation.check_held_by(runner)?;
    let TurnRecord { turn, entries, taken, queue_paused, state, .. } = record;
    let before = tx.query(
        "SELECT calls, input, output, cost_micros FROM punchlist.turn \
         WHERE conversation = $1 AND number = $2",
        params![key.0, turn.number],
    );
    let last = tx.query(
        "SELECT coalesce(max(number), 0) FROM punchlist.turn_entry WHERE conversation = $1",
        params![key.0],
    );
    let at = now.get().await?;
    messages::take(tx, &id.to_string(), &taken, at).await?;
    if turn.ended_at.is_some() {
        messages::end_steering(tx, &id.to_string()).await?;
    }
    if state == ConversationState::Asked {
        messages::question_asked(tx, &id.to_string());
    }
    let mut new_use = Used::default();
    entries.iter().for_each(|it| new_use += it.used);

    let before = before.await?.first().map(|row| used(row, 0)).transpose()?;
    if before.is_none() {
        conversation.turns += 1;
        conversation.stop_asked_at = None;
    }
    let mut used = before.unwrap_or_default();
    used += new_use;
    let turn = turn.kept(used);
    write_turn(tx, key, &turn).await?;
    let last = match last.await?.first() {
        Some(row) => columns::number(row, 0)?,
        None => 0,
    };
    let last = append(tx, key, turn.number, at, last, &entries);

    conversation.used += new_use;
    conversation.queue_paused = queue_paused.unwrap_or(conversation.queue_paused);
    conversation.state = state.kept();
    conversation.changed_at = at;
    conversations::recorded(tx, key, &conversation);
    Ok(last)
}

async fn write_turn(tx: &Tx, key: ConversationKey, turn: &Turn) -> Result<(), Failure> {
    let [calls, input, output, cost_micros] = used_columns(turn.used);
    let row = tx.first(
        "INSERT INTO punchlist.turn(conversation, number, id, plan, began_at, ended_at, ending, \
         calls, input, output, cost_micros, machine) \
         SELECT $1, $2, $3, (SELECT key FROM punchlist.plan WHERE id = $4), $5, $6, $7, $8, $9, $10, \
         $11, $12 \
         WHERE $4::text IS NULL OR EXISTS (SELECT 1 FROM punchlist.plan WHERE id = $4) \
         ON CONFLICT(conversation, number) DO UPDATE SET id = excluded.id, plan = excluded.plan, \
         began_at = excluded.began_at, ended_at = excluded.ended_at, ending = excluded.ending, \
         calls = excluded.calls, input = excluded.input, output = excluded.output, \
         cost_micros = excluded.cost_micros, machine = excluded.machine RETURNING 1::int8",
        params![
            key.0,
            turn.number,
            &turn.id,
            turn.plan.map(|it| it.to_string()),
            turn.began_at,
            turn.ended_at,
            &turn.ending,
            calls,
            input,
            output,
            cost_micros,
            &turn.machine,
        ],
    );
    match (row.await?, turn.plan) {
        (None, Some(plan)) => Err(Error::NoPlan(plan).into()),
        _ => Ok(()),
    }
}

/// Appends entries after the number `last`. Returns the number of the conversation's last entry.
fn append(
    tx: &Tx,
    key: ConversationKey,
    turn: u32,
    at: Timestamp,
    last: u64,
    entries: &[NewEntry],
) -> u64 {
    if entries.is_empty() {
        return last;
    }
    let texts =
        |of: fn(&NewEntry) -> String| Value::Texts(entries.iter().map(|it| Some(of(it))).collect());
    let uses = |n: usize| {
        let of = |it: &NewEntry| {
            (it.used != Used::default()).then(|| used_columns(it.used).get(n).copied()).flatten()
        };
        Value::Ints(entries.iter().map(of).collect())
    };
    tx.run(
        "INSERT INTO punchlist.turn_entry(conversation, turn, at, number, kind, calls, input, output, \
         cost_micros, body) SELECT $1, $2, $3, $4 + n.place, n.kind, n.calls, n.input, n.output, \
         n.cost_micros, n.body FROM unnest($5::text[], $6::int8[], $7::int8[], $8::int8[], \
         $9::int8[], $10::text[]) WITH ORDINALITY \
         AS n(kind, calls, input, output, cost_micros, body, place)",
        vec![
            Value::from(key.0),
            Value::from(turn),
            Value::from(at),
            Value::from(signed(last)),
            texts(|it| it.kind.clone()),
            uses(0),
            uses(1),
            uses(2),
            uses(3),
            texts(|it| it.body.clone()),
        ],
    );
    last.saturating_add(entries.len() as u64)
}

/// The turns of a conversation, oldest first.
pub(crate) async fn turns(tx: &Tx, id: ConversationId) -> Result<Vec<Turn>, Failure> {
    let (key, _) = conversations::get(tx, id).await?;
    let rows = tx.query(
        "SELECT number, turn.id, plan.id, began_at, ended_at, ending, calls, input, output, \
         cost_micros, machine FROM punchlist.turn LEFT JOIN punchlist.plan ON plan.key = turn.plan \
         WHERE conversation = $1 ORDER BY number",
        params![key.0],
    );
    rows.await?.iter().map(turn).collect()
}

/// The entries of a conversation that match, oldest first.
pub(crate) async fn entries(
    tx: &Tx,
    id: ConversationId,
    filter: &EntryFilter,
) -> Result<Vec<TurnEntry>, Failure> {
    let (key, _) = conversations::get(tx, id).await?;
    let most = (filter.last != 0).then_some(i64::from(filter.last));
    let rows = tx.query(
        "SELECT number, turn, at, kind, calls, input, output, cost_micros, body \
         FROM punchlist.turn_entry WHERE conversation = $1 AND number > $2 \
         AND ($3::int8 IS NULL OR turn = $3) AND ($5::text IS NULL OR kind = $5) \
         AND ($6::text IS NULL OR kind <> $6) ORDER BY number DESC LIMIT $4",
        params![key.0, signed(filter.after), filter.turn, most, filter.kind, filter.but],
    );
    let found: Result<Vec<TurnEntry>, Failure> = rows.await?.iter().map(entry).collect();
    let mut found = found?;
    found.reverse();
    Ok(found)
}

/// Whether an entry of the conversation contains the text.
pub(crate) async fn contain(
    tx: &Tx,
    key: ConversationKey,
    text: &TextSearch,
) -> Result<bool, Failure> {
    let sql = "SELECT body FROM punchlist.turn_entry WHERE conversation = $1";
    for row in tx.query(sql, params![key.0]).await? {
        if row.text(0)?.is_some_and(|body| text.is_in_body(&body)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What all model calls since `since` have used. Added up here, because a sum in the database fails if
/// it is too large.
pub(crate) async fn used_since(tx: &Tx, since: Timestamp) -> Result<Used, Failure> {
    let rows = tx.query(
        "SELECT calls, input, output, cost_micros FROM punchlist.turn_entry \
         WHERE at >= $1 AND calls IS NOT NULL",
        params![since],
    );
    let mut total = Used::default();
    for row in rows.await? {
        total += used(&row, 0)?;
    }
    Ok(total)
}

/// How many turns have worked on a plan, and what they have used.
pub(crate) async fn used_on(tx: &Tx, plan: PlanId) -> Result<(u32, Used), Failure> {
    let rows = tx.query(
        "SELECT calls, input, output, cost_micros FROM punchlist.turn \
         WHERE plan = (SELECT key FROM punchlist.plan WHERE id = $1)",
        params![plan.to_string()],
    );
    let (mut turns, mut total) = (0_u32, Used::default());
    for row in rows.await? {
        turns = turns.saturating_add(1);
        total += used(&row, 0)?;
    }
    Ok((turns, total))
}
