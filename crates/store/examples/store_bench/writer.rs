//! One of several writers at a database: adds as fast as it can for a while, and tells how long each
//! took. It says when it is ready and begins when it is given a line, so that all begin together.

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
        // Writers count in ranges of their own, so that ids differ.
        desk::add(&store, who * 1_000_000 + 1 + u64::try_from(taken.len())?)?;
        let now = Instant::now();
        taken.push(now.duration_since(last).as_nanos());
        last = now;
    }
    taken.into_iter().try_for_each(|nanos| tell("took", nanos))?;
    tell("all", last.duration_since(began).as_nanos())
}
