//! A connection for one piece of work, and whether its statements are worth keeping.
//!
//! A verb makes a call or two and ends. Statements that are prepared to be kept cost it more than
//! they give, because SQLite takes other memory for them; so they are kept only once a store turns
//! out to be there for longer.

use std::ops::{Deref, DerefMut};

use rusqlite::{CachedStatement, Connection, Statement};

/// How many calls a store answers before it keeps its statements.
pub(crate) const SHORT_STAY: u32 = 8;

/// A connection, for one piece of work.
pub(crate) struct Session<'c> {
    conn: &'c Connection,
    keeps: bool,
}

impl<'c> Session<'c> {
    /// For the n-th call of a store.
    pub(crate) fn new(conn: &'c Connection, calls: u32) -> Self {
        Self { conn, keeps: calls > SHORT_STAY }
    }

    /// For work that is done again and again.
    pub(crate) fn lasting(conn: &'c Connection) -> Self {
        Self { conn, keeps: true }
    }

    /// Whether the store is there for longer.
    pub(crate) fn keeps(&self) -> bool {
        self.keeps
    }

    /// A statement, ready to be run.
    pub(crate) fn statement(&self, sql: &str) -> rusqlite::Result<Prepared<'c>> {
        if self.keeps {
            self.conn.prepare_cached(sql).map(Prepared::Kept)
        } else {
            self.conn.prepare(sql).map(Prepared::Once)
        }
    }
}

impl Deref for Session<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.conn
    }
}

/// A statement that is kept, or one for once.
pub(crate) enum Prepared<'c> {
    Kept(CachedStatement<'c>),
    Once(Statement<'c>),
}

impl<'c> Deref for Prepared<'c> {
    type Target = Statement<'c>;

    fn deref(&self) -> &Statement<'c> {
        match self {
            Self::Kept(statement) => statement,
            Self::Once(statement) => statement,
        }
    }
}

impl<'c> DerefMut for Prepared<'c> {
    fn deref_mut(&mut self) -> &mut Statement<'c> {
        match self {
            Self::Kept(statement) => statement,
            Self::Once(statement) => statement,
        }
    }
}
