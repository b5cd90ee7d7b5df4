//! The group `agents`: real agents with scripted models, without a network.
//!
//! Agents are installed only under `target/agents`. The tests run in a network namespace with only
//! loopback, so that neither an agent nor a test can reach the network. Each version of an agent
//! runs its tests separately, and one more run has the newest versions of all agents. An agent that
//! is not available is skipped with a message.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::npm::Package;
use super::results;
use super::tally::Report;
use super::{Program, Step, text_of};
use crate::workspace::cargo;

/// A program that the tests run.
struct Agent {
    name: &'static str,
    package: Package,
    /// The version that the tests were written for; the newest runs beside it.
    studied: &'static str,
    /// Earlier releases, the oldest supported one first; only `--full` runs them.
    older: &'static [&'static str],
    /// The environment variable with the program's path.
    variable: &'static str,
    /// The filter for its tests.
    tests: &'static [&'static str],
}

/// The tests that need all agents at once.
const ALL: &str = "mixed::";

const AGENTS: &[Agent] = &[
    Agent {
        name: "Claude Code",
        package: Package { name: "@anthropic-ai/claude-code", program: "claude", has_script: true },
        studied: "2.1.197",
        older: &["2.1.50", "2.1.100", "2.1.150"],
        variable: "PUNCHLIST_TEST_CLAUDE",
        tests: &["--skip", "codex::", "--skip", "gemini::", "--skip", ALL],
    },
    Agent {
        name: "Codex",
        package: Package { name: "@openai/codex", program: "codex", has_script: false },
        studied: "0.166.0",
        older: &["0.135.0", "0.145.0", "0.155.0"],
        variable: "PUNCHLIST_TEST_CODEX",
        tests: &["codex::"],
    },
    Agent {
        name: "Gemini CLI",
        package: Package { name: "@google/gemini-cli", program: "gemini", has_script: false },
        studied: "0.61.0",
        older: &["0.47.0", "0.51.0", "0.55.1"],
        variable: "PUNCHLIST_TEST_GEMINI",
        tests: &["gemini::"],
    },
];

/// Ways to create a network namespace: as root, and in a user namespace.
const ENCLOSURES: &[&[&str]] = &[&["-n"], &["-rn"]];

/// Enables loopback and then executes the command that follows.
const WITH_LOOPBACK: &str = "{ ip link set lo up || ifconfig lo up || busybox ip link set lo up; } \
                             2>/dev/null || { echo 'loopback stays down' >&2; exit 1; }; exec \"$@\"";

/// Installs what is missing and builds the tests, or says what is not available.
pub(super) fn prepare() -> Result<Vec<Step>, String> {
    let enclosure = enclosure()?;
    results::begin(&results::noted())?;
    let mut script = Command::new("script");
    script.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
    text_of(script).ok_or("it needs `script` of util-linux, which makes terminals")?;
    let found: Vec<Found> = AGENTS.iter().flat_map(|it| it.versions(enclosure)).collect();
    // Built outside of the namespace, so that cargo can download what is missing.
    let is_any = found.iter().any(|it| it.program.is_ok());
    if is_any && !tests(cargo()).arg("--no-run").status().is_ok_and(|it| it.success()) {
        return Err("the tests did not build".to_owned());
    }
    let mut steps: Vec<Step> = found.iter().map(|it| it.step(enclosure)).collect();
    steps.push(all(&found, enclosure));
    Ok(steps)
}

/// Like [`prepare`], for older releases. They lack features of the newest, so a failing test is not
/// an error; the table of older releases shows what passed.
pub(super) fn prepare_older() -> Result<Vec<Step>, String> {
    let enclosure = enclosure()?;
    results::begin(&results::noted_of_older())?;
    let found: Vec<Found> = AGENTS.iter().flat_map(|it| it.older(enclosure)).collect();
    let is_any = found.iter().any(|it| it.program.is_ok());
    if is_any && !tests(cargo()).arg("--no-run").status().is_ok_and(|it| it.success()) {
        return Err("the tests did not build".to_owned());
    }
    let step = |it: &Found| match it.step(enclosure) {
        Step::Run(mut program) => {
            program.command.env(results::VARIABLE, results::noted_of_older());
            Step::Run(program)
        }
        skip @ Step::Skip(_) => skip,
    };
    Ok(found.iter().map(step).collect())
}

/// The newest available version of each agent, all in one run.
fn all(found: &[Found], enclosure: &[&str]) -> Step {
    let mut command = command(enclosure, &[ALL]);
    let mut versions = Vec::new();
    for agent in AGENTS {
        let own = found.iter().rev().filter(|it| it.agent.name == agent.name);
        let newest = own.filter_map(|it| Some((&it.version, it.program.as_ref().ok()?))).next();
        let Some((version, program)) = newest else {
            return Step::Skip(format!("all agents at once: there is no {}", agent.name));
        };
        agent.name_to(&mut command, program, version);
        versions.push(format!("{} {version}", agent.name));
    }
    let about = format!("-- {}, at once", versions.join(", "));
    Step::Run(Box::new(Program { command, report: Report::Harness, about }))
}

