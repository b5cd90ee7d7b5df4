//! Adds, one after another: our store and raw SQLite in turn, each on a database of its own.

use std::path::Path;

use punchlist_store::Durability;

use super::{Outcome, desk, raw, tell, timed};

/// How many adds fill caches and are not told.
const WARM_UP: u64 = 20;

pub(crate) fn run(directory: &Path, durability: Durability, count: u64) -> Outcome {
    let (ours, bare) = (directory.join("ours.db"), directory.join("raw.db"));
    let store = desk::make(&ours, durability)?;
    drop(desk::make(&bare, durability)?);
    let mut conn = raw::open(&bare, durability)?;
    for n in 1..=count + WARM_UP {
        // One by one in turn, so that whatever else the machine does meets both alike.
        let by_us = timed(|| desk::add(&store, n))?;
        let by_raw = timed(|| raw::add(&mut conn, n))?;
        if n > WARM_UP {
            tell("ours", by_us)?;
            tell("raw", by_raw)?;
        }
    }
    // Otherwise the comparison means nothing.
    raw::check_alike(&ours, &bare)
}
