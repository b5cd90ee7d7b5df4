//! Agents as verbs know them: their names, where they are, and what installing them depends on.
//!
//! Looks at the environment for the rooms that must not; does nothing by itself.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use punchlist_bridge::doctor;
use punchlist_bridge::install::{self, Change, Options, Scope};
use punchlist_formats::hook::{Agent, Version};
use punchlist_formats::text;

use crate::app::App;
use crate::error::{Code, Fail};
use crate::places;
use crate::print::Reply;

/// For whom something is installed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goal {
    /// The user.
    User,
    /// The project.
    Project,
}

impl Goal {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::User => "for you in every project",
            Self::Project => "for everybody in this project",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// The agent with that name.
pub(crate) fn named(name: &str) -> Result<Agent, Fail> {
    Agent::named(name).ok_or_else(|| {
        Fail::usage(format!("there is no agent {name:?}"))
            .hint("use claude, codex or gemini; any other that speaks MCP can run `punchlist mcp`.")
    })
}

/// The agents that are on this machine, and where.
pub(crate) fn on_this_machine() -> Vec<(Agent, PathBuf)> {
    Agent::ALL.into_iter().filter_map(|it| Some((it, program(it.as_str())?))).collect()
}

/// Where a program is: on the path, else where its own installer puts it.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let home = home().unwrap_or_default();
    let usual = [home.join(".local/bin"), home.join(".claude/local")];
    let found = env::split_paths(&path).filter(|it| it.is_absolute()).chain(usual);
    found.map(|it| it.join(name)).find(|it| is_program(it))
}

pub(crate) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

fn home() -> Option<PathBuf> {
    set("HOME").map(PathBuf::from)
}

fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|it| !it.is_empty())
}

/// What installing depends on.
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

/// The version of an agent's program, if it is on this machine and says so.
pub(crate) fn version(agent: Agent) -> Option<Version> {
    /// The slowest take some seconds to start.
    const PATIENCE: Duration = Duration::from_secs(15);
    doctor::version(&program(agent.as_str())?, PATIENCE)
}

/// Where the user has an agent keep its files, if that was chosen.
fn config_dir(agent: Agent) -> Option<PathBuf> {
    match agent {
        Agent::Claude => set("CLAUDE_CONFIG_DIR").map(PathBuf::from),
        // Codex looks at what it leads to, and knows its hooks by that path.
        Agent::Codex => {
            set("CODEX_HOME").map(PathBuf::from).map(|it| fs::canonicalize(&it).unwrap_or(it))
        }
        Agent::Gemini => set("GEMINI_CLI_HOME").map(|it| PathBuf::from(it).join(".gemini")),
    }
}

/// This very binary, by the path that lasts longest: its real one may have a version in it that the
/// next upgrade takes away, with all that names it.
pub(crate) fn binary() -> Result<PathBuf, Fail> {
    let gone = |why: String| {
        Fail::ours(format!("the running program's file cannot be found: {why}"))
            .hint("it was moved or replaced; call `punchlist` anew.")
    };
    let path = env::current_exe().map_err(|why| gone(why.to_string()))?;
    let real = fs::canonicalize(&path).map_err(|why| gone(format!("{}: {why}", path.display())))?;
    let called = env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let path = env::var_os("PATH").unwrap_or_default();
    Ok(lasting(&real, &called, &path))
}

/// The path under which a program is found on the search path, or was called, if that leads to it;
/// else its own.
fn lasting(real: &Path, called: &Path, search: &OsStr) -> PathBuf {
    let names = [called.file_name().unwrap_or_default(), OsStr::new("punchlist")];
    let directories = env::split_paths(search).filter(|it| it.is_absolute());
    let found = directories.flat_map(|it| names.map(|name| it.join(name)));
    // A name alone was looked for on the search path.
    let is_path = called.components().count() > 1;
    let called = is_path.then(|| plain(called)).flatten();
    // What the system shows of a process leads there too, and ends with it.
    let lasts = |it: &PathBuf| !it.starts_with("/proc") && !it.starts_with("/dev/fd");
    let leads_here = |it: &PathBuf| lasts(it) && fs::canonicalize(it).is_ok_and(|it| it == real);
    found.chain(called).find(leads_here).unwrap_or_else(|| real.to_owned())
}

