//! `doctor`: examines what is set up and whether it works: agents, settings, hooks, databases.
//!
//! An [`Examination`] only reads and changes nothing. `bridge` reads the agents' own files and
//! calls the installed hooks and servers; the rest is here. [`Diagnosis`] holds the findings for a
//! front end.

mod diagnosis;
mod files;
mod server;
mod settings;
mod stores;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use punchlist_bridge::doctor::{self, Finding, locks};
use punchlist_bridge::install::{self, Scope};
use punchlist_bridge::process::{Fate, fate};
use punchlist_formats::hook::Agent;
use punchlist_model::session::{SessionFilter, Store};
use punchlist_model::store::maintenance::ServerFacts;
use punchlist_model::{Session, Timestamp};

use crate::fail::{ASK_USER, Fail};
use crate::places::Places;
use crate::policy::human::CalledBy;
use crate::policy::trusted_files::TrustedFiles;
use crate::project::Project;
use crate::settings::Settings;

pub use diagnosis::{Diagnosis, Part};

/// Timeout for an agent's program, our hook and our server.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a writer may hold the lock of a database before this is reported.
const LOCK_TIMEOUT: Duration = Duration::from_millis(1500);

/// What is examined.
#[expect(missing_debug_implementations, reason = "functions have nothing to show")]
pub struct Examination<'a> {
    /// The agents, in the order of the report.
    pub agents: Vec<AgentToExamine>,
    /// The project that the call is made in.
    pub project: &'a Project,
    /// The settings, or why they cannot be read.
    pub settings: Result<&'a Settings, Fail>,
    /// The database that verbs use here: a file, or the address of a server.
    pub database: &'a Path,
    /// Where this machine keeps its own files about that database: beside it, or for a server elsewhere.
    pub beside: &'a Path,
    /// How databases are opened.
    pub stores: Stores<'a>,
    /// Who calls, and where.
    pub call: CallFacts<'a>,
}

/// An agent that is examined.
#[derive(Clone, Debug)]
pub struct AgentToExamine {
    /// The options of an installation for the user.
    pub install: install::Options,
    /// The agent's program, if it is installed.
    pub program: Option<PathBuf>,
}

/// Opens a database.
pub type OpenStore<'a> = &'a dyn Fn(&Path) -> Result<Arc<dyn Store>, Fail>;

/// Opens databases for an examination.
#[expect(missing_debug_implementations, reason = "functions have nothing to show")]
#[derive(Clone, Copy)]
pub struct Stores<'a> {
    /// Opens the database that verbs use here, to read; `None` if there is none.
    pub current: &'a dyn Fn() -> Result<Option<Arc<dyn Store>>, Fail>,
    /// Opens any database that exists, to read and write.
    pub open: OpenStore<'a>,
    /// Examines a server; `None` if the database is a file.
    pub server: ExamineServer<'a>,
}

/// Examines the server of a database.
pub type ExamineServer<'a> = &'a dyn Fn(&Path) -> Result<Option<ServerFacts>, Fail>;

/// Whether a database is on a server.
fn is_on_server(database: &Path) -> bool {
    database.to_str().is_some_and(|it| it.contains("://"))
}

/// Who calls the doctor, and where.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    /// The version of this program.
    pub version: &'a str,
    /// The host name of this machine.
    pub host: &'a str,
    /// The time of the call.
    pub now: Timestamp,
    /// Who makes the call.
    pub called_by: CalledBy,
    /// The user's directories, if known.
    pub places: Option<&'a Places>,
}

/// The databases that an agent uses.
struct AgentDatabases {
    agent: Agent,
    /// The databases of the agent's hooks and servers. The first is the one that its tools use
    /// here.
    databases: Vec<PathBuf>,
    /// Whether entries for this project name the first database.
    is_for_project: bool,
    /// Whether the project's settings are also the user's, as in the home directory.
    is_shared: bool,
}

