//! The conversations of our own agent: their rows, and who runs them.

use punchlist_model::store::Error;
use punchlist_model::store::maintenance::project_after_move;
use punchlist_model::store::turns::{Conversation, ConversationFilter, Runner, TextSearch};
use punchlist_model::{ConversationId, Timestamp};

use super::error::Failure;
use super::turn_entries;
use super::tx::{Answer, Tx};
use super::values::params;
use crate::columns::string;
use crate::conversations::{
    ConversationKey, conversation, runner_columns, state_columns, used_columns,
};

/// A statement that selects the columns of a conversation, in the order in which [`conversation`]
/// reads them.
macro_rules! select_conversation {
    ($rest:literal) => {
        concat!(
            "SELECT key, id, project, directory, title, settings, state, waiting_on, \
             waiting_until, runner, runner_process, runner_until, stop_asked_at, turns, calls, \
             input, output, cost_micros, created_at, changed_at, queue_paused \
             FROM punchlist.conversation ",
            $rest
        )
    };
}

/// Creates a conversation without turns.
pub(crate) async fn create(tx: &Tx, new: Conversation) -> Result<(), Failure> {
    let new = new.created();
    let (state, waiting_on, waiting_until) = state_columns(&new.state);
    let (runner, process, until) = runner_columns(new.runner.as_ref());
    let row = tx.first(
        "INSERT INTO punchlist.conversation(id, project, directory, title, settings, state, \
         waiting_on, waiting_until, runner, runner_process, runner_until, stop_asked_at, created_at, \
         changed_at, queue_paused) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) \
         ON CONFLICT(id) DO NOTHING RETURNING key",
        params![
            new.id.to_string(),
            &new.project,
            &new.directory,
            &new.title,
            &new.settings,
            state,
            waiting_on,
            waiting_until,
            runner,
            process,
            until,
            new.stop_asked_at,
            new.created_at,
            new.changed_at,
            new.queue_paused,
        ],
    );
    match row.await? {
        Some(_) => Ok(()),
        None => Err(Error::ConversationExists(new.id).into()),
    }
}

/// One conversation, with its row number.
pub(crate) async fn get(
    tx: &Tx,
    id: ConversationId,
) -> Result<(ConversationKey, Conversation), Failure> {
    found(tx.query(select_conversation!("WHERE id = $1"), params![id.to_string()]), id).await
}

/// Asks for a conversation and locks it: nobody else records in it until this transaction ends.
pub(crate) fn locked(tx: &Tx, id: ConversationId) -> Answer {
    tx.query(select_conversation!("WHERE id = $1 FOR NO KEY UPDATE"), params![id.to_string()])
}

/// The conversation that was asked for.
pub(crate) async fn found(
    answer: Answer,
    id: ConversationId,
) -> Result<(ConversationKey, Conversation), Failure> {
    let rows = answer.await?;
    conversation(rows.first().ok_or(Error::NoConversation(id))?)
}

/// The conversations that match, most recently changed first.
pub(crate) async fn list(
    tx: &Tx,
    filter: &ConversationFilter,
) -> Result<Vec<Conversation>, Failure> {
    let text = filter.text.as_deref().map(TextSearch::new);
    let rows = tx.query(
        select_conversation!("WHERE $1::text IS NULL OR project = $1 ORDER BY changed_at DESC, id"),
        params![&filter.project],
    );
    let mut listed = Vec::new();
    for row in rows.await? {
        if listed.len() >= filter.limit() {
            break;
        }
        let (key, conversation) = conversation(&row)?;
        if !filter.fits(&conversation) {
            continue;
        }
        let has_text = match &text {
            Some(text) => {
                text.is_in_title(&conversation.title)
                    || turn_entries::contain(tx, key, text).await?
            }
            None => true,
        };
        if has_text {
            listed.push(conversation);
        }
    }
    Ok(listed)
}

/// Gives a runner the lease, or extends its lease. The lease is as long as the caller wants it, from the
/// time that counts.
pub(crate) async fn hold(
    tx: &Tx,
    id: ConversationId,
    runner: Runner,
    callers_now: Timestamp,
    gone: &[String],
) -> Result<(), Failure> {
    let (conversation, now) = (locked(tx, id), tx.now(callers_now));
    let (key, conversation) = found(conversation, id).await?;
    let now = now.get().await?;
    conversation.check_may_hold(&runner.name, now, gone)?;
    let until = now + runner.until.duration_since(callers_now);
    let runner = Runner { until, ..runner }.kept();
    let (name, process, until) = runner_columns(Some(&runner));
    tx.run(
        "UPDATE punchlist.conversation SET runner = $2, runner_process = $3, runner_until = $4 \
         WHERE key = $1",
        params![key.0, name, process, until],
    );
    Ok(())
}

