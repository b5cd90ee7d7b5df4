//! The last text of a session of our own agent, from the store.

use punchlist_agent::session::listing;
use punchlist_model::session::Store;

/// The last text of the session of a row; `None` if there is none or it cannot be read.
pub(super) async fn last(store: &dyn Store, row: &str) -> Option<String> {
    let id = row.split('/').nth(1)?.parse().ok()?;
    listing::last_text(store, id).await
}
