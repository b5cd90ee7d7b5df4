//! The scheduler: a random graph of empty calls, compared with one tokio task per node; and
//! processes under the guardian, compared with processes without it.
//!
//! `crates/sched/examples/sched_bench` measures both alternately, in one process and one thread.
//! This file compares its figures with the goals.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::cold::build;
use super::measure::{median, output};
use super::table::{hundredths, megabytes, table, times};
use crate::print::{say, warn};

/// The number of calls.
const CALLS: u32 = 100_000;
/// How many calls may run at once: no limit, and the number of cores of a small machine.
const ROOMS: [(&str, &str); 2] = [("4294967295", "no limit"), ("8", "8 at once")];

/// How often a whole plan file is run.
const RUNS: usize = 5;
/// How many processes are started, and how many at once.
const PROCESSES: u32 = 1_000;
const JOBS: &str = "2";

/// The goal: the time compared with tokio tasks, in hundredths.
const GOAL: u128 = 300;

const NOT_MEASURED: &str = "\
Not measured:
  an idle machine, unless this one was: compare ratios, not times
  a ledger and watchers: there are none, as for the tasks; making the requests and clearing up
  calls that wait for something";

pub(super) fn run(rounds: usize) -> Result<(), String> {
    warn("building the scheduler's program");
    let program = build(&["--workspace", "--example", "sched_bench"])?;
    warn("measuring the graph");
    let mut rows = vec![heads()];
    for (room, name) in ROOMS {
        let rounds = rounds.to_string();
        let said = ask(&program, &["graph", &CALLS.to_string(), room, &rounds])?;
        rows.push(row(name, &figures(&said)?)?);
    }
    say(&format!(
        "A random graph of {CALLS} calls that do nothing, beside one tokio task per node, both in one \
         thread.\nTime per call: median of {rounds}.\n{}",
        table(&rows)
    ));
    let memory = figures(&ask(&program, &["memory", &CALLS.to_string(), ROOMS[0].0])?)?;
    let kilobytes = middle(&memory, "kilobytes")?;
    let each = kilobytes * 1024 / u128::from(CALLS);
    let kilobytes = u64::try_from(kilobytes).unwrap_or(u64::MAX);
    let of_ten = u64::try_from(middle(&memory, "kilobytes_of_ten")?).unwrap_or(u64::MAX);
    say(&format!(
        "\nMemory at {CALLS} calls: {}, {each} bytes each; after ten times as many, one batch after the \
         other: {}",
        megabytes(kilobytes),
        megabytes(of_ten)
    ));
    warn("measuring processes");
    let rounds = rounds.div_ceil(5).to_string();
    let said = ask(&program, &["processes", &PROCESSES.to_string(), JOBS, &rounds])?;
    say(&format!("\n{}", processes(&figures(&said)?)?));
    say(&format!("\n{NOT_MEASURED}\n"));
    super::run::run(RUNS)
}

/// What the guardian adds to a process. There is no goal for it.
fn processes(figures: &Figures) -> Result<String, String> {
    let (guarded, bare) = (middle(figures, "guarded")?, middle(figures, "bare")?);
    let each = |it: u128| format!("{} µs", it / u128::from(PROCESSES) / 1_000);
    let ratio = times(hundredths(guarded, bare));
    let (guarded, bare) = (each(guarded), each(bare));
    Ok(format!(
        "{PROCESSES} × `true`, {JOBS} at once: {guarded} each under the guardian, {bare} without, {ratio}"
    ))
}

fn ask(program: &Path, arguments: &[&str]) -> Result<String, String> {
    output(Command::new(program).args(arguments))
}

/// Figures by name.
pub(super) type Figures = BTreeMap<String, Vec<u128>>;

pub(super) fn figures(text: &str) -> Result<Figures, String> {
    let mut figures = Figures::new();
    for line in text.lines() {
        let (name, value) =
            line.split_once(' ').ok_or_else(|| format!("{line:?} is not a figure"))?;
        let value = value.parse().map_err(|_| format!("{line:?} is not a figure"))?;
        figures.entry(name.to_owned()).or_default().push(value);
    }
    Ok(figures)
}

pub(super) fn middle(figures: &Figures, name: &str) -> Result<u128, String> {
    let found = figures.get(name).and_then(|it| median(it));
    found.ok_or_else(|| format!("there is not a figure {name}"))
}

fn heads() -> Vec<String> {
    ["", "ours", "tasks", "ratio", "goal", ""].map(str::to_owned).to_vec()
}

fn row(name: &str, figures: &Figures) -> Result<Vec<String>, String> {
    let (ours, tasks) = (middle(figures, "ours")?, middle(figures, "tasks")?);
    let each = |it: u128| format!("{} ns", it / u128::from(CALLS));
    let ratio = hundredths(ours, tasks);
    let verdict = if ratio <= GOAL { "met" } else { "missed" }.to_owned();
    let goal = format!("≤ {}", times(GOAL));
    Ok(vec![name.to_owned(), each(ours), each(tasks), times(ratio), goal, verdict])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_become_a_row_with_its_goals() {
        let text = "ours 30000000\ntasks 50000000\nours 31000000\ntasks 50000000\nours 90000000\n\
                    tasks 90000000\n";
        let row = row("no limit", &figures(text).unwrap()).unwrap();
        let expected = ["no limit", "310 ns", "500 ns", "0.62×", "≤ 3.00×", "met"];
        assert_eq!(row, expected);
        assert!(figures("x").is_err() && figures("x y").is_err());
        assert!(super::row("", &Figures::new()).is_err());
    }

    #[test]
    fn processes_are_told_in_a_line() {
        let said = processes(&figures("guarded 900000000\nbare 600000000\n").unwrap()).unwrap();
        let expected =
            "1000 × `true`, 2 at once: 900 µs each under the guardian, 600 µs without, 1.50×";
        assert_eq!(said, expected);
    }
}
