//! Queued messages for agents, in the order of the queue.

use punchlist_model::call::{Message, MessageOutcome, NewMessage};
use punchlist_model::event::TOMBSTONE;
use punchlist_model::store::Error;
use punchlist_model::{MessageId, Timestamp};

use super::error::Failure;
use super::tx::Tx;
use super::values::{Value, ints, params, texts};
use crate::columns;
use crate::messages::message;
use crate::rows::PlanKey;

/// The columns of a message, in the order in which [`message`] reads them.
macro_rules! select_message {
    ($rest:literal) => {
        concat!(
            "SELECT id, conversation, text, steer, at, edited_at, taken_at, before_question \
             FROM punchlist.message ",
            $rest
        )
    };
}

/// Makes changes to the queue of a conversation happen one after the other. A queue may be that of a
/// conversation that has no row, so there is no row to lock.
fn lock(tx: &Tx, conversation: &str) {
    let sql = "SELECT pg_advisory_xact_lock(hashtextextended('punchlist.message ' || $1, 0))::text";
    tx.run(sql, params![conversation]);
}

/// The same for the conversation of a message.
fn lock_of(tx: &Tx, id: MessageId) {
    tx.run(
        "SELECT pg_advisory_xact_lock(hashtextextended('punchlist.message ' || conversation, 0))::text \
         FROM punchlist.message WHERE id = $1",
        params![id.to_string()],
    );
}

/// Appends a message to its queue.
pub(crate) async fn queue(tx: &Tx, new: NewMessage) -> Result<(), Failure> {
    Message::check(&new.text).map_err(Error::from)?;
    lock(tx, &new.conversation);
    let now = tx.now(new.at);
    let count = tx.first(
        "SELECT count(*) FROM punchlist.message WHERE conversation = $1 AND taken_at IS NULL",
        params![&new.conversation],
    );
    let waiting = match count.await? {
        Some(row) => columns::number(&row, 0)?,
        None => 0,
    };
    Message::check_room(waiting).map_err(Error::from)?;
    let message = Message::from(NewMessage { at: now.get().await?, ..new });
    let Message { id, conversation, text, steer, at, .. } = message;
    tx.run(
        "INSERT INTO punchlist.message(id, conversation, text, steer, at, seq) \
         SELECT $1, $2, $3, $4, $5, coalesce(max(seq), 0) + 1 \
         FROM punchlist.message WHERE conversation = $2",
        params![id.to_string(), conversation, text, steer, at],
    );
    Ok(())
}

/// The waiting messages of a conversation, in the order of the queue.
pub(crate) async fn waiting(tx: &Tx, conversation: &str) -> Result<Vec<Message>, Failure> {
    let sql = select_message!("WHERE conversation = $1 AND taken_at IS NULL ORDER BY seq");
    tx.query(sql, params![conversation]).await?.iter().map(message).collect()
}

/// One message, even if it was taken.
pub(crate) async fn get(tx: &Tx, id: MessageId) -> Result<Option<Message>, Failure> {
    let row = tx.first(select_message!("WHERE id = $1"), params![id.to_string()]).await?;
    row.map(|row| message(&row)).transpose()
}

/// Replaces the text of a waiting message.
pub(crate) async fn edit(
    tx: &Tx,
    id: MessageId,
    text: &str,
    now: Timestamp,
) -> Result<MessageOutcome, Failure> {
    Message::check(text).map_err(Error::from)?;
    lock_of(tx, id);
    let now = tx.now(now).get().await?;
    let row = tx.first(
        "UPDATE punchlist.message SET text = $2, edited_at = $3 \
         WHERE id = $1 AND taken_at IS NULL RETURNING 1::int8",
        params![id.to_string(), text, now],
    );
    outcome(tx, id, row.await?.is_some()).await
}

/// Removes a waiting message.
pub(crate) async fn remove(tx: &Tx, id: MessageId) -> Result<MessageOutcome, Failure> {
    lock_of(tx, id);
    let sql = "DELETE FROM punchlist.message WHERE id = $1 AND taken_at IS NULL RETURNING 1::int8";
    let row = tx.first(sql, params![id.to_string()]).await?;
    outcome(tx, id, row.is_some()).await
}

