//! Agents as the verbs see them: their names, their programs, and the options for installing.
//!
//! Reads the environment on behalf of crates that must not.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use punchlist_bridge::install::{Options, Scope};
use punchlist_bridge::{doctor, program as programs};
use punchlist_formats::hook::{Agent, Version};

use crate::app::App;
use crate::fail::{Code, Fail};
use crate::{database, places};

/// Where entries are installed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goal {
    /// In the user's settings.
    User,
    /// In the project's files.
    Project,
}

/// Parses an agent's name.
pub(crate) fn named(name: &str) -> Result<Agent, Fail> {
    Agent::named(name).ok_or_else(|| {
        Fail::usage(format!("there is no agent {name:?}"))
            .hint("use claude, codex or gemini; any other that speaks MCP can run `punchlist mcp`.")
    })
}

/// The agents on this machine, with the paths of their programs.
pub(crate) fn on_this_machine() -> Vec<(Agent, PathBuf)> {
    Agent::ALL.into_iter().filter_map(|it| Some((it, program(it.as_str())?))).collect()
}

/// Finds a program: on the search path, else where its own installer puts it.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let home = home().unwrap_or_default();
    let usual = [home.join(".local/bin"), home.join(".claude/local")];
    programs::find(name, search_path().into_iter().chain(usual))
}

/// The absolute directories of the search path.
fn search_path() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).filter(|it| it.is_absolute()).collect()
}

fn home() -> Option<PathBuf> {
    set("HOME").map(PathBuf::from)
}

fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|it| !it.is_empty())
}

/// The options for installing an agent.
pub(crate) fn options(app: &App, agent: Agent, goal: Goal) -> Result<Options, Fail> {
    let home = home()
        .filter(|it| it.is_absolute())
        .ok_or_else(|| Fail::new(Code::Unusable, "there is no home directory").hint("set HOME."))?;
    let config_dir = config_dir(agent).map(absolute).transpose()?;
    let scope = match goal {
        Goal::User => Scope::User,
        Goal::Project => Scope::Project(app.project()?.root.clone()),
    };
    Ok(Options {
        agent,
        home,
        config_dir,
        scope,
        data: absolute(places::data()?)?,
        binary: binary()?,
        database: database(app, goal)?,
        plan: app.globals.plan.clone().filter(|it| !it.is_empty()),
        permission: true,
        trust: true,
        own_tools: false,
        version: None,
    })
}

/// The version of an agent's program, if it is on this machine and prints one.
pub(crate) fn version(agent: Agent) -> Option<Version> {
    /// Some agents take several seconds to start.
    const PATIENCE: Duration = Duration::from_secs(15);
    doctor::version(&program(agent.as_str())?, PATIENCE)
}

/// The agent's configuration directory, if the user has set one.
fn config_dir(agent: Agent) -> Option<PathBuf> {
    match agent {
        Agent::Claude => set("CLAUDE_CONFIG_DIR").map(PathBuf::from),
        // Codex resolves symbolic links, and identifies its hooks by the resolved path.
        Agent::Codex => {
            set("CODEX_HOME").map(PathBuf::from).map(|it| fs::canonicalize(&it).unwrap_or(it))
        }
        Agent::Gemini => set("GEMINI_CLI_HOME").map(|it| PathBuf::from(it).join(".gemini")),
    }
}

/// The path of this binary, preferably one that survives updates.
pub(crate) fn binary() -> Result<PathBuf, Fail> {
    let gone = |why: String| {
        Fail::ours(format!("the running program's file cannot be found: {why}"))
            .hint("it was moved or replaced; run `punchlist` again.")
    };
    let path = env::current_exe().map_err(|why| gone(why.to_string()))?;
    let real = fs::canonicalize(&path).map_err(|why| gone(format!("{}: {why}", path.display())))?;
    let called = env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let names = [called.file_name().unwrap_or_default(), OsStr::new("punchlist")];
    // A bare name was found on the search path.
    let is_path = called.components().count() > 1;
    let path = is_path.then(|| std::path::absolute(&called).ok()).flatten();
    Ok(programs::lasting_path(&real, &names, path.as_deref(), &search_path()))
}

/// The database for the installed entries. It need not exist, and is not created.
fn database(app: &App, goal: Goal) -> Result<PathBuf, Fail> {
    let is_named = app.globals.db.is_some() || set("PUNCHLIST_DB").is_some();
    let path = match goal {
        // Entries for every project must not name the database of one project.
        Goal::User if !is_named && !app.is_on_server()? => places::database()?,
        Goal::User | Goal::Project => app.database_options()?.named(),
    };
    if database::is_address(&path) {
        return Ok(path);
    }
    let path = absolute(path)?;
    let real = |path: &Path| fs::canonicalize(path).ok();
    let beside = || Some(real(path.parent()?)?.join(path.file_name()?));
    Ok(real(&path).or_else(beside).unwrap_or(path))
}

fn absolute(path: PathBuf) -> Result<PathBuf, Fail> {
    std::path::absolute(&path)
        .map_err(|why| Fail::usage(format!("{} is not a valid path: {why}", path.display())))
}
