//! The store: adds beside raw SQLite, four writers beside SQLite's own waiting, `next` on a large
//! graph beside the query on its counter, and how soon another process sees a change.
//!
//! The measuring is done by `crates/store/examples/store_bench`, which works on our store and on raw
//! SQLite in turn; here its programs are started, and their figures put beside the goals.

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

/// How many writers there are at once.
const WRITERS: usize = 4;
/// How long they write in one round.
const CONTEND: Duration = Duration::from_secs(2);
/// How long a follower is left alone to see what that costs.
const IDLE: Duration = Duration::from_secs(5);
/// The sizes of the graphs, with about twice as many dependencies.
const ITEMS: u64 = 10_000;
const ITEMS_LARGE: u64 = 100_000;

/// Goals and stretches in hundredths.
const GOAL_FAIR: u128 = 1_000;
const STRETCH_FAIR: u128 = 500;
const GOAL_THROUGHPUT: u128 = 100;
const GOAL_NEXT: u128 = 150;
const GOAL_GROWTH: u128 = 200;
const GOAL_SEEN_P50: Duration = Duration::from_millis(5);
const GOAL_SEEN_P99: Duration = Duration::from_millis(50);

const NOT_MEASURED: &str = "\
Not measured:
  an idle machine, unless this one was: compare ratios, not times
  a loss of power, and other disks than the one with the directory for temporary files
  `next` and following through the program itself: these are the store's own calls
  file systems without locks or watches, where waiting is less fair and news a second late";

/// What the programs say: figures by name.
type Figures = BTreeMap<String, Vec<u128>>;

