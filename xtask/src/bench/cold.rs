//! Cold start: one call of `add`, of `list` with a hundred items, and of `done`.
//!
//! Punchlist is compared with taskwarrior, if it is installed. Every call starts with a fresh copy
//! of the same files.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::measure::{can_count, copy_fresh, instructions, median, output, time};
use super::table::{millions, milliseconds, table, times};
use crate::print::{say, warn};
use crate::workspace::cargo;

/// The number of items. The first half is completed, because open items are limited.
const ITEMS: usize = 100;
const DONE: usize = 50;

/// The goal: taskwarrior's time divided by Punchlist's, in hundredths.
const GOAL_TASKWARRIOR: u128 = 250;

/// How often instructions are counted. The counts differ by a few per cent.
const COUNTS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Add,
    List,
    Done,
}

impl Op {
    const ALL: [Self; 3] = [Self::Add, Self::List, Self::Done];
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add => "add",
            Self::List => "list",
            Self::Done => "done",
        })
    }
}

const NEW_TITLE: &str = "Write the parser tests";
/// An open item in the middle of the list.
const OPEN_ITEM: &str = "75";

/// A program that is measured.
struct Contender {
    name: &'static str,
    /// The files that are copied for each call.
    seed: PathBuf,
    /// Where the copy is. Always the same path, because the path may be part of the data.
    place: PathBuf,
    call: Box<dyn Fn(Op) -> Command>,
}

impl Contender {
    /// The command of a call, with a fresh copy of the files.
    fn ready(&self, op: Op) -> Result<Command, String> {
        let failed = |error| format!("the copy for {} failed: {error}", self.name);
        copy_fresh(&self.seed, &self.place).map_err(failed)?;
        Ok((self.call)(op))
    }
}

/// What the calls of one program cost.
struct Cost {
    instructions: Option<u64>,
    time: Duration,
}

pub(super) fn run(rounds: usize) -> Result<(), String> {
    warn("building the program");
    let ours = build(&["--workspace", "--bin", "punchlist"])?;
    let scratch = Scratch::new()?;
    seed(&scratch, &ours)?;
    // taskwarrior does not sync to disk, so Punchlist is also measured without syncing.
    let lax = contender_ours(&scratch, &ours, "normal", &["-c", "store.durability=normal"]);
    let ours = contender_ours(&scratch, &ours, "punchlist", &[]);
    let mut contenders = vec![ours, lax];
    let mut missing = Vec::new();
    match taskwarrior(&scratch) {
        Ok(taskwarrior) => contenders.push(taskwarrior),
        Err(why) => missing.push(format!("taskwarrior: {why}")),
    }
    let counts = if can_count() {
        COUNTS
    } else {
        missing.push("instructions: valgrind is not installed".to_owned());
        0
    };
    let costs = measure(&contenders, counts, rounds)?;
    say(&report(&contenders, &costs, rounds));
    missing.push("backlog.md and other peers: they are not built here".to_owned());
    missing.push("the kernel's share of the instructions: valgrind does not see it".to_owned());
    missing.push("a cold disk cache: the files had just been copied".to_owned());
    say(&format!("\nNot measured:\n  {}", missing.join("\n  ")));
    Ok(())
}

/// A directory that is removed at the end.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("punchlist-bench-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let path = fs::canonicalize(&path).map_err(|error| error.to_string())?;
        Ok(Self(path))
    }

    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If this fails, the system cleans its temporary directory later.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Builds a program with the release profile and returns its path.
pub(super) fn build(what: &[&str]) -> Result<PathBuf, String> {
    let mut command = cargo();
    command.args(["build", "--release", "--locked"]);
    let output = command
        .arg("--message-format=json-render-diagnostics")
        .args(what)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo build {} failed", what.join(" ")));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    executable(&messages).ok_or_else(|| format!("cargo build {} made no program", what.join(" ")))
}

/// The program in cargo's messages: the last `"executable":"…"`.
fn executable(messages: &str) -> Option<PathBuf> {
    let (_, rest) = messages.rsplit_once("\"executable\":\"")?;
    rest.split_once('"').map(|(path, _)| PathBuf::from(path))
}

/// Punchlist, without access to the user's own files.
pub(super) fn our_command(binary: &Path, scratch: &Scratch, database: &Path) -> Command {
    let mut command = Command::new(binary);
    let home = scratch.join("home");
    command
        .current_dir(scratch.join("project"))
        .env_clear()
        .env("HOME", &home)
        .env("USER", "bench")
        .env("PUNCHLIST_DB", database);
    command
}

