//! The conversations of our own agent: their rows, and who runs them.

use punchlist_model::store::maintenance::project_after_move;
use punchlist_model::store::turns::{
    Conversation, ConversationFilter, ConversationState, Runner, TextSearch, Used,
};
use punchlist_model::store::{Error, kept};
use punchlist_model::{ConversationId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use crate::columns::{Columns, flag, number, optional_string, string};
use crate::load::Failure;
use crate::rows::{self, millis};
use crate::turn_entries;

/// A statement that selects the columns of a conversation, in the order in which [`conversation`]
/// reads them.
macro_rules! select_conversation {
    ($rest:literal) => {
        concat!(
            "SELECT key, id, project, directory, title, settings, state, waiting_on, \
             waiting_until, runner, runner_process, runner_until, stop_asked_at, turns, calls, \
             input, output, cost_micros, created_at, changed_at, queue_paused FROM conversation ",
            $rest
        )
    };
}

/// The row number of a conversation.
#[derive(Clone, Copy)]
pub(crate) struct ConversationKey(pub(crate) i64);

/// Creates a conversation without turns.
pub(crate) fn create(conn: &Connection, new: Conversation) -> Result<(), Failure> {
    let new = new.created();
    let (state, waiting_on, waiting_until) = state_columns(&new.state);
    let (runner, process, until) = runner_columns(new.runner.as_ref());
    let mut insert = conn.prepare_cached(
        "INSERT INTO conversation(id, project, directory, title, settings, state, waiting_on, \
         waiting_until, runner, runner_process, runner_until, stop_asked_at, created_at, \
         changed_at, queue_paused) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) \
         ON CONFLICT(id) DO NOTHING",
    )?;
    let written = insert.execute(params![
        new.id.to_string(),
        new.project,
        new.directory,
        new.title,
        new.settings,
        state,
        waiting_on,
        waiting_until,
        runner,
        process,
        until,
        new.stop_asked_at.map(millis),
        millis(new.created_at),
        millis(new.changed_at),
        new.queue_paused,
    ])?;
    if written == 1 { Ok(()) } else { Err(Error::ConversationExists(new.id).into()) }
}

/// One conversation, with its row number.
pub(crate) fn get(
    conn: &Connection,
    id: ConversationId,
) -> Result<(ConversationKey, Conversation), Failure> {
    let mut select = conn.prepare_cached(select_conversation!("WHERE id = ?1"))?;
    let found = select.query_row([id.to_string()], |row| conversation(row)).optional()?;
    found.ok_or(Failure::Store(Error::NoConversation(id)))
}

/// The conversations that match, most recently changed first.
pub(crate) fn list(
    conn: &Connection,
    filter: &ConversationFilter,
) -> Result<Vec<Conversation>, Failure> {
    match &filter.project {
        Some(project) => {
            let sql = select_conversation!("WHERE project = ?1 ORDER BY changed_at DESC, id");
            select(conn, filter, sql, [project])
        }
        None => select(conn, filter, select_conversation!("ORDER BY changed_at DESC, id"), []),
    }
}

fn select(
    conn: &Connection,
    filter: &ConversationFilter,
    sql: &'static str,
    params: impl Params,
) -> Result<Vec<Conversation>, Failure> {
    let text = filter.text.as_deref().map(TextSearch::new);
    let mut select = conn.prepare_cached(sql)?;
    let mut rows = select.query(params)?;
    let mut found = Vec::new();
    while found.len() < filter.limit()
        && let Some(row) = rows.next()?
    {
        let (key, conversation) = conversation(row)?;
        if !filter.fits(&conversation) {
            continue;
        }
        let has_text = match &text {
            Some(text) => {
                text.is_in_title(&conversation.title) || turn_entries::contain(conn, key, text)?
            }
            None => true,
        };
        if has_text {
            found.push(conversation);
        }
    }
    Ok(found)
}

/// Gives a runner the lease, or extends its lease.
pub(crate) fn hold(
    conn: &Connection,
    id: ConversationId,
    runner: Runner,
    now: Timestamp,
    gone: &[String],
) -> Result<(), Failure> {
    let (key, conversation) = get(conn, id)?;
    conversation.check_may_hold(&runner.name, now, gone)?;
    let runner = runner.kept();
    let (name, process, until) = runner_columns(Some(&runner));
    let mut update = conn.prepare_cached(
        "UPDATE conversation SET runner = ?2, runner_process = ?3, runner_until = ?4 \
         WHERE key = ?1",
    )?;
    update.execute(params![key.0, name, process, until])?;
    Ok(())
}

/// Ends the lease of this runner, if it has one.
pub(crate) fn let_go(conn: &Connection, id: ConversationId, runner: &str) -> Result<(), Failure> {
    let mut update = conn.prepare_cached(
        "UPDATE conversation SET runner = NULL, runner_process = NULL, runner_until = NULL \
         WHERE id = ?1 AND runner = ?2",
    )?;
    update.execute(params![id.to_string(), runner])?;
    Ok(())
}

/// Writes the state and the totals of a conversation after a record.
pub(crate) fn recorded(
    conn: &Connection,
    key: ConversationKey,
    conversation: &Conversation,
) -> Result<(), Failure> {
    let Conversation { state, stop_asked_at, queue_paused, turns, used, changed_at, .. } =
        conversation;
    let (state, waiting_on, waiting_until) = state_columns(state);
    let [calls, input, output, cost_micros] = used_columns(*used);
    let mut update = conn.prepare_cached(
        "UPDATE conversation SET state = ?2, waiting_on = ?3, waiting_until = ?4, \
         stop_asked_at = ?5, turns = ?6, calls = ?7, input = ?8, output = ?9, \
         cost_micros = ?10, changed_at = ?11, queue_paused = ?12 WHERE key = ?1",
    )?;
    update.execute(params![
        key.0,
        state,
        waiting_on,
        waiting_until,
        stop_asked_at.map(millis),
        turns,
        calls,
        input,
        output,
        cost_micros,
        millis(*changed_at),
        queue_paused,
    ])?;
    Ok(())
}

/// Asks the runner to end its turn.
pub(crate) fn ask_to_stop(
    conn: &Connection,
    id: ConversationId,
    now: Timestamp,
) -> Result<(), Failure> {
    let (key, _) = get(conn, id)?;
    let mut update =
        conn.prepare_cached("UPDATE conversation SET stop_asked_at = ?2 WHERE key = ?1")?;
    update.execute(params![key.0, millis(kept(now))])?;
    Ok(())
}

/// Pauses the queue of a conversation, or takes it up again.
pub(crate) fn pause_queue(
    conn: &Connection,
    id: ConversationId,
    is_paused: bool,
) -> Result<(), Failure> {
    let (key, _) = get(conn, id)?;
    let mut update =
        conn.prepare_cached("UPDATE conversation SET queue_paused = ?2 WHERE key = ?1")?;
    update.execute(params![key.0, is_paused])?;
    Ok(())
}

/// Deletes a conversation with everything in it. The caller must purge what remains in the files.
pub(crate) fn forget(conn: &Connection, id: ConversationId, now: Timestamp) -> Result<(), Failure> {
    let (key, conversation) = get(conn, id)?;
    conversation.check_not_held(now)?;
    for delete in [
        "DELETE FROM turn_entry WHERE conversation = ?1",
        "DELETE FROM turn WHERE conversation = ?1",
        "DELETE FROM conversation WHERE key = ?1",
    ] {
        conn.prepare_cached(delete)?.execute([key.0])?;
    }
    let mut delete = conn.prepare_cached("DELETE FROM message WHERE conversation = ?1")?;
    delete.execute([id.to_string()])?;
    Ok(())
}

/// Moves the conversations of a project, with the directories in which they work.
pub(crate) fn move_project(conn: &Connection, from: &str, to: &str) -> Result<(), Failure> {
    let mut select = conn.prepare_cached("SELECT key, project, directory FROM conversation")?;
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let found: Vec<(i64, String, String)> =
        select.query_map([], read)?.collect::<rusqlite::Result<_>>()?;
    let mut update =
        conn.prepare_cached("UPDATE conversation SET project = ?2, directory = ?3 WHERE key = ?1")?;
    for (key, project, directory) in found {
        if let Some(project) = project_after_move(&project, from, to) {
            let directory = project_after_move(&directory, from, to).unwrap_or(directory);
            update.execute(params![key, project, directory])?;
        }
    }
    Ok(())
}

/// The columns `state`, `waiting_on` and `waiting_until`.
pub(crate) fn state_columns(
    state: &ConversationState,
) -> (&'static str, Option<&str>, Option<i64>) {
    match state {
        ConversationState::Idle => ("idle", None, None),
        ConversationState::Working => ("working", None, None),
        ConversationState::Asked => ("asked", None, None),
        ConversationState::Waiting { until, on } => ("waiting", Some(on), until.map(millis)),
    }
}

/// The columns `runner`, `runner_process` and `runner_until`.
pub(crate) fn runner_columns(
    runner: Option<&Runner>,
) -> (Option<&str>, Option<String>, Option<i64>) {
    (
        runner.map(|it| it.name.as_str()),
        runner.and_then(|it| it.process.as_ref()).map(rows::json),
        runner.map(|it| millis(it.until)),
    )
}

/// The columns `calls`, `input`, `output` and `cost_micros`. No real number is too large for them.
pub(crate) fn used_columns(used: Used) -> [i64; 4] {
    [used.calls, used.input, used.output, used.cost_micros]
        .map(|it| i64::try_from(it).unwrap_or(i64::MAX))
}

/// Reads the four columns of [`used_columns`]. NULL means 0.
pub(crate) fn used<R: Columns>(row: &R, first: usize) -> Result<Used, R::Error> {
    let read = |column: usize| {
        let value = row.int(column)?.unwrap_or_default();
        u64::try_from(value).map_err(|error| R::strange(column, error))
    };
    Ok(Used {
        calls: read(first)?,
        input: read(first + 1)?,
        output: read(first + 2)?,
        cost_micros: read(first + 3)?,
    })
}

pub(crate) fn conversation<R: Columns>(
    row: &R,
) -> Result<(ConversationKey, Conversation), R::Error> {
    let conversation = Conversation {
        id: rows::parsed(row, 1, str::parse::<ConversationId>)?,
        project: string(row, 2)?,
        directory: string(row, 3)?,
        title: string(row, 4)?,
        settings: string(row, 5)?,
        state: state(row)?,
        runner: runner(row)?,
        stop_asked_at: rows::optional_time(row, 12)?,
        queue_paused: flag(row, 20)?,
        turns: number(row, 13)?,
        used: used(row, 14)?,
        created_at: rows::time(row, 18)?,
        changed_at: rows::time(row, 19)?,
    };
    Ok((ConversationKey(number(row, 0)?), conversation))
}

fn state<R: Columns>(row: &R) -> Result<ConversationState, R::Error> {
    match &*row.text(6)?.unwrap_or_default() {
        "idle" => Ok(ConversationState::Idle),
        "working" => Ok(ConversationState::Working),
        "asked" => Ok(ConversationState::Asked),
        "waiting" => Ok(ConversationState::Waiting {
            on: string(row, 7)?,
            until: rows::optional_time(row, 8)?,
        }),
        other => Err(R::strange(6, format!("unknown state {other:?}"))),
    }
}

fn runner<R: Columns>(row: &R) -> Result<Option<Runner>, R::Error> {
    let Some(name) = optional_string(row, 9)? else { return Ok(None) };
    let process = rows::from_json(row, 10)?;
    Ok(Some(Runner { name, process, until: rows::time(row, 11)? }))
}
