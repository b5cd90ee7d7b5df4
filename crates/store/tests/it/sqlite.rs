//! What the SQLite store promises beyond the contract.

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

/// A directory, and options for a database that does not exist yet.
fn place() -> (TempDir, Options) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("plans.db");
    (directory, Options { path, durability: Durability::Normal })
}

/// Opens the database as another program would.
fn outside(options: &Options) -> rusqlite::Connection {
    rusqlite::Connection::open(&options.path).unwrap()
}