impl Examination<'_> {
    /// Examines everything. Runs the agents' programs and the installed hooks and servers, and
    /// waits for them.
    pub async fn run(self) -> Result<Diagnosis, Fail> {
        let mut parts = Vec::new();
        let mut used = Vec::new();
        let mut hooks = vec![self.configuration()];
        hooks.extend(self.loosening());
        let running = self.running().await;
        for agent in &self.agents {
            let (part, databases) = self.agent(agent, &running);
            parts.push(part);
            used.push(databases);
        }
        hooks.extend(self.failures());
        let mut stores = self.stores(&used).await?;
        stores.extend(self.outputs());
        let databases = used.iter().flat_map(|it| &it.databases).map(PathBuf::as_path);
        hooks.extend(self.spooled(databases.chain([self.beside])));
        parts.push(Part { of: "hooks", findings: hooks });
        parts.push(Part { of: "store", findings: stores });
        parts.extend(self.rules().map(|it| Part { of: "policy", findings: vec![it] }));
        if self.call.called_by.is_agent() {
            parts.iter_mut().flat_map(|it| &mut it.findings).for_each(ask_user);
        }
        Ok(Diagnosis { parts })
    }

    /// Examines one agent. Returns its findings and the databases that it uses.
    fn agent(&self, agent: &AgentToExamine, running: &[(String, u32)]) -> (Part, AgentDatabases) {
        let kind = agent.install.agent;
        let is_it = |it: &&(String, u32)| it.0 == kind.as_str();
        let report = doctor::agent(&doctor::Options {
            install: agent.install.clone(),
            program: agent.program.clone(),
            version: self.call.version.to_owned(),
            directory: self.project.root.clone(),
            patience: PROGRAM_TIMEOUT,
            running: running.iter().filter(is_it).map(|it| it.1).collect(),
        });
        let is_broken = !doctor::is_well(&report.findings);
        let findings = if agent.program.is_some() || report.is_wired || is_broken {
            report.findings
        } else {
            let said = format!("{} is not on this machine", kind.title());
            vec![Finding::absent("program", said)]
        };
        let scope = Scope::Project(self.project.root.clone());
        let used = AgentDatabases {
            agent: kind,
            databases: report.databases,
            is_for_project: report.is_for_project,
            is_shared: install::Options { scope, ..agent.install.clone() }.is_shared(),
        };
        (Part { of: kind.as_str(), findings }, used)
    }

    /// The agents' processes that are running and have sessions here, with the agent's name.
    async fn running(&self) -> Vec<(String, u32)> {
        // A database that cannot be read is reported later.
        let is_free = is_on_server(self.database)
            || self.database.exists() && locks::look(self.database, LOCK_TIMEOUT).is_none();
        if !is_free {
            return Vec::new();
        }
        let Ok(Some(store)) = (self.stores.current)() else { return Vec::new() };
        let filter = SessionFilter { running: true, most: Some(100), ..SessionFilter::default() };
        let sessions = store.sessions(filter).await.unwrap_or_default();
        let pid = |session: Session| {
            let runs = |it: &punchlist_model::Process| fate(self.call.host, it) == Fate::Runs;
            let process = session.process.filter(runs)?;
            Some((session.key.agent, process.pid))
        };
        sessions.into_iter().filter_map(pid).collect()
    }

    fn trusted_files(&self) -> TrustedFiles {
        let data = self.call.places.map(|it| it.data.clone());
        TrustedFiles { data, called_by: self.call.called_by }
    }
}

/// Replaces a fix that only a person may apply, if an agent reads the report.
fn ask_user(finding: &mut Finding) {
    const PERSONS: [&str; 4] =
        ["punchlist install", "punchlist uninstall", "punchlist init", "config.toml"];
    if let Some(fix) = &mut finding.fix
        && PERSONS.iter().any(|it| fix.contains(it))
    {
        ASK_USER.clone_into(fix);
    }
}

/// A size in readable units.
fn size(bytes: u64) -> String {
    match bytes {
        bytes @ 0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        bytes => format!("{} MB", bytes.div_ceil(1_000_000)),
    }
}

/// The plural ending for this number.
fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
