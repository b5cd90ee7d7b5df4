//! A run of a plan file with a thousand empty steps, two at a time.
//!
//! The baseline is GNU make with the same thousand commands, two at a time, plus the time of
//! writing and syncing a file once per step. A run must sync at least once per step, otherwise it
//! would repeat the step after a crash. make stores nothing, so the two times are added.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::cold::{DATABASE, Scratch, build, our_command};
use super::measure::{median, time};
use super::table::{hundredths, milliseconds, table, times};
use crate::print::{say, warn};

const STEPS: usize = 1_000;
const JOBS: &str = "2";
/// The least that one step writes: a record of its end, the size of a small page.
const RECORD: usize = 2_048;
/// The goal: the time compared with make and its writes, in hundredths.
const GOAL: u128 = 150;
const STRETCH: u128 = 120;

/// One round of all three.
struct Round {
    ours: Duration,
    lax: Duration,
    make: Duration,
    writes: Duration,
}

pub(super) fn run(rounds: usize) -> Result<(), String> {
    if Command::new("make").arg("--version").output().is_err() {
        say("`run` beside make: skipped, make is not installed");
        return Ok(());
    }
    warn("building the program");
    let ours = build(&["--workspace", "--bin", "punchlist"])?;
    let scratch = Scratch::new()?;
    let failed = |error: std::io::Error| error.to_string();
    for directory in ["home", "project/.git"] {
        fs::create_dir_all(scratch.join(directory)).map_err(failed)?;
    }
    fs::write(scratch.join("project/.git/HEAD"), "ref: refs/heads/main\n").map_err(failed)?;
    fs::write(scratch.join("project/plan.md"), plan()).map_err(failed)?;
    fs::write(scratch.join("project/Makefile"), makefile()).map_err(failed)?;
    let mut all = Vec::new();
    for round in 0..rounds {
        let call = |durability: &str| -> Result<Duration, String> {
            let database = scratch.join(&format!("{durability}-{round}-{DATABASE}"));
            let mut command = our_command(&ours, &scratch, &database);
            command.args(["run", "plan.md", "--jobs", JOBS, "-c"]);
            command.arg(format!("store.durability={durability}"));
            time(&mut command)
        };
        let mut make = Command::new("make");
        make.current_dir(scratch.join("project")).args(["-j", JOBS, "-s"]);
        all.push(Round {
            ours: call("full")?,
            lax: call("normal")?,
            make: time(&mut make)?,
            writes: writes(&scratch.join("writes")).map_err(failed)?,
        });
    }
    report(&all);
    Ok(())
}

fn plan() -> String {
    let mut text = String::from("# A thousand steps\n");
    for n in 1..=STEPS {
        // Writing to a string cannot fail.
        writeln!(text, "- [ ] Step {n}\n  run: true").ok();
    }
    text
}

fn makefile() -> String {
    let names: Vec<String> = (1..=STEPS).map(|n| format!("step{n}")).collect();
    let names = names.join(" ");
    // Each command uses a shell, as in Punchlist; make would start a simple command without one.
    format!("all: {names}\n.PHONY: all {names}\n{names}:\n\t@true; :\n")
}

/// The time to write and sync this many records, one after the other.
fn writes(path: &Path) -> std::io::Result<Duration> {
    let record = vec![b'x'; RECORD];
    let began = Instant::now();
    let mut file = File::create(path)?;
    for _ in 0..STEPS {
        file.write_all(&record)?;
        file.sync_data()?;
    }
    Ok(began.elapsed())
}

fn report(rounds: &[Round]) {
    let middle = |of: fn(&Round) -> Duration| {
        median(&rounds.iter().map(of).collect::<Vec<_>>()).unwrap_or_default()
    };
    let (ours, lax) = (middle(|it| it.ours), middle(|it| it.lax));
    let (make, writes) = (middle(|it| it.make), middle(|it| it.writes));
    let both = middle(|it| it.make + it.writes);
    let ratio =
        |one: Duration, other: Duration| times(hundredths(one.as_nanos(), other.as_nanos()));
    let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
    say(&table(&[
        row([
            &format!("{STEPS} × `true`, {JOBS} at once, medians of {}", rounds.len()),
            "time",
            "",
        ]),
        row(["punchlist run, durable", &milliseconds(ours), &ratio(ours, both)]),
        row(["make, and one durable write a step", &milliseconds(both), "1"]),
        row(["  make", &milliseconds(make), ""]),
        row(["  the writes", &milliseconds(writes), ""]),
        row(["punchlist run, store.durability=normal", &milliseconds(lax), &ratio(lax, make)]),
    ]));
    say(&format!(
        "goal {}, stretch {}; the last line is beside make alone",
        times(GOAL),
        times(STRETCH)
    ));
}
