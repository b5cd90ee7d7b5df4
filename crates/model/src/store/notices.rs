//! Which notices were given: a person is told once, by whichever process is first.

use futures_core::future::BoxFuture;
use jiff::Timestamp;

use super::{Error, kept};

/// The store of the notices that were given.
pub trait NoticeStore: Send + Sync {
    /// Records that the notice with these keys is given. Returns whether nobody has recorded one of them
    /// before: of all processes that record the same keys, one gets `true`. Keys that were recorded more
    /// than [`KEPT_DAYS`] days before `now` are deleted.
    ///
    /// The keys are recorded together, in one transaction: if two processes recorded one key each, both
    /// would find that the other was first, and nobody would give the notice.
    fn first(&self, keys: Vec<String>, now: Timestamp) -> BoxFuture<'_, Result<bool, Error>>;
}

/// How many days a key is kept.
pub const KEPT_DAYS: i64 = 30;

/// Keys from before this time are deleted.
pub fn kept_since(now: Timestamp) -> Timestamp {
    let since = now.as_second().saturating_sub(KEPT_DAYS * 24 * 60 * 60);
    kept(Timestamp::from_second(since).unwrap_or(Timestamp::MIN))
}
