//! What SQLite promises beyond the contract.

mod crash;
mod files;
mod random;
mod read_only;
mod reads;
mod replaced;
mod view;
mod writers;

use punchlist_store::{Durability, Options};
use tempfile::TempDir;

/// A place for a database that is not there yet.
fn place() -> (TempDir, Options) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("plans.db");
    (directory, Options { path, durability: Durability::Normal })
}

/// What another program sees of a database.
fn outside(options: &Options) -> rusqlite::Connection {
    rusqlite::Connection::open(&options.path).unwrap()
}
