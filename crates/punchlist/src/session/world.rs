//! What a session needs from this process.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use punchlist_agent::config::AgentConfig;
use punchlist_agent::mcp::{ForeignServers, Servers};
use punchlist_agent::provider::{ModelName, Provider};
use punchlist_agent::session::{
    Facts, SessionModel, SessionPlace, SessionTools, SessionUser, World,
};
use punchlist_agent::tools;
use punchlist_agent::workers::WorkerConfig;
use punchlist_engine::Engine;
use punchlist_engine::engine::Options;
use punchlist_model::Actor;
use punchlist_sched::process::sandbox;
use punchlist_sched::{Processes, process};

use super::{servers, workers};
use crate::app::App;
use crate::clock::{self, Clock};
use crate::fail::Fail;
use crate::{database, identity, person, places, print};

/// How long a process may take to end after a polite signal.
const GRACE: Duration = Duration::from_secs(2);

/// What a session needs from this process. `waits` says that questions wait for an answer from
/// elsewhere if nobody is at this terminal. A person at the terminal is asked about MCP servers of the
/// project.
pub(crate) fn world(
    app: &App,
    config: &AgentConfig,
    model: &ModelName,
    provider: Arc<dyn Provider>,
    waits: bool,
) -> Result<World, Fail> {
    let mut world = without_servers(app, config, model, provider, waits)?;
    if is_person_there(app) {
        servers::ask(app)?;
    }
    let (processes, offered) = (world.tools.processes.clone(), ForeignServers::default());
    world.tools.servers = Arc::new(servers::connect(app, config, processes, &offered, |_| false)?);
    world.tools.turn_tools = workers::tools(workers::configs(app)?, config.key_variables(), &world);
    Ok(world)
}

/// The same without MCP servers, and without workers, which use them too.
pub(crate) fn without_servers(
    app: &App,
    config: &AgentConfig,
    model: &ModelName,
    provider: Arc<dyn Provider>,
    waits: bool,
) -> Result<World, Fail> {
    let project = app.project()?;
    let top = top(app)?;
    let settings = app.settings()?;
    let processes = processes()?;
    let is_there = is_person_there(app);
    let sandbox = settings.sandbox.in_force(sandbox::support());
    let tools = tools::all(tools::Options {
        sandbox,
        shell_timeout: config.agent.shell_timeout(),
        root: top.clone(),
        environment: environment(config),
        guarded: [places::config()?.parent().map(Path::to_owned), Some(places::data()?)]
            .into_iter()
            .flatten()
            .collect(),
    });
    let tools = tools.map_err(|why| Fail::usage(format!("the project cannot be read: {why}")))?;
    let facts = facts(app, &workers::configs(app)?)?;
    let config_of_models = config.clone();
    Ok(World {
        model: SessionModel {
            provider,
            price: config.prices.get(&model.to_string()).copied(),
            options: config.agent.model_options(),
            connect: Arc::new(move |name| {
                let model = super::model(Some(name), &config_of_models)?;
                let price = config_of_models.prices.get(&model.to_string()).copied();
                Ok((super::provider(&model, &config_of_models, 0)?, price))
            }),
            reminders: settings.reminders.clone(),
            context: config.agent.context(),
            facts,
        },
        tools: SessionTools {
            all: tools,
            servers: Arc::new(Servers::none()),
            turn_tools: Arc::new(|_, _| Vec::new()),
            policy: app.policy()?,
            processes,
            outputs: places::outputs()?,
            rules_file: places::config()?,
        },
        place: SessionPlace {
            engine: engine(app, config)?,
            around: Arc::new(Clock),
            project: project.name.clone(),
            directory: top,
            process: identity::process(),
            limits: settings.limits,
        },
        user: SessionUser {
            person: Actor::person(identity::name(app.globals.name.as_deref())?),
            asks_as: None,
            is_attended: is_there || waits,
        },
    })
}

/// The engine of a session.
pub(crate) fn engine(app: &App, config: &AgentConfig) -> Result<Engine, Fail> {
    let store = database::open_on_thread(&app.database_options()?)?;
    let options = Options {
        project: app.project()?.name.clone(),
        limits: app.settings()?.limits,
        policy: app.policy()?,
        is_consent_given: false,
        environment: environment(config),
    };
    Ok(Engine::with(store, Clock, options))
}

/// Starts the processes of a session.
pub(crate) fn processes() -> Result<Processes, Fail> {
    let mut options = process::Options::this_program()
        .map_err(|why| Fail::ours(format!("this program's own file is not known: {why}")))?;
    options.grace = GRACE;
    Ok(Processes::new(options))
}

/// The variables of tools.
pub(super) fn environment(config: &AgentConfig) -> Vec<(OsString, OsString)> {
    tools::environment(env::vars_os(), &config.key_variables())
}

fn facts(app: &App, workers: &[WorkerConfig]) -> Result<Facts, Fail> {
    let top = top(app)?;
    Ok(Facts {
        directory: top.display().to_string(),
        operating_system: env::consts::OS.to_owned(),
        date: clock::now().strftime("%Y-%m-%d").to_string(),
        branch: branch(&top),
        instructions: Vec::new(),
        workers: workers.iter().map(|it| (it.name.clone(), it.description.clone())).collect(),
    })
}

/// Whether a person is at this terminal who can be asked.
pub(crate) fn is_person_there(app: &App) -> bool {
    !app.globals.json
        && app.screen().is_terminal
        && print::can_ask()
        && person::at_terminal("a session asks", "do").is_ok()
}

/// Where the session works: the top of the worktree around the current directory, else the project.
pub(crate) fn top(app: &App) -> Result<PathBuf, Fail> {
    let project = app.project()?;
    Ok(app.directory().map_or_else(|| project.root.clone(), |it| project.top(&it)))
}

fn branch(top: &Path) -> Option<String> {
    let branch = punchlist_engine::project::branch(top)?;
    Some(punchlist_formats::text::one_line(&branch).into_owned())
}
