//! The event that a hook is deciding. It is spooled if the decision fails or takes too long.
//!
//! Two threads may spool it: the one that decides, and a watchdog that ends the process when the
//! agent has waited long enough. The lock makes sure that only one of them does.

use std::sync::{Mutex, MutexGuard, PoisonError};

use punchlist_formats::hook::Answer;

use super::event::{CaughtUp, Failed};
use super::spool::{Spool, Spooled};

/// The event that is being decided.
#[derive(Debug, Default)]
pub struct UnderWay(Mutex<Option<(Spool, Spooled)>>);

impl UnderWay {
    /// No event yet.
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Spool, Spooled)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides an event, after `catch_up` has applied the spooled events before it. If the store
    /// cannot be used and `is_kept` is set, the event is spooled, and the error says so.
    pub fn decide(
        &self,
        spool: &Spool,
        kept: &Spooled,
        is_kept: bool,
        catch_up: impl FnOnce() -> CaughtUp,
        decide: impl FnOnce() -> Result<Answer, Failed>,
    ) -> Result<Answer, String> {
        if is_kept {
            *self.lock() = Some((spool.clone(), kept.clone()));
        }
        let decided = match catch_up() {
            // The event must not overtake spooled events that happened before it.
            CaughtUp::No if is_kept => Err(Failed::Store("earlier events still wait".to_owned())),
            CaughtUp::Yes | CaughtUp::No => decide(),
        };
        // From here on the watchdog no longer spools the event.
        let is_ours = self.lock().take().is_some();
        match decided {
            Ok(answer) => Ok(answer),
            Err(Failed::Store(why)) if is_kept && is_ours => Err(match spool.add(kept) {
                Ok(()) => format!("{why}; the event is kept, and applied by the next hook or verb"),
                Err(lost) => format!("{why}; the event is lost: {lost}"),
            }),
            Err(failed) => Err(failed.words()),
        }
    }

    /// The agent has waited long enough: spools the event and describes what happened to it.
    pub fn give_up(&self) -> String {
        let late = "no answer within 2 seconds";
        match self.lock().take().map(|(spool, event)| spool.add(&event)) {
            None => late.to_owned(),
            Some(Ok(())) => {
                format!("{late}; the event is kept, and applied by the next hook or verb")
            }
            Some(Err(why)) => format!("{late}; the event is lost: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use punchlist_formats::hook::Agent;

    use super::super::event::HookFacts;
    use super::*;

    /// Decides an event. Returns the message, and how many events are spooled then.
    fn said(
        is_kept: bool,
        caught_up: CaughtUp,
        decide: impl FnOnce(&UnderWay) -> Result<Answer, Failed>,
    ) -> (String, usize) {
        let directory = tempfile::tempdir().unwrap();
        let spool = Spool::of(&directory.path().join("plans.db"), None);
        let now = punchlist_model::Timestamp::UNIX_EPOCH;
        let facts = HookFacts::find(Agent::Claude, &|_| None, &[], now);
        let kept = facts.spooled(Agent::Claude, None, b"{}");
        let under_way = UnderWay::new();
        let decide = || decide(&under_way);
        let said = under_way.decide(&spool, &kept, is_kept, || caught_up, decide);
        let waiting = spool.waiting().iter().map(|it| it.1).sum();
        (said.map_or_else(|why| why, |answer| format!("{answer:?}")), waiting)
    }

    const KEPT: &str = "; the event is kept, and applied by the next hook or verb";

    fn unusable() -> Result<Answer, Failed> {
        Err(Failed::Store("locked".to_owned()))
    }

    #[test]
    fn an_event_is_kept_where_the_store_cannot_be_used() {
        let fine = |_: &UnderWay| Ok(Answer::Nothing);
        assert_eq!(said(true, CaughtUp::Yes, fine), ("Nothing".to_owned(), 0));
        assert_eq!(said(true, CaughtUp::Yes, |_| unusable()), (format!("locked{KEPT}"), 1));
        assert_eq!(said(false, CaughtUp::Yes, |_| unusable()), ("locked".to_owned(), 0));
        let early = format!("earlier events still wait{KEPT}");
        assert_eq!(said(true, CaughtUp::No, fine), (early, 1));
        assert_eq!(said(false, CaughtUp::No, fine), ("Nothing".to_owned(), 0));
    }

    #[test]
    fn the_watchdog_and_the_decision_do_not_both_keep_an_event() {
        let late = |under_way: &UnderWay| {
            assert_eq!(under_way.give_up(), format!("no answer within 2 seconds{KEPT}"));
            assert_eq!(under_way.give_up(), "no answer within 2 seconds");
            unusable()
        };
        assert_eq!(said(true, CaughtUp::Yes, late), ("locked".to_owned(), 1));
    }
}