/// Moves a waiting message before another one of its conversation.
pub(crate) async fn move_before(
    tx: &Tx,
    id: MessageId,
    before: Option<MessageId>,
) -> Result<MessageOutcome, Failure> {
    lock_of(tx, id);
    let found = get(tx, id).await?.filter(|it| it.taken_at.is_none());
    let Some(found) = found else { return outcome(tx, id, false).await };
    let waiting = waiting(tx, &found.conversation).await?;
    let ids: Vec<MessageId> = waiting.iter().map(|it| it.id).collect();
    place(tx, &found.conversation, &Message::moved(&ids, id, before)).await?;
    Ok(MessageOutcome::Done)
}

/// Sets whether a waiting message steers the work in progress.
pub(crate) async fn steer(tx: &Tx, id: MessageId, steer: bool) -> Result<MessageOutcome, Failure> {
    lock_of(tx, id);
    let row = tx.first(
        "UPDATE punchlist.message SET steer = $2 WHERE id = $1 AND taken_at IS NULL \
         RETURNING 1::int8",
        params![id.to_string(), steer],
    );
    outcome(tx, id, row.await?.is_some()).await
}

/// The result of changing a message.
async fn outcome(tx: &Tx, id: MessageId, changed: bool) -> Result<MessageOutcome, Failure> {
    if changed {
        return Ok(MessageOutcome::Done);
    }
    let taken = get(tx, id).await?.and_then(|it| it.taken_at);
    Ok(taken.map_or(MessageOutcome::Unknown, MessageOutcome::Taken))
}

/// Takes messages as they were read, all or none.
pub(crate) async fn take(
    tx: &Tx,
    conversation: &str,
    taken: &[Message],
    now: Timestamp,
) -> Result<(), Failure> {
    if taken.is_empty() {
        return Ok(());
    }
    lock(tx, conversation);
    for message in taken {
        let is_same = |it: &Message| it == message && it.conversation == conversation;
        if message.taken_at.is_some() || !get(tx, message.id).await?.is_some_and(|it| is_same(&it))
        {
            return Err(Error::MessageChanged(message.id).into());
        }
        let sql = "UPDATE punchlist.message SET taken_at = $2 WHERE id = $1";
        tx.run(sql, params![message.id.to_string(), now]);
    }
    Ok(())
}

/// Steering messages that still wait at the end of a turn become the first of the queue.
pub(crate) async fn end_steering(tx: &Tx, conversation: &str) -> Result<(), Failure> {
    lock(tx, conversation);
    let Some(order) = Message::after_turn(&waiting(tx, conversation).await?) else { return Ok(()) };
    place(tx, conversation, &order).await?;
    tx.run(
        "UPDATE punchlist.message SET steer = false WHERE conversation = $1 AND taken_at IS NULL",
        params![conversation],
    );
    Ok(())
}

/// Marks the waiting messages of a conversation: the agent asks the user something, and none of them
/// is the reply.
pub(crate) fn question_asked(tx: &Tx, conversation: &str) {
    lock(tx, conversation);
    tx.run(
        "UPDATE punchlist.message SET before_question = true \
         WHERE conversation = $1 AND taken_at IS NULL",
        params![conversation],
    );
}

/// Puts the waiting messages of a conversation into this order.
async fn place(tx: &Tx, conversation: &str, order: &[MessageId]) -> Result<(), Failure> {
    let sql = "SELECT seq FROM punchlist.message \
               WHERE conversation = $1 AND taken_at IS NULL ORDER BY seq";
    let places = tx.query(sql, params![conversation]).await?;
    let places: Vec<i64> =
        places.iter().map(|row| columns::number(row, 0)).collect::<Result<_, Failure>>()?;
    let params: Vec<Value> = vec![texts(order.iter().map(ToString::to_string)), ints(places)];
    tx.run(
        "UPDATE punchlist.message AS m SET seq = n.seq \
         FROM unnest($1::text[], $2::int8[]) AS n(id, seq) WHERE m.id = n.id AND m.seq <> n.seq",
        params,
    );
    Ok(())
}

/// Erases the messages of the conversations that are attached to a plan.
pub(crate) fn forget(tx: &Tx, plan: PlanKey) {
    tx.run(
        "UPDATE punchlist.message SET text = $2 WHERE conversation IN \
         (SELECT conversation FROM punchlist.attachment WHERE plan = $1)",
        params![plan.0, TOMBSTONE],
    );
}
