//! The store: four writers compared with one, `next` in a large graph compared with a smaller one,
//! and the time until another process sees a change.
//!
//! `crates/store/examples/store_bench` measures. This file starts it and compares its figures with
//! the goals.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::cold::{Scratch, build};
use super::measure::{median, output};
use super::table::{hundredths, milliseconds, table, times};
use crate::print::{say, warn};

/// How many processes write at once.
const WRITERS: usize = 4;
/// How long they write in one round.
const CONTEND: Duration = Duration::from_secs(2);
/// How long a follower stays idle, to measure what that costs.
const IDLE: Duration = Duration::from_secs(5);
/// The numbers of items in the graphs, with about twice as many dependencies.
const ITEMS: u64 = 10_000;
const ITEMS_LARGE: u64 = 100_000;

/// Goals and stretch goals in hundredths.
const GOAL_FAIR: u128 = 1_000;
const STRETCH_FAIR: u128 = 500;
const GOAL_THROUGHPUT: u128 = 100;
const GOAL_NEXT: Duration = Duration::from_millis(1);
const GOAL_GROWTH: u128 = 200;
const GOAL_SEEN_P50: Duration = Duration::from_millis(5);
const GOAL_SEEN_P99: Duration = Duration::from_millis(50);

const NOT_MEASURED: &str = "\
Not measured:
  an idle machine, unless this one was: compare ratios, not times
  a loss of power, and other disks than the one with the directory for temporary files
  `next` and following through the program itself: these are the store's own calls
  file systems without locks or watches, where waiting is less fair and news a second late";

/// The programs' output: figures by name.
type Figures = BTreeMap<String, Vec<u128>>;

pub(super) fn run(rounds: usize) -> Result<(), String> {
    warn("building the store's programs");
    let program = build(&["--workspace", "--example", "store_bench"])?;
    let bench = Bench { program, scratch: Scratch::new()? };
    warn("measuring four writers");
    let contended =
        (0..rounds.div_ceil(5)).map(|_| bench.round()).collect::<Result<Vec<_>, _>>()?;
    say(&contention(&contended));
    warn("measuring next");
    let looks = count(rounds, 50);
    let small = bench.figures("small", &["next"], &[&ITEMS.to_string(), &looks])?;
    let large = bench.figures("large", &["next"], &[&ITEMS_LARGE.to_string(), &looks])?;
    say(&format!("\n{}", ready(&small, &large)));
    warn("measuring how soon a change is seen");
    let idle = IDLE.as_millis().to_string();
    let seen = bench.figures("seen", &["react"], &[&count(rounds, 20), &idle])?;
    say(&format!("\n{}\n\n{NOT_MEASURED}", reaction(&seen)));
    Ok(())
}

fn count(rounds: usize, each: usize) -> String {
    (rounds * each).to_string()
}

struct Bench {
    program: PathBuf,
    scratch: Scratch,
}