pub(super) fn run(rounds: usize) -> Result<(), String> {
    warn("building the store's programs");
    let program = build(&["--workspace", "--example", "store_bench"])?;
    let bench = Bench { program, scratch: Scratch::new()? };
    warn("measuring adds");
    let normal = bench.figures("normal", &["adds"], &["normal", &count(rounds, 50)])?;
    let full = bench.figures("full", &["adds"], &["full", &count(rounds, 10)])?;
    say(&adds(&normal, &full));
    warn("measuring four writers");
    let contended =
        (0..rounds.div_ceil(5)).map(|_| bench.round()).collect::<Result<Vec<_>, _>>()?;
    say(&format!("\n{}", contention(&contended)));
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

    /// What a program says that works in a directory of its own.
    fn figures(&self, name: &str, mode: &[&str], rest: &[&str]) -> Result<Figures, String> {
        let directory = self.directory(name)?;
        let mut command = Command::new(&self.program);
        let said = output(command.args(mode).arg(&directory).args(rest))?;
        // The large ones would fill a small disk together.
        drop(fs::remove_dir_all(&directory));
        parse(&said)
    }

    /// One round of writers: four and one, ours and raw, each on a fresh database.
    fn round(&self) -> Result<Round, String> {
        Ok(Round {
            ours: self.write("ours", WRITERS)?,
            raw: self.write("raw", WRITERS)?,
            ours_alone: self.write("ours", 1)?,
            raw_alone: self.write("raw", 1)?,
        })
    }

    fn write(&self, which: &str, writers: usize) -> Result<Written, String> {
        let database = self.directory("writers")?.join("plans.db");
        output(Command::new(&self.program).arg("plan").arg(&database))?;
        let start = |who| Writer::start(&self.program, &database, which, who);
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
    fn start(program: &Path, database: &Path, which: &str, who: usize) -> Result<Self, String> {
        let failed = |error| format!("a writer did not start: {error}");
        let mut child = Command::new(program)
            .arg("writer")
            .arg(database)
            .args([which, &who.to_string(), &CONTEND.as_millis().to_string()])
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

/// What writers did in one round.
#[derive(Clone, Copy)]
struct Written {
    p50: u128,
    p99: u128,
    per_second: u128,
    /// What the least lucky writer wrote, in hundredths of what the luckiest did.
    even: u128,
}

#[derive(Clone, Copy)]
struct Round {
    ours: Written,
    raw: Written,
    ours_alone: Written,
    raw_alone: Written,
}

/// Figures from lines of a name and a number.
fn parse(said: &str) -> Result<Figures, String> {
    let mut figures = Figures::new();
    for line in said.lines() {
        let figure = line.split_once(' ').and_then(|(name, it)| Some((name, it.parse().ok()?)));
        let (name, figure) = figure.ok_or_else(|| format!("{line:?} is no figure"))?;
        figures.entry(name.to_owned()).or_default().push(figure);
    }
    Ok(figures)
}

fn of<'a>(figures: &'a Figures, name: &str) -> &'a [u128] {
    figures.get(name).map_or(&[], Vec::as_slice)
}

/// The smallest figure that so many per cent of all do not exceed.
fn quantile(figures: &[u128], percent: usize) -> u128 {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or_default()
}

fn middle(figures: &[u128]) -> u128 {
    median(figures).unwrap_or_default()
}

/// How many a second, if each takes as long as these on average.
fn per_second(figures: &[u128]) -> u128 {
    let all: u128 = figures.iter().sum();
    (figures.len() as u128 * 1_000_000_000).checked_div(all).unwrap_or_default()
}

/// `12.3 µs`, or milliseconds from ten of them on.
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

fn adds(normal: &Figures, full: &Figures) -> String {
    let mut rows = vec![row(["adds, one by one", "punchlist", "raw SQLite", "ratio"])];
    for (name, figures) in [("NORMAL", normal), ("FULL", full)] {
        let (ours, raw) = (of(figures, "ours"), of(figures, "raw"));
        let (one, other) = (middle(ours), middle(raw));
        let ratio = times(hundredths(one, other));
        rows.push(row([&format!("{name}, median"), &duration(one), &duration(other), &ratio]));
        let (one, other) = (per_second(ours), per_second(raw));
        let [mine, theirs] = [one, other].map(|it| format!("{it}/s"));
        let ratio = times(one * 100 / other.max(1));
        rows.push(row([&format!("{name}, adds a second"), &mine, &theirs, &ratio]));
    }
    format!(
        "Adds to one plan in one process, {} with NORMAL and {} with FULL durability, in turn with raw\n\
         SQLite: the same schema, settings and statements, without rules, lock and bell. Both\n\
         databases held the same rows in the end. No goal is set.\n{}",
        of(normal, "ours").len(),
        of(full, "ours").len(),
        table(&rows)
    )
}

fn contention(rounds: &[Round]) -> String {
    let figure =
        |pick: &dyn Fn(&Round) -> u128| middle(&rounds.iter().map(pick).collect::<Vec<_>>());
    let spread = |it: &Written| hundredths(it.p99, it.p50);
    let (fair, unfair) = (figure(&|it| spread(&it.ours)), figure(&|it| spread(&it.raw)));
    let gain = |four: &Written, one: &Written| four.per_second * 100 / one.per_second.max(1);
    let ours = figure(&|it| gain(&it.ours, &it.ours_alone));
    let raw = figure(&|it| gain(&it.raw, &it.raw_alone));
    let verdict = if fair <= STRETCH_FAIR { "stretch met" } else { judged(fair <= GOAL_FAIR) };
    let rates = |pick: &dyn Fn(&Round) -> u128| format!("{}/s", figure(pick));
    let (at_most, stretch) =
        (format!("≤ {}", times(GOAL_FAIR)), format!("≤ {}", times(STRETCH_FAIR)));
    let at_least = format!("≥ {}", times(GOAL_THROUGHPUT));
    let rows = [
        row(["FULL", "punchlist", "busy handler", "goal", "stretch", ""]),
        row([
            "wait of four, p50",
            &duration(figure(&|it| it.ours.p50)),
            &duration(figure(&|it| it.raw.p50)),
        ]),
        row([
            "wait of four, p99",
            &duration(figure(&|it| it.ours.p99)),
            &duration(figure(&|it| it.raw.p99)),
        ]),
        row(["p99 / p50", &times(fair), &times(unfair), &at_most, &stretch, verdict]),
        row([
            "unluckiest / luckiest",
            &times(figure(&|it| it.ours.even)),
            &times(figure(&|it| it.raw.even)),
        ]),
        row(["adds of four", &rates(&|it| it.ours.per_second), &rates(&|it| it.raw.per_second)]),
        row([
            "adds of one",
            &rates(&|it| it.ours_alone.per_second),
            &rates(&|it| it.raw_alone.per_second),
        ]),
        row([
            "four / one",
            &times(ours),
            &times(raw),
            &at_least,
            "",
            judged(ours >= GOAL_THROUGHPUT),
        ]),
    ];
    format!(
        "{WRITERS} processes that add to one plan, {} s a round, medians of {} rounds; beside them the\n\
         same inserts with raw SQLite, whose own busy handler does the waiting.\n{}",
        CONTEND.as_secs(),
        rounds.len(),
        table(&rows)
    )
}

/// What is told of the next item: its name, our figure, and the one beside it.
const NEXT: [(&str, &str, &str); 4] = [
    ("shown", "read", "query"),
    ("shown again", "again", "query"),
    ("another shown", "other", "query"),
    ("taken", "claim", "transaction"),
];

fn ready(small: &Figures, large: &Figures) -> String {
    let mut rows = vec![row(["next", "punchlist", "raw SQLite", "ratio", "goal", ""])];
    let goal = format!("≤ {}", times(GOAL_NEXT));
    for figures in [small, large] {
        let items = middle(of(figures, "items"));
        for (name, ours, raw) in NEXT {
            let (one, other) = (middle(of(figures, ours)), middle(of(figures, raw)));
            let ratio = hundredths(one, other);
            rows.push(row([
                &format!("{name}, {items} items"),
                &duration(one),
                &duration(other),
                &times(ratio),
                &goal,
                judged(ratio <= GOAL_NEXT),
            ]));
        }
    }
    let goal = format!("≤ {}", times(GOAL_GROWTH));
    for (name, ours, raw) in NEXT {
        let growth = |it: &str| hundredths(middle(of(large, it)), middle(of(small, it)));
        let (one, other) = (growth(ours), growth(raw));
        let met = judged(one <= GOAL_GROWTH);
        let name = format!("{name}, tenfold graph");
        rows.push(row([&name, &times(one), &times(other), "", &goal, met]));
    }
    format!(
        "The next ready item among {} and {} items with {} and {} dependencies, medians of {} calls, in\n\
         turn. Shown: the plan's header and the item, right after a change of the plan, once more without\n\
         one, and after a change by which another item is next, beside the query on the maintained\n\
         counter alone. Taken: the journaled change, NORMAL, beside the bare transaction.\n{}",
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
        assert_eq!(parse("ours x").unwrap_err(), "\"ours x\" is no figure");
        assert_eq!(parse("ours").unwrap_err(), "\"ours\" is no figure");
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
        assert_eq!(per_second(&[1_000_000, 3_000_000]), 500);
        assert_eq!(per_second(&[]), 0);
    }

    fn written(p50: u128, p99: u128, per_second: u128) -> Written {
        Written { p50, p99, per_second, even: 90 }
    }

    #[test]
    fn fairness_is_judged_by_the_median_of_the_rounds() {
        let round = |p99| Round {
            ours: written(1_000_000, p99, 250),
            raw: written(100_000, 90_000_000, 200),
            ours_alone: written(900_000, 950_000, 240),
            raw_alone: written(900_000, 950_000, 250),
        };
        let text = contention(&[round(4_000_000), round(6_000_000), round(60_000_000)]);
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "FULL                   punchlist  busy handler      goal  stretch",
                "wait of four, p50      1000.0 µs      100.0 µs",
                "wait of four, p99      6000.0 µs      90.00 ms",
                "p99 / p50                  6.00×       900.00×  ≤ 10.00×  ≤ 5.00×  met",
                "unluckiest / luckiest      0.90×         0.90×",
                "adds of four               250/s         200/s",
                "adds of one                240/s         250/s",
                "four / one                 1.04×         0.80×   ≥ 1.00×           met",
            ]
        );
    }

    #[test]
    fn a_goal_of_next_is_missed_by_a_hundredth() {
        let figures = |items: u32, read: u32| {
            let text = format!(
                "items {items}\nlinks 1\nread {read}\nagain 5000\nother 12000\nquery 10000\nclaim 9000\ntransaction 10000"
            );
            parse(&text).unwrap()
        };
        let text = ready(&figures(10, 15_000), &figures(100, 15_001));
        let rows: Vec<&str> = text.lines().skip(5).collect();
        assert_eq!(
            rows,
            [
                "shown, 10 items                 15.0 µs     10.0 µs  1.50×  ≤ 1.50×     met",
                "shown again, 10 items            5.0 µs     10.0 µs  0.50×  ≤ 1.50×     met",
                "another shown, 10 items         12.0 µs     10.0 µs  1.20×  ≤ 1.50×     met",
                "taken, 10 items                  9.0 µs     10.0 µs  0.90×  ≤ 1.50×     met",
                "shown, 100 items                15.0 µs     10.0 µs  1.51×  ≤ 1.50×  missed",
                "shown again, 100 items           5.0 µs     10.0 µs  0.50×  ≤ 1.50×     met",
                "another shown, 100 items        12.0 µs     10.0 µs  1.20×  ≤ 1.50×     met",
                "taken, 100 items                 9.0 µs     10.0 µs  0.90×  ≤ 1.50×     met",
                "shown, tenfold graph              1.01×       1.00×         ≤ 2.00×     met",
                "shown again, tenfold graph        1.00×       1.00×         ≤ 2.00×     met",
                "another shown, tenfold graph      1.00×       1.00×         ≤ 2.00×     met",
                "taken, tenfold graph              1.00×       1.00×         ≤ 2.00×     met",
            ]
        );
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
