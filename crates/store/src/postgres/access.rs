//! Grants and servers: who may use the HTTP server, and where it runs.

use futures_core::future::BoxFuture;
use punchlist_model::store::access::{
    AccessStore, Grant, GrantKind, Role, ServerRecord, kept_since,
};
use punchlist_model::store::maintenance::project_after_move;
use punchlist_model::store::{Error, kept};
use punchlist_model::{GrantId, Timestamp};
use tokio_postgres::Row;

use super::Postgres;
use super::error::Failure;
use super::tx::{Tx, missing};
use super::values::params;
use crate::columns::{Columns, optional_string, optional_time, parsed, string, time};
use crate::rows;

/// A statement that reads grants, in the order in which [`grant`] reads its columns.
macro_rules! select_grant {
    ($rest:literal) => {
        concat!(
            "SELECT id, kind, name, role, project, digest, created_at, expires_at, ended_at \
             FROM punchlist.access_grant ",
            $rest
        )
    };
}

impl AccessStore for Postgres {
    fn add_grant(&self, grant: Grant) -> BoxFuture<'_, Result<bool, Error>> {
        self.write(move |tx| {
            let grant = grant.clone();
            Box::pin(async move { add(tx, &grant).await })
        })
    }

    fn grant(&self, id: GrantId) -> BoxFuture<'_, Result<Option<Grant>, Error>> {
        self.read(move |tx| Box::pin(get(tx, id)))
    }

    fn grants(&self, kind: GrantKind) -> BoxFuture<'_, Result<Vec<Grant>, Error>> {
        self.read(move |tx| Box::pin(list(tx, kind)))
    }

    fn end_grant(&self, id: GrantId, now: Timestamp) -> BoxFuture<'_, Result<bool, Error>> {
        self.write(move |tx| Box::pin(end(tx, id, now)))
    }

    fn redeem(
        &self,
        code: GrantId,
        session: Grant,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<bool, Error>> {
        self.write(move |tx| {
            let session = session.clone();
            Box::pin(async move { redeem(tx, code, &session, now).await })
        })
    }

    fn site(&self, proposed: String) -> BoxFuture<'_, Result<String, Error>> {
        self.write(move |tx| {
            let proposed = proposed.clone();
            Box::pin(async move { site(tx, &proposed).await })
        })
    }

    fn keep_server(&self, server: ServerRecord) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |tx| {
            keep_server(tx, &server);
            Box::pin(async { Ok(()) })
        })
    }

    fn servers(&self) -> BoxFuture<'_, Result<Vec<ServerRecord>, Error>> {
        self.read(|tx| Box::pin(servers(tx)))
    }

    fn remove_server(&self, server: ServerRecord) -> BoxFuture<'_, Result<(), Error>> {
        self.write(move |tx| {
            remove_server(tx, &server);
            Box::pin(async { Ok(()) })
        })
    }
}

/// Adds a grant, unless it is a token whose name is taken. Deletes old codes and browser sessions.
async fn add(tx: &Tx, grant: &Grant) -> Result<bool, Failure> {
    tx.run(
        "DELETE FROM punchlist.access_grant WHERE kind <> 'token' AND least(ended_at, expires_at) < $1",
        params![kept_since(grant.created_at)],
    );
    let digest: String = grant.digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let row = tx.first(
        "INSERT INTO punchlist.access_grant(id, kind, name, role, project, digest, created_at, \
         expires_at, ended_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING \
         RETURNING 1::int8",
        params![
            grant.id.to_string(),
            grant.kind.as_str(),
            &grant.name,
            grant.role.as_str(),
            &grant.project,
            digest,
            kept(grant.created_at),
            grant.expires_at.map(kept),
            grant.ended_at.map(kept),
        ],
    );
    Ok(row.await?.is_some())
}

async fn get(tx: &Tx, id: GrantId) -> Result<Option<Grant>, Failure> {
    let row = tx.first(select_grant!("WHERE id = $1"), params![id.to_string()]).await?;
    row.map(|row| grant(&row)).transpose()
}

async fn list(tx: &Tx, kind: GrantKind) -> Result<Vec<Grant>, Failure> {
    let rows = tx.query(select_grant!("WHERE kind = $1 ORDER BY id"), params![kind.as_str()]);
    rows.await?.iter().map(grant).collect()
}

