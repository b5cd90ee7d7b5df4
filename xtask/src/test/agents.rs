//! The group `agents`: real agents against scripted models, without a network.
//!
//! Agents are installed under `target/agents` and nowhere else; the tests themselves run in a
//! network namespace that has loopback alone, so that neither an agent nor a test can reach
//! anybody. Each version of an agent is a run of its own of the same tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::tally::Report;
use super::{Program, text_of};
use crate::print::warn;
use crate::workspace::{cargo, root};

/// Claude Code, as npm calls it.
const CLAUDE: &str = "@anthropic-ai/claude-code";

/// The version that was studied; the newest runs beside it.
const STUDIED: &str = "2.1.197";

/// Names the program for the tests.
const PROGRAM: &str = "PUNCHLIST_TEST_CLAUDE";

/// Ways to get a network namespace: as root, and as somebody who may be root in one of their own.
const ENCLOSURES: &[&[&str]] = &[&["-n"], &["-rn"]];

/// Brings loopback up and becomes the command that follows.
const WITH_LOOPBACK: &str = "{ ip link set lo up || ifconfig lo up || busybox ip link set lo up; } \
                             2>/dev/null || { echo 'loopback stays down' >&2; exit 1; }; exec \"$@\"";

/// Installs what is missing and builds the tests, or says what cannot be had here.
pub(super) fn prepare() -> Result<Vec<Program>, String> {
    let enclosure = enclosure()?;
    let mut script = Command::new("script");
    script.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
    text_of(script).ok_or("it needs `script` of util-linux, which makes terminals")?;
    let newest = newest()?;
    let mut versions = vec![STUDIED.to_owned(), newest];
    versions.dedup();
    let agents = versions.into_iter().map(|version| {
        let program = installed(&version)?;
        Ok((version, program))
    });
    let agents = agents.collect::<Result<Vec<(String, PathBuf)>, String>>()?;
    // Outside of the namespace: whatever is missing can still be fetched.
    let built = tests(cargo()).arg("--no-run").status();
    if !built.is_ok_and(|it| it.success()) {
        return Err("the tests did not build".to_owned());
    }
    // Agents wait for processes and for the model more than they compute.
    let threads = std::thread::available_parallelism().map_or(2, |it| it.get() * 2).to_string();
    let run = |(version, program): (String, PathBuf)| {
        let mut command = enclosed(enclosure, &tests(cargo()));
        command.args(["--offline", "--", "--ignored", "--test-threads", &threads]);
        command.env(PROGRAM, program);
        let about = format!("-- Claude Code {version}");
        Program { command, report: Report::Harness, about }
    };
    Ok(agents.into_iter().map(run).collect())
}

fn tests(mut cargo: Command) -> Command {
    cargo.args(["test", "--workspace", "--locked", "--test", "agents"]);
    cargo
}

/// The first way to a network namespace that works here, loopback included.
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

/// The same command, in a network namespace that has loopback alone.
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

/// The newest version that npm has.
fn newest() -> Result<String, String> {
    let mut npm = npm();
    npm.args(["view", CLAUDE, "version"]).stderr(Stdio::null());
    let version = text_of(npm).ok_or("npm is not there, or cannot reach its registry")?;
    let is_plain = |it: char| it.is_ascii_alphanumeric() || ".-+".contains(it);
    if version.is_empty() || !version.chars().all(is_plain) {
        return Err(format!("npm names no version of {CLAUDE} but {version:?}"));
    }
    Ok(version)
}

/// Where the program of this version is; installed first unless it was already.
fn installed(version: &str) -> Result<PathBuf, String> {
    let place = root().join("target/agents").join(format!("claude-{version}"));
    let program = place.join("node_modules/.bin/claude");
    if says_version(&program, version) {
        return Ok(program);
    }
    warn(&format!("installing {CLAUDE} {version}; a few hundred megabytes …"));
    let made = std::fs::create_dir_all(&place);
    made.map_err(|why| format!("{} cannot be made: {why}", place.display()))?;
    let mut npm = npm();
    npm.args([
        "install",
        "--no-audit",
        "--no-fund",
        "--no-save",
        "--loglevel",
        "error",
        "--prefix",
    ]);
    npm.arg(&place).arg(format!("{CLAUDE}@{version}")).stdout(Stdio::null());
    if !npm.status().is_ok_and(|it| it.success()) {
        return Err(format!("npm could not install {CLAUDE} {version}"));
    }
    if says_version(&program, version) {
        return Ok(program);
    }
    Err(format!("{CLAUDE} {version} was installed but does not run"))
}

fn npm() -> Command {
    let mut npm = Command::new("npm");
    npm.current_dir(root()).stdin(Stdio::null());
    npm
}

fn says_version(program: &Path, version: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
    text_of(command).is_some_and(|it| it.split(' ').next() == Some(version))
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
    fn a_program_that_is_not_there_has_no_version() {
        assert!(!says_version(Path::new("/nonexistent/claude"), STUDIED));
    }
}
