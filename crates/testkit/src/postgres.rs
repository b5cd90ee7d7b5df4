//! A real PostgreSQL server for tests, in a temporary directory, and a database for each test.
//!
//! `cargo xtask test postgres` finds the server's programs and names their directory in the environment
//! variable `PUNCHLIST_TEST_POSTGRES`. A server refuses to run as root, so then it runs as an
//! unprivileged user. It ends with the process that started it, however that ends.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio_postgres::NoTls;

use crate::network::{Host, entering};

/// How long a server may take to start or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// The user that runs the server if the tests run as root: `nobody`.
const UNPRIVILEGED: u32 = 65534;

/// Ends the server when the input ends: when the process that started it ends. Then removes the
/// directory in the first argument, if there is one.
const SUPERVISE: &str = "dir=$1; shift; \"$@\" & pid=$!; cat > /dev/null; \
    kill -QUIT $pid 2> /dev/null; wait $pid; [ -z \"$dir\" ] || rm -rf \"$dir\"";

/// A server.
#[derive(Debug)]
pub struct Server {
    programs: PathBuf,
    directory: TempDir,
    port: u16,
    settings: Vec<String>,
    /// The network namespace that it runs in, if it is not this process's.
    namespace: Option<String>,
    supervisor: Option<Child>,
    /// It lasts as long as the process, and nobody drops it.
    is_shared: bool,
}

/// How a server is set up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setup<'a> {
    /// Settings, each `name=value`.
    pub settings: &'a [&'a str],
    /// Listens on loopback as well, and wants passwords there.
    pub on_loopback: bool,
    /// The certificate and the key of the server.
    pub tls: Option<(&'a Path, &'a Path)>,
    /// Whether a commit waits for the disk.
    pub fsync: bool,
    /// Runs on this host, and lets everybody in its network in. Needs root.
    pub host: Option<&'a Host>,
}

/// The databases so far.
static DATABASES: AtomicU32 = AtomicU32::new(1);

/// The server that the tests of one process share.
static SHARED: OnceLock<Server> = OnceLock::new();

/// The address of a new, empty database on the server that the tests of one process share. `programs`
/// is the directory of `initdb` and `postgres`.
pub fn database(programs: &Path) -> String {
    shared(programs).database()
}

/// The server that the tests of one process share.
pub fn shared(programs: &Path) -> &'static Server {
    let start = || {
        let mut server = Server::prepare(programs, Setup::default());
        server.is_shared = true;
        server.run();
        server
    };
    SHARED.get_or_init(start)
}

impl Server {
    /// Makes and starts a server with the programs in a directory.
    ///
    /// # Panics
    ///
    /// If that is not possible.
    pub fn start(programs: &Path, setup: Setup<'_>) -> Self {
        let mut server = Self::prepare(programs, setup);
        server.run();
        server
    }

    /// Makes and starts a standby, which gets all changes of a server at this address and port.
    ///
    /// # Panics
    ///
    /// If that is not possible.
    pub fn start_standby(primary: &Self, address: &str, setup: Setup<'_>) -> Self {
        let mut standby = Self::lay_out(&primary.programs, setup);
        let copied = standby
            .program("pg_basebackup")
            .args(["-U", "postgres", "-X", "stream", "-c", "fast", "--write-recovery-conf", "-h"])
            .arg(primary.socket_directory())
            .args(["-p", &primary.port.to_string(), "-D"])
            .arg(standby.data())
            .output()
            .expect("pg_basebackup runs");
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        let port = primary.port;
        let from = format!("host={address} port={port} user=postgres application_name=standby");
        standby.settings.push(format!("primary_conninfo={from}"));
        standby.run();
        standby
    }

