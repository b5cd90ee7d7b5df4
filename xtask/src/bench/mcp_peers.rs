//! The MCP server compared with those of other to-do lists: one call at a time, with the same
//! client.
//!
//! Every round starts each server with an empty list, fills it, starts it again with the filled
//! list and adds more. Rounds of all servers alternate.

use std::path::Path;
use std::time::Duration;

use super::cold::Scratch;
use super::measure::{median, on_one_processor};
use super::peers::{Contender, driver, others};
use super::table::{as_often, megabytes, short_time, table};
use crate::print::{say, warn};

/// How many tasks a list gets first, how often it is read, and how many creates are made before the
/// timed ones.
const TASKS: usize = 20;

/// How often each server is started. Some take seconds.
const ROUNDS: usize = 5;

const ABOUT: &str = "\
Beside other lists over MCP, one call in flight, from the call until its answer has come; medians. The best
of the others is the quickest in that column. Creates are timed in a new list, twenty of them, and up to
three hundred in three seconds when the list has forty, the server has been asked for twenty and nothing has
happened for a while: left to the system, and with client and server on one processor.";

/// The measurements of one server.
#[derive(Default)]
struct Taken {
    first: Vec<Duration>,
    create: Vec<Duration>,
    /// Times of creates with client and server on one processor.
    pinned: Vec<Duration>,
    list: Vec<Duration>,
    start: Vec<Duration>,
    /// In kilobytes.
    resident: Vec<u64>,
}

impl Taken {
    /// Adds the client's output: lines with a name and a number.
    fn add(&mut self, said: &str) {
        for (name, number) in said.lines().filter_map(|line| line.split_once(' ')) {
            let Ok(number) = number.parse() else { continue };
            match name {
                "first" => self.first.push(Duration::from_nanos(number)),
                "create" => self.create.push(Duration::from_nanos(number)),
                "list" => self.list.push(Duration::from_nanos(number)),
                "start" => self.start.push(Duration::from_nanos(number)),
                "resident" => self.resident.push(number),
                _ => {}
            }
        }
    }

    /// Adds the client's output of a run on one processor.
    fn add_pinned(&mut self, said: &str) {
        let mut taken = Self::default();
        taken.add(said);
        self.pinned.append(&mut taken.create);
    }

    fn medians(&self) -> Option<([Option<Duration>; 5], u64)> {
        let all = [&self.create, &self.pinned, &self.first, &self.list, &self.start];
        let times = all.map(|it| median(it));
        times[0]?;
        Some((times, median(&self.resident)?))
    }
}

/// Measures `ours` and all available others, and prints a comparison.
pub(super) fn run(ours: &Path, scratch: &Scratch) -> Result<(), String> {
    let driver = driver()?;
    let (peers, mut missing) = others();
    let ours = Contender::ours("punchlist mcp", "punchlist mcp", ours.to_owned());
    let contenders: Vec<Contender> = std::iter::once(ours).chain(peers).collect();
    let mut taken: Vec<Taken> = contenders.iter().map(|_| Taken::default()).collect();
    for round in 1..=ROUNDS {
        warn(&format!("timing other lists, round {round} of {ROUNDS}"));
        for (contender, taken) in contenders.iter().zip(&mut taken) {
            let drive = || contender.drive(&driver, scratch, Some("time"), &[TASKS.to_string()]);
            let said = drive().map(|said| taken.add(&said));
            let pinned = on_one_processor(drive).map(|it| it.map(|said| taken.add_pinned(&said)));
            for why in [Some(said), pinned].into_iter().flatten().filter_map(Result::err) {
                missing.push(format!("{}, round {round}: {why}", contender.name));
            }
        }
    }
    let head =
        ["", "create", "on one processor", "in a new list", "list of 20", "start", "resident"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut found = Vec::new();
    for (contender, taken) in contenders.iter().zip(&taken) {
        let mut row = vec![contender.name.clone()];
        match taken.medians() {
            Some((times, resident)) => {
                row.extend(times.map(|it| it.map_or_else(|| "-".to_owned(), short_time)));
                row.push(megabytes(resident));
                found.push(times);
            }
            None => row.push("failed".to_owned()),
        }
        rows.push(row);
    }
    if let Some((ours, others)) = found.split_first()
        && !others.is_empty()
    {
        let mut row = vec!["the best of the others, to ours".to_owned()];
        for (n, ours) in ours.iter().enumerate() {
            let best = others.iter().filter_map(|it| it[n]).min();
            row.push(best.zip(*ours).map_or_else(String::new, |(best, ours)| as_often(best, ours)));
        }
        rows.push(row);
        let goal = ["goal", "≥ 10×", "≥ 10×", "", "", "≥ 25×", "≤ 15 MB"];
        rows.push(goal.map(str::to_owned).to_vec());
    }
    say(&format!("{ABOUT}\n{}", table(&rows)));
    if !missing.is_empty() {
        say(&format!("Skipped:\n  {}", missing.join("\n  ")));
    }
    say("");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_client_says_is_added_up_by_name() {
        let mut taken = Taken::default();
        taken.add("create 5\nfirst 6\ncreate 7\nlist 2\nbanner\nstart 9\nresident 4096\nlist x\n");
        taken.add_pinned("create 3\nlist 1\n");
        let times = [5, 3, 6, 2, 9].map(|it| Some(Duration::from_nanos(it)));
        assert_eq!(taken.medians(), Some((times, 4096)));
        assert_eq!(Taken::default().medians(), None);
    }
}
