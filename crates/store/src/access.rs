//! Grants and servers: who may use the HTTP server, and where it runs.

use futures_core::future::BoxFuture;
use punchlist_model::store::access::{
    AccessStore, Grant, GrantKind, Role, ServerRecord, kept_since,
};
use punchlist_model::store::maintenance::project_after_move;
use punchlist_model::store::{Error, kept};
use punchlist_model::{GrantId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::columns::Columns;
use crate::load::Failure;
use crate::rows::{self, millis};
use crate::{Sqlite, Threaded};

/// A statement that reads grants, in the order in which [`grant`] reads its columns.
macro_rules! select_grant {
    ($rest:literal) => {
        concat!(
            "SELECT id, kind, name, role, project, digest, created_at, expires_at, ended_at \
             FROM access_grant ",
            $rest
        )
    };
}

impl AccessStore for Sqlite {
    fn add_grant(&self, grant: Grant) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(async move { self.write(|conn| add(conn, &grant)) })
    }

    fn grant(&self, id: GrantId) -> BoxFuture<'_, Result<Option<Grant>, Error>> {
        Box::pin(async move { self.read(|conn| get(conn, id)) })
    }

    fn grants(&self, kind: GrantKind) -> BoxFuture<'_, Result<Vec<Grant>, Error>> {
        Box::pin(async move { self.read(|conn| list(conn, kind)) })
    }

    fn end_grant(&self, id: GrantId, now: Timestamp) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(async move { self.write(|conn| end(conn, id, now)) })
    }

    fn redeem(
        &self,
        code: GrantId,
        session: Grant,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(async move { self.write(|conn| redeem(conn, code, &session, now)) })
    }

    fn site(&self, proposed: String) -> BoxFuture<'_, Result<String, Error>> {
        Box::pin(async move { self.write(|conn| site(conn, &proposed)) })
    }

    fn keep_server(&self, server: ServerRecord) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.write(|conn| keep_server(conn, &server)) })
    }

    fn servers(&self) -> BoxFuture<'_, Result<Vec<ServerRecord>, Error>> {
        Box::pin(async move { self.read(servers) })
    }

    fn remove_server(&self, server: ServerRecord) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.write(|conn| remove_server(conn, &server)) })
    }
}

impl AccessStore for Threaded {
    fn add_grant(&self, grant: Grant) -> BoxFuture<'_, Result<bool, Error>> {
        self.write(move |store| store.add_grant(grant))
    }

    fn grant(&self, id: GrantId) -> BoxFuture<'_, Result<Option<Grant>, Error>> {
        self.only_read(move |store| store.grant(id))
    }

    fn grants(&self, kind: GrantKind) -> BoxFuture<'_, Result<Vec<Grant>, Error>> {
        self.only_read(move |store| store.grants(kind))
    }

    fn end_grant(&self, id: GrantId, now: Timestamp) -> BoxFuture<'_, Result<bool, Error>> {
        self.write(move |store| store.end_grant(id, now))
    }

    fn redeem(
        &self,
        code: GrantId,
        session: Grant,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<bool, Error>> {
        self.write(move |store| store.redeem(code, session, now))
    }

    fn site(&self, proposed: String) -> BoxFuture<'_, Result<String, Error>> {
        self.write(move |store| store.site(proposed))
    }

    fn keep_server(&self, server: ServerRecord) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |store| store.keep_server(server))
    }

    fn servers(&self) -> BoxFuture<'_, Result<Vec<ServerRecord>, Error>> {
        self.only_read(|store| store.servers())
    }

    fn remove_server(&self, server: ServerRecord) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |store| store.remove_server(server))
    }
}

/// Adds a grant, unless it is a token whose name is taken. Deletes old codes and browser sessions.
fn add(conn: &Connection, grant: &Grant) -> Result<bool, Failure> {
    let mut delete = conn.prepare_cached(
        "DELETE FROM access_grant WHERE kind <> 'token' \
         AND min(ifnull(ended_at, expires_at), ifnull(expires_at, ended_at)) < ?1",
    )?;
    delete.execute([millis(kept_since(grant.created_at))])?;
    let mut insert = conn.prepare_cached(
        "INSERT INTO access_grant(id, kind, name, role, project, digest, created_at, expires_at, \
         ended_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
    )?;
    let added = insert.execute(params![
        grant.id.to_string(),
        grant.kind.as_str(),
        grant.name,
        grant.role.as_str(),
        grant.project,
        grant.digest.as_slice(),
        millis(kept(grant.created_at)),
        grant.expires_at.map(|it| millis(kept(it))),
        grant.ended_at.map(|it| millis(kept(it))),
    ])?;
    Ok(added == 1)
}