pub(super) const DATABASE: &str = "plans.db";

/// Creates the database that every call starts with.
fn seed(scratch: &Scratch, ours: &Path) -> Result<(), String> {
    // A repository, as most projects are.
    let git = scratch.join("project/.git");
    fs::create_dir_all(&git).map_err(|error| format!("{}: {error}", git.display()))?;
    let head = git.join("HEAD");
    fs::write(&head, "ref: refs/heads/main\n").map_err(|error| error.to_string())?;
    for directory in ["home", "seed"] {
        fs::create_dir_all(scratch.join(directory)).map_err(|error| error.to_string())?;
    }
    let database = scratch.join("seed").join(DATABASE);
    let title = |n: usize| format!("Item number {n} of the list");
    output(our_command(ours, scratch, &database).arg("add").args((1..ITEMS).map(title)))?;
    let done = (1..=DONE).map(|n| n.to_string());
    output(our_command(ours, scratch, &database).arg("done").args(done))?;
    // One more change, so that there is a WAL, as nearly always in practice.
    output(our_command(ours, scratch, &database).arg("add").arg(title(ITEMS))).map(drop)
}

/// Punchlist with these global options.
fn contender_ours(
    scratch: &Scratch,
    binary: &Path,
    name: &'static str,
    options: &'static [&str],
) -> Contender {
    let place = scratch.join(name);
    let database = place.join(DATABASE);
    let command = our_command(binary, scratch, &database);
    let call = move |op| {
        let mut call = clone(&command);
        call.args(options);
        match op {
            Op::Add => call.args(["add", NEW_TITLE]),
            Op::List => call.arg("list"),
            Op::Done => call.args(["done", OPEN_ITEM]),
        };
        call
    };
    Contender { name, seed: scratch.join("seed"), place, call: Box::new(call) }
}

/// A copy of a command, with program, environment and arguments.
fn clone(command: &Command) -> Command {
    let mut copy = Command::new(command.get_program());
    copy.env_clear().args(command.get_args());
    copy.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        copy.current_dir(directory);
    }
    copy
}

/// taskwarrior with its own files and the same hundred tasks, or why it cannot be measured.
fn taskwarrior(scratch: &Scratch) -> Result<Contender, String> {
    let (seed, place) = (scratch.join("task-seed"), scratch.join("task"));
    let home = scratch.join("home");
    let call = move |directory: &Path| {
        let mut call = Command::new("task");
        call.env("HOME", &home).env("TASKRC", directory.join("rc")).env("TASKDATA", directory);
        call.arg("rc.verbose=nothing");
        call
    };
    fs::create_dir_all(&seed).map_err(|error| error.to_string())?;
    fs::write(seed.join("rc"), "confirmation=off\nhooks=off\n")
        .map_err(|error| error.to_string())?;
    let tasks: Vec<String> = (1..=ITEMS)
        .map(|n| {
            format!("{{\"description\":\"Item number {n} of the list\",\"status\":\"pending\"}}")
        })
        .collect();
    let list = scratch.join("tasks.json");
    fs::write(&list, format!("[{}]", tasks.join(","))).map_err(|error| error.to_string())?;
    if Command::new("task").arg("--version").stdout(Stdio::null()).status().is_err() {
        return Err("`task` is not installed".to_owned());
    }
    output(call(&seed).arg("import").arg(&list))
        .map_err(|why| format!("`task` takes no tasks, so it may be another program: {why}"))?;
    let at = place.clone();
    let call = move |op| {
        let mut call = call(&at);
        match op {
            Op::Add => call.args(["add", NEW_TITLE]),
            Op::List => call.arg("list"),
            Op::Done => call.args([OPEN_ITEM, "done"]),
        };
        call
    };
    Ok(Contender { name: "taskwarrior", seed, place, call: Box::new(call) })
}

