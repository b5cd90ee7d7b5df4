//! Races, kills, failing disks and jumping clocks: acknowledged changes are there, exactly once.
//!
//! Each test is a scenario and runs here in a short form. `cargo xtask torture` runs the same
//! scenarios with full numbers, or again and again for a given time, and makes a table of their
//! results. Random numbers decide when a process is killed, never what must be true afterwards.
//! Most scenarios run on a database file and on a PostgreSQL server (`postgres.rs`).

mod chance;
mod clock;
mod disk;
mod flight;
mod judge;
mod keeping;
mod kills;
mod lists;
mod liveness;
mod own_sessions;
mod place;
mod postgres;
mod races;
mod runs;
mod served;
mod together;
mod transcript;
mod ui;
mod writer;

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::{Duration, Instant};

use chance::Chance;
use place::Place;

/// `full`, or a number of seconds; not set in ordinary tests.
const SCALE: &str = "PUNCHLIST_TORTURE";

/// The file that gets a line for each scenario.
const ROWS: &str = "PUNCHLIST_TORTURE_ROWS";

/// The random seed, to repeat a run.
const SEED: &str = "PUNCHLIST_TORTURE_SEED";

/// How long a scenario goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Once, small.
    Short,
    /// Once, with the full numbers.
    Full,
    /// Short rounds, as often as the time allows.
    Time(Duration),
}

impl Scale {
    fn look() -> Self {
        match std::env::var(SCALE) {
            Err(_) => Self::Short,
            Ok(text) if text == "full" => Self::Full,
            Ok(text) => Self::Time(Duration::from_secs(text.parse().unwrap())),
        }
    }
}

/// Where a scenario keeps its plans.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    InAFile,
    OnAServer,
}

/// The context of one round of a scenario.
struct Round<'a> {
    scale: Scale,
    kept: Kept,
    chance: Chance,
    tally: &'a mut Tally,
}

impl Round<'_> {
    /// The short or the full number.
    fn of(&self, short: usize, full: usize) -> usize {
        match self.scale {
            Scale::Short | Scale::Time(_) => short,
            Scale::Full => full,
        }
    }

    /// A test directory around a new database.
    fn place(&self) -> Place {
        match self.kept {
            Kept::InAFile => Place::new(),
            Kept::OnAServer => Place::on(postgres::Database::new()),
        }
    }
}

/// The counts of a scenario.
#[derive(Default)]
struct Tally {
    processes: usize,
    kills: usize,
    writes: usize,
    acknowledged: usize,
    /// Acknowledged changes that are missing.
    lost: usize,
    /// Changes that are there more than once, or items given to more than one worker.
    doubled: usize,
    /// Files, counters or journals that are inconsistent.
    corrupt: usize,
    /// All problems, as messages.
    problems: Vec<String>,
}

impl Tally {
    fn lose(&mut self, what: impl Into<String>) {
        self.lost += 1;
        self.wrong(what);
    }

    fn double(&mut self, what: impl Into<String>) {
        self.doubled += 1;
        self.wrong(what);
    }

    fn spoil(&mut self, what: impl Into<String>) {
        self.corrupt += 1;
        self.wrong(what);
    }

    fn wrong(&mut self, what: impl Into<String>) {
        self.problems.push(what.into());
    }

    /// Records a problem unless the condition holds.
    fn must(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.wrong(what());
        }
    }

    fn row(&self, name: &str) -> String {
        let numbers = [
            self.processes,
            self.kills,
            self.writes,
            self.acknowledged,
            self.lost,
            self.doubled,
            self.corrupt,
        ];
        numbers.iter().fold(name.to_owned(), |row, number| format!("{row}\t{number}"))
    }
}

/// Runs a scenario with plans in files, reports its counts, and fails if there was a problem.
#[track_caller]
fn scenario(name: &str, round: impl FnMut(&mut Round<'_>)) {
    scenario_on(Kept::InAFile, name, round);
}

#[track_caller]
fn scenario_on(kept: Kept, name: &str, mut round: impl FnMut(&mut Round<'_>)) {
    let scale = Scale::look();
    let seed = match std::env::var(SEED) {
        Ok(text) => text.parse().unwrap(),
        Err(_) => chance::seed(),
    };
    let began = Instant::now();
    let mut tally = Tally::default();
    let mut rounds = 0;
    loop {
        let chance = Chance::new(seed + rounds);
        round(&mut Round { scale, kept, chance, tally: &mut tally });
        rounds += 1;
        let goes_on = match scale {
            Scale::Short | Scale::Full => false,
            Scale::Time(time) => began.elapsed() < time,
        };
        if !goes_on || !tally.problems.is_empty() {
            break;
        }
    }
    report(&tally.row(name));
    if scale != Scale::Short {
        let took = began.elapsed().as_secs_f32();
        say(&format!("{name}: {rounds} round(s) in {took:.1} s, {SEED}={seed}"));
    }
    let mut problems = String::new();
    for problem in tally.problems.iter().take(20) {
        writeln!(problems, "  {problem}").unwrap();
    }
    let many = tally.problems.len();
    assert!(many == 0, "{name}, {SEED}={seed}: {many} problem(s)\n{problems}");
}

/// Reports that this machine cannot run the scenario, and why.
fn skip(name: &str, why: &str) {
    say(&format!("{name}: skipped: {why}"));
    report(&format!("{name}\tskipped: {why}"));
}

/// Prints a line directly to the terminal, because the test harness captures output.
fn say(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn report(row: &str) {
    if let Some(rows) = std::env::var_os(ROWS) {
        let mut file = OpenOptions::new().append(true).create(true).open(rows).unwrap();
        writeln!(file, "{row}").unwrap();
    }
}