impl Bench {
    /// A fresh directory.
    fn directory(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.scratch.join(name);
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// The figures of a program that runs in a directory of its own.
    fn figures(&self, name: &str, mode: &[&str], rest: &[&str]) -> Result<Figures, String> {
        let directory = self.directory(name)?;
        let mut command = Command::new(&self.program);
        let said = output(command.args(mode).arg(&directory).args(rest))?;
        // Removed at once, because the large databases together would fill a small disk.
        drop(fs::remove_dir_all(&directory));
        parse(&said)
    }

    /// One round: four writers and one writer, each with a fresh database.
    fn round(&self) -> Result<Round, String> {
        Ok(Round { four: self.write(WRITERS)?, one: self.write(1)? })
    }

    fn write(&self, writers: usize) -> Result<Written, String> {
        let database = self.directory("writers")?.join("plans.db");
        output(Command::new(&self.program).arg("plan").arg(&database))?;
        let start = |who| Writer::start(&self.program, &database, who);
        let mut working = (0..writers).map(start).collect::<Result<Vec<_>, _>>()?;
        working.iter_mut().try_for_each(Writer::begin)?;
        let said = working.into_iter().map(Writer::end).collect::<Result<Vec<_>, _>>()?;
        let took: Vec<u128> = said.iter().flat_map(|it| of(it, "took")).copied().collect();
        let counts = || said.iter().map(|it| of(it, "took").len() as u128);
        let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
        let longest = said.iter().flat_map(|it| of(it, "all")).copied().max().unwrap_or(1);
        Ok(Written {
            p50: quantile(&took, 50),
            p99: quantile(&took, 99),
            per_second: took.len() as u128 * 1_000_000_000 / longest.max(1),
            even: least * 100 / most.max(1),
        })
    }
}

/// A process that writes.
struct Writer {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Writer {
    /// Starts it and waits until it is ready.
    fn start(program: &Path, database: &Path, who: usize) -> Result<Self, String> {
        let failed = |error| format!("a writer did not start: {error}");
        let mut child = Command::new(program)
            .arg("writer")
            .arg(database)
            .args([who.to_string(), CONTEND.as_millis().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let output = child.stdout.take().ok_or("a writer has no output")?;
        let mut said = BufReader::new(output);
        said.read_line(&mut String::new()).map_err(failed)?;
        Ok(Self { child, said })
    }

    fn begin(&mut self) -> Result<(), String> {
        let input = self.child.stdin.as_mut().ok_or("a writer has no input")?;
        input.write_all(b"\n").map_err(|error| format!("a writer cannot begin: {error}"))
    }

    fn end(mut self) -> Result<Figures, String> {
        let mut text = String::new();
        let failed = |error| format!("a writer was not heard: {error}");
        self.said.read_to_string(&mut text).map_err(failed)?;
        let status = self.child.wait().map_err(failed)?;
        if status.success() { parse(&text) } else { Err(format!("a writer ended with {status}")) }
    }
}

/// The result of one round of writers.
#[derive(Clone, Copy)]
struct Written {
    p50: u128,
    p99: u128,
    per_second: u128,
    /// The writes of the slowest writer, in hundredths of those of the fastest.
    even: u128,
}

#[derive(Clone, Copy)]
struct Round {
    four: Written,
    one: Written,
}

/// Parses lines with a name and a number.
fn parse(said: &str) -> Result<Figures, String> {
    let mut figures = Figures::new();
    for line in said.lines() {
        let figure = line.split_once(' ').and_then(|(name, it)| Some((name, it.parse().ok()?)));
        let (name, figure) = figure.ok_or_else(|| format!("{line:?} is not a figure"))?;
        figures.entry(name.to_owned()).or_default().push(figure);
    }
    Ok(figures)
}

fn of<'a>(figures: &'a Figures, name: &str) -> &'a [u128] {
    figures.get(name).map_or(&[], Vec::as_slice)
}

/// The smallest figure that is at least as large as this percentage of all figures.
fn quantile(figures: &[u128], percent: usize) -> u128 {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or_default()
}

fn middle(figures: &[u128]) -> u128 {
    median(figures).unwrap_or_default()
}

/// `12.3 µs`; milliseconds from 10 ms on.
fn duration(nanos: u128) -> String {
    if nanos >= 10_000_000 {
        return milliseconds(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)));
    }
    let tenths = (nanos + 50) / 100;
    format!("{}.{} µs", tenths / 10, tenths % 10)
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn judged(is_met: bool) -> &'static str {
    if is_met { "met" } else { "missed" }
}

fn contention(rounds: &[Round]) -> String {
    let figure =
        |pick: &dyn Fn(&Round) -> u128| middle(&rounds.iter().map(pick).collect::<Vec<_>>());
    let fair = figure(&|it| hundredths(it.four.p99, it.four.p50));
    let gain = figure(&|it| it.four.per_second * 100 / it.one.per_second.max(1));
    let verdict = if fair <= STRETCH_FAIR { "stretch met" } else { judged(fair <= GOAL_FAIR) };
    let rate = |pick: &dyn Fn(&Round) -> u128| format!("{}/s", figure(pick));
    let (at_most, stretch) =
        (format!("≤ {}", times(GOAL_FAIR)), format!("≤ {}", times(STRETCH_FAIR)));
    let at_least = format!("≥ {}", times(GOAL_THROUGHPUT));
    let rows = [
        row(["FULL", "punchlist", "goal", "stretch", ""]),
        row(["wait of four, p50", &duration(figure(&|it| it.four.p50))]),
        row(["wait of four, p99", &duration(figure(&|it| it.four.p99))]),
        row(["p99 / p50", &times(fair), &at_most, &stretch, verdict]),
        row(["unluckiest / luckiest", &times(figure(&|it| it.four.even))]),
        row(["adds of four", &rate(&|it| it.four.per_second)]),
        row(["adds of one", &rate(&|it| it.one.per_second)]),
        row(["four / one", &times(gain), &at_least, "", judged(gain >= GOAL_THROUGHPUT)]),
    ];
    format!(
        "{WRITERS} processes that add to one plan, {} s a round, medians of {} rounds.\n{}",
        CONTEND.as_secs(),
        rounds.len(),
        table(&rows)
    )
}

/// The measured uses of the next item: the words for people, and the figure's name.
const NEXT: [(&str, &str); 2] = [("shown", "read"), ("taken", "claim")];

fn ready(small: &Figures, large: &Figures) -> String {
    let mut rows = vec![row(["next", "punchlist", "goal", ""])];
    let goal = format!("≤ {} ms", GOAL_NEXT.as_millis());
    for (name, figure) in NEXT {
        let took = middle(of(small, figure));
        let items = middle(of(small, "items"));
        let verdict = judged(took <= GOAL_NEXT.as_nanos());
        rows.push(row([&format!("{name}, {items} items"), &duration(took), &goal, verdict]));
    }
    let goal = format!("≤ {}", times(GOAL_GROWTH));
    for (name, figure) in NEXT {
        let growth = hundredths(middle(of(large, figure)), middle(of(small, figure)));
        let verdict = judged(growth <= GOAL_GROWTH);
        rows.push(row([&format!("{name}, tenfold graph"), &times(growth), &goal, verdict]));
    }
    format!(
        "The next ready item among {} and {} items with {} and {} dependencies, medians of {} calls.\n\
         Shown: the plan's header and the item. Taken: the journaled change, NORMAL.\n{}",
        middle(of(small, "items")),
        middle(of(large, "items")),
        middle(of(small, "links")),
        middle(of(large, "links")),
        of(small, "read").len(),
        table(&rows)
    )
}