/// The costs of each program, by call.
fn measure(
    contenders: &[Contender],
    counts: usize,
    rounds: usize,
) -> Result<Vec<Vec<Cost>>, String> {
    let mut costs = Vec::new();
    for op in Op::ALL {
        warn(&format!("measuring {op}"));
        let mut counted = vec![Vec::new(); contenders.len()];
        let mut timed = vec![Vec::new(); contenders.len()];
        for _ in 0..counts {
            for (contender, counted) in contenders.iter().zip(&mut counted) {
                counted.push(instructions(&contender.ready(op)?)?);
            }
        }
        // Alternating, so that other load on the machine affects all programs equally.
        for _ in 0..rounds {
            for (contender, timed) in contenders.iter().zip(&mut timed) {
                timed.push(time(&mut contender.ready(op)?)?);
            }
        }
        let cost = |(counted, timed): (&Vec<u64>, &Vec<Duration>)| Cost {
            instructions: median(counted),
            time: median(timed).unwrap_or_default(),
        };
        costs.push(counted.iter().zip(&timed).map(cost).collect());
    }
    Ok(costs)
}

fn report(contenders: &[Contender], costs: &[Vec<Cost>], rounds: usize) -> String {
    let names = contenders.iter().map(|it| it.name.to_owned());
    let head = |what: &str, columns: &[&str]| -> Vec<String> {
        let columns = columns.iter().map(|it| (*it).to_owned());
        std::iter::once(what.to_owned()).chain(names.clone()).chain(columns).collect()
    };
    let mut parts = vec![format!("Cold start with {ITEMS} items, {DONE} of them done.")];
    let mut rows = vec![head("instructions", &[])];
    for (op, costs) in Op::ALL.iter().zip(costs) {
        let counts: Option<Vec<u64>> = costs.iter().map(|it| it.instructions).collect();
        let Some(counts) = counts else { continue };
        let counts = counts.into_iter().map(millions);
        rows.push(std::iter::once(op.to_string()).chain(counts).collect());
    }
    if rows.len() > 1 {
        parts.push(format!("Median of {COUNTS}.\n{}", table(&rows)));
    }
    let columns = ["faster than taskwarrior", "as normal", "goal", ""];
    let columns = if contenders.len() > 2 { &columns[..] } else { &[] };
    let mut rows = vec![head("wall time", columns)];
    for (op, costs) in Op::ALL.iter().zip(costs) {
        let [ours, lax, others @ ..] = costs.as_slice() else { continue };
        let mut row = vec![op.to_string()];
        row.extend(costs.iter().map(|it| milliseconds(it.time)));
        if let [taskwarrior, ..] = others {
            row.extend([ours, lax].map(|it| times(faster(it.time, taskwarrior.time))));
            row.push(format!("≥ {}", times(GOAL_TASKWARRIOR)));
            let verdict = |it: &Cost| match faster(it.time, taskwarrior.time) {
                GOAL_TASKWARRIOR.. => "met",
                0..GOAL_TASKWARRIOR => "missed",
            };
            row.push(format!("{}, {} as `normal`", verdict(ours), verdict(lax)));
        }
        rows.push(row);
    }
    parts.push(format!(
        "Median of {rounds}, interleaved. `normal` is our program with store.durability=normal: \
         like\ntaskwarrior, it does not wait for the disk.\n{}",
        table(&rows)
    ));
    parts.join("\n\n")
}

/// How much faster Punchlist is, in hundredths, rounded down so that a missed goal is not shown as
/// met.
fn faster(ours: Duration, other: Duration) -> u128 {
    other.as_nanos() * 100 / ours.as_nanos().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_in_what_cargo_says() {
        let messages =
            "{\"executable\":null}\n{\"executable\":\"/x/target/release/it\",\"fresh\":true}\n{}";
        assert_eq!(executable(messages), Some(PathBuf::from("/x/target/release/it")));
        assert_eq!(executable("{\"executable\":null}"), None);
    }

    #[test]
    fn the_report_has_a_row_for_each_call_and_says_what_is_met() {
        let contender = |name| Contender {
            name,
            seed: PathBuf::new(),
            place: PathBuf::new(),
            call: Box::new(|_| Command::new("x")),
        };
        let cost = |instructions, time| Cost { instructions, time: Duration::from_millis(time) };
        let contenders = ["ours", "lax", "other"].map(contender);
        let costs = Op::ALL.map(|_| {
            vec![cost(Some(1_400_000), 10), cost(Some(1_410_000), 2), cost(Some(9_000_000), 23)]
        });
        let report = report(&contenders, &costs, 5);
        let ends = |end: &str| report.lines().filter(|line| line.ends_with(end)).count();
        assert_eq!(ends("1.40 M  1.41 M  9.00 M"), 3, "{report}");
        assert_eq!(ends("≥ 2.50×  missed, met as `normal`"), 3, "{report}");
    }
}
