//! Reading agents' streams: only lists compared with a bare scan for line ends, all events compared
//! with sonic-rs into typed structs, and both compared with jq.
//!
//! `bench/streams` measures in one process, on one core, with a log that it generates. It is a
//! separate workspace, so that the product does not depend on what it is compared with.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::cold::{Scratch, build};
use super::measure::{median, output};
use super::table::{table, times};
use crate::print::{say, warn};

/// The length of the log in MiB.
const MEGABYTES: &str = "300";

/// Goals: how many times as fast, in hundredths.
const GOAL_LISTS: u128 = 50;
const GOAL_ALL: u128 = 50;
const GOAL_JQ: u128 = 500;

const NOT_MEASURED: &str = "\
Not measured:
  an idle machine, unless this one was: compare ratios, not times
  the disk: the log is in memory, and our lines are made but not written (jq's go to nowhere)
  other agents' logs, and logs whose lists are never answered: those lines are all read";

pub(super) fn run(rounds: usize) -> Result<(), String> {
    warn("building the parsers and what they are measured beside");
    let program = build(&["--manifest-path", "bench/streams/Cargo.toml"])?;
    let scratch = Scratch::new()?;
    let log = scratch.join("log.jsonl");
    let log = log.to_str().ok_or("the directory for temporary files has no name in UTF-8")?;
    let ask = |arguments: &[&str]| output(Command::new(&program).args(arguments));
    warn("making the log");
    ask(&["generate", log, MEGABYTES])?;
    warn("measuring");
    let figures = read(&ask(&["measure", log, &rounds.to_string()])?)?;
    let jq = jq(log);
    let peaks = [ask(&["peak", log, "lists"])?, ask(&["peak", log, "all"])?];
    say(&report(&figures, jq)?);
    let peak = |text: &str| text.trim().strip_prefix("peak ").unwrap_or("?").to_owned();
    say(&format!(
        "\nMemory at most: {} kB for lists, {} kB for all",
        peak(&peaks[0]),
        peak(&peaks[1])
    ));
    say(&format!("\n{NOT_MEASURED}"));
    Ok(())
}

/// Figures by name.
type Figures = BTreeMap<String, Vec<u128>>;

fn read(text: &str) -> Result<Figures, String> {
    let mut figures = Figures::new();
    for line in text.lines() {
        let (name, value) =
            line.split_once(' ').ok_or_else(|| format!("{line:?} is not a figure"))?;
        let value = value.parse().map_err(|_| format!("{line:?} is not a figure"))?;
        figures.entry(name.to_owned()).or_default().push(value);
    }
    Ok(figures)
}

/// The time that jq needs to print what the model said, if jq is installed.
fn jq(log: &str) -> Option<Duration> {
    let mut command = Command::new("jq");
    command.args(["-c", "select(.type==\"assistant\")", log]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    command.status().ok().filter(|it| it.success()).map(|_| began.elapsed())
}

fn report(figures: &Figures, jq: Option<Duration>) -> Result<String, String> {
    let time = |name: &str| {
        let found = figures.get(name).and_then(|it| median(it)).filter(|it| *it > 0);
        found.ok_or_else(|| format!("there is not a figure {name}"))
    };
    let bytes = time("bytes")?;
    let speed = |micros: u128| format!("{} MB/s", bytes / micros);
    // Rounded down, so that a missed goal is not shown as met.
    let ratio = |one: u128, other: u128| other * 100 / one;
    let (lines, lists, sonic, all) = (time("lines")?, time("lists")?, time("sonic")?, time("all")?);
    let jq = jq.map(|it| it.as_micros());
    let jq_cell = |one: u128, goal: u128| match jq {
        Some(jq) => vec![times(ratio(one, jq)), format!("≥ {}", times(goal))],
        None => vec!["not installed".to_owned(), format!("≥ {}", times(goal))],
    };
    let row = |name: &str, cells: Vec<String>| [vec![name.to_owned()], cells].concat();
    let goal = |it: u128| format!("≥ {}", times(it));
    let rows = [
        row("", vec!["speed".into(), "ratio".into(), "goal".into()]),
        row("a scan for lines (memchr)", vec![speed(lines)]),
        row(
            "plan lines only, beside it",
            vec![speed(lists), times(ratio(lists, lines)), goal(GOAL_LISTS)],
        ),
        row("plan lines only, beside jq", [vec![String::new()], jq_cell(lists, GOAL_JQ)].concat()),
        row("typed structs (sonic-rs)", vec![speed(sonic)]),
        row("all events, beside it", vec![speed(all), times(ratio(all, sonic)), goal(GOAL_ALL)]),
        row("all events, beside jq", [vec![String::new()], jq_cell(all, GOAL_JQ)].concat()),
    ];
    let found = time("found")?;
    Ok(format!("{} MB, {found} lists\n\n{}", bytes / 1_000_000, table(&rows)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_become_ratios_with_their_goals() {
        let text = "lines 100\nlists 160\nsonic 1500\nall 700\nbytes 300000000\nfound 7\n\
                    lines 90\nlists 150\nsonic 1400\nall 701\nlines 110\nlists 170\nsonic 1600\nall 702\n";
        let report = report(&read(text).unwrap(), None).unwrap();
        assert!(report.starts_with("300 MB, 7 lists\n"), "{report}");
        let line = |name: &str| report.lines().find(|it| it.starts_with(name)).unwrap().to_owned();
        assert!(line("plan lines only, beside it").contains("0.62×"), "{report}");
        assert!(line("all events, beside it").contains("2.13×"), "{report}");
        assert!(line("all events, beside jq").contains("not installed"), "{report}");
        assert!(read("x").is_err() && read("x y").is_err());
    }
}
