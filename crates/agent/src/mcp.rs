//! The MCP client: servers of the user and of the project, and their tools.
//!
//! [`connect`] takes the configured servers and starts nothing. The first [`Servers::tools`] starts or
//! connects to all of them at the same time; a server that is slow, broken or hostile becomes a line in
//! [`Servers::report`] and holds up nobody. Everything that a server says is data: names are cleaned,
//! texts and schemas are bounded, and whatever a server claims of its tools, the policy decides about
//! each call.
//!
//! `config` reads the user's settings, `project` the project's `.mcp.json`, and `editor` what an editor
//! offers. The servers of the last two are `foreign`: each needs a person's consent.

mod announced;
mod config;
mod connection;
mod consent;
mod editor;
mod foreign;
mod http;
mod names;
mod project;
mod results;
mod server;
mod stdio;
mod template;
#[cfg(test)]
mod tests;
mod tool;
mod words;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use punchlist_sched::{Processes, Tool};
use tokio::task::JoinSet;
use tokio::time::Instant;

pub use config::{Launch, ServerConfig};
pub use consent::ServerConsents;
pub use foreign::{ForeignServer, ForeignServers, Origin};
pub use project::FILE;
use server::Server;
pub use template::Template;
use tool::McpTool;

/// The value of a variable of the environment.
pub type FindVariable = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The output of a command, or why it failed.
pub type RunCommand = dyn Fn(&str) -> Result<String, String> + Send + Sync;

/// How values of variables and the outputs of commands are looked up: this crate reads no environment.
#[derive(Clone)]
pub struct Lookup {
    /// Finds a variable.
    pub variable: Arc<FindVariable>,
    /// Runs a command. May block.
    pub command: Arc<RunCommand>,
}

/// The options of the client.
#[derive(Clone)]
pub struct Options {
    /// The project's root: servers run here, and it is the root that they are told.
    pub root: PathBuf,
    /// Starts the servers that are programs.
    pub processes: Processes,
    /// The user's environment. Servers get only a few harmless variables of it.
    pub environment: Vec<(OsString, OsString)>,
    /// How values in a server's configuration are looked up.
    pub lookup: Lookup,
    /// How long the first [`Servers::tools`] waits for all servers. Those that take longer are there
    /// later.
    pub first_wait: Duration,
    /// How long a server may take to start, unless its configuration has a timeout.
    pub start_timeout: Duration,
    /// How long a call may take, unless the server's configuration has a timeout.
    pub call_timeout: Duration,
}

impl Options {
    /// Options with the usual limits of time.
    pub fn new(root: PathBuf, processes: Processes, lookup: Lookup) -> Self {
        Self {
            root,
            processes,
            environment: Vec::new(),
            lookup,
            first_wait: Duration::from_secs(5),
            start_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(120),
        }
    }
}

/// How a server stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Not started yet, or starting.
    Waiting,
    /// Connected.
    Connected,
    /// Not to be started.
    Off,
    /// It could not be started, or is gone.
    Failed,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting => "starting",
            Self::Connected => "connected",
            Self::Off => "not started",
            Self::Failed => "failed",
        })
    }
}

/// A server, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerState {
    /// Its name.
    pub name: String,
    /// How it stands.
    pub status: Status,
    /// The tools that models get, by their full names.
    pub tools: Vec<String>,
    /// Why it is not connected, or what was left out of its tools.
    pub why: Option<String>,
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MCP server {}: {}", self.name, self.status)?;
        if self.status == Status::Connected {
            let count = self.tools.len();
            write!(f, ", {count} {}", if count == 1 { "tool" } else { "tools" })?;
        }
        self.why.iter().try_for_each(|why| write!(f, ": {why}"))
    }
}

/// The servers of a session.
pub struct Servers {
    servers: Vec<Arc<Server>>,
    first_wait: Duration,
    /// The tasks that connect to servers.
    starting: Mutex<Starting>,
}

enum Starting {
    /// Nobody has asked for tools.
    NotYet,
    /// Tools were first asked for; how long to wait for them.
    Begun { _tasks: JoinSet<()>, until: Instant },
    /// The session is over.
    Over,
}

/// Takes the configured servers. Nothing is started before tools are asked for. Of two servers with
/// one name the first counts.
pub fn connect(configs: Vec<ServerConfig>, options: Options) -> Servers {
    let first_wait = options.first_wait;
    let options = Arc::new(options);
    let mut names = BTreeSet::new();
    let servers = configs.into_iter().map(|mut config| {
        if !names.insert(config.name.clone()) {
            config.launch = Launch::Not("another server has that name already".to_owned());
        }
        Arc::new(Server::new(config, Arc::clone(&options)))
    });
    let servers = servers.collect();
    Servers { servers, first_wait, starting: Mutex::new(Starting::NotYet) }
}

impl Servers {
    /// No servers.
    pub fn none() -> Self {
        let starting = Mutex::new(Starting::NotYet);
        Self { servers: Vec::new(), first_wait: Duration::ZERO, starting }
    }

    /// The tools of all servers as they are now. Starts the servers the first time; asks those again
    /// whose tools have changed since.
    pub async fn tools(&self) -> Vec<Arc<dyn Tool>> {
        if let Some(until) = self.begin() {
            let all = join_all(self.servers.iter().map(|it| it.settled()));
            // Whoever is late is there the next time.
            drop(tokio::time::timeout_at(until, all).await);
        }
        join_all(self.servers.iter().map(|it| it.refresh())).await;
        let mut taken = BTreeSet::new();
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for server in &self.servers {
            let mut names = Vec::new();
            for announced in server.announced() {
                let name = names::full(server.name(), &announced.name, &taken);
                if taken.insert(name.clone()) {
                    names.push(name.clone());
                    tools.push(Arc::new(McpTool::new(name, announced, Arc::clone(server))));
                }
            }
            server.offer(names);
        }
        tools
    }

    /// How each server stands.
    pub fn report(&self) -> Vec<ServerState> {
        self.servers.iter().map(|it| it.state()).collect()
    }

    /// The last lines that a server printed on its error output.
    pub fn log(&self, server: &str) -> Option<String> {
        self.servers.iter().find(|it| it.name() == server).map(|it| it.log())
    }

    /// Ends all connections, and the servers that were started. Calls that still run fail.
    pub async fn shut_down(&self) {
        // Dropping the tasks stops those that still connect.
        drop(std::mem::replace(&mut *self.starting(), Starting::Over));
        join_all(self.servers.iter().map(|it| it.shut_down())).await;
    }

    /// Starts connecting, the first time. Returns until when to wait for it.
    fn begin(&self) -> Option<Instant> {
        let mut starting = self.starting();
        if matches!(*starting, Starting::NotYet) {
            let mut tasks = JoinSet::new();
            for server in &self.servers {
                let server = Arc::clone(server);
                tasks.spawn(async move { server.start().await });
            }
            *starting = Starting::Begun { _tasks: tasks, until: Instant::now() + self.first_wait };
        }
        match &*starting {
            Starting::Begun { until, .. } => Some(*until),
            Starting::NotYet | Starting::Over => None,
        }
    }

    fn starting(&self) -> std::sync::MutexGuard<'_, Starting> {
        self.starting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
