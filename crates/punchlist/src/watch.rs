//! `punchlist watch`: collects the options of the call and the facts of this process.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use punchlist_agent::session::listing;
use punchlist_bridge::install;
use punchlist_engine::watch::archive::Archive;
use punchlist_engine::watch::{Homes, Options, Recorder, StoreSource};
use punchlist_model::Actor;
use punchlist_streams::event::KindSet;
use punchlist_tui::app::AgentSource;
use punchlist_tui::watch::{self, Answers, Pane, Watch};

use crate::agent::{self, Goal};
use crate::app::App;
use crate::clock::Clock;
use crate::fail::{Code, Fail};
use crate::print::Reply;
use crate::{identity, notify, person, places, session};

/// How old the last event of a session may be that the terminal UI shows, in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The options of the verb.
pub(crate) struct Ask {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) since_ms: i64,
    pub(crate) record: bool,
    pub(crate) only: KindSet,
    pub(crate) once: bool,
    /// Show only one agent: the session's id if one was given.
    pub(crate) pane: Option<Option<String>>,
}

/// What the terminal UI needs to show all agents.
pub(crate) fn source(app: &App) -> Result<AgentSource, Fail> {
    let globals = app.globals.clone();
    Ok(AgentSource {
        options: Options {
            homes: homes(),
            files: Vec::new(),
            is_piped: false,
            since_ms: DAY_MS,
            json: KindSet::NONE,
            host: identity::host(),
        },
        file: app.database().ok().cloned(),
        open: Box::new(move || App::new(globals.clone()).store_to_read()),
        offers: offers(app),
        archive: places::data().ok().map(|it| Archive::open(&it)),
    })
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
    let json = if app.globals.json { ask.only } else { KindSet::NONE };
    let options = Options { files, is_piped, ..options(ask.since_ms, json) };
    let source = StoreSource {
        file: app.database_file(),
        open: Box::new(|| app.store_to_read()),
        facts: listing::facts,
    };
    let watch = Watch {
        options,
        source: (finds_sessions || ask.record).then_some(source),
        recorder: if ask.record { Some(recorder(app)?) } else { None },
        around: Arc::new(Clock),
        once: ask.once,
        offers: offers(app),
        archive: places::data().ok().map(|it| Archive::open(&it)),
        answers: answers(app)?,
        notify: if ask.once || ask.pane.is_some() { None } else { Some(notify::notify(app)?) },
        pane: ask
            .pane
            .map(|session| Pane { session, project: app.project().ok().map(|it| it.name.clone()) }),
    };
    let exit = watch::run(watch, app.terminal())?;
    Ok(Reply { exit, ..Reply::default() })
}

/// The options for watching all sessions of this user.
pub(crate) fn options(since_ms: i64, json: KindSet) -> Options {
    let (homes, host) = (homes(), identity::host());
    Options { homes, files: Vec::new(), is_piped: false, since_ms, json, host }
}

/// Who answers questions in place: a person at this terminal.
fn answers(app: &App) -> Result<Option<Answers>, Fail> {
    if app.globals.json || person::at_terminal("questions are answered", "watch").is_err() {
        return Ok(None);
    }
    Ok(Some(Answers {
        person: Actor::person(identity::name(app.globals.name.as_deref())?),
        rules_file: places::config()?.display().to_string(),
        host: identity::host(),
        open: notify::open(app)?,
        wake: session::waker(app),
    }))
}

/// Records into the store, which is created if it does not exist.
fn recorder(app: &App) -> Result<Recorder<'_>, Fail> {
    let store = app.store()?;
    let mut lock = app.database()?.clone().into_os_string();
    lock.push("-watch");
    Ok(Recorder::new(store, app.settings()?.conversation(), lock.into(), identity::host()))
}

/// Suggestions for agents that are not set up: the agent, and the command to run. Only for people.
pub(crate) fn offers(app: &App) -> Vec<(String, String)> {
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

/// The directories of the agents' sessions.
fn homes() -> Homes {
    let set = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    Homes::find(set, places::home().as_deref(), places::acp_lists().ok())
}
