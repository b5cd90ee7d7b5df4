//! `punchlist watch`: collects the options of the call and the facts of this process.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use punchlist_bridge::install;
use punchlist_engine::watch::{Homes, Options, Recorder, StoreSource};
use punchlist_streams::event::KindSet;
use punchlist_tui::watch::{self, Watch};

use crate::agent::{self, Goal};
use crate::app::App;
use crate::clock::Clock;
use crate::fail::{Code, Fail};
use crate::print::Reply;
use crate::{identity, person, places};

/// The options of the verb.
pub(crate) struct Ask {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) since_ms: i64,
    pub(crate) record: bool,
    pub(crate) only: KindSet,
    pub(crate) once: bool,
}

/// Watches until it is interrupted.
pub(crate) fn run(app: &App, ask: Ask) -> Result<Reply, Fail> {
    let finds_sessions = ask.files.is_empty();
    let is_piped = ask.files.iter().any(|it| it.as_os_str() == "-");
    let files: Vec<PathBuf> =
        ask.files.iter().filter(|it| it.as_os_str() != "-").map(|it| at(app, it)).collect();
    for file in &files {
        check(file)?;
    }
    let options = Options {
        homes: homes(),
        files,
        is_piped,
        since_ms: ask.since_ms,
        json: if app.globals.json { ask.only } else { KindSet::NONE },
        host: identity::host(),
    };
    let source =
        StoreSource { file: app.database().ok().cloned(), open: Box::new(|| app.store_to_read()) };
    let watch = Watch {
        options,
        source: (finds_sessions || ask.record).then_some(source),
        recorder: if ask.record { Some(recorder(app)?) } else { None },
        around: Arc::new(Clock),
        once: ask.once,
        offers: offers(app),
    };
    let exit = watch::run(watch, app.terminal())?;
    Ok(Reply { exit, ..Reply::default() })
}

/// Records into the store, which is created if it does not exist.
fn recorder(app: &App) -> Result<Recorder<'_>, Fail> {
    let store = app.store()?;
    let mut lock = app.database()?.clone().into_os_string();
    lock.push("-watch");
    Ok(Recorder::new(store, app.settings()?.conversation(), lock.into(), identity::host()))
}

/// Suggestions for agents that are not set up: the agent, and the command to run. Only for people.
fn offers(app: &App) -> Vec<(String, String)> {
    if person::is_agent() {
        return Vec::new();
    }
    let is_set_up = |name: &str| {
        let Ok(agent) = agent::named(name) else { return true };
        let is_set_up =
            |goal| agent::options(app, agent, goal).is_ok_and(|it| install::is_set_up(&it));
        is_set_up(Goal::User) || is_set_up(Goal::Project)
    };
    // An agent that is set up needs no suggestion: it just has not planned anything.
    let missing = ["claude", "codex", "gemini"].into_iter().filter(|it| !is_set_up(it));
    missing.map(|it| (it.to_owned(), format!("punchlist install {it}"))).collect()
}

/// Resolves a path relative to the directory of the call.
fn at(app: &App, file: &Path) -> PathBuf {
    let file = app.globals.directory.as_deref().map_or_else(|| file.to_owned(), |it| it.join(file));
    std::path::absolute(&file).unwrap_or(file)
}

/// The file need not exist yet, but its directory must.
fn check(file: &Path) -> Result<(), Fail> {
    if file.is_dir() {
        return Err(Fail::usage(format!("{} is a directory", file.display()))
            .hint("name a file; without one, all sessions are found."));
    }
    if !file.exists() && !file.parent().is_some_and(Path::is_dir) {
        return Err(Fail::new(Code::NotFound, format!("there is no {}", file.display())));
    }
    Ok(())
}

/// The directories of the agents' sessions: from their environment variables, else in the user's
/// home.
fn homes() -> Homes {
    let set = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let home = |name: &str| places::home().map(|it| it.join(name));
    // Unlike the others, Gemini's variable names the parent of its directory.
    let gemini = set("GEMINI_CLI_HOME").map(|it| it.join(".gemini"));
    Homes {
        claude: set("CLAUDE_CONFIG_DIR").or_else(|| home(".claude")),
        codex: set("CODEX_HOME").or_else(|| home(".codex")),
        gemini: gemini.or_else(|| home(".gemini")),
        acp: places::acp_lists().ok(),
    }
}
