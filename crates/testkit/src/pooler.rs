//! pgbouncer in transaction mode in front of a PostgreSQL server of its own, for tests.
//!
//! `cargo xtask test postgres` finds both, and names pgbouncer in the environment variable
//! `PUNCHLIST_TEST_PGBOUNCER`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::postgres::{Server, Setup, own, query, unprivileged};

/// How long the pooler may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// A pooler in front of a server with a database `plans`.
#[derive(Debug)]
pub struct Pooler {
    child: Child,
    directory: TempDir,
    /// The server behind it.
    pub server: Server,
}

impl Pooler {
    /// Starts both. `program` is pgbouncer, `programs` the directory of the server's programs.
    ///
    /// # Panics
    ///
    /// If that is not possible.
    #[must_use]
    pub fn start(program: &Path, programs: &Path) -> Self {
        let server = Server::start(programs, Setup::default());
        server.query("postgres", "CREATE DATABASE plans").expect("a database");
        let directory = TempDir::with_prefix("pl-pb-").expect("a temporary directory");
        let config = format!(
            "[databases]\nplans = host={} port={} user=postgres\n[pgbouncer]\npool_mode = transaction\n\
             listen_addr =\nlisten_port = 6432\nunix_socket_dir = {}\nauth_type = any\n\
             default_pool_size = 3\nmax_client_conn = 200\n",
            server.socket_directory().display(),
            server.port(),
            directory.path().display(),
        );
        let file = directory.path().join("pgbouncer.ini");
        fs::write(&file, config).expect("a configuration");
        own(directory.path());
        own(&file);
        let mut command = Command::new(program);
        unprivileged(&mut command);
        command.arg(&file).current_dir(directory.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("pgbouncer starts");
        let pooler = Self { child, directory, server };
        let deadline = Instant::now() + PATIENCE;
        while query(&pooler.address(), "SELECT 1").is_err() {
            assert!(Instant::now() < deadline, "the pooler does not start");
            thread::sleep(Duration::from_millis(20));
        }
        pooler
    }

    /// The address of the database, through the pooler.
    #[must_use]
    pub fn address(&self) -> String {
        format!("postgres://postgres@/plans?host={}&port=6432", self.directory.path().display())
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
