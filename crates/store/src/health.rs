//! Whether a database is whole and can be written, for those who ask.

use punchlist_model::store::Error;

use crate::error::explain;
use crate::migrate;
use crate::open::Access;
use crate::sqlite::Sqlite;

/// How a database is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Health {
    /// The version of its schema.
    pub schema: u32,
    /// How many plans it holds.
    pub plans: u64,
    /// How large it is, its log included.
    pub bytes: u64,
    /// What SQLite finds wrong with it, a few at most; nothing, if it is whole.
    pub damage: Vec<String>,
}

impl Sqlite {
    /// Looks a database through. Takes as long as reading it does.
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
        let bytes = size(path.clone()) + size(crate::open::log_of(path));
        let plans = u64::try_from(plans).unwrap_or_default();
        Ok(Health { schema: migrate::LATEST, plans, bytes, damage })
    }

    /// Whether the database was opened to read, because it cannot be written or was asked to be so.
    pub fn is_read_only(&self) -> bool {
        // Only a store that can write has a connection for reads. Asked first, because the connection that
        // writes may be waiting for another process.
        let has_reads = self.reads().is_some();
        !has_reads && matches!(self.database().access, Access::Read { .. })
    }

    /// Whether the database can be written, by a transaction that writes nothing.
    pub fn is_writable(&self) -> Result<(), Error> {
        self.write(|_| Ok(()))
    }
}