async fn end(tx: &Tx, id: GrantId, now: Timestamp) -> Result<bool, Failure> {
    let row = tx.first(
        "UPDATE punchlist.access_grant SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL \
         RETURNING 1::int8",
        params![id.to_string(), kept(now)],
    );
    Ok(row.await?.is_some())
}

async fn redeem(tx: &Tx, code: GrantId, session: &Grant, now: Timestamp) -> Result<bool, Failure> {
    // Locked first: of several that redeem at once, each later one sees that it has ended.
    let lock = "SELECT 1::int8 FROM punchlist.access_grant WHERE id = $1 FOR NO KEY UPDATE";
    tx.run(lock, params![code.to_string()]);
    let found = get(tx, code).await?.filter(|it| it.kind == GrantKind::Code);
    if !found.is_some_and(|it| it.is_in_force(kept(now))) {
        return Ok(false);
    }
    Ok(end(tx, code, now).await? && add(tx, session).await?)
}

async fn site(tx: &Tx, proposed: &str) -> Result<String, Failure> {
    tx.run(
        "INSERT INTO punchlist.access_site(path) VALUES ($1) ON CONFLICT DO NOTHING",
        params![proposed],
    );
    let row = tx.first("SELECT path FROM punchlist.access_site", Vec::new()).await?;
    string(&row.ok_or_else(|| missing("path of the pages"))?, 0)
}

fn keep_server(tx: &Tx, server: &ServerRecord) {
    tx.run(
        "INSERT INTO punchlist.access_server(host, address, origin, process, started_at) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (host, address) DO UPDATE \
         SET origin = excluded.origin, process = excluded.process, started_at = excluded.started_at",
        params![
            &server.process.host,
            &server.address,
            &server.origin,
            rows::json(&server.process),
            kept(server.started_at),
        ],
    );
}

async fn servers(tx: &Tx) -> Result<Vec<ServerRecord>, Failure> {
    let rows = tx.query(
        "SELECT address, origin, process, started_at FROM punchlist.access_server \
         ORDER BY host, address",
        Vec::new(),
    );
    let read = |row: &Row| {
        Ok(ServerRecord {
            address: string(row, 0)?,
            origin: string(row, 1)?,
            process: parsed(row, 2, rows::read_json)?,
            started_at: time(row, 3)?,
        })
    };
    rows.await?.iter().map(read).collect()
}

fn remove_server(tx: &Tx, server: &ServerRecord) {
    tx.run(
        "DELETE FROM punchlist.access_server WHERE host = $1 AND address = $2 AND process = $3",
        params![&server.process.host, &server.address, rows::json(&server.process)],
    );
}

/// Moves the grants of a project that was moved.
pub(crate) async fn move_project(tx: &Tx, from: &str, to: &str) -> Result<(), Failure> {
    let sql = "SELECT DISTINCT project FROM punchlist.access_grant WHERE project IS NOT NULL";
    for row in tx.query(sql, Vec::new()).await? {
        let project = string(&row, 0)?;
        if let Some(there) = project_after_move(&project, from, to) {
            let sql = "UPDATE punchlist.access_grant SET project = $2 WHERE project = $1";
            tx.run(sql, params![project, there]);
        }
    }
    Ok(())
}

fn grant(row: &Row) -> Result<Grant, Failure> {
    let hex = string(row, 5)?;
    let digest: Option<Vec<u8>> = (0..hex.len() / 2)
        .map(|n| u8::from_str_radix(hex.get(2 * n..2 * n + 2)?, 16).ok())
        .collect();
    let digest = digest.and_then(|it| it.try_into().ok());
    Ok(Grant {
        id: parsed(row, 0, str::parse::<GrantId>)?,
        kind: parsed(row, 1, |it| GrantKind::parse(it).ok_or("an unknown kind of grant"))?,
        name: string(row, 2)?,
        role: parsed(row, 3, |it| Role::parse(it).ok_or("an unknown role"))?,
        project: optional_string(row, 4)?,
        digest: digest.ok_or_else(|| Row::strange(5, "not a digest"))?,
        created_at: time(row, 6)?,
        expires_at: optional_time(row, 7)?,
        ended_at: optional_time(row, 8)?,
    })
}
