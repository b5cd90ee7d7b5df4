//! Reports what is installed for an agent and whether it works, by trying it: calls the installed
//! hook as the agent does, starts the installed server and lists its tools.
//!
//! Nothing is changed. A finding says what was found and, if something is wrong, the command that
//! fixes it. The caller examines the store.

mod allowed;
pub mod locks;
mod mcp;
mod other_settings;
pub(crate) mod run;
mod started;
#[cfg(test)]
mod tests;
mod transcripts;
mod wiring;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use punchlist_formats::hook::{Agent, Version};

use crate::install::known::minimum;
use crate::install::{self, Scope};

/// What to examine.
#[derive(Clone, Debug)]
pub struct Options {
    /// The options of an installation with the current settings.
    pub install: install::Options,
    /// The agent's program, if it was found.
    pub program: Option<PathBuf>,
    /// Punchlist's version.
    pub version: String,
    /// The directory in which hook and server are started.
    pub directory: PathBuf,
    /// The timeout of each test.
    pub patience: Duration,
    /// Known running processes of the agent.
    pub running: Vec<u32>,
}

/// One finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The part that was examined.
    pub about: &'static str,
    /// Its state.
    pub state: State,
    /// What was found.
    pub said: String,
    /// How to fix it.
    pub fix: Option<String>,
}

/// The state of a part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// It works.
    Good,
    /// It is not installed, and need not be.
    Absent,
    /// It works, with a remark.
    Note,
    /// It does not work.
    Bad,
}

impl State {
    /// The state's name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Absent => "absent",
            Self::Note => "note",
            Self::Bad => "broken",
        }
    }
}

impl Finding {
    /// A part that works.
    pub fn good(about: &'static str, said: impl Into<String>) -> Self {
        Self { about, state: State::Good, said: said.into(), fix: None }
    }

    /// A part that is not installed.
    pub fn absent(about: &'static str, said: impl Into<String>) -> Self {
        Self { state: State::Absent, ..Self::good(about, said) }
    }

    /// A remark, and what can be done about it.
    pub fn note(about: &'static str, said: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { about, state: State::Note, said: said.into(), fix: Some(fix.into()) }
    }

    /// A part that does not work, and how to fix it.
    pub fn bad(about: &'static str, said: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { about, state: State::Bad, said: said.into(), fix: Some(fix.into()) }
    }
}

/// Separates the version from the problem in a hook's answer to the doctor's test event.
pub const PROBLEM_SEPARATOR: &str = ", but ";

/// The findings, and the databases that the entries name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The findings.
    pub findings: Vec<Finding>,
    /// The databases that hooks and servers use, first the one that the agent's tools use in this
    /// directory.
    pub databases: Vec<PathBuf>,
    /// Whether the first database is named by entries for the project.
    pub is_for_project: bool,
    /// Whether any entry of Punchlist was found in the agent's files.
    pub is_wired: bool,
}

/// Examines an agent.
pub fn agent(options: &Options) -> Report {
    let (program, version) = program(options);
    // The entries are compared with those for the agent's installed version.
    let install = install::Options { version, ..options.install.clone() };
    let options = &Options { install, ..options.clone() };
    let mut report = Report { findings: vec![program], ..Report::default() };
    let root = match &options.install.scope {
        Scope::Project(root) => root.clone(),
        Scope::User => options.directory.clone(),
    };
    let own = install::Options { scope: Scope::Project(root.clone()), ..options.install.clone() };
    let mut scopes = vec![Scope::User];
    // In the home directory both scopes have the same file, and it is the user's.
    if !own.is_shared() {
        scopes.push(own.scope);
    }
    let mut wired = Vec::new();
    for scope in scopes {
        match wiring::read(options, scope) {
            Ok(wiring) if wiring.has_entries() => wired.push(wiring),
            Ok(_) => {}
            Err(error) => {
                report.findings.push(Finding::bad("entries", error.to_string(), error.remedy()));
            }
        }
    }
    if wired.is_empty() && report.findings.iter().all(|it| it.about != "entries") {
        let agent = options.install.agent;
        let fix = format!("punchlist install {}", agent.as_str());
        let said = format!("{} is not set up", agent.title());
        report.findings.push(Finding::note("entries", said, fix));
    }
    if let [one, other] = wired.as_slice()
        && let (Some(ours), Some(theirs)) = (one.command(), other.command())
        && ours != theirs
    {
        report.findings.push(twice(options, one, other));
    }
    let install = &options.install;
    let wired_at_all = !wired.is_empty();
    for wiring in &wired {
        report.findings.extend(wiring.findings(options));
    }
    // Entries for a project come before entries for the user.
    report.databases = wired.iter().rev().filter_map(wiring::Wiring::database).collect();
    report.is_for_project = wired.last().is_some_and(wiring::Wiring::is_for_project);
    if wired_at_all {
        report.findings.extend(match install.agent {
            Agent::Claude => other_settings::look(options, &root),
            Agent::Gemini => allowed::look(options, &root),
            Agent::Codex => Vec::new(),
        });
        let sources = wired.iter().map(|it| if it.is_for_project() { "project" } else { "user" });
        report.findings.extend(started::look(options, &sources.collect::<Vec<_>>()));
    }
    if wired_at_all || options.program.is_some() {
        let config = install.config_dir.as_deref();
        report.findings.extend(transcripts::look(install.agent, &install.home, config));
    }
    report.is_wired = wired_at_all;
    report
}