    fn prepare(programs: &Path, setup: Setup<'_>) -> Self {
        let mut server = Self::lay_out(programs, setup);
        server.init(setup.on_loopback);
        if let Some(host) = setup.host {
            let rules = server.data().join("pg_hba.conf");
            let mut text = fs::read_to_string(&rules).expect("access rules");
            for what in ["all", "replication"] {
                text.push_str(&format!("host {what} all {} trust\n", host.network));
            }
            fs::write(&rules, text).expect("access rules");
        }
        if let Some((certificate, key)) = setup.tls {
            for (from, name) in [(certificate, "server.crt"), (key, "server.key")] {
                let to = server.data().join(name);
                fs::copy(from, &to).expect("a certificate");
                fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).expect("permissions");
                own(&to);
            }
            server.settings.push("ssl=on".to_owned());
        }
        server
    }

    /// A server with a directory and settings, and without data.
    fn lay_out(programs: &Path, setup: Setup<'_>) -> Self {
        let programs = programs.to_owned();
        let directory = TempDir::with_prefix("pl-pg-").expect("a temporary directory");
        let port = if setup.on_loopback { free_port() } else { 5432 };
        let loopback = if setup.on_loopback { "127.0.0.1" } else { "" };
        let listens = setup.host.map_or(loopback, |it| &it.address);
        let mut settings: Vec<String> = [
            format!("port={port}"),
            format!("unix_socket_directories={}", directory.path().display()),
            format!("listen_addresses={listens}"),
            format!("fsync={}", if setup.fsync { "on" } else { "off" }),
            "max_connections=300".to_owned(),
            "shared_buffers=64MB".to_owned(),
            "log_min_messages=fatal".to_owned(),
        ]
        .into();
        settings.extend(setup.settings.iter().map(|it| (*it).to_owned()));
        let namespace = setup.host.map(|it| it.namespace.clone());
        let (supervisor, is_shared) = (None, false);
        let server = Self { programs, directory, port, settings, namespace, supervisor, is_shared };
        own(server.directory.path());
        server
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// A program of the server, run as a user that may run it.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(self.directory.path()).stdin(Stdio::null());
        unprivileged(&mut command);
        command
    }

    fn init(&self, passwords: bool) {
        let host = if passwords { "scram-sha-256" } else { "trust" };
        let made = self
            .program("initdb")
            .args(["-N", "-U", "postgres", "--no-locale", "-E", "UTF8", "--auth-local=trust"])
            .arg(format!("--auth-host={host}"))
            .arg("-D")
            .arg(self.data())
            .output()
            .expect("initdb runs");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
    }

    /// Starts the server, after it was made or killed.
    pub fn run(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut command = self.shell();
            let removed = if self.is_shared { self.directory.path() } else { Path::new("") };
            command.args(["-c", SUPERVISE, "sh"]).arg(removed);
            command.arg(self.programs.join("postgres"));
            command.arg("-D").arg(self.data()).current_dir(self.directory.path());
            for setting in &self.settings {
                command.arg("-c").arg(setting);
            }
            let log = fs::File::create(self.directory.path().join("log")).expect("a log");
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
            self.supervisor = Some(command.spawn().expect("the server starts"));
            // A server that was killed may need a moment until its processes are gone; then the next
            // one starts.
            while Instant::now() < deadline {
                if self.query("postgres", "SELECT 1").is_ok() {
                    return;
                }
                if !self.is_running() && self.pid().is_none() {
                    break;
                }
                thread::sleep(Duration::from_millis(20));
                if self.has_given_up() {
                    break;
                }
            }
            let log = fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "the server does not start: {log}");
            self.end_supervisor();
        }
    }

    /// A shell that runs as a user that may run the server, on the server's host.
    fn shell(&self) -> Command {
        let Some(namespace) = &self.namespace else {
            let mut command = Command::new("sh");
            unprivileged(&mut command);
            return command;
        };
        // Only root may enter a namespace, so the user changes there.
        let mut command = entering(namespace);
        let user = UNPRIVILEGED.to_string();
        command.args(["setpriv", "--reuid", &user, "--regid", &user, "--clear-groups", "sh"]);
        command
    }

    /// Whether the server refused to start.
    fn has_given_up(&self) -> bool {
        let log = fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        log.contains("FATAL:  pre-existing shared memory") || log.contains("FATAL:  lock file")
    }

    fn is_running(&mut self) -> bool {
        self.supervisor.as_mut().is_some_and(|it| it.try_wait().is_ok_and(|it| it.is_none()))
    }

    fn end_supervisor(&mut self) {
        if let Some(mut supervisor) = self.supervisor.take() {
            drop(supervisor.stdin.take());
            // It ends with its input.
            supervisor.wait().ok();
        }
    }

    /// The process of the server, if it runs.
    pub fn pid(&self) -> Option<u32> {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        let pid = file.lines().next()?.trim().parse().ok()?;
        Path::new("/proc").join(format!("{pid}")).exists().then_some(pid)
    }

    /// Kills the server as a crash would. [`Self::run`] starts it again.
    pub fn kill(&mut self) {
        if let Some(pid) = self.pid() {
            let pid = pid.to_string();
            Command::new("kill").args(["-9", &pid]).status().expect("kill runs");
        }
        self.end_supervisor();
    }

    /// The address of a database, over the socket.
    pub fn address(&self, database: &str) -> String {
        let directory = self.directory.path().display();
        format!("postgres://postgres@/{database}?host={directory}&port={}", self.port)
    }

    /// The directory of the socket.
    pub fn socket_directory(&self) -> &Path {
        self.directory.path()
    }

    /// The port, on loopback and in the name of the socket.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of a new, empty database.
    pub fn database(&self) -> String {
        let name = format!("t{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        self.query("postgres", &format!("CREATE DATABASE {name}")).expect("a database");
        self.address(&name)
    }

    /// Whether a text is in a file of a table. What is in the log of the server's writes does not count.
    pub fn tables_contain(&self, text: &str) -> bool {
        self.files_contain("base", text)
    }

    /// Whether a text is in a file of a directory in the server's data.
    pub fn files_contain(&self, directory: &str, text: &str) -> bool {
        let mut directories = vec![self.data().join(directory)];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    directories.push(path);
                } else if fs::read(&path).is_ok_and(|it| contains(&it, text.as_bytes())) {
                    return true;
                }
            }
        }
        false
    }

    /// Sends statements to a database, and returns the first column of the last one's rows.
    ///
    /// # Errors
    ///
    /// In the server's words.
    pub fn query(&self, database: &str, sql: &str) -> Result<Vec<String>, String> {
        query(&self.address(database), sql)
    }
}

