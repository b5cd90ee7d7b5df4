//! What a session needs from this process.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use punchlist_agent::config::AgentConfig;
use punchlist_agent::provider::{ModelName, Provider};
use punchlist_agent::session::{Facts, World};
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
/// elsewhere if nobody is at this terminal.
pub(crate) fn world(
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
        root: top.clone(),
        environment: environment(config),
        guarded: [places::config()?.parent().map(Path::to_owned), Some(places::data()?)]
            .into_iter()
            .flatten()
            .collect(),
    });
    let tools = tools.map_err(|why| Fail::usage(format!("the project cannot be read: {why}")))?;
    let configs = workers::configs(app)?;
    let facts = facts(app, &configs)?;
    let config_of_models = config.clone();
    let mut world = World {
        engine: engine(app, config)?,
        around: Arc::new(Clock),
        project: project.name.clone(),
        directory: top,
        process: identity::process(),
        person: Actor::person(identity::name(app.globals.name.as_deref())?),
        is_attended: is_there || waits,
        provider,
        price: config.prices.get(&model.to_string()).copied(),
        model_options: config.agent.model_options(),
        tools,
        servers: Arc::new(servers::connect(app, config, processes.clone(), is_there)?),
        turn_tools: Arc::new(|_, _| Vec::new()),
        connect: Arc::new(move |name| {
            let model = super::model(Some(name), &config_of_models)?;
            super::provider(&model, &config_of_models, 0)
        }),
        policy: app.policy()?,
        processes,
        outputs: places::outputs()?,
        rules_file: places::config()?,
        limits: settings.limits,
        reminders: settings.reminders.clone(),
        facts,
        context: config.agent.context(),
    };
    world.turn_tools = workers::tools(configs, &world);
    Ok(world)
}

/// The engine of a session.
pub(super) fn engine(app: &App, config: &AgentConfig) -> Result<Engine, Fail> {
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
pub(super) fn processes() -> Result<Processes, Fail> {
    let mut options = process::Options::this_program()
        .map_err(|why| Fail::ours(format!("this program's own file is not known: {why}")))?;
    options.grace = GRACE;
    Ok(Processes::new(options))
}

/// The variables of tools. Keys are not among them: neither those that providers are configured with,
/// nor what is called a key, a token or the like. One of them says that an agent made the
/// call, so that a model cannot call `punchlist` in the user's place.
pub(super) fn environment(config: &AgentConfig) -> Vec<(OsString, OsString)> {
    const AGENT: &str = "AI_AGENT";
    let keys = config.key_variables();
    let is_kept = |name: &str| !is_key(name) && name != AGENT && !keys.contains(name);
    let kept = env::vars_os().filter(|(name, _)| is_kept(&name.to_string_lossy()));
    kept.chain([(AGENT.into(), "punchlist".into())]).collect()
}

/// Whether a variable holds a key, by its name.
fn is_key(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["_API_KEY", "_KEY", "_TOKEN", "_SECRET", "_PASSWORD"].iter().any(|it| name.ends_with(it))
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
pub(super) fn top(app: &App) -> Result<PathBuf, Fail> {
    let project = app.project()?;
    Ok(app.directory().map_or_else(|| project.root.clone(), |it| project.top(&it)))
}

fn branch(top: &Path) -> Option<String> {
    let branch = punchlist_engine::project::branch(top)?;
    Some(punchlist_formats::text::one_line(&branch).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_do_not_reach_the_tools() {
        for name in ["ANTHROPIC_API_KEY", "openai_api_key", "GH_TOKEN", "MY_SECRET"] {
            assert!(is_key(name), "{name}");
        }
        for name in ["PATH", "HOME", "KEYBOARD", "TOKENS"] {
            assert!(!is_key(name), "{name}");
        }
    }
}
