//! The terminal UI: a frame with a long plan, compared with a plain list of ratatui; the time to the
//! first screen; the processor time while nothing happens; what is written while a model streams.
//!
//! `crates/tui/examples/tui_bench` measures frames. The rest is measured on the program itself, on a
//! terminal that `script` provides.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::cold::{Scratch, build};
use super::measure::{median, output};
use super::sched::{Figures, figures, middle};
use super::streaming;
use super::table::{hundredths, milliseconds, short_time, table, times};
use super::watch::{Watched, ticks};
use crate::print::{say, warn};

/// How many items the plan has.
const ITEMS: u32 = 1_000;
/// How often the program is started.
const STARTS: usize = 11;
/// How long processor time is measured while nothing happens.
const QUIET: Duration = Duration::from_secs(10);
/// The timeout for the first screen.
const PATIENCE: Duration = Duration::from_secs(20);
/// The last word of the status line: when it is written, the screen is complete.
const STATUS: &str = "keys";

/// The goals: a frame beside ratatui's, in hundredths, and the time to the first screen.
const GOAL_FRAME: u128 = 130;
const GOAL_START: Duration = Duration::from_millis(100);

const NOT_MEASURED: &str = "\
Not measured:
  an idle machine, unless this one was: compare ratios, not times
  the terminal's own drawing: the time is taken when the bytes leave the program
  scrolling in other terminals than tmux";

pub(super) fn run(rounds: usize) -> Result<(), String> {
    warn("building");
    let frames = build(&["--workspace", "--example", "tui_bench"])?;
    let binary = build(&["--workspace", "--bin", "punchlist"])?;
    warn("measuring frames");
    let mut command = Command::new(&frames);
    let figures = figures(&output(command.args([ITEMS.to_string(), rounds.to_string()]))?)?;
    let scratch = Scratch::new()?;
    let project = scratch.join("project");
    fs::create_dir_all(&project).map_err(|error| error.to_string())?;
    warn("measuring the first screen");
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        starts.push(start(&binary, &scratch)?.1);
    }
    warn("counting processor time, nothing happens");
    let (program, _) = start(&binary, &scratch)?;
    let pid = program.inner()?;
    // What is done once after the start is over by then.
    thread::sleep(Duration::from_secs(1));
    let before = ticks(pid)?;
    thread::sleep(QUIET);
    let used = ticks(pid)? - before;
    drop(program);
    let streamed = streaming::run(&binary, &scratch)?;
    say(&format!("A plan of {ITEMS} items in a frame of 120×40, median of {rounds}.\n"));
    say(&report(&figures, &starts, used)?);
    say(&format!("\n{streamed}"));
    say(&format!("\n{NOT_MEASURED}"));
    Ok(())
}

/// Starts the terminal UI, and returns it with the time until its first screen was complete.
fn start(binary: &Path, scratch: &Scratch) -> Result<(Watched, Duration), String> {
    let mut command = Command::new("script");
    let inside = "stty rows 40 cols 120 && exec \"$BINARY\"";
    command.args(["-q", "-f", "-c", inside, "/dev/null"]);
    command.env_clear().env("BINARY", binary).env("HOME", scratch.join("home"));
    for (name, value) in
        [("PATH", "/usr/bin:/bin"), ("TERM", "xterm"), ("LANG", "C.UTF-8"), ("SHELL", "/bin/sh")]
    {
        command.env(name, value);
    }
    command.current_dir(scratch.join("project"));
    let began = Instant::now();
    let mut program = Watched::start(command)?;
    let seen = program.wait_for(STATUS, PATIENCE)?;
    Ok((program, seen.saturating_duration_since(began)))
}

/// `used`: the ticks of processor time while nothing happened.
fn report(figures: &Figures, starts: &[Duration], used: u128) -> Result<String, String> {
    let (plan, list) = (middle(figures, "plan")?, middle(figures, "list")?);
    let nanos = |it: u128| short_time(Duration::from_nanos(u64::try_from(it).unwrap_or(u64::MAX)));
    let ratio = hundredths(plan, list);
    let first = median(starts).ok_or("the program was not started")?;
    let verdict = |is_met: bool| if is_met { "met" } else { "missed" }.to_owned();
    let row = |cells: [&str; 5], is_met: bool| {
        let mut row: Vec<String> = cells.map(str::to_owned).to_vec();
        row.push(verdict(is_met));
        row
    };
    let goal = format!("≤ {}", times(GOAL_FRAME));
    let frame = ["a frame", &nanos(plan), &nanos(list), &times(ratio), &goal];
    let goal = format!("< {}", milliseconds(GOAL_START));
    let start = ["the first screen", &milliseconds(first), "", "", &goal];
    // A tick is ten milliseconds.
    let idle = milliseconds(Duration::from_millis(u64::try_from(used * 10).unwrap_or(u64::MAX)));
    let name = format!("processor time in {} idle seconds", QUIET.as_secs());
    Ok(table(&[
        ["", "punchlist", "ratatui's list", "ratio", "goal", ""].map(str::to_owned).to_vec(),
        row(frame, ratio <= GOAL_FRAME),
        row(start, first < GOAL_START),
        row([&name, &idle, "", "", "0"], used == 0),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_become_a_table_with_its_goals() {
        let frames = figures("plan 130000\nlist 100000\n").unwrap();
        let told = report(&frames, &[Duration::from_millis(101)], 0).unwrap();
        let line = |name: &str| told.lines().find(|it| it.starts_with(name)).unwrap().to_owned();
        assert!(line("a frame").contains("1.30×") && line("a frame").ends_with("met"), "{told}");
        assert!(line("the first screen").ends_with("missed"), "{told}");
        assert!(line("processor time").ends_with("met"), "{told}");
        assert!(report(&Figures::new(), &[], 0).is_err());
        assert!(report(&frames, &[], 0).is_err());
    }
}