/// A path from the root, without steps up: those are taken as the system takes them, through links.
fn plain(path: &Path) -> Option<PathBuf> {
    let whole = std::path::absolute(path).ok()?;
    let steps: Vec<Component<'_>> = whole.components().collect();
    let last_up = steps.iter().rposition(|it| *it == Component::ParentDir);
    let (above, below) = steps.split_at(last_up.map_or(0, |at| at + 1));
    let above = PathBuf::from_iter(above);
    let above = if above.as_os_str().is_empty() { above } else { fs::canonicalize(above).ok()? };
    Some(above.join(PathBuf::from_iter(below)))
}

/// The database that entries name. It need not exist, and is not made.
fn database(app: &App, goal: Goal) -> Result<PathBuf, Fail> {
    let is_named = app.globals.db.is_some() || set("PUNCHLIST_DB").is_some();
    let path = match goal {
        // Entries for every project must not lead to the database of one.
        Goal::User if !is_named => places::database()?,
        Goal::User | Goal::Project => app.database()?.clone(),
    };
    let path = absolute(path)?;
    let real = |path: &Path| fs::canonicalize(path).ok();
    let beside = || Some(real(path.parent()?)?.join(path.file_name()?));
    Ok(real(&path).or_else(beside).unwrap_or(path))
}

fn absolute(path: PathBuf) -> Result<PathBuf, Fail> {
    std::path::absolute(&path)
        .map_err(|why| Fail::usage(format!("{} is no path: {why}", path.display())))
}

/// Why nothing was installed.
pub(crate) fn fail(error: install::Error) -> Fail {
    use install::Error;
    let code = match &error {
        Error::Malformed { .. }
        | Error::NotLoaded { .. }
        | Error::Odd { .. }
        | Error::TooOld { .. }
        | Error::ReadOnly { .. } => Code::Refused,
        Error::Unreadable { .. } | Error::Unwritable { .. } | Error::Busy { .. } => Code::Failure,
        Error::Shared { .. } | Error::NoText | Error::Variable { .. } => Code::Usage,
    };
    Fail::new(code, error.to_string()).hint(error.hint())
}

/// A command as it would be typed for the same goal.
pub(crate) fn command(verb: &str, agent: Agent, goal: Goal) -> String {
    let project = match goal {
        Goal::User => "",
        Goal::Project => " --project",
    };
    format!("punchlist {verb} {}{project}", agent.as_str())
}

/// `1 file`, `2 files`.
pub(crate) fn files(count: usize) -> String {
    format!("{count} file{}", if count == 1 { "" } else { "s" })
}

/// Lines as one text, made harmless.
pub(crate) fn text(lines: &[String]) -> String {
    lines.iter().map(|it| text::many_lines(it).into_owned() + "\n").collect()
}

fn kind(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        (None, _) => "made",
        (Some(_), None) => "removed",
        (Some(_), Some(_)) => "changed",
    }
}

fn json(agent: Agent, goal: Goal, changes: &[Change], diffs: bool) -> serde_json::Value {
    let files: Vec<_> = changes
        .iter()
        .map(|it| {
            let path = it.path.to_string_lossy();
            let mut file = serde_json::json!({"path": path, "change": kind(it)});
            if diffs {
                file["diff"] = install::diff(it, false).into();
            }
            file
        })
        .collect();
    serde_json::json!({"agent": agent.as_str(), "scope": goal.name(), "files": files})
}

/// What would happen, as diffs.
pub(crate) fn dry_run(
    app: &App,
    agent: Agent,
    goal: Goal,
    would: &[Change],
    last: &str,
) -> Result<Reply, Fail> {
    if app.globals.json {
        return Ok(Reply::json(&json(agent, goal, would, true)));
    }
    let colour = app.screen().colour;
    let diffs: String = would.iter().map(|it| install::diff(it, colour) + "\n").collect();
    Ok(Reply::text(diffs + last))
}

/// What happened, a file a line.
pub(crate) fn done(
    app: &App,
    agent: Agent,
    goal: Goal,
    changes: &[Change],
    last: &str,
) -> Result<Reply, Fail> {
    let changed = !changes.is_empty();
    if app.globals.json {
        return Ok(Reply { changed, ..Reply::json(&json(agent, goal, changes, false)) });
    }
    let mut lines: Vec<String> =
        changes.iter().map(|it| format!("{} {}", kind(it), it.path.display())).collect();
    lines.push(last.to_owned());
    Ok(Reply { changed, ..Reply::prose(text(&lines)) })
}
