//! A test directory around one database, with the machine's real clock and random numbers.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::{Scale, postgres};
use crate::world::{Ran, World, finish};

pub(super) struct Place {
    pub(super) world: World,
    /// The database file, or the address of a database on a server.
    pub(super) db: PathBuf,
    /// The database's directory in the long form, removed at the end.
    _disk: Option<TempDir>,
    /// The database on a server, removed at the end.
    _server: Option<postgres::Database>,
}

impl Place {
    pub(super) fn new() -> Self {
        let world = World::new();
        // Short tests use memory if possible. The long form uses the disk.
        let disk = (Scale::look() != Scale::Short).then(|| tempfile::tempdir().unwrap());
        let db = match &disk {
            Some(disk) => disk.path().join("plans.db"),
            None => world.path("plans.db"),
        };
        Self { world, db, _disk: disk, _server: None }
    }

    /// A test directory for a database elsewhere.
    pub(super) fn around(db: PathBuf) -> Self {
        Self { world: World::new(), db, _disk: None, _server: None }
    }

    /// A test directory for a database on a server.
    pub(super) fn on(database: postgres::Database) -> Self {
        let db = PathBuf::from(&database.0);
        Self { _server: Some(database), ..Self::around(db) }
    }

    /// The program, on this database.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.command("project");
        command
            .env_remove("PUNCHLIST_NOW")
            .env_remove("PUNCHLIST_SEED")
            .env("PUNCHLIST_DB", &self.db)
            .args(["-c", "limits.open_items=1000000"])
            .args(arguments);
        command
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "")
    }

    pub(super) fn run_with(&self, arguments: &[&str], stdin: &str) -> Ran {
        finish(self.command(arguments), stdin.as_bytes())
    }
}
