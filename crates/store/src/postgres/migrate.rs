//! The schema and its version. Migrations are numbered and go forward only; a released one never
//! changes.

use punchlist_model::store::Error;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::error::Failure;

/// The migrations, in order. The first makes version 1.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/postgres/0001_schema.sql"),
    include_str!("../../migrations/postgres/0002_shared_work.sql"),
    include_str!("../../migrations/postgres/0003_access.sql"),
    include_str!("../../migrations/postgres/0004_worker_rights.sql"),
    include_str!("../../migrations/postgres/0005_no_samples.sql"),
];

/// The version that this program writes.
#[expect(clippy::cast_possible_truncation, reason = "there are few migrations")]
pub(crate) const LATEST: u32 = MIGRATIONS.len() as u32;

/// The lock under which the schema is changed: "Punchlst".
const LOCK: i64 = 0x5075_6e63_686c_7374;

/// The version of the schema; 0 if there is none.
pub(crate) async fn version(client: &Client) -> Result<u32, Failure> {
    let sql = "SELECT version FROM punchlist.schema_version";
    match client.query_typed(sql, &[]).await {
        Ok(rows) => match rows.first() {
            Some(row) => Ok(u32::try_from(row.try_get::<_, i64>(0)?).unwrap_or(u32::MAX)),
            None => Ok(0),
        },
        Err(error)
            if error.code() == Some(&SqlState::UNDEFINED_TABLE)
                || error.code() == Some(&SqlState::INVALID_SCHEMA_NAME) =>
        {
            Ok(0)
        }
        Err(error) => Err(error.into()),
    }
}

/// Refuses a schema that is newer than ours.
pub(crate) fn check_known(found: u32) -> Result<(), Error> {
    match found {
        found if found > LATEST => Err(Error::NewerSchema { found, known: LATEST }),
        _ => Ok(()),
    }
}

/// Brings the schema up to date. Of several programs that try at once, one does it.
pub(crate) async fn migrate(client: &Client) -> Result<(), Failure> {
    client.batch_execute("BEGIN").await?;
    match migrate_locked(client).await {
        Ok(()) => Ok(client.batch_execute("COMMIT").await?),
        Err(failure) => {
            // The connection is dropped, which undoes everything, if this fails.
            client.batch_execute("ROLLBACK").await.ok();
            Err(failure)
        }
    }
}

async fn migrate_locked(client: &Client) -> Result<(), Failure> {
    client.batch_execute(&format!("SELECT pg_advisory_xact_lock({LOCK})")).await?;
    let exists = "SELECT to_regclass('punchlist.schema_version') IS NOT NULL";
    let exists = client.query_typed(exists, &[]).await?;
    let exists = exists.first().is_some_and(|row| row.try_get(0).unwrap_or(false));
    let found = if exists { version(client).await? } else { 0 };
    check_known(found)?;
    for sql in MIGRATIONS.iter().skip(found as usize) {
        client.batch_execute(sql).await?;
    }
    if found < LATEST {
        let record = format!(
            "DELETE FROM punchlist.schema_version; \
             INSERT INTO punchlist.schema_version(version) VALUES ({LATEST})"
        );
        client.batch_execute(&record).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_newer_schema_is_refused() {
        check_known(0).unwrap();
        check_known(LATEST).unwrap();
        let refused = check_known(LATEST + 1).unwrap_err();
        assert!(matches!(refused, Error::NewerSchema { found, known } if found == known + 1));
    }
}
