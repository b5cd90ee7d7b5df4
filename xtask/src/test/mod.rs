//! The tests, by group.
//!
//! A group is a set of tests with its own requirements. [`Group::prepare`] provides them, or says
//! why it cannot. A group that cannot run, or a part of it, is skipped with a message. If `CI` is
//! `true`, a skipped group is a failure, so that CI never skips tests silently.

mod agents;
mod api;
mod apt;
mod browser;
mod mcp;
mod npm;
pub(crate) mod postgres;
mod providers;
mod results;
mod tally;

use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use crate::Failure;
use crate::print::{say, warn};
use crate::workspace::cargo;
use tally::{Report, Tally};

/// A set of tests with its own requirements.
pub(crate) struct Group {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What it contains and requires, in one line.
    pub(crate) about: &'static str,
    /// Provides what the tests require and returns the programs that run them, or says why they
    /// cannot run here.
    prepare: fn() -> Result<Vec<Step>, String>,
    /// Processes what the tests recorded, once all have passed.
    finish: fn(must_run: bool) -> Result<(), Failure>,
}

/// A part of a group.
enum Step {
    Run(Box<Program>),
    /// It cannot run here, with the reason.
    Skip(String),
}

/// A program that runs tests.
struct Program {
    command: Command,
    report: Report,
    /// Printed before it runs, if a group has several; otherwise empty.
    about: String,
}

/// All groups, in the order in which they run. A new group is a line here and a function below.
pub(crate) const GROUPS: &[Group] = &[
    Group {
        name: "core",
        about: "every crate's own tests; needs Rust and a C compiler",
        prepare: core,
        finish: |_| Ok(()),
    },
    Group {
        name: "agents",
        about: "real agents with scripted models; needs npm, Linux and network namespaces",
        prepare: agents::prepare,
        finish: results::finish,
    },
    Group {
        name: "mcp",
        about: "the MCP server and the ACP agent with test programs of others; needs npm, as above",
        prepare: mcp::prepare,
        finish: |_| Ok(()),
    },
    Group {
        name: "api",
        about: "the HTTP API and MCP over HTTP with test programs of others; needs Python and npm",
        prepare: api::prepare,
        finish: |_| Ok(()),
    },
    Group {
        name: "providers",
        about: "model providers, played by a mock server of others; needs npm and Node, as above",
        prepare: providers::prepare,
        finish: |_| Ok(()),
    },
    Group {
        name: "browser",
        about: "the dashboard in Chromium; needs Debian's chromium and chromium-driver, and npm",
        prepare: browser::prepare,
        finish: |_| Ok(()),
    },
    Group {
        name: "postgres",
        about: "the store on a real server; needs PostgreSQL's programs, or npm and Node",
        prepare: postgres::prepare,
        finish: |_| Ok(()),
    },
];

/// Runs the named groups, or all.
pub(crate) fn run(names: &[&str]) -> Result<(), Failure> {
    if names.contains(&"--full") {
        return run_older(names);
    }
    let groups = chosen(names)?;
    let must_run = is_ci();
    let mut total = Tally::default();
    for group in groups {
        warn(&format!("== {}: {}", group.name, group.about));
        let began = Instant::now();
        let tally = match (group.prepare)() {
            Ok(steps) => {
                let tally = run_all(group.name, steps, must_run)?;
                say(&format!("{}: {tally} in {} s", group.name, began.elapsed().as_secs()));
                if tally.failed == 0 {
                    (group.finish)(must_run)?;
                }
                tally
            }
            Err(why) => unable(group.name, &why, must_run),
        };
        total += tally;
    }
    say(&total.to_string());
    if total.failed == 0 { Ok(()) } else { Err(Failure::Reported) }
}

/// Whether nothing may be skipped.
fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|it| it == "true")
}

/// Runs the agents' tests with older releases, and keeps the results: a failing test is a result, not
/// an error. For PostgreSQL, runs the tests with every server that can be had, and behind a pooler.
fn run_older(names: &[&str]) -> Result<(), Failure> {
    if names == ["postgres", "--full"] {
        let steps = postgres::prepare_full().map_err(Failure::Failed)?;
        let tally = run_all("postgres --full", steps, is_ci())?;
        say(&format!("postgres --full: {tally}"));
        return if tally.failed == 0 { Ok(()) } else { Err(Failure::Reported) };
    }
    if names != ["agents", "--full"] {
        return Err(Failure::Usage("--full is for the group agents or postgres alone".to_owned()));
    }
    let steps = agents::prepare_older().map_err(Failure::Failed)?;
    let tally = run_all("agents --full", steps, false)?;
    say(&format!("agents --full: {tally}"));
    results::finish_older()
}

fn chosen(names: &[&str]) -> Result<Vec<&'static Group>, Failure> {
    if names.is_empty() {
        return Ok(GROUPS.iter().collect());
    }
    let find = |name: &&str| {
        GROUPS.iter().find(|it| it.name == *name).ok_or_else(|| {
            let known: Vec<&str> = GROUPS.iter().map(|it| it.name).collect();
            let known = known.join(", ");
            Failure::Usage(format!("there is no group {name:?}; there is: {known}"))
        })
    };
    names.iter().map(find).collect()
}

