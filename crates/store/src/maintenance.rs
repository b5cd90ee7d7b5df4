//! The maintenance of a database: whether it is whole and can be written, and moving a project within it.

use futures_core::future::BoxFuture;
use punchlist_model::PlanId;
use punchlist_model::store::Error;
use punchlist_model::store::maintenance::{Health, MaintenanceStore};

use crate::error::explain;
use crate::open::Access;
use crate::{Sqlite, Threaded, migrate, moved};

impl MaintenanceStore for Sqlite {
    fn health(&self) -> BoxFuture<'_, Result<Health, Error>> {
        Box::pin(async move { check(self) })
    }

    fn check_writable(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.write(|_| Ok(())) })
    }

    fn move_project(&self, from: String, to: String) -> BoxFuture<'_, Result<Vec<PlanId>, Error>> {
        Box::pin(async move { self.write(|conn| moved::move_project(conn, &from, &to)) })
    }
}

impl MaintenanceStore for Threaded {
    fn health(&self) -> BoxFuture<'_, Result<Health, Error>> {
        self.write(|store| store.health())
    }

    fn check_writable(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.write(|store| store.check_writable())
    }

    fn move_project(&self, from: String, to: String) -> BoxFuture<'_, Result<Vec<PlanId>, Error>> {
        self.write(move |store| store.move_project(from, to))
    }
}

fn check(store: &Sqlite) -> Result<Health, Error> {
    let database = store.database();
    let path = &database.path;
    let broken = |error| explain(path, error);
    let look = || {
        let mut check = database.conn.prepare("PRAGMA quick_check(3)")?;
        let lines = check.query_map([], |row| row.get::<_, String>(0))?;
        let damage = lines.filter(|it| it.as_ref().is_ok_and(|it| it != "ok") || it.is_err());
        let damage = damage.collect::<Result<Vec<_>, _>>()?;
        let plans = database.conn.query_row("SELECT count(*) FROM plan", [], |row| row.get(0))?;
        Ok((damage, plans))
    };
    let (damage, plans): (_, i64) = look().map_err(broken)?;
    let size = |path| std::fs::metadata(path).map_or(0, |it| it.len());
    let bytes = size(path.clone()) + size(crate::open::wal_of(path));
    let plans = u64::try_from(plans).unwrap_or_default();
    Ok(Health { schema: migrate::LATEST, plans, bytes, damage })
}

impl Sqlite {
    /// Whether the database was opened to read, because it cannot be written or was asked to be so.
    pub fn is_read_only(&self) -> bool {
        // Only a store that can write has a connection for reads. Asked first, because the connection that
        // writes may be waiting for another process.
        let has_reads = self.reads().is_some();
        !has_reads && matches!(self.database().access, Access::Read { .. })
    }
}