/// Sends statements to the database at an address, and returns the first column of their rows.
///
/// # Errors
///
/// In the server's words.
pub fn query(address: &str, sql: &str) -> Result<Vec<String>, String> {
    let (address, sql) = (address.to_owned(), sql.to_owned());
    let said = |error: tokio_postgres::Error| match error.as_db_error() {
        Some(it) => it.message().to_owned(),
        None => error.to_string(),
    };
    // A thread of its own: the caller may be in a runtime.
    let work = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| error.to_string())?.block_on(async move {
            let (client, connection) =
                tokio_postgres::connect(&address, NoTls).await.map_err(said)?;
            let driver = tokio::spawn(connection);
            let rows = client.simple_query(&sql).await.map_err(said)?;
            drop(client);
            driver.await.ok();
            Ok(rows
                .iter()
                .filter_map(|message| {
                    let tokio_postgres::SimpleQueryMessage::Row(row) = message else { return None };
                    row.get(0).map(str::to_owned)
                })
                .collect())
        })
    });
    work.join().map_err(|_| "the query panicked".to_owned())?
}

/// A transaction that is not committed yet.
#[derive(Debug)]
pub struct Held {
    commit: std::sync::mpsc::Sender<()>,
    work: thread::JoinHandle<Result<(), String>>,
}

impl Held {
    /// Begins a transaction with these statements, and waits until they are done.
    ///
    /// # Panics
    ///
    /// If they cannot be done.
    pub fn begin(address: &str, sql: &str) -> Self {
        let (address, sql) = (address.to_owned(), format!("BEGIN; {sql}"));
        let (commit, may_commit) = std::sync::mpsc::channel();
        let (begun, has_begun) = std::sync::mpsc::channel();
        let work = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .map_err(|error| error.to_string())?;
            runtime.block_on(async move {
                let said = |error: tokio_postgres::Error| error.to_string();
                let (client, connection) =
                    tokio_postgres::connect(&address, NoTls).await.map_err(said)?;
                let driver = tokio::spawn(connection);
                client.batch_execute(&sql).await.map_err(said)?;
                begun.send(()).ok();
                // The driver runs on a thread of its own meanwhile.
                may_commit.recv().ok();
                client.batch_execute("COMMIT").await.map_err(said)?;
                drop(client);
                driver.await.ok();
                Ok(())
            })
        });
        has_begun.recv().expect("the statements are done");
        Self { commit, work }
    }

    /// Commits.
    ///
    /// # Panics
    ///
    /// If that fails.
    pub fn commit(self) {
        self.commit.send(()).ok();
        self.work.join().expect("no panic").expect("a commit");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end_supervisor();
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|it| it == part)
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

/// Gives a path to the user that runs the server.
pub(crate) fn own(path: &Path) {
    if is_root() {
        chown(path, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).expect("another owner");
    }
}

/// Runs a command as a user that may run the server.
pub(crate) fn unprivileged(command: &mut Command) {
    if is_root() {
        command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    }
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    let bound: io::Result<u16> =
        TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).map(|it| it.port());
    bound.expect("a port")
}
