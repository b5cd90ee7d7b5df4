//! The notices that were given.

use punchlist_model::Timestamp;
use punchlist_model::store::notices::kept_since;

use super::error::Failure;
use super::tx::Tx;
use super::values::params;

/// Records the keys. Returns whether nobody has recorded one of them before.
pub(crate) async fn first(tx: &Tx, keys: &[String], now: Timestamp) -> Result<bool, Failure> {
    let now = tx.now(now).get().await?;
    tx.run("DELETE FROM punchlist.notice WHERE at < $1", params![kept_since(now)]);
    let mut is_first = true;
    for key in keys {
        let row = tx.first(
            "INSERT INTO punchlist.notice(key, at) VALUES ($1, $2) ON CONFLICT DO NOTHING \
             RETURNING 1::int8",
            params![key, now],
        );
        is_first &= row.await?.is_some();
    }
    Ok(is_first)
}
