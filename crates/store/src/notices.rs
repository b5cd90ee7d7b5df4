//! The notices that were given.

use futures_core::future::BoxFuture;
use punchlist_model::Timestamp;
use punchlist_model::store::notices::{NoticeStore, kept_since};
use punchlist_model::store::{Error, kept};
use rusqlite::{Connection, params};

use crate::load::Failure;
use crate::rows::millis;
use crate::{Sqlite, Threaded};

impl NoticeStore for Sqlite {
    fn first(&self, keys: Vec<String>, now: Timestamp) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(async move { self.write(|conn| first(conn, &keys, now)) })
    }
}

impl NoticeStore for Threaded {
    fn first(&self, keys: Vec<String>, now: Timestamp) -> BoxFuture<'_, Result<bool, Error>> {
        self.write(move |store| store.first(keys, now))
    }
}

/// Records the keys. Returns whether nobody has recorded one of them before.
fn first(conn: &Connection, keys: &[String], now: Timestamp) -> Result<bool, Failure> {
    let mut delete = conn.prepare_cached("DELETE FROM notice WHERE at < ?1")?;
    delete.execute([millis(kept_since(now))])?;
    let mut insert =
        conn.prepare_cached("INSERT INTO notice(key, at) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
    let mut is_first = true;
    for key in keys {
        is_first &= insert.execute(params![key, millis(kept(now))])? == 1;
    }
    Ok(is_first)
}