fn get(conn: &Connection, id: GrantId) -> Result<Option<Grant>, Failure> {
    let mut select = conn.prepare_cached(select_grant!("WHERE id = ?1"))?;
    Ok(select.query_row([id.to_string()], grant).optional()?)
}

fn list(conn: &Connection, kind: GrantKind) -> Result<Vec<Grant>, Failure> {
    let mut select = conn.prepare_cached(select_grant!("WHERE kind = ?1 ORDER BY id"))?;
    let found = select.query_map([kind.as_str()], grant)?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn end(conn: &Connection, id: GrantId, now: Timestamp) -> Result<bool, Failure> {
    let mut update = conn.prepare_cached(
        "UPDATE access_grant SET ended_at = ?2 WHERE id = ?1 AND ended_at IS NULL",
    )?;
    Ok(update.execute(params![id.to_string(), millis(kept(now))])? == 1)
}

fn redeem(
    conn: &Connection,
    code: GrantId,
    session: &Grant,
    now: Timestamp,
) -> Result<bool, Failure> {
    let found = get(conn, code)?.filter(|it| it.kind == GrantKind::Code);
    if !found.is_some_and(|it| it.is_in_force(kept(now))) {
        return Ok(false);
    }
    Ok(end(conn, code, now)? && add(conn, session)?)
}

fn site(conn: &Connection, proposed: &str) -> Result<String, Failure> {
    let mut insert = conn.prepare_cached(
        "INSERT INTO access_site(only, path) VALUES (1, ?1) ON CONFLICT DO NOTHING",
    )?;
    insert.execute([proposed])?;
    let mut select = conn.prepare_cached("SELECT path FROM access_site WHERE only = 1")?;
    Ok(select.query_row([], |row| row.get(0))?)
}

fn keep_server(conn: &Connection, server: &ServerRecord) -> Result<(), Failure> {
    let mut insert = conn.prepare_cached(
        "INSERT INTO access_server(host, address, origin, process, started_at) \
         VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET origin = excluded.origin, \
         process = excluded.process, started_at = excluded.started_at",
    )?;
    insert.execute(params![
        server.process.host,
        server.address,
        server.origin,
        rows::json(&server.process),
        millis(kept(server.started_at)),
    ])?;
    Ok(())
}

fn servers(conn: &Connection) -> Result<Vec<ServerRecord>, Failure> {
    let mut select = conn.prepare_cached(
        "SELECT address, origin, process, started_at FROM access_server ORDER BY host, address",
    )?;
    let found = select.query_map([], |row| {
        Ok(ServerRecord {
            address: row.get(0)?,
            origin: row.get(1)?,
            process: rows::parsed(row, 2, rows::read_json)?,
            started_at: rows::time(row, 3)?,
        })
    })?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn remove_server(conn: &Connection, server: &ServerRecord) -> Result<(), Failure> {
    let is_it = |it: &ServerRecord| it.address == server.address && it.process == server.process;
    if servers(conn)?.iter().any(is_it) {
        let mut delete =
            conn.prepare_cached("DELETE FROM access_server WHERE host = ?1 AND address = ?2")?;
        delete.execute([&server.process.host, &server.address])?;
    }
    Ok(())
}

/// Moves the grants of a project that was moved.
pub(crate) fn move_project(conn: &Connection, from: &str, to: &str) -> Result<(), Failure> {
    let mut select =
        conn.prepare_cached("SELECT DISTINCT project FROM access_grant WHERE project IS NOT NULL")?;
    let found = select.query_map([], |row| row.get::<_, String>(0))?;
    for project in found.collect::<rusqlite::Result<Vec<_>>>()? {
        if let Some(there) = project_after_move(&project, from, to) {
            let mut update =
                conn.prepare_cached("UPDATE access_grant SET project = ?2 WHERE project = ?1")?;
            update.execute(params![project, there])?;
        }
    }
    Ok(())
}

fn grant(row: &Row<'_>) -> rusqlite::Result<Grant> {
    let digest: Vec<u8> = row.get(5)?;
    let digest = digest.try_into().map_err(|_| Row::strange(5, "a digest of another length"))?;
    Ok(Grant {
        id: rows::parsed(row, 0, str::parse::<GrantId>)?,
        kind: rows::parsed(row, 1, |it| GrantKind::parse(it).ok_or("an unknown kind of grant"))?,
        name: row.get(2)?,
        role: rows::parsed(row, 3, |it| Role::parse(it).ok_or("an unknown role"))?,
        project: row.get(4)?,
        digest,
        created_at: rows::time(row, 6)?,
        expires_at: rows::optional_time(row, 7)?,
        ended_at: rows::optional_time(row, 8)?,
    })
}
