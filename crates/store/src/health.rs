//! Whether a database is undamaged and can be written.

use punchlist_model::store::Error;

use crate::error::explain;
use crate::migrate;
use crate::open::Access;
use crate::sqlite::Sqlite;

/// The health of a database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Health {
    /// The schema version.
    pub schema: u32,
    /// The number of plans.
    pub plans: u64,
    /// The size, with the WAL.
    pub bytes: u64,
    /// What SQLite finds wrong, a few entries at most. Empty if the database is undamaged.
    pub damage: Vec<String>,
}

impl Sqlite {
    /// Checks a database. This reads all of it.
    pub fn health(&self) -> Result<Health, Error> {
        let database = self.database();
        let path = &database.path;
        let broken = |error| explain(path, error);
        let look = || {
            let mut check = database.conn.prepare("PRAGMA quick_check(3)")?;
            let lines = check.query_map([], |row| row.get::<_, String>(0))?;
            let damage = lines.filter(|it| it.as_ref().is_ok_and(|it| it != "ok") || it.is_err());
            let damage = damage.collect::<Result<Vec<_>, _>>()?;
            let plans =
                database.conn.query_row("SELECT count(*) FROM plan", [], |row| row.get(0))?;
            Ok((damage, plans))
        };
        let (damage, plans): (_, i64) = look().map_err(broken)?;
        let size = |path| std::fs::metadata(path).map_or(0, |it| it.len());
        let bytes = size(path.clone()) + size(crate::open::wal_of(path));
        let plans = u64::try_from(plans).unwrap_or_default();
        Ok(Health { schema: migrate::LATEST, plans, bytes, damage })
    }

    /// Whether the database was opened read-only, because it cannot be written or because the
    /// caller asked for it.
    pub fn is_read_only(&self) -> bool {
        // Only a store that can write has a second connection for reads. Checked first, because the
        // writing connection may be waiting for another process.
        let has_reads = self.reads().is_some();
        !has_reads && matches!(self.database().access, Access::Read { .. })
    }

    /// Checks that the database can be written, with a transaction that writes nothing.
    pub fn is_writable(&self) -> Result<(), Error> {
        self.write(|_| Ok(()))
    }
}
