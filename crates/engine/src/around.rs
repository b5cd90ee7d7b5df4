//! The engine's interface to the operating system: time, random numbers, and which processes have
//! ended.
//!
//! A program uses [`System`]. Tests use an implementation with a fixed clock.

use punchlist_bridge::process;
use punchlist_model::store::Error;
use punchlist_model::{IdSource, Process, Slice, Timestamp};

/// The engine's interface to the operating system.
pub trait Around: Send + Sync + 'static {
    /// The current time, in milliseconds.
    fn now(&self) -> Timestamp;

    /// The source of ids for one change. No two changes get the same ids.
    fn ids(&self, at: Timestamp) -> Result<IdSource, Error>;

    /// Whether a process that held a claim is known to have ended. This is never known of a process
    /// on another machine, of an earlier boot or in another PID namespace.
    fn has_ended(&self, process: &Process) -> bool;
}

/// The processes that hold claims in a plan and are known to have ended.
pub fn gone(around: &dyn Around, plan: &Slice) -> Vec<Process> {
    let claims = plan.in_progress().filter_map(|item| item.claim.as_ref());
    let processes = claims.filter_map(|claim| claim.holder.process.as_ref());
    processes.filter(|it| around.has_ended(it)).cloned().collect()
}

/// This process, as the holder of claims that end when it ends; `None` if the system hides it.
pub fn this_process() -> Option<Process> {
    process::process(&System::host(), std::process::id())
}

/// The operating system that the program runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct System;

impl System {
    /// The host name of this machine.
    pub fn host() -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }
}

impl Around for System {
    #[expect(
        clippy::disallowed_methods,
        reason = "the only place where the library reads the clock"
    )]
    fn now(&self) -> Timestamp {
        punchlist_model::store::kept(Timestamp::now())
    }

    fn ids(&self, at: Timestamp) -> Result<IdSource, Error> {
        let mut random = [0; 10];
        getrandom::fill(&mut random).map_err(|why| Error::Unusable {
            what: format!("the system gave no random numbers: {why}"),
            source: None,
        })?;
        Ok(IdSource::new(at, random))
    }

    fn has_ended(&self, process: &Process) -> bool {
        process::has_ended(&Self::host(), process)
    }
}

#[cfg(test)]
mod tests {
    use punchlist_model::{Attempt, Claim, Holder, Item, ItemId, Number, Plan, PlanId, Status};

    use super::*;

    #[test]
    fn a_claim_is_freed_early_only_by_a_process_of_this_host_that_is_gone() {
        let me = process::process(&System::host(), std::process::id()).unwrap();
        let ended = Process { start_time: me.start_time - 1, ..me.clone() };
        let elsewhere = Process { host: "another host".to_owned(), ..ended.clone() };
        let gone = |process: &Process| {
            let at = Timestamp::UNIX_EPOCH;
            let ids = IdSource::fixed(at, 1);
            let mut item = Item::new(ItemId(ids.nth(0)), Number(1), "a", at);
            item.status = Status::InProgress;
            let holder = Holder { name: "ann".to_owned(), process: Some(process.clone()) };
            item.claim = Some(Claim { holder, attempt: Attempt(1), expires_at: at });
            let mut plan = Plan::new(PlanId(ids.nth(1)), "/p", at);
            plan.items.insert(Number(1), item);
            gone(&System, &plan)
        };
        assert_eq!(gone(&me), []);
        assert_eq!(gone(&elsewhere), []);
        assert_eq!(gone(&ended), std::slice::from_ref(&ended));
    }
}
