//! Queued messages for agents, in the order of the queue.

use punchlist_model::call::{Message, MessageOutcome, NewMessage};
use punchlist_model::event::TOMBSTONE;
use punchlist_model::store::{Error, kept};
use punchlist_model::{MessageId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use crate::columns::{Columns, flag, string};
use crate::load::Failure;
use crate::rows::{self, PlanKey, millis};

/// The columns of a message, in the order in which [`message`] reads them.
macro_rules! select_message {
    ($rest:literal) => {
        concat!(
            "SELECT id, conversation, text, steer, at, edited_at, taken_at, before_question \
             FROM message ",
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
    let found = select.query_map([conversation], |row| message(row))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// One message, even if it was taken.
pub(crate) fn get(conn: &Connection, id: MessageId) -> Result<Option<Message>, Failure> {
    let mut select = conn.prepare_cached(select_message!("WHERE id = ?1"))?;
    Ok(select.query_row([id.to_string()], |row| message(row)).optional()?)
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
    let ids: Vec<MessageId> = waiting(conn, &conversation)?.iter().map(|it| it.id).collect();
    place(conn, &conversation, Message::moved(&ids, id, before))?;
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

/// Takes messages as they were read, all or none.
pub(crate) fn take(
    conn: &Connection,
    conversation: &str,
    taken: &[Message],
    now: Timestamp,
) -> Result<(), Failure> {
    let mut update = conn.prepare_cached("UPDATE message SET taken_at = ?2 WHERE id = ?1")?;
    for message in taken {
        let is_same = |it: &Message| it == message && it.conversation == conversation;
        if message.taken_at.is_some() || !get(conn, message.id)?.is_some_and(|it| is_same(&it)) {
            return Err(Error::MessageChanged(message.id).into());
        }
        update.execute(params![message.id.to_string(), millis(kept(now))])?;
    }
    Ok(())
}

/// Steering messages that still wait at the end of a turn become the first of the queue.
pub(crate) fn end_steering(conn: &Connection, conversation: &str) -> Result<(), Failure> {
    let Some(order) = Message::after_turn(&waiting(conn, conversation)?) else { return Ok(()) };
    place(conn, conversation, order)?;
    let mut update = conn.prepare_cached(
        "UPDATE message SET steer = 0 WHERE conversation = ?1 AND taken_at IS NULL",
    )?;
    update.execute([conversation])?;
    Ok(())
}

/// Marks the waiting messages of a conversation: the agent asks the user something, and none of them
/// is the reply.
pub(crate) fn question_asked(conn: &Connection, conversation: &str) -> Result<(), Failure> {
    let mut update = conn.prepare_cached(
        "UPDATE message SET before_question = 1 WHERE conversation = ?1 AND taken_at IS NULL",
    )?;
    update.execute([conversation])?;
    Ok(())
}

/// Puts the waiting messages of a conversation into this order.
fn place(conn: &Connection, conversation: &str, order: Vec<MessageId>) -> Result<(), Failure> {
    let mut select = conn.prepare_cached(
        "SELECT seq FROM message WHERE conversation = ?1 AND taken_at IS NULL ORDER BY seq",
    )?;
    let places: Vec<i64> =
        select.query_map([conversation], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    // First move them to free places: places are unique at every moment.
    let mut aside = conn.prepare_cached(
        "UPDATE message SET seq = -seq WHERE conversation = ?1 AND taken_at IS NULL",
    )?;
    aside.execute([conversation])?;
    let mut put = conn.prepare_cached("UPDATE message SET seq = ?2 WHERE id = ?1")?;
    for (id, seq) in order.into_iter().zip(places) {
        put.execute(params![id.to_string(), seq])?;
    }
    Ok(())
}

pub(crate) fn message<R: Columns>(row: &R) -> Result<Message, R::Error> {
    Ok(Message {
        id: rows::parsed(row, 0, str::parse::<MessageId>)?,
        conversation: string(row, 1)?,
        text: string(row, 2)?,
        steer: flag(row, 3)?,
        at: rows::time(row, 4)?,
        edited_at: rows::optional_time(row, 5)?,
        taken_at: rows::optional_time(row, 6)?,
        is_from_before_question: flag(row, 7)?,
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
