//! One of several writers of a database: adds as fast as it can for a while and prints the time of
//! each add. It prints a line when it is ready and begins when it reads one, so that all writers
//! begin together.

use std::path::Path;
use std::time::{Duration, Instant};

use punchlist_store::Durability;

use super::{Outcome, desk, tell};

pub(crate) fn run(database: &Path, who: u64, time: Duration) -> Outcome {
    let store = desk::open(database, Durability::Full)?;
    tell("ready", 1)?;
    std::io::stdin().read_line(&mut String::new())?;
    let mut taken = Vec::new();
    let began = Instant::now();
    let mut last = began;
    while last.duration_since(began) < time {
        // Each writer counts in its own range, so that ids differ.
        desk::add(&store, who * 1_000_000 + 1 + u64::try_from(taken.len())?)?;
        let now = Instant::now();
        taken.push(now.duration_since(last).as_nanos());
        last = now;
    }
    taken.into_iter().try_for_each(|nanos| tell("took", nanos))?;
    tell("all", last.duration_since(began).as_nanos())
}
