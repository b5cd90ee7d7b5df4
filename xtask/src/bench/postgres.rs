//! The store on PostgreSQL beside the same statements by hand: adds and claims with 1 to 64 workers in
//! four processes, the time until a follower sees a change, and `next` among very many items.
//!
//! `crates/store/examples/postgres_bench` measures, on a server of its own that waits for its disk. This
//! file starts it, compares its figures with the goals, and draws the picture for the documents.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::cold::build;
use super::measure::{median, output};
use super::table::{hundredths, milliseconds, table, times};
use crate::print::{say, warn};
use crate::test::postgres::programs;
use crate::workspace::root;

const WORKERS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// How long each number of workers works in one round.
const TIME: &str = "3000";
/// How many changes a follower waits for.
const REACTIONS: &str = "300";
/// The numbers of items for `next`, and how often it is asked.
const ITEMS: u32 = 10_000;
const ITEMS_LARGE: u32 = 100_000;
const ITEMS_FULL: u32 = 10_000_000;
const LOOKS: &str = "200";

/// Goals, in hundredths.
const GOAL_BY_HAND: u128 = 50;
const GOAL_GROWTH: u128 = 600;
const GOAL_NEXT: u128 = 200;
const GOAL_SEEN_P50: Duration = Duration::from_millis(20);
const GOAL_SEEN_P99: Duration = Duration::from_millis(100);

const NOT_MEASURED: &str = "\
Not measured:
  a server on another machine: here the way there costs nothing
  an idle machine, unless this one was: server and workers share its processors; compare ratios
  several workers on one plan: their changes wait for each other, as one worker's do";

/// Figures by name.
type Figures = BTreeMap<String, Vec<u128>>;

/// Where the picture is.
const PICTURE: &str = "docs/postgres.svg";

pub(super) fn run(rounds: usize) -> Result<(), String> {
    measure(rounds, ITEMS_LARGE)
}

/// The same with ten million items.
pub(super) fn run_full(rounds: usize) -> Result<(), String> {
    measure(rounds, ITEMS_FULL)
}

fn measure(rounds: usize, items: u32) -> Result<(), String> {
    let programs = programs()?;
    warn("building the store's programs");
    let program = build(&["--workspace", "--example", "postgres_bench"])?;
    let figures = |arguments: &[&str]| figures(&program, &programs, arguments);
    warn("measuring 1 to 64 workers");
    let workers = figures(&["workers", TIME, &rounds.to_string()])?;
    say(&throughput(&workers));
    let path = root().join(PICTURE);
    std::fs::write(&path, picture(&workers)).map_err(|why| format!("{}: {why}", path.display()))?;
    warn("measuring following");
    say(&format!("\n{}", reaction(&figures(&["react", REACTIONS])?)));
    warn("measuring next");
    let small = figures(&["items", &ITEMS.to_string(), LOOKS])?;
    let large = figures(&["items", &items.to_string(), LOOKS])?;
    say(&format!("\n{}\n\n{NOT_MEASURED}", next(&small, &large, items)));
    Ok(())
}

/// Runs the program in a mode, and reads its figures.
fn figures(program: &Path, programs: &Path, arguments: &[&str]) -> Result<Figures, String> {
    let [mode, rest @ ..] = arguments else { return Err("no mode".to_owned()) };
    let printed = output(Command::new(program).arg(mode).arg(programs).args(rest))?;
    let mut figures = Figures::new();
    for line in printed.lines() {
        let (name, figure) = line.split_once(' ').ok_or(format!("not a figure: {line}"))?;
        let figure = figure.parse().map_err(|_| format!("not a figure: {line}"))?;
        figures.entry(name.to_owned()).or_default().push(figure);
    }
    Ok(figures)
}

/// The middle figure of a work with so many workers, per second.
fn rate(figures: &Figures, work: &str, workers: u32) -> u128 {
    let found = figures.get(&format!("{work}-{workers}"));
    found.and_then(|it| median(it)).unwrap_or_default()
}

