//! Sessions of agents, one row each. Their times are those of the machine that the session runs on.

use punchlist_model::session::{Kept, Session, SessionFilter, SessionKey};
use punchlist_model::{Process, Timestamp};

use super::error::Failure;
use super::tx::Tx;
use super::values::{Value, params, texts};
use crate::columns;
use crate::rows;
use crate::sessions::{listed, name, session};

/// The columns of a session, in the order in which [`session`] reads them, followed by its key.
macro_rules! select_session {
    ($rest:literal) => {
        concat!(
            "SELECT project, directory, process, interactive, begun_at, seen_at, ended_at, memory, \
             version, agent, id FROM punchlist.session ",
            $rest
        )
    };
}

/// One session.
pub(crate) async fn get(tx: &Tx, key: &SessionKey) -> Result<Option<Session>, Failure> {
    let sql = select_session!("WHERE agent = $1 AND id = $2");
    let row = tx.first(sql, params![&key.agent, &key.id]).await?;
    row.map(|row| session(&row, key.clone())).transpose()
}

/// When a process was last seen in a session other than this one.
pub(crate) async fn seen_beside(
    tx: &Tx,
    key: &SessionKey,
    process: &Process,
) -> Result<Option<Timestamp>, Failure> {
    let row = tx.first(
        "SELECT seen_at FROM punchlist.session WHERE process = $1 AND (agent, id) <> ($2, $3) \
         ORDER BY seen_at DESC LIMIT 1",
        params![name(process), &key.agent, &key.id],
    );
    row.await?.map(|row| columns::time(&row, 0)).transpose()
}

/// The sessions that match, most recently seen first.
pub(crate) async fn list(tx: &Tx, filter: &SessionFilter) -> Result<Vec<Session>, Failure> {
    let most = filter.most.map(i64::from);
    let answer = match &filter.processes {
        None => tx.query(
            select_session!(
                "WHERE ($1::text IS NULL OR project = $1) AND (NOT $2 OR ended_at IS NULL) \
                 ORDER BY seen_at DESC, agent DESC, id DESC LIMIT $3"
            ),
            params![&filter.project, filter.running, most],
        ),
        Some(processes) => {
            let mut params = params![&filter.project, filter.running, most];
            params.push(texts(processes.iter().map(name)));
            tx.query(
                select_session!(
                    "WHERE process = ANY($4) AND ($1::text IS NULL OR project = $1) \
                     AND (NOT $2 OR ended_at IS NULL) \
                     ORDER BY seen_at DESC, agent DESC, id DESC LIMIT $3"
                ),
                params,
            )
        }
    };
    answer.await?.iter().map(listed).collect()
}

/// Writes a session unless somebody has written it since it was read.
pub(crate) async fn keep(tx: &Tx, session: Session) -> Result<Kept, Failure> {
    let session = session.kept();
    let sql = if session.version == 1 {
        "INSERT INTO punchlist.session(agent, id, project, directory, process, interactive, begun_at, \
         seen_at, ended_at, memory, version) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
         ON CONFLICT DO NOTHING RETURNING 1::int8"
    } else {
        "UPDATE punchlist.session SET project = $3, directory = $4, process = $5, interactive = $6, \
         begun_at = $7, seen_at = $8, ended_at = $9, memory = $10, version = $11 \
         WHERE agent = $1 AND id = $2 AND version = $11 - 1 RETURNING 1::int8"
    };
    let params: Vec<Value> = params![
        &session.key.agent,
        &session.key.id,
        &session.project,
        &session.directory,
        session.process.as_ref().map(name),
        session.interactive,
        session.begun_at,
        session.seen_at,
        session.ended_at,
        rows::json(&session.memory),
        i64::try_from(session.version).unwrap_or(i64::MAX),
    ];
    if tx.first(sql, params).await?.is_some() {
        return Ok(Kept::Stored(session.version));
    }
    Ok(Kept::Stale(get(tx, &session.key).await?.map(Box::new)))
}
