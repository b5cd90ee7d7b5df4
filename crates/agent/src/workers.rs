//! Workers: who does an item that the agent delegates.
//!
//! A worker is our own loop with a model ([`model`]), the program of another agent ([`program`]), any
//! agent that speaks the Agent Client Protocol ([`acp`]) or a command ([`shell`]). [`config`] reads
//! what the user configured, [`Workers`] has them by name, and [`delegate`] is the tool by which the
//! agent gives an item to one.
//!
//! A worker gets a task and nothing of the plan. However it ends, the end is an [`Outcome`]: a worker
//! that dies, hangs or prints nonsense is never an error of ours. Its processes are started through
//! [`Work`], so they end with the call and with this program.

pub mod acp;
pub mod config;
pub mod delegate;
pub mod left_running;
pub mod model;
pub mod outcome;
pub mod program;
pub mod shell;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use punchlist_engine::workers::Agent;
use punchlist_engine::workers::worktree::{Left, Worktree};
use punchlist_model::store::turns::Used;
use punchlist_model::{ListEntry, Number};
use punchlist_sched::Work;

use acp::{AcpWorker, Approver};
pub use config::{WorkerConfig, WorkerKind};
use model::{ModelRunner, ModelWorker};
pub(crate) use outcome::used;
pub use outcome::{Outcome, WorkerEnd};
use program::ProgramWorker;
use shell::ShellWorker;

/// One task for a worker.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Task {
    /// The item of the plan, if there is one.
    pub item: Option<Number>,
    /// What to do. The first line is a title.
    pub task: String,
    /// What the worker needs to know; may be empty.
    pub context: String,
    /// When it is done; may be empty.
    pub criteria: String,
    /// Where to work.
    pub directory: PathBuf,
}

impl Task {
    /// The first line of the task.
    pub fn title(&self) -> &str {
        self.task.trim().lines().next().unwrap_or_default()
    }

    /// The further lines of the task, and the context.
    pub fn details(&self) -> String {
        let rest = self.task.trim().split_once('\n').map_or("", |it| it.1.trim());
        let parts = [rest, self.context.trim()].into_iter().filter(|it| !it.is_empty());
        parts.collect::<Vec<_>>().join("\n\n")
    }
}

/// What is heard of a worker while it works.
#[derive(Clone, PartialEq, Debug)]
pub enum WorkerEvent {
    /// What it does, in a few words.
    Doing(String),
    /// The whole list that it keeps for itself.
    List(Vec<ListEntry>),
    /// Its id of its session.
    Session(String),
    /// What it has used so far, in all.
    Used(Used),
}

/// Receives the events of a worker.
pub type Listener<'a> = dyn Fn(WorkerEvent) + Send + Sync + 'a;

/// Somebody who does tasks.
pub trait Worker: Send + Sync {
    /// Does a task. Stops soon when `work` must stop; then and when the future is dropped, whatever
    /// it started is ended.
    fn run<'a>(
        &'a self,
        task: &'a Task,
        work: &'a Work,
        listener: &'a Listener<'a>,
    ) -> BoxFuture<'a, Outcome>;
}

/// What workers need from the program that runs them.
#[derive(Clone)]
pub struct WorkerOptions {
    /// The project's root.
    pub root: PathBuf,
    /// The variables of workers' programs.
    pub environment: ProgramEnvironment,
    /// Where worktrees are made; beside the repository if this is `None`.
    pub worktrees: Option<PathBuf>,
    /// Runs our own loop, for workers of the kind `model`.
    pub models: Arc<dyn ModelRunner>,
    /// Decides what agents may do that ask for it over the Agent Client Protocol.
    pub approver: Arc<dyn Approver>,
    /// The current time.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// The user's time zone, in which programs say when a usage limit ends.
    pub time_zone: TimeZone,
}

impl WorkerOptions {
    /// The environment of a worker's programs.
    pub(crate) fn environment_of(&self, config: &WorkerConfig) -> Vec<(OsString, OsString)> {
        let agent = match &config.kind {
            WorkerKind::Program { agent, .. } => Some(*agent),
            WorkerKind::Model | WorkerKind::Acp { .. } | WorkerKind::Shell { .. } => None,
        };
        self.environment.of_program(agent, &config.env)
    }

    pub(crate) fn now(&self) -> Zoned {
        (self.clock)().to_zoned(self.time_zone.clone())
    }
}

