//! The store on SQLite, and its migrations.
//!
//! A store loads, calls [`punchlist_model::decide()`] and writes, in one transaction. It contains
//! no rule and uses no environment and no random numbers. It uses a clock only for timeouts; all
//! other times come from the caller. This is the only crate that contains SQL.
//!
//! [`Sqlite`] works in the caller's thread and needs no runtime; [`Threaded`] gives the same store
//! its own threads, for servers. A store that stays open reads through a second connection, so that
//! its reads do not wait for its writes.

#![forbid(unsafe_code)]

mod access;
mod attachments;
mod bell;
mod calls;
mod changes;
mod columns;
mod conversations;
mod disk;
mod error;
mod events;
mod follow;
mod group;
mod identity;
mod journal;
mod legacy;
mod load;
mod maintenance;
mod messages;
mod migrate;
mod moved;
mod notices;
mod open;
mod plans;
pub mod postgres;
mod questions;
mod reads;
mod rows;
mod save;
mod scrub;
mod sessions;
mod shared_work;
mod sqlite;
#[cfg(test)]
mod tests;
mod threaded;
mod turn_entries;
mod turn_store;
pub mod turns;
mod waiting;
mod work;

pub use open::Options;
pub use punchlist_model::store::Durability;
pub use sqlite::Sqlite;
pub use threaded::Threaded;
pub use waiting::{Waiting, set_waiting};

use std::path::PathBuf;
use std::sync::Arc;

use punchlist_model::session::Store;
use punchlist_model::store::Error;

/// Opens the store in this file, with threads of its own and the defaults of [`Options`]. Creates the file if
/// there is none.
pub fn sqlite(path: impl Into<PathBuf>) -> Result<Arc<dyn Store>, Error> {
    Ok(Arc::new(Threaded::open(&Options::new(path))?))
}
