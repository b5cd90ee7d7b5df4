//! Sessions of agents, one row each.

use punchlist_model::session::{Kept, Memory, Session as Agent, SessionFilter, SessionKey};
use punchlist_model::{Process, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use crate::columns::{Columns, number, string};
use crate::load::Failure;
use crate::rows;

/// The columns of a session, in the order in which [`session`] reads them, followed by others.
macro_rules! select_session {
    ($others:literal, $rest:literal) => {
        concat!(
            "SELECT project, directory, process, interactive, begun_at, seen_at, ended_at, memory, \
             version",
            $others,
            " FROM session ",
            $rest
        )
    };
}

/// One session.
pub(crate) fn get(conn: &Connection, key: &SessionKey) -> Result<Option<Agent>, Failure> {
    let mut select = conn.prepare_cached(select_session!("", "WHERE agent = ?1 AND id = ?2"))?;
    let found = select.query_row([&key.agent, &key.id], |row| session(row, key.clone()));
    Ok(found.optional()?)
}

/// When a process was last seen in a session other than this one. Reads at most two rows.
pub(crate) fn seen_beside(
    conn: &Connection,
    key: &SessionKey,
    process: &Process,
) -> rusqlite::Result<Option<Timestamp>> {
    let mut select = conn.prepare_cached(SEEN_IN)?;
    let mut rows = select.query([name(process)])?;
    while let Some(row) = rows.next()? {
        let (agent, id) = (row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?);
        if (agent, id) != (key.agent.as_str(), key.id.as_str()) {
            return rows::time(row, 0).map(Some);
        }
    }
    Ok(None)
}

/// When the sessions of a process were last seen. Only the index is read.
pub(crate) const SEEN_IN: &str = "SELECT seen_at, agent, id \
    FROM session INDEXED BY session_process WHERE process = ?1 ORDER BY seen_at DESC";

/// The sessions that match, most recently seen first.
pub(crate) fn list(conn: &Connection, filter: &SessionFilter) -> Result<Vec<Agent>, Failure> {
    let most = filter.most.map_or(-1, i64::from);
    let mut sessions = match &filter.processes {
        // Most verbs ask whether there is any session, and usually there is none.
        None if filter.most == Some(1) && !any(conn)? => Vec::new(),
        None => {
            let mut select = conn.prepare_cached(select_session!(
                ", agent, id",
                "WHERE (?1 IS NULL OR project = ?1) AND (NOT ?2 OR ended_at IS NULL) \
                 ORDER BY seen_at DESC, agent DESC, id DESC LIMIT ?3"
            ))?;
            let rows = select
                .query_map(params![filter.project, filter.running, most], |row| listed(row))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()?
        }
        Some(processes) => {
            let mut found = Vec::new();
            for process in processes {
                let mut select = conn.prepare_cached(select_session!(
                    ", agent, id",
                    "WHERE process = ?1 AND (?2 IS NULL OR project = ?2) \
                     AND (NOT ?3 OR ended_at IS NULL) \
                     ORDER BY seen_at DESC, agent DESC, id DESC LIMIT ?4"
                ))?;
                let params = params![name(process), filter.project, filter.running, most];
                let rows = select.query_map(params, |row| listed(row))?;
                found.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
            }
            found.sort_by(|a, b| (b.seen_at, &b.key).cmp(&(a.seen_at, &a.key)));
            found.dedup_by(|a, b| a.key == b.key);
            found
        }
    };
    if let Some(most) = filter.most {
        sessions.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    }
    Ok(sessions)
}

/// Whether there is any session. This is cheaper than reading one.
fn any(conn: &Connection) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT 1 FROM session LIMIT 1")?.exists([])
}

/// Writes a session unless somebody has written it since it was read.
pub(crate) fn keep(conn: &Connection, session: Agent) -> Result<Kept, Failure> {
    let session = session.kept();
    // One statement checks the version and writes, because every hook pays for each statement.
    let mut write = conn.prepare_cached(if session.version == 1 {
        "INSERT INTO session(agent, id, project, directory, process, interactive, begun_at, \
         seen_at, ended_at, memory, version) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
         ON CONFLICT DO NOTHING"
    } else {
        "UPDATE session SET project = ?3, directory = ?4, process = ?5, interactive = ?6, \
         begun_at = ?7, seen_at = ?8, ended_at = ?9, memory = ?10, version = ?11 \
         WHERE agent = ?1 AND id = ?2 AND version = ?11 - 1"
    })?;
    let written = write.execute(params![
        session.key.agent,
        session.key.id,
        session.project,
        session.directory,
        session.process.as_ref().map(name),
        session.interactive,
        rows::millis(session.begun_at),
        rows::millis(session.seen_at),
        session.ended_at.map(rows::millis),
        rows::json(&session.memory),
        i64::try_from(session.version).unwrap_or(i64::MAX),
    ])?;
    if written == 1 {
        return Ok(Kept::Stored(session.version));
    }
    Ok(Kept::Stale(get(conn, &session.key)?.map(Box::new)))
}

/// A session from a row that ends with its key.
pub(crate) fn listed<R: Columns>(row: &R) -> Result<Agent, R::Error> {
    session(row, SessionKey { agent: string(row, 9)?, id: string(row, 10)? })
}

pub(crate) fn session<R: Columns>(row: &R, key: SessionKey) -> Result<Agent, R::Error> {
    Ok(Agent {
        key,
        project: string(row, 0)?,
        directory: string(row, 1)?,
        process: rows::from_json(row, 2)?,
        interactive: row.int(3)?.map(|it| it != 0),
        begun_at: rows::time(row, 4)?,
        seen_at: rows::time(row, 5)?,
        ended_at: rows::optional_time(row, 6)?,
        memory: rows::from_json::<_, Memory>(row, 7)?.unwrap_or_default(),
        version: number(row, 8).unwrap_or(0),
    })
}

/// A process as a column. The fields have a fixed order, so equal processes give equal texts.
pub(crate) fn name(process: &Process) -> String {
    rows::json(process)
}
