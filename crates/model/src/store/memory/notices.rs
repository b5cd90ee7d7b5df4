//! The notices that were given, in memory.

use futures_core::future::BoxFuture;
use jiff::Timestamp;

use super::Memory;
use crate::store::notices::{NoticeStore, kept_since};
use crate::store::{Error, kept};

impl NoticeStore for Memory {
    fn first(&self, keys: Vec<String>, now: Timestamp) -> BoxFuture<'_, Result<bool, Error>> {
        let since = kept_since(now);
        let mut state = self.state();
        state.notices.retain(|_, at| *at >= since);
        let is_first = !keys.iter().any(|key| state.notices.contains_key(key));
        for key in keys {
            state.notices.entry(key).or_insert(kept(now));
        }
        self.answer(Ok(is_first))
    }
}