fn reaction(figures: &Figures) -> String {
    let at = |name: &str, percent| quantile(of(figures, name), percent);
    let mut rows = vec![row(["seen by a follower", "p50", "p99"])];
    for (label, name) in [
        ("from before the change", "from_call"),
        ("from its answer", "from_answer"),
        ("a byte through a pipe", "pipe"),
    ] {
        rows.push(row([label, &duration(at(name, 50)), &duration(at(name, 99))]));
    }
    let goals = [GOAL_SEEN_P50, GOAL_SEEN_P99].map(|it| format!("≤ {} ms", it.as_millis()));
    rows.push(row(["goal", &goals[0], &goals[1]]));
    let is_met = |percent, goal: Duration| judged(at("from_call", percent) <= goal.as_nanos());
    rows.push(row(["", is_met(50, GOAL_SEEN_P50), is_met(99, GOAL_SEEN_P99)]));
    let seconds = middle(of(figures, "idle_for")).div_ceil(1_000_000_000).max(1);
    format!(
        "A change in one process until `follow` gives it in another, {} times, NORMAL; beside it a byte\n\
         through a pipe between the same two. The goal is for an idle machine.\n{}\n\
         An idle follower used {} of a processor in {seconds} s and slept {} times.",
        of(figures, "from_call").len(),
        table(&rows),
        duration(middle(of(figures, "idle_spent"))),
        middle(of(figures, "idle_wakes")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_by_name() {
        let figures = parse("ours 3\nraw 2\nours 5\n").unwrap();
        assert_eq!(of(&figures, "ours"), [3, 5]);
        assert_eq!(of(&figures, "moon"), [0_u128; 0]);
        assert_eq!(parse("ours x").unwrap_err(), "\"ours x\" is not a figure");
        assert_eq!(parse("ours").unwrap_err(), "\"ours\" is not a figure");
    }

    #[test]
    fn a_quantile_is_one_of_the_figures() {
        let hundred: Vec<u128> = (1..=100).rev().collect();
        assert_eq!(quantile(&hundred, 50), 50);
        assert_eq!(quantile(&hundred, 99), 99);
        assert_eq!(quantile(&[7, 9], 99), 9);
        assert_eq!(quantile(&[], 99), 0);
    }

    #[test]
    fn times_are_written_for_people() {
        assert_eq!(duration(12_340), "12.3 µs");
        assert_eq!(duration(9_999_940), "9999.9 µs");
        assert_eq!(duration(12_340_000), "12.34 ms");
    }

    fn written(p50: u128, p99: u128, per_second: u128) -> Written {
        Written { p50, p99, per_second, even: 90 }
    }

    #[test]
    fn fairness_is_judged_by_the_median_of_the_rounds() {
        let round =
            |p99| Round { four: written(1_000_000, p99, 250), one: written(900_000, 950_000, 240) };
        let text = contention(&[round(4_000_000), round(6_000_000), round(60_000_000)]);
        let rows: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            rows,
            [
                "FULL                   punchlist      goal  stretch",
                "wait of four, p50      1000.0 µs",
                "wait of four, p99      6000.0 µs",
                "p99 / p50                  6.00×  ≤ 10.00×  ≤ 5.00×  met",
                "unluckiest / luckiest      0.90×",
                "adds of four               250/s",
                "adds of one                240/s",
                "four / one                 1.04×   ≥ 1.00×           met",
            ]
        );
    }

    #[test]
    fn next_is_judged_by_its_time_and_by_how_it_grows() {
        let figures = |items: u32, read: u32| {
            let text = format!("items {items}\nlinks 1\nread {read}\nclaim 1000001\n");
            parse(&text).unwrap()
        };
        let text = ready(&figures(10, 15_000), &figures(100, 30_001));
        let verdicts: Vec<&str> =
            text.lines().skip(3).filter_map(|line| line.split_whitespace().last()).collect();
        assert_eq!(verdicts, ["met", "missed", "missed", "met"]);
    }

    #[test]
    fn a_change_that_is_seen_late_misses_the_goal() {
        let text = "from_call 6000000\nfrom_answer 1\npipe 2000\nidle_for 5000000000\n\
                    idle_spent 700000\nidle_wakes 5\n";
        let report = reaction(&parse(text).unwrap());
        let verdict = |line: &str| line.split_whitespace().eq(["missed", "met"]);
        assert!(report.lines().any(verdict), "{report}");
        assert!(report.ends_with("used 700.0 µs of a processor in 5 s and slept 5 times."));
    }
}
