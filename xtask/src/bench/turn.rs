//! The agent: what a session adds to a model call, compared with the provider client alone.
//!
//! `crates/agent/examples/turn_bench` measures. This file compares its figures with the goals.

use std::process::Command;
use std::time::Duration;

use super::cold::{Scratch, build};
use super::measure::output;
use super::sched::{Figures, figures, middle};
use super::table::{hundredths, short_time, table, times};
use crate::print::{say, warn};

/// How many model calls a session makes.
const CALLS: u32 = 1_000;

/// The goals in hundredths: a session without durable writes beside the client alone, and a late call
/// beside an early one.
const GOAL: u128 = 130;
const GOAL_GROWTH: u128 = 130;

const NOT_MEASURED: &str = "\
Not measured:
  an idle machine, unless this one was: compare ratios, not times
  a real model, beside whose seconds all of this disappears; encrypted connections; other APIs
  tools that do something: the one besides the plan's returns a text at once
  a screen";

pub(super) fn run(rounds: usize) -> Result<(), String> {
    warn("building the agent's program");
    let program = build(&["--workspace", "--example", "turn_bench"])?;
    let scratch = Scratch::new()?;
    warn("measuring sessions");
    let mut command = Command::new(&program);
    command.arg(scratch.join("")).args([CALLS.to_string(), rounds.to_string()]);
    let figures = figures(&output(&mut command)?)?;
    say(&format!(
        "A turn of {CALLS} model calls, with a server that answers at once.\nTime per call: median of \
         {rounds}. Early and late: the second and the last tenth of the calls.\n{}\n\n{NOT_MEASURED}",
        report(&figures)?
    ));
    Ok(())
}

fn report(figures: &Figures) -> Result<String, String> {
    let bare = middle(figures, "bare")?;
    let heads = ["", "per call", "ratio", "goal", "", "early", "late", "growth", "goal", ""];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for (name, shown) in [
        ("bare", "the provider client alone"),
        ("session", "a session in memory"),
        ("durable", "a session with SQLite, durable"),
    ] {
        let each = middle(figures, name)?;
        let early = middle(figures, &format!("{name}_second"))?;
        let late = middle(figures, &format!("{name}_last"))?;
        let (ratio, growth) = (hundredths(each, bare), hundredths(late, early));
        let (goal, verdict) = if name == "session" { judged(ratio, GOAL) } else { none() };
        let (goal_growth, verdict_growth) =
            if name == "bare" { none() } else { judged(growth, GOAL_GROWTH) };
        rows.push(vec![
            shown.to_owned(),
            time(each),
            times(ratio),
            goal,
            verdict,
            time(early),
            time(late),
            times(growth),
            goal_growth,
            verdict_growth,
        ]);
    }
    Ok(table(&rows))
}

fn judged(ratio: u128, goal: u128) -> (String, String) {
    let verdict = if ratio <= goal { "met" } else { "missed" };
    (format!("≤ {}", times(goal)), verdict.to_owned())
}

fn none() -> (String, String) {
    (String::new(), String::new())
}

fn time(nanoseconds: u128) -> String {
    short_time(Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_become_a_table_with_its_goals() {
        let text = "bare 500000\nbare_second 500000\nbare_last 500000\nsession 600000\n\
                    session_second 500000\nsession_last 700000\ndurable 5000000\n\
                    durable_second 5000000\ndurable_last 5000000\n";
        let told = report(&figures(text).unwrap()).unwrap();
        let rows: Vec<Vec<&str>> =
            told.lines().map(|it| it.split("  ").filter(|it| !it.is_empty()).collect()).collect();
        let row = |at: usize| rows[at].iter().map(|it| it.trim()).collect::<Vec<_>>();
        let session = [
            "a session in memory",
            "600 µs",
            "1.20×",
            "≤ 1.30×",
            "met",
            "500 µs",
            "700 µs",
            "1.40×",
            "≤ 1.30×",
            "missed",
        ];
        assert_eq!(row(2), session);
        assert_eq!(
            row(1),
            ["the provider client alone", "500 µs", "1.00×", "500 µs", "500 µs", "1.00×"]
        );
        assert!(report(&Figures::new()).is_err());
    }
}
