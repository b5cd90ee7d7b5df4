//! The one place that looks at the clock and draws random numbers.
//!
//! In debug builds `PUNCHLIST_NOW` (RFC 3339) and `PUNCHLIST_SEED` (a number) stand in for both, so
//! that tests are repeatable; a release build does not know them.

use std::env;
use std::sync::{Mutex, PoisonError};

use punchlist_bridge::process;
use punchlist_engine::{Around, Error};
use punchlist_model::id::IdSource;
use punchlist_model::{PlanId, Process, Timestamp};

use crate::fail::Fail;
use crate::identity;

/// The same for the engine.
pub(crate) struct Clock;

impl Around for Clock {
    fn now(&self) -> Timestamp {
        now()
    }

    fn ids(&self, at: Timestamp) -> Result<IdSource, Error> {
        ids(at).map_err(|why| Error::Unusable { what: why.message, source: None })
    }

    fn has_ended(&self, process: &Process) -> bool {
        process::has_ended(&identity::host(), process)
    }
}

/// The time, to the millisecond: what is stored is what is shown.
pub(crate) fn now() -> Timestamp {
    let now = given_now().unwrap_or_else(system_now);
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

#[expect(clippy::disallowed_methods, reason = "the binary's one look at the clock")]
fn system_now() -> Timestamp {
    Timestamp::now()
}

fn given_now() -> Option<Timestamp> {
    if !cfg!(debug_assertions) {
        return None;
    }
    env::var("PUNCHLIST_NOW").ok()?.parse().ok()
}

/// Where the ids of one change come from.
pub(crate) fn ids(at: Timestamp) -> Result<IdSource, Fail> {
    Ok(IdSource::new(at, random()?))
}

/// Random numbers for one who needs a few again and again: the system is asked for many at a time.
#[derive(Default)]
pub(crate) struct Random {
    left: Mutex<Vec<[u8; 10]>>,
}

impl Random {
    /// So many are asked for at a time.
    const AT_A_TIME: usize = 64;

    /// Where the ids of one change come from. No two changes get the same.
    pub(crate) fn ids(&self, at: Timestamp) -> Result<IdSource, Fail> {
        if given_seed().is_some() {
            return ids(at);
        }
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if left.is_empty() {
            let mut fresh = [[0; 10]; Self::AT_A_TIME];
            fill(fresh.as_flattened_mut())?;
            left.extend_from_slice(&fresh);
        }
        let random = left.pop().map_or_else(random, Ok)?;
        Ok(IdSource::new(at, random))
    }
}

/// A new plan's id.
pub(crate) fn plan_id(at: Timestamp) -> Result<PlanId, Fail> {
    let mut random = random()?;
    // Apart from the items that the same change makes, also where the seed is fixed.
    random[9] = !random[9];
    Ok(PlanId(IdSource::new(at, random).nth(0)))
}

/// A key that nobody knows.
pub(crate) fn secret() -> Result<[u8; 32], Fail> {
    let mut key = [0; 32];
    fill(&mut key)?;
    Ok(key)
}

fn random() -> Result<[u8; 10], Fail> {
    let mut bytes = [0; 10];
    match given_seed() {
        Some(seed) => bytes[2..].copy_from_slice(&seed.to_be_bytes()),
        None => fill(&mut bytes)?,
    }
    Ok(bytes)
}

fn given_seed() -> Option<u64> {
    if !cfg!(debug_assertions) {
        return None;
    }
    env::var("PUNCHLIST_SEED").ok()?.parse().ok()
}

fn fill(bytes: &mut [u8]) -> Result<(), Fail> {
    getrandom::fill(bytes)
        .map_err(|why| Fail::ours(format!("the system gave no random numbers: {why}")))
}
