//! Identities: the name of the actor, and the process that a claim is bound to.
//!
//! A claim is never bound to the verb's own process, which ends at once. `--pid` names a process
//! that keeps running.

use std::env;

use punchlist_bridge::process::{self, Ancestor};
use punchlist_engine::{around, session};
use punchlist_model::{Holder, Process, Slice};

use crate::clock::Clock;
use crate::fail::Fail;

/// The actor's name: `--as`, else `user@host`.
pub(crate) fn name(given: Option<&str>) -> Result<String, Fail> {
    match given {
        Some(name) if name.trim().is_empty() || name.contains('\0') => {
            Err(Fail::usage("the name after --as is empty")
                .hint("give the worker's name, as in `--as claude`."))
        }
        Some(name) if name.chars().count() > 200 => {
            Err(Fail::usage("the name after --as is longer than 200 characters"))
        }
        Some(name) => Ok(name.to_owned()),
        None => Ok(format!("{}@{}", user(), host())),
    }
}

fn user() -> String {
    ["USER", "LOGNAME"]
        .into_iter()
        .filter_map(|key| env::var(key).ok())
        .find(|user| !user.trim().is_empty())
        .unwrap_or_else(|| rustix::process::geteuid().as_raw().to_string())
}

/// The host name.
pub(crate) fn host() -> String {
    if cfg!(debug_assertions)
        && let Ok(host) = env::var("PUNCHLIST_HOST")
    {
        return host;
    }
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The holder of the items that this call starts.
pub(crate) fn holder(name: &str, pid: Option<u32>) -> Result<Holder, Fail> {
    let process = match pid {
        Some(pid) => Some(process::process(&host(), pid).ok_or_else(|| {
            Fail::not_found(format!("there is no process {pid}"))
                .hint("give the id of a process that runs as long as the work does.")
        })?),
        None => None,
    };
    Ok(Holder { name: name.to_owned(), process })
}

/// This process.
pub(crate) fn process() -> Option<Process> {
    process::process(&host(), std::process::id())
}

/// The processes of claims in this plan that have ended.
pub(crate) fn gone(plan: &Slice) -> Vec<Process> {
    around::gone(&Clock, plan)
}

/// The ancestors of this process, nearest first, up to the first one that `is_it` accepts.
///
/// In debug builds, `PUNCHLIST_ANCESTORS` limits their number, so that tests do not depend on the
/// program that runs them. Release builds ignore it.
pub(crate) fn ancestors(is_it: impl Fn(&Ancestor) -> bool) -> Vec<Ancestor> {
    let mut found = process::ancestors(&host(), std::process::id(), is_it);
    if cfg!(debug_assertions)
        && let Ok(most) = env::var("PUNCHLIST_ANCESTORS")
    {
        found.truncate(most.parse().unwrap_or(0));
    }
    found
}

/// The ancestors up to the nearest one with the name of a known agent.
pub(crate) fn up_to_agent() -> Vec<Ancestor> {
    ancestors(session::is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_not_there_cannot_hold() {
        assert!(holder("ann", Some(u32::MAX - 1)).is_err());
    }
}
