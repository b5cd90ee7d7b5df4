//! How long this process waits for the write lock, and the message while it waits.
//!
//! In debug builds, tests set `PUNCHLIST_WAIT_MS` (two numbers: when to print the message, when to
//! give up) to wait less. Release builds ignore it.

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use punchlist_store::Waiting;

use crate::{clock, print};

/// Whether messages are printed as JSON.
static JSON: AtomicBool = AtomicBool::new(false);

/// Sets the waiting times for a verb.
pub(crate) fn set(verb: &str, json: bool) {
    JSON.store(json, Ordering::Relaxed);
    let seconds = Duration::from_secs;
    let (tell_after, give_up_after) = match verb {
        // A hook must answer within two seconds.
        "hook" => (seconds(60), Duration::from_millis(700)),
        // An MCP client has a timeout for calls.
        "mcp" => (seconds(3), seconds(10)),
        _ => (seconds(3), seconds(30)),
    };
    let (tell_after, give_up_after) = given().unwrap_or((tell_after, give_up_after));
    punchlist_store::set_waiting(Waiting {
        program: format!("punchlist {verb}"),
        clock: Some(clock::now),
        tell_after,
        tell: (verb != "hook").then_some(tell),
        give_up_after,
    });
}

fn tell(what: &str) {
    print::notes(&[what.to_owned()], JSON.load(Ordering::Relaxed));
}

fn given() -> Option<(Duration, Duration)> {
    if !cfg!(debug_assertions) {
        return None;
    }
    let given = env::var("PUNCHLIST_WAIT_MS").ok()?;
    let (tell, give_up) = given.split_once(',')?;
    let millis = |text: &str| text.trim().parse().ok().map(Duration::from_millis);
    Some((millis(tell)?, millis(give_up)?))
}