/// The variables from which programs of workers and of team members get theirs. They get no others.
#[derive(Clone, Debug, Default)]
pub struct ProgramEnvironment {
    /// All variables.
    pub variables: Vec<(OsString, OsString)>,
    /// Those that hold keys of configured model providers.
    pub keys: BTreeSet<String>,
}

impl ProgramEnvironment {
    /// The variables of a program: without keys, apart from those that the user gives it and those by which
    /// the program of an agent signs in.
    pub(crate) fn of_program(
        &self,
        agent: Option<Agent>,
        given: &[String],
    ) -> Vec<(OsString, OsString)> {
        let signs_in = agent.map_or(&[][..], sign_in);
        let is_given = |name: &str| signs_in.contains(&name) || given.iter().any(|it| it == name);
        let is_kept = |name: &OsString| {
            let name = name.to_string_lossy();
            is_given(&name) || !(self.keys.contains(&*name) || KEYS.contains(&&*name))
        };
        self.variables.iter().filter(|(name, _)| is_kept(name)).cloned().collect()
    }
}

/// The variables in which keys of model providers usually are.
const KEYS: [&str; 7] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CODEX_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENAI_API_KEY",
];

/// The variables by which the program of an agent signs in.
fn sign_in(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::Claude => &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
        Agent::Codex => &["CODEX_API_KEY", "OPENAI_API_KEY"],
        Agent::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    }
}

/// The workers by name.
#[derive(Clone)]
pub struct Workers {
    all: BTreeMap<String, (WorkerConfig, Arc<dyn Worker>)>,
    options: WorkerOptions,
}

impl Workers {
    /// The configured workers.
    pub fn new(configs: impl IntoIterator<Item = WorkerConfig>, options: WorkerOptions) -> Self {
        let mut all = Self { all: BTreeMap::new(), options: options.clone() };
        for config in configs {
            let (shared, options) = (config.clone(), options.clone());
            let worker: Arc<dyn Worker> = match &config.kind {
                WorkerKind::Model => Arc::new(ModelWorker::new(shared, options)),
                WorkerKind::Program { .. } => Arc::new(ProgramWorker::new(shared, options)),
                WorkerKind::Acp { .. } => Arc::new(AcpWorker::new(shared, options)),
                WorkerKind::Shell { .. } => Arc::new(ShellWorker::new(shared, options)),
            };
            all.add(config, worker);
        }
        all
    }

    /// Adds a worker of the caller's own.
    pub fn add(&mut self, config: WorkerConfig, worker: Arc<dyn Worker>) {
        self.all.insert(config.name.clone(), (config, worker));
    }

    /// The worker of this name.
    pub fn get(&self, name: &str) -> Option<&WorkerConfig> {
        self.all.get(name).map(|(config, _)| config)
    }

    /// All workers, by name.
    pub fn iter(&self) -> impl Iterator<Item = &WorkerConfig> {
        self.all.values().map(|(config, _)| config)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Has a worker do a task, in a worktree of its own if it is configured so. `id` is part of the
    /// name of its branch.
    pub async fn run(
        &self,
        name: &str,
        mut task: Task,
        id: &str,
        work: &Work,
        listener: &Listener<'_>,
    ) -> Outcome {
        let Some((config, worker)) = self.all.get(name) else {
            return Outcome::failed(format!("there is no worker {name:?}"));
        };
        if !config.worktree {
            return worker.run(&task, work, listener).await;
        }
        let branch = match task.item {
            Some(item) => format!("punchlist/{item}-{id}"),
            None => format!("punchlist/task-{id}"),
        };
        let environment = self.options.environment_of(config);
        let WorkerOptions { root, worktrees, .. } = self.options.clone();
        let worktree = run_blocking(move || {
            Worktree::create(&root, worktrees.as_deref(), &branch, &environment)
        });
        let worktree = match worktree.await.and_then(|it| it) {
            Ok(worktree) => worktree,
            Err(why) => return Outcome::failed(why),
        };
        task.directory.clone_from(&worktree.project);
        let outcome = worker.run(&task, work, listener).await;
        let (branch, path) = (worktree.branch.clone(), worktree.path.clone());
        match run_blocking(move || worktree.leave()).await {
            Ok(Left::Removed) => outcome,
            Ok(Left::Kept(_)) | Err(_) => {
                let worktree = Some(path.to_string_lossy().into_owned());
                Outcome { branch: Some(branch), worktree, ..outcome }
            }
        }
    }
}

/// Runs blocking work on a thread where it holds up nobody.
async fn run_blocking<T: Send + 'static>(
    does: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(does).await.map_err(|why| why.to_string())
}