/// Ends the lease of this runner, if it has one.
pub(crate) fn let_go(tx: &Tx, id: ConversationId, runner: &str) {
    tx.run(
        "UPDATE punchlist.conversation SET runner = NULL, runner_process = NULL, runner_until = NULL \
         WHERE id = $1 AND runner = $2",
        params![id.to_string(), runner],
    );
}

/// Writes the state and the totals of a conversation after a record.
pub(crate) fn recorded(tx: &Tx, key: ConversationKey, conversation: &Conversation) {
    let Conversation { state, stop_asked_at, queue_paused, turns, used, changed_at, .. } =
        conversation;
    let (state, waiting_on, waiting_until) = state_columns(state);
    let [calls, input, output, cost_micros] = used_columns(*used);
    tx.run(
        "UPDATE punchlist.conversation SET state = $2, waiting_on = $3, waiting_until = $4, \
         stop_asked_at = $5, turns = $6, calls = $7, input = $8, output = $9, \
         cost_micros = $10, changed_at = $11, queue_paused = $12 WHERE key = $1",
        params![
            key.0,
            state,
            waiting_on,
            waiting_until,
            *stop_asked_at,
            *turns,
            calls,
            input,
            output,
            cost_micros,
            *changed_at,
            *queue_paused,
        ],
    );
}

/// Asks the runner to end its turn.
pub(crate) async fn ask_to_stop(
    tx: &Tx,
    id: ConversationId,
    now: Timestamp,
) -> Result<(), Failure> {
    let (conversation, now) = (locked(tx, id), tx.now(now));
    let (key, _) = found(conversation, id).await?;
    let sql = "UPDATE punchlist.conversation SET stop_asked_at = $2 WHERE key = $1";
    tx.run(sql, params![key.0, now.get().await?]);
    Ok(())
}

/// Pauses the queue of a conversation, or takes it up again.
pub(crate) async fn pause_queue(
    tx: &Tx,
    id: ConversationId,
    is_paused: bool,
) -> Result<(), Failure> {
    let (key, _) = found(locked(tx, id), id).await?;
    let sql = "UPDATE punchlist.conversation SET queue_paused = $2 WHERE key = $1";
    tx.run(sql, params![key.0, is_paused]);
    Ok(())
}

/// Deletes a conversation with everything in it. The caller must rewrite the tables.
pub(crate) async fn forget(tx: &Tx, id: ConversationId, now: Timestamp) -> Result<(), Failure> {
    let (conversation, now) = (locked(tx, id), tx.now(now));
    let (key, conversation) = found(conversation, id).await?;
    conversation.check_not_held(now.get().await?)?;
    for delete in [
        "DELETE FROM punchlist.turn_entry WHERE conversation = $1",
        "DELETE FROM punchlist.turn WHERE conversation = $1",
        "DELETE FROM punchlist.conversation WHERE key = $1",
    ] {
        tx.run(delete, params![key.0]);
    }
    let sql = "DELETE FROM punchlist.message WHERE conversation = $1";
    tx.run(sql, params![id.to_string()]);
    Ok(())
}

/// Moves the conversations of a project, with the directories in which they work.
pub(crate) async fn move_project(
    tx: &Tx,
    from: &str,
    to: &str,
    directories: Option<(&str, &str)>,
) -> Result<(), Failure> {
    let sql = "SELECT id, project, directory FROM punchlist.conversation";
    for row in tx.query(sql, Vec::new()).await? {
        let (id, project, directory) = (string(&row, 0)?, string(&row, 1)?, string(&row, 2)?);
        if let Some(project) = project_after_move(&project, from, to) {
            let moved = directories.and_then(|(from, to)| project_after_move(&directory, from, to));
            let directory = moved.unwrap_or(directory);
            tx.run(
                "UPDATE punchlist.conversation SET project = $2, directory = $3 WHERE id = $1",
                params![id, project, directory],
            );
        }
    }
    Ok(())
}
