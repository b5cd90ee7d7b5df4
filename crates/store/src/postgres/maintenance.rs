//! The maintenance of a database: what `doctor` wants to know, and removing erased texts from its
//! files.

use std::time::{Duration, Instant};

use punchlist_model::Timestamp;
use punchlist_model::store::Error;
use punchlist_model::store::maintenance::{Health, ServerFacts};

use super::error::Failure;
use super::runner::{self, Patience};
use super::tx::{Tx, missing};
use super::values::params;
use super::{Postgres, Shared, migrate};
use crate::columns::{self, flag, string};

impl Postgres {
    /// What `doctor` says about a server. `clock` is the caller's. Changes nothing.
    pub fn examine(
        options: &super::Options,
        clock: fn() -> Timestamp,
    ) -> Result<ServerFacts, Error> {
        let shared = Self::new(options)?.shared;
        super::block_on(async move { examine(&shared, clock).await })
    }

    /// Records the directory of a project on this machine. What was recorded under the name that the
    /// directory had before it had a project moves with it.
    pub(crate) fn record_checkout(
        &self,
        project: &str,
        host: &str,
        directory: &str,
        before: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        let shared = std::sync::Arc::clone(&self.shared);
        let [project, host, directory, before] =
            [project, host, directory, before].map(str::to_owned);
        super::block_on(async move {
            let purpose = super::Purpose::Write { id: None };
            let recorded = runner::write(&shared, purpose.clone(), &|tx| {
                tx.run(
                    "DELETE FROM punchlist.checkout WHERE host = $1 AND directory = $2",
                    params![&host, &directory],
                );
                tx.run(
                    "INSERT INTO punchlist.checkout(project, host, directory, seen_at) \
                     VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                    params![&project, &host, &directory, now],
                );
                Box::pin(async { Ok(()) })
            })
            .await;
            recorded?;
            let moved = runner::write(&shared, purpose, &|tx| {
                let (before, project) = (before.clone(), project.clone());
                Box::pin(
                    async move { super::moved::move_project(tx, &before, &project, None).await },
                )
            })
            .await;
            match moved {
                // The plan of that name stays where it was; both are listed.
                Ok(_) | Err(Error::NameTaken(_)) => Ok(()),
                Err(error) => Err(error),
            }
        })
    }

    /// The projects of a machine and their directories, the most recently recorded first.
    pub(crate) fn checkouts(&self, host: &str) -> Result<Vec<(String, String)>, Error> {
        let shared = std::sync::Arc::clone(&self.shared);
        let host = host.to_owned();
        super::block_on(async move {
            runner::read(&shared, &|tx| {
                let rows = tx.query(
                    "SELECT project, directory FROM punchlist.checkout WHERE host = $1 \
                     ORDER BY seen_at DESC, directory",
                    params![&host],
                );
                Box::pin(async {
                    let rows = rows.await?;
                    rows.iter().map(|row| Ok((string(row, 0)?, string(row, 1)?))).collect()
                })
            })
            .await
        })
    }
}

async fn examine(shared: &Shared, clock: fn() -> Timestamp) -> Result<ServerFacts, Error> {
    const SQL: &str = "SELECT current_setting('server_version'), \
        current_setting('synchronous_commit'), current_setting('fsync') = 'on', \
        current_user::text, \
        coalesce(has_table_privilege('punchlist.plan', 'SELECT'), false), \
        coalesce(has_table_privilege('punchlist.plan', 'UPDATE'), false), \
        coalesce(has_table_privilege('punchlist.question', 'UPDATE'), false), \
        coalesce((SELECT pg_has_role(relowner, 'USAGE') FROM pg_class \
        WHERE oid = to_regclass('punchlist.plan')), false), \
        coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false)";
    const NOW: &str = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::int8";
    let mut patience = Patience::begin(&shared.options);
    let connection = runner::connection(shared, &mut patience).await?;
    let found = async {
        let rows = connection.client.query_typed(SQL, &[]).await?;
        let row = rows.first().ok_or_else(|| missing("settings"))?;
        let (mut latency, mut ahead) = (Duration::MAX, 0);
        // The fastest of a few says most about the way, and least about chance.
        for _ in 0..5 {
            let (began, before) = (Instant::now(), clock());
            let rows = connection.client.query_typed(NOW, &[]).await?;
            let took = began.elapsed();
            let there: i64 = columns::number(rows.first().ok_or_else(|| missing("time"))?, 0)?;
            if took < latency {
                let half = i64::try_from(took.as_millis() / 2).unwrap_or_default();
                (latency, ahead) = (took, there - before.as_millisecond() - half);
            }
        }
        Ok::<_, Failure>(ServerFacts {
            server: string(row, 0)?,
            schema: connection.schema,
            latency,
            clock_ahead_ms: ahead,
            synchronous_commit: string(row, 1)?,
            fsync: flag(row, 2)?,
            is_pooled: !connection.is_direct,
            role: string(row, 3)?,
            may_read: flag(row, 4)?,
            may_work: flag(row, 5)?,
            may_change: flag(row, 6)?,
            is_owner: flag(row, 7)?,
            is_encrypted: flag(row, 8)?,
        })
    };
    found.await.map_err(|failure| failure.explain(&shared.shown))
}