/// Reports that something cannot run, and returns how it counts.
fn unable(group: &str, why: &str, must_run: bool) -> Tally {
    say(&format!("{group}: skipped: {why}"));
    if must_run {
        Tally { failed: 1, ..Tally::default() }
    } else {
        Tally { skipped: 1, ..Tally::default() }
    }
}

fn run_all(group: &str, steps: Vec<Step>, must_run: bool) -> Result<Tally, Failure> {
    let mut total = Tally::default();
    for step in steps {
        total += match step {
            Step::Run(program) => run_one(*program)?,
            Step::Skip(why) => unable(group, &why, must_run),
        };
    }
    Ok(total)
}

/// Runs one program, passes its output on and counts its results.
fn run_one(program: Program) -> Result<Tally, Failure> {
    let Program { mut command, report, about } = program;
    if !about.is_empty() {
        warn(&about);
    }
    let failed = |error: io::Error| Failure::Failed(format!("the tests could not be run: {error}"));
    if io::stderr().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut tally = thread::scope(|scope| {
        let out = scope.spawn(|| stdout.map(|from| pass_on(report, from, io::stdout())));
        let err = stderr.map(|from| pass_on(report, from, io::stderr())).unwrap_or_default();
        // If the thread panicked, nothing was counted; the exit code below is still checked.
        err + out.join().ok().flatten().unwrap_or_default()
    });
    let status = child.wait().map_err(failed)?;
    if !status.success() && tally.failed == 0 {
        // It did not build, or it died before it could report.
        tally.failed = 1;
        warn(&format!("the tests ended without a report of failures: {status}"));
    }
    Ok(tally)
}

/// Copies lines as they come, and counts the results in them.
fn pass_on(report: Report, from: impl Read, mut to: impl Write) -> Tally {
    let mut tally = Tally::default();
    let mut lines = BufReader::new(from);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        // If our output is closed, counting continues.
        drop(to.write_all(&line));
        tally += report.of_line(&String::from_utf8_lossy(&line));
        line.clear();
    }
    drop(to.flush());
    tally
}

/// The trimmed stdout of a command, if it succeeds.
fn text_of(mut command: Command) -> Option<String> {
    let output = command.output().ok().filter(|it| it.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// nextest if it is installed, because it runs test programs in parallel; otherwise cargo.
fn core() -> Result<Vec<Step>, String> {
    let has_nextest = cargo()
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let mut command = cargo();
    let report = if has_nextest {
        command.args(["nextest", "run", "--no-tests", "pass"]);
        Report::Nextest
    } else {
        command.arg("test");
        Report::Harness
    };
    command.args(["--workspace", "--locked", "--no-fail-fast"]);
    Ok(vec![Step::Run(Box::new(Program { command, report, about: String::new() }))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_names_every_group_is_chosen() {
        assert_eq!(chosen(&[]).unwrap().len(), GROUPS.len());
    }

    #[test]
    fn an_unknown_group_is_a_usage_error_that_names_the_known_ones() {
        let Err(Failure::Usage(message)) = chosen(&["core", "moon"]) else { panic!("accepted") };
        assert_eq!(
            message,
            "there is no group \"moon\"; there is: core, agents, mcp, api, providers, browser, postgres"
        );
    }

    #[test]
    fn older_releases_are_asked_for_with_the_agents_and_nothing_else() {
        for names in [&["--full"][..], &["core", "--full"], &["agents", "mcp", "--full"]] {
            let Err(Failure::Usage(message)) = run(names) else { panic!("accepted") };
            assert_eq!(message, "--full is for the group agents or postgres alone");
        }
    }

    #[test]
    fn what_cannot_run_is_skipped_and_in_ci_has_failed() {
        for (must_run, tally) in
            [(false, "0 passed, 0 failed, 1 skipped"), (true, "0 passed, 1 failed, 0 skipped")]
        {
            assert_eq!(unable("agents", "no npm", must_run).to_string(), tally);
            let steps = vec![Step::Skip("Codex 1.2.3: no npm".to_owned())];
            assert_eq!(run_all("agents", steps, must_run).unwrap().to_string(), tally);
        }
    }

    #[test]
    fn group_names_are_distinct() {
        let mut names: Vec<_> = GROUPS.iter().map(|it| it.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), GROUPS.len());
    }

    #[test]
    fn lines_are_passed_on_as_they_are_and_counted() {
        let printed = b"running\n\xff not text\ntest result: ok. 2 passed; 0 failed; 1 ignored";
        let mut copy = Vec::new();
        let tally = pass_on(Report::Harness, &printed[..], &mut copy);
        assert_eq!(copy, printed);
        assert_eq!(tally.to_string(), "2 passed, 0 failed, 1 skipped");
    }
}
