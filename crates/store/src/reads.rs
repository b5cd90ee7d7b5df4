//! A second, read-only connection, so that reads never wait for writes of the same process.
//!
//! Only a store that stays open has one, and only from its first read on: a verb that makes one
//! call opens one connection. In WAL mode a transaction sees everything that was committed before
//! it began, so a read sees every write that was acknowledged before.

use std::path::{Path, PathBuf};

use punchlist_model::store::Error;
use rusqlite::Connection;

use crate::error::explain;
use crate::identity::{Fate, Identity};
use crate::open::{self, Access, Database};

/// The reading connection of a store that stays open and can write.
pub(crate) struct Reads {
    path: PathBuf,
    /// The files of the writing connection. Other files are never read here.
    identity: Option<Identity>,
    conn: Option<Connection>,
}

impl Reads {
    /// For a database that is open to write. `None` if reads use the database's own connection: it
    /// is open for one call, or it is read-only.
    pub(crate) fn of(database: &Database) -> Option<Self> {
        let can_write = matches!(database.access, Access::Write { .. });
        if !database.stays || database.is_lost || !can_write {
            return None;
        }
        let (path, identity) = (database.path.clone(), database.identity.clone());
        Some(Self { path, identity, conn: None })
    }

    /// The connection and the path of its database; opens it if necessary. `None` if the files at
    /// the path are no longer those of the writing connection.
    pub(crate) fn connection(&mut self) -> Result<Option<(&Connection, &Path)>, Error> {
        if !self.is_current() {
            return Ok(None);
        }
        if self.conn.is_none() {
            let opened = open::connect_to_read(&self.path);
            // The files may have been replaced while they were opened.
            if !self.is_current() {
                return Ok(None);
            }
            self.conn = Some(opened.map_err(|error| explain(&self.path, error))?);
        }
        Ok(self.conn.as_ref().map(|conn| (conn, self.path.as_path())))
    }

    fn is_current(&self) -> bool {
        self.identity.as_ref().is_none_or(|it| it.fate() == Fate::Same)
    }
}