fn throughput(figures: &Figures) -> String {
    let mut rows = vec![
        ["workers", "adds/s", "by hand", "ratio", "claims/s", "by hand", "ratio"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for workers in WORKERS {
        let mut row = vec![workers.to_string()];
        for work in ["add", "claim"] {
            let (ours, hand) =
                (rate(figures, work, workers), rate(figures, &format!("hand-{work}"), workers));
            row.extend([ours.to_string(), hand.to_string(), times(hundredths(ours, hand))]);
        }
        rows.push(row);
    }
    let by_hand = hundredths(rate(figures, "claim", 64), rate(figures, "hand-claim", 64));
    let growth = hundredths(rate(figures, "claim", 64), rate(figures, "claim", 1));
    format!(
        "a claim is the next item taken and completed: two changes, each durable\n{}\n\
         64 workers beside the same statements by hand: {} (goal ≥ {}); beside one worker: {} \
         (goal ≥ {})",
        table(&rows),
        times(by_hand),
        times(GOAL_BY_HAND),
        times(growth),
        times(GOAL_GROWTH),
    )
}

fn percentile(figures: &Figures, name: &str, of_hundred: usize) -> Duration {
    let mut all = figures.get(name).cloned().unwrap_or_default();
    all.sort_unstable();
    let at = (all.len() * of_hundred / 100).min(all.len().saturating_sub(1));
    let nanos = all.get(at).copied().unwrap_or_default();
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

fn reaction(figures: &Figures) -> String {
    format!(
        "acknowledged → seen by a follower: p50 {} (goal ≤ {}), p99 {} (goal ≤ {})",
        milliseconds(percentile(figures, "reaction", 50)),
        milliseconds(GOAL_SEEN_P50),
        milliseconds(percentile(figures, "reaction", 99)),
        milliseconds(GOAL_SEEN_P99),
    )
}

fn next(small: &Figures, large: &Figures, items: u32) -> String {
    let p99 = |figures: &Figures| percentile(figures, "next", 99);
    let ratio = hundredths(p99(large).as_nanos(), p99(small).as_nanos());
    format!(
        "`next`, p99: {} among {ITEMS} items, {} among {items}: {} (goal ≤ {})",
        milliseconds(p99(small)),
        milliseconds(p99(large)),
        times(ratio),
        times(GOAL_NEXT),
    )
}

/// The size of the picture, and of the part with the lines.
const WIDTH: u32 = 640;
const HEIGHT: u32 = 360;
const LEFT: u32 = 60;
const TOP: u32 = 30;
const INNER_WIDTH: u32 = 540;
const INNER_HEIGHT: u32 = 280;

/// Adds and claims per second over the number of workers.
fn picture(figures: &Figures) -> String {
    let works = ["add", "claim"];
    let all = works.iter().flat_map(|work| WORKERS.map(|it| rate(figures, work, it)));
    let most = all.max().unwrap_or(1).max(1);
    let x = |n: usize| LEFT + INNER_WIDTH * u32::try_from(n).unwrap_or(0) / 6;
    let y = |rate: u128| {
        let part = u32::try_from(u128::from(INNER_HEIGHT) * rate / most).unwrap_or(0);
        TOP + INNER_HEIGHT - part
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#888\">\n"
    );
    for part in 0..=4_u32 {
        let value = most * u128::from(part) / 4;
        let (at, right) = (y(value), LEFT + INNER_WIDTH);
        // Writing into a string cannot fail.
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at}\" y2=\"{at}\" stroke=\"#8884\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{value}</text>",
            LEFT - 6,
            at + 4
        );
    }
    for (n, workers) in WORKERS.iter().enumerate() {
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{workers}</text>",
            x(n),
            TOP + INNER_HEIGHT + 18
        );
    }
    for (work, label, colour) in [
        ("add", "adds per second", "#2a7de1"),
        ("claim", "items claimed and completed per second", "#d9822b"),
    ] {
        let points: Vec<String> = WORKERS
            .iter()
            .enumerate()
            .map(|(n, workers)| format!("{},{}", x(n), y(rate(figures, work, *workers))))
            .collect();
        let at = y(rate(figures, work, 64));
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"{colour}\">{label}</text>",
            points.join(" "),
            LEFT + INNER_WIDTH,
            at.saturating_sub(8)
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">workers, each on a plan of its own</text>\n</svg>",
        LEFT + INNER_WIDTH / 2,
        HEIGHT - 8
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Figures {
        let mut figures = Figures::new();
        for (n, workers) in WORKERS.iter().enumerate() {
            for work in ["add", "claim", "hand-add", "hand-claim"] {
                let figure = 100 * (n as u128 + 1);
                figures.insert(format!("{work}-{workers}"), vec![figure, figure + 10, figure + 1]);
            }
        }
        figures
    }

    #[test]
    fn the_middle_round_counts() {
        assert_eq!(rate(&some(), "claim", 64), 701);
        assert_eq!(rate(&some(), "claim", 3), 0);
        assert!(throughput(&some()).contains("by hand: 1.00× (goal ≥ 0.50×)"));
    }

    #[test]
    fn the_picture_has_a_line_for_each_kind_of_work() {
        let svg = picture(&some());
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.trim_end().ends_with("</svg>"));
    }
}
