//! The only file that reads the clock and gets random numbers.
//!
//! In debug builds, tests set `PUNCHLIST_NOW` (RFC 3339) and `PUNCHLIST_SEED` (a number) instead,
//! so that they are repeatable. Release builds ignore both.

use std::env;
use std::sync::{Mutex, PoisonError};

use jiff::tz::TimeZone;
use punchlist_bridge::process;
use punchlist_engine::{Around, Error};
use punchlist_model::id::IdSource;
use punchlist_model::{PlanId, Process, Timestamp};

use crate::fail::Fail;
use crate::identity;

/// The clock and the random numbers, for the engine.
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

/// The current time in milliseconds, the precision that is stored and shown.
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

/// The ids of one change.
pub(crate) fn ids(at: Timestamp) -> Result<IdSource, Fail> {
    Ok(IdSource::new(at, random()?))
}

/// A buffer of random numbers for servers: it asks the system for many at a time.
#[derive(Default)]
pub(crate) struct Random {
    left: Mutex<Vec<[u8; 10]>>,
}

impl Random {
    /// How many numbers to get at a time.
    const AT_A_TIME: usize = 64;

    /// The ids of one change. No two changes get the same.
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

/// The id of a new plan.
pub(crate) fn plan_id(at: Timestamp) -> Result<PlanId, Fail> {
    let mut random = random()?;
    // Different from the items of the same change, even if a test fixes the seed.
    random[9] = !random[9];
    Ok(PlanId(IdSource::new(at, random).nth(0)))
}

/// A random key.
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

/// The user's time zone.
pub(crate) fn time_zone() -> TimeZone {
    TimeZone::system()
}

/// A random number from 0 to 1, to spread retries.
pub(crate) fn jitter() -> f64 {
    let bytes = random().unwrap_or_default();
    f64::from(bytes[9]) / f64::from(u8::MAX)
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
