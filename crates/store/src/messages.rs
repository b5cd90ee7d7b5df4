//! Queued messages for agents, in the order of the queue.

use punchlist_model::call::{Message, MessageOutcome, NewMessage, Take};
use punchlist_model::event::TOMBSTONE;
use punchlist_model::store::{Error, kept};
use punchlist_model::{MessageId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::load::Failure;
use crate::rows::{self, PlanKey, millis};

/// The columns of a message, in the order in which [`message`] reads them.
macro_rules! select_message {
    ($rest:literal) => {
        concat!(
            "SELECT id, conversation, text, steer, at, edited_at, taken_at FROM message ",
            $rest
        )
    };
}

/// Appends a message to its queue.
pub(crate) fn queue(conn: &Connection, new: NewMessage) -> Result<(), Failure> {
    Message::check(&new.text).map_err(Error::from)?;
    let mut count = conn.prepare_cached(
        "SELECT count(*) FROM message WHERE conversation = ?1 AND taken_at IS NULL",
    )?;
    let waiting: u32 = count.query_row([&new.conversation], |row| row.get(0))?;
    Message::check_room(waiting).map_err(Error::from)?;
    let message = Message::from(new);
    let mut insert = conn.prepare_cached(
        "INSERT INTO message(id, conversation, text, steer, at, seq) SELECT ?1, ?2, ?3, ?4, ?5, \
         ifnull(max(seq), 0) + 1 FROM message WHERE conversation = ?2",
    )?;
    let Message { id, conversation, text, steer, at, .. } = message;
    insert.execute(params![id.to_string(), conversation, text, steer, millis(at)])?;
    Ok(())
}

/// The waiting messages of a conversation, in the order of the queue.
pub(crate) fn waiting(conn: &Connection, conversation: &str) -> Result<Vec<Message>, Failure> {
    let mut select = conn.prepare_cached(select_message!(
        "WHERE conversation = ?1 AND taken_at IS NULL ORDER BY seq"
    ))?;
    let found = select.query_map([conversation], message)?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// Replaces the text of a waiting message.
pub(crate) fn edit(
    conn: &Connection,
    id: MessageId,
    text: &str,
    now: Timestamp,
) -> Result<MessageOutcome, Failure> {
    Message::check(text).map_err(Error::from)?;
    let mut update = conn.prepare_cached(
        "UPDATE message SET text = ?2, edited_at = ?3 WHERE id = ?1 AND taken_at IS NULL",
    )?;
    let changed = update.execute(params![id.to_string(), text, millis(kept(now))])?;
    outcome(conn, id, changed)
}

/// Removes a waiting message.
pub(crate) fn remove(conn: &Connection, id: MessageId) -> Result<MessageOutcome, Failure> {
    let mut delete =
        conn.prepare_cached("DELETE FROM message WHERE id = ?1 AND taken_at IS NULL")?;
    let changed = delete.execute([id.to_string()])?;
    outcome(conn, id, changed)
}

/// Moves a waiting message before another one of its conversation.
pub(crate) fn move_before(
    conn: &Connection,
    id: MessageId,
    before: Option<MessageId>,
) -> Result<MessageOutcome, Failure> {
    let mut select =
        conn.prepare_cached("SELECT conversation FROM message WHERE id = ?1 AND taken_at IS NULL")?;
    let found: Option<String> = select.query_row([id.to_string()], |row| row.get(0)).optional()?;
    let Some(conversation) = found else { return outcome(conn, id, 0) };
    let mut select = conn.prepare_cached(
        "SELECT id, seq FROM message WHERE conversation = ?1 AND taken_at IS NULL ORDER BY seq",
    )?;
    let read =
        |row: &Row<'_>| Ok((rows::parsed(row, 0, str::parse::<MessageId>)?, row.get::<_, i64>(1)?));
    let waiting: Vec<(MessageId, i64)> =
        select.query_map([&conversation], read)?.collect::<rusqlite::Result<_>>()?;
    let ids: Vec<MessageId> = waiting.iter().map(|it| it.0).collect();
    // First move it to a free place: places are unique at every moment.
    let mut aside = conn.prepare_cached(
        "UPDATE message SET seq = -seq WHERE conversation = ?1 AND taken_at IS NULL",
    )?;
    aside.execute([&conversation])?;
    let mut place = conn.prepare_cached("UPDATE message SET seq = ?2 WHERE id = ?1")?;
    for (id, (_, seq)) in Message::moved(&ids, id, before).into_iter().zip(&waiting) {
        place.execute(params![id.to_string(), seq])?;
    }
    Ok(MessageOutcome::Done)
}

/// Sets whether a waiting message steers the work in progress.
pub(crate) fn steer(
    conn: &Connection,
    id: MessageId,
    steer: bool,
) -> Result<MessageOutcome, Failure> {
    let mut update =
        conn.prepare_cached("UPDATE message SET steer = ?2 WHERE id = ?1 AND taken_at IS NULL")?;
    let changed = update.execute(params![id.to_string(), steer])?;
    outcome(conn, id, changed)
}

/// The result of changing a message. `changed` is the number of changed rows.
fn outcome(conn: &Connection, id: MessageId, changed: usize) -> Result<MessageOutcome, Failure> {
    if changed > 0 {
        return Ok(MessageOutcome::Done);
    }
    let mut select = conn.prepare_cached("SELECT taken_at FROM message WHERE id = ?1")?;
    let taken = select.query_row([id.to_string()], |row| rows::time(row, 0)).optional()?;
    Ok(taken.map_or(MessageOutcome::Unknown, MessageOutcome::Taken))
}

/// The message that would be taken next.
pub(crate) fn next(
    conn: &Connection,
    conversation: &str,
    take: Take,
) -> Result<Option<Message>, Failure> {
    let mut select = conn.prepare_cached(select_message!(
        "WHERE conversation = ?1 AND taken_at IS NULL AND steer >= ?2 \
         ORDER BY steer DESC, seq LIMIT 1"
    ))?;
    let steering = match take {
        Take::First => 0,
        Take::Steering => 1,
    };
    Ok(select.query_row(params![conversation, steering], message).optional()?)
}

/// Takes the next message.
pub(crate) fn take(
    conn: &Connection,
    conversation: &str,
    take: Take,
    now: Timestamp,
) -> Result<Option<Message>, Failure> {
    let Some(message) = next(conn, conversation, take)? else { return Ok(None) };
    let mut update = conn.prepare_cached("UPDATE message SET taken_at = ?2 WHERE id = ?1")?;
    update.execute(params![message.id.to_string(), millis(kept(now))])?;
    Ok(Some(Message { taken_at: Some(kept(now)), ..message }))
}

fn message(row: &Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message {
        id: rows::parsed(row, 0, str::parse::<MessageId>)?,
        conversation: row.get(1)?,
        text: row.get(2)?,
        steer: row.get(3)?,
        at: rows::time(row, 4)?,
        edited_at: rows::optional_time(row, 5)?,
        taken_at: rows::optional_time(row, 6)?,
    })
}

/// Erases the messages of the conversations that are attached to a plan.
pub(crate) fn forget(conn: &Connection, plan: PlanKey) -> Result<(), Failure> {
    let mut update = conn.prepare_cached(
        "UPDATE message SET text = ?2 \
         WHERE conversation IN (SELECT conversation FROM attachment WHERE plan = ?1)",
    )?;
    update.execute(params![plan.0, TOMBSTONE])?;
    Ok(())
}