/// Reports two installations with different commands. A project with its own database needs both,
/// because the user's entries must not name the database of one project.
fn twice(options: &Options, one: &wiring::Wiring, other: &wiring::Wiring) -> Finding {
    if one.database() != other.database() {
        let said = "set up for you, and for this project with a database of its own: its tools work \
                    on that one, hooks run for both";
        return Finding::good("entries", said);
    }
    Finding::note(
        "entries",
        "set up for you and for this project, in different ways: every hook runs twice",
        format!("punchlist uninstall {} --project", options.install.agent.as_str()),
    )
}

/// The version that an agent's program reports.
pub fn version(program: &Path, patience: Duration) -> Option<Version> {
    let ran = ask_version(program, patience).ok().filter(|it| it.code == Some(0))?;
    Version::read(&String::from_utf8_lossy(&ran.out))
}

/// Runs `PROGRAM --version` with an empty home directory, because agents write into their home even
/// then.
fn ask_version(program: &Path, patience: Duration) -> io::Result<run::Ran> {
    let home = tempfile::tempdir()?;
    let mut command = Command::new(program);
    command.arg("--version");
    for variable in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"] {
        command.env(variable, home.path());
    }
    run::run(command, b"", patience)
}

/// The agent's program and its version.
fn program(options: &Options) -> (Finding, Option<Version>) {
    let Some(path) = &options.program else {
        let said = "not found on this machine";
        let fix = format!("install {}, or put it on the PATH", options.install.agent.title());
        return (Finding::note("program", said, fix), None);
    };
    let place = path.display();
    let finding = match ask_version(path, options.patience) {
        Ok(ran) if ran.code == Some(0) => {
            let text = String::from_utf8_lossy(&ran.out);
            return (in_version(options.install.agent, &text, path), Version::read(&text));
        }
        // A slow start is not an error.
        Ok(ran) if ran.code.is_none() => Finding::note(
            "program",
            format!("{place} --version {}", ran.end()),
            "run it yourself to see whether it starts",
        ),
        Ok(ran) => Finding::bad(
            "program",
            format!("{place} --version {}", ran.end()),
            "see why it does not start, or reinstall it",
        ),
        Err(why) => {
            Finding::bad("program", format!("{place} does not start: {why}"), "reinstall it")
        }
    };
    (finding, None)
}

/// The finding about a program's version.
fn in_version(agent: Agent, text: &str, path: &Path) -> Finding {
    let is_version = |it: &&str| it.starts_with(|it: char| it.is_ascii_digit());
    let version = text.split_whitespace().find(is_version).unwrap_or("of unknown version");
    let (place, minimum) = (path.display(), minimum(agent));
    if Version::read(text).is_some_and(|it| it < minimum) {
        let said =
            format!("{version}  {place} is too old: Punchlist works with {minimum} and newer");
        let fix = format!("upgrade {}, then punchlist install {}", agent.title(), agent.as_str());
        return Finding::bad("program", said, fix);
    }
    Finding::good("program", format!("{version}  {place}"))
}

/// `1240` as `1,240`.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Whether no finding is bad.
pub fn is_well(findings: &[Finding]) -> bool {
    findings.iter().all(|it| it.state != State::Bad)
}

/// Whether two paths lead to the same file.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path: &Path| std::fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    one == other || id(one).is_some_and(|it| id(other) == Some(it))
}