/// Runs the tests that match a filter.
fn command(enclosure: &[&str], filter: &[&str]) -> Command {
    // Agents mostly wait for processes and the model, so more threads than processors are used.
    let threads = std::thread::available_parallelism().map_or(2, |it| it.get() * 2).to_string();
    let mut command = enclosed(enclosure, &tests(cargo()));
    command.args(["--offline", "--", "--ignored", "--test-threads", &threads]).args(filter);
    command
}

/// A version of an agent: its path, or why it is not available.
struct Found {
    agent: &'static Agent,
    version: String,
    program: Result<PathBuf, String>,
}

impl Found {
    fn step(&self, enclosure: &[&str]) -> Step {
        let Self { agent, version, program } = self;
        match program {
            Ok(program) => {
                let mut command = command(enclosure, agent.tests);
                agent.name_to(&mut command, program, version);
                let about = format!("-- {} {version}", agent.name);
                Step::Run(Box::new(Program { command, report: Report::Harness, about }))
            }
            Err(why) => Step::Skip(format!("{} {version}: {why}", agent.name)),
        }
    }
}

impl Agent {
    /// Passes the program's path to the tests, and the name under which they note its features.
    fn name_to(&self, command: &mut Command, program: &Path, version: &str) {
        command.env(self.variable, program);
        command.env(format!("{}_VERSION", self.variable), version);
        command.env(results::VARIABLE, results::noted());
    }

    /// The older releases.
    fn older(&'static self, enclosure: &[&str]) -> Vec<Found> {
        let found = |version: &&str| Found {
            agent: self,
            version: (*version).to_owned(),
            program: self.package.installed(version, enclosure),
        };
        self.older.iter().map(found).collect()
    }

    /// The version that the tests were written for, and the newest if it is another.
    fn versions(&'static self, enclosure: &[&str]) -> Vec<Found> {
        let found = |version: &str| Found {
            agent: self,
            version: version.to_owned(),
            program: self.package.installed(version, enclosure),
        };
        let mut versions = vec![found(self.studied)];
        match self.package.newest() {
            Ok(newest) if newest == self.studied => {}
            Ok(newest) => versions.push(found(&newest)),
            Err(why) => {
                let version = "(the newest)".to_owned();
                versions.push(Found { agent: self, version, program: Err(why) });
            }
        }
        versions
    }
}

fn tests(mut cargo: Command) -> Command {
    cargo.args(["test", "--workspace", "--locked", "--test", "agents"]);
    cargo
}

/// The first way to create a network namespace with loopback that works here.
pub(super) fn enclosure() -> Result<&'static [&'static str], String> {
    let works = |how: &&&[&str]| {
        let mut command = enclosed(how, &Command::new("true"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|it| it.success())
    };
    ENCLOSURES.iter().find(works).copied().ok_or_else(|| {
        "it needs a network namespace with loopback: Linux, `unshare -n` as root or with user \
         namespaces, and `ip` or `ifconfig`"
            .to_owned()
    })
}

/// The same command, in a network namespace with only loopback.
pub(super) fn enclosed(how: &[&str], command: &Command) -> Command {
    let mut enclosed = Command::new("unshare");
    enclosed.args(how).args(["sh", "-c", WITH_LOOPBACK, "sh"]);
    enclosed.arg(command.get_program()).args(command.get_args());
    if let Some(directory) = command.get_current_dir() {
        enclosed.current_dir(directory);
    }
    enclosed.stdin(Stdio::null());
    enclosed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_enclosed_as_it_is() {
        let mut inner = Command::new("cargo");
        inner.args(["test", "a b"]).current_dir("/");
        let outer = enclosed(&["-rn"], &inner);
        assert_eq!(outer.get_program(), "unshare");
        let arguments: Vec<_> = outer.get_args().map(|it| it.to_string_lossy()).collect();
        assert_eq!(arguments[..3], ["-rn", "sh", "-c"]);
        assert_eq!(arguments[4..], ["sh", "cargo", "test", "a b"]);
        assert_eq!(outer.get_current_dir(), Some(Path::new("/")));
    }

    #[test]
    fn every_test_belongs_to_one_agent_or_to_all() {
        let [claude, others @ ..] = AGENTS else { panic!("there are none") };
        let skipped: Vec<&str> =
            claude.tests.iter().copied().filter(|it| *it != "--skip").collect();
        let chosen = others.iter().flat_map(|it| it.tests).copied();
        assert_eq!(skipped, chosen.chain([ALL]).collect::<Vec<_>>());
    }

    #[test]
    fn all_at_once_is_skipped_where_one_is_missing() {
        let found = |agent, program| Found { agent, version: "1".to_owned(), program };
        let path = |it: &Agent| Ok(PathBuf::from(it.package.program));
        let mut there: Vec<Found> = AGENTS.iter().map(|it| found(it, path(it))).collect();
        let Step::Run(program) = all(&there, &["-n"]) else { panic!("skipped") };
        assert_eq!(program.about, "-- Claude Code 1, Codex 1, Gemini CLI 1, at once");
        let named = program.command.get_envs().filter_map(|it| it.0.to_str()).count();
        assert_eq!(named, 7, "three programs, their versions, and where notes go");
        there[1] = found(&AGENTS[1], Err("npm could not install it".to_owned()));
        let Step::Skip(why) = all(&there, &["-n"]) else { panic!("run") };
        assert_eq!(why, "all agents at once: there is no Codex");
    }
}