/// Checks the store.
pub(crate) async fn health(tx: &Tx) -> Result<Health, Failure> {
    let plans = tx.query("SELECT count(*) FROM punchlist.plan", Vec::new());
    let bytes = tx.query(
        "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::int8 FROM pg_class c \
         WHERE c.relnamespace = 'punchlist'::regnamespace AND c.relkind = 'r'",
        Vec::new(),
    );
    let damage = tx.query(
        "SELECT 'plan ' || p.id || ' is at revision ' || p.revision || ', its journal at ' \
         || coalesce(j.last, 0) FROM punchlist.plan p LEFT JOIN LATERAL ( \
         SELECT revision AS last FROM punchlist.journal WHERE plan = p.key \
         ORDER BY revision DESC LIMIT 1) j ON true \
         WHERE coalesce(j.last, 0) <> p.revision LIMIT 3",
        Vec::new(),
    );
    let one = |rows: Vec<tokio_postgres::Row>| match rows.first() {
        Some(row) => columns::number(row, 0),
        None => Ok(0),
    };
    Ok(Health {
        schema: migrate::LATEST,
        plans: one(plans.await?)?,
        bytes: one(bytes.await?)?,
        damage: damage.await?.iter().map(|row| string(row, 0)).collect::<Result<_, Failure>>()?,
    })
}

/// The tables that hold texts.
const TABLES: &str = "punchlist.plan, punchlist.item, punchlist.journal, punchlist.session, \
    punchlist.run, punchlist.call, punchlist.question, punchlist.message, punchlist.conversation, punchlist.turn, \
    punchlist.turn_entry";

/// Rewrites the tables, so that erased texts do not remain in their files, nor in their TOAST tables.
/// The texts are already gone from the rows.
pub(crate) async fn rewrite_tables(shared: &Shared) -> Result<(), Error> {
    let mut patience = Patience::begin(&shared.options);
    let connection = runner::connection(shared, &mut patience).await?;
    let client = &connection.client;
    let failed = |error: tokio_postgres::Error| super::error::explain(&shared.shown, error);
    let remain = |why: &str| {
        let what = format!(
            "the texts are erased, but copies remain in the files of {}: {why}, and forget once \
             more, or forget anything else: that removes them",
            shared.shown
        );
        Error::Server { what, source: None }
    };
    let owner = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class \
                 WHERE oid = 'punchlist.item'::regclass";
    let owner = client.query_typed(owner, &[]).await.map_err(failed)?;
    if !owner.first().is_some_and(|row| row.try_get(0).unwrap_or(false)) {
        return Err(remain("only the owner of the tables can rewrite them; become that role"));
    }
    // The server keeps rows that a running transaction may still see: one of this database that began to
    // read before, or one of any database of the server that began to write before.
    let older = "SELECT count(*) + (pg_snapshot_xmin(pg_current_snapshot())::text::int8 < $2)::int \
                 FROM pg_stat_activity WHERE datname = current_database() \
                 AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL \
                 AND xact_start < to_timestamp($1::int8 / 1000.0)";
    let now = "SELECT ceil(extract(epoch FROM clock_timestamp()) * 1000)::int8, \
               pg_snapshot_xmax(pg_current_snapshot())::text::int8";
    let rows = client.query_typed(now, &[]).await.map_err(failed)?;
    let number = |column| rows.first().map_or(Ok(0), |row| row.try_get::<_, i64>(column));
    let (now, next) = (number(0).map_err(failed)?, number(1).map_err(failed)?);
    loop {
        let kind = tokio_postgres::types::Type::INT8;
        let rows = client
            .query_typed(older, &[(&now, kind.clone()), (&next, kind)])
            .await
            .map_err(failed)?;
        let count: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0)).map_err(failed)?;
        if count == 0 {
            break;
        }
        if patience.left() < Duration::from_millis(100) {
            return Err(remain("another program keeps a transaction open; end it"));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    client.batch_execute(&format!("VACUUM (FULL) {TABLES}")).await.map_err(failed)
}
