//! Races, kills, broken disks and jumping clocks: what was acknowledged is there, once and whole.
//!
//! Each test is a scenario of its own and runs here in a short form. `cargo xtask torture` runs the
//! same ones with full numbers, or again and again for a chosen time, and makes a table of what they
//! report. What a scenario finds never depends on luck, only how hard it looks: chance decides when
//! somebody is killed, never what must be true afterwards.

mod chance;
mod clock;
mod disk;
mod flight;
mod judge;
mod keeping;
mod kills;
mod lists;
mod liveness;
mod place;
mod races;
mod runs;
mod writer;

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::{Duration, Instant};

use chance::Chance;

/// `full`, or for how many seconds; absent in ordinary tests.
const SCALE: &str = "PUNCHLIST_TORTURE";

/// A file that gets a line for each scenario.
const ROWS: &str = "PUNCHLIST_TORTURE_ROWS";

/// Where chance begins, to repeat a run.
const SEED: &str = "PUNCHLIST_TORTURE_SEED";

/// How long a scenario goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Once, small.
    Short,
    /// Once, with the numbers that we promise.
    Full,
    /// Small ones, as often as the time allows.
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

/// What a round of a scenario may use.
struct Round<'a> {
    scale: Scale,
    chance: Chance,
    tally: &'a mut Tally,
}

impl Round<'_> {
    /// How many: the small number, or the promised one.
    fn of(&self, short: usize, full: usize) -> usize {
        match self.scale {
            Scale::Short | Scale::Time(_) => short,
            Scale::Full => full,
        }
    }
}

/// What was done and what came of it.
#[derive(Default)]
struct Tally {
    processes: usize,
    kills: usize,
    writes: usize,
    acknowledged: usize,
    /// Acknowledged, and not there.
    lost: usize,
    /// There more than once, or given to more than one.
    doubled: usize,
    /// Files, counters or journals that do not add up.
    corrupt: usize,
    /// Everything that is not as it should be, in words.
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

    /// Something that must hold, and what it means if it does not.
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

/// Runs a scenario as long as it should go on, reports, and fails if anything was wrong.
#[track_caller]
fn scenario(name: &str, mut round: impl FnMut(&mut Round<'_>)) {
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
        round(&mut Round { scale, chance, tally: &mut tally });
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

/// Says that this machine cannot do it, and why.
fn skip(name: &str, why: &str) {
    say(&format!("{name}: skipped: {why}"));
    report(&format!("{name}\tskipped: {why}"));
}

/// Says something to whoever waits, past the harness, which would keep it to itself.
fn say(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn report(row: &str) {
    if let Some(rows) = std::env::var_os(ROWS) {
        let mut file = OpenOptions::new().append(true).create(true).open(rows).unwrap();
        writeln!(file, "{row}").unwrap();
    }
}
