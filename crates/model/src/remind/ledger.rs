//! Counts what reminders cost and whether they helped, and keeps the times of the last hour for the
//! limit.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::Kind;

/// The estimated tokens of a text: a quarter of its bytes, rounded up.
pub fn tokens(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX).div_ceil(4)
}

/// The counts of one kind of reminder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// How many were given.
    pub given: u64,
    /// How many tokens they cost.
    pub tokens: u64,
    /// How many were followed: the agent wrote its list, or took over what was offered.
    pub acted: u64,
    /// How many were not followed.
    pub ignored: u64,
}

/// The counts of one conversation. Their size does not grow with time.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// The counts by kind.
    pub kinds: BTreeMap<Kind, Tally>,
    /// The reminders under the policy within the last hour.
    recent: Vec<(Kind, Timestamp)>,
    /// Reminders that are not judged yet: followed or ignored.
    pending: BTreeMap<Kind, u64>,
    /// Whether the turn that decides about the pending reminders has begun.
    heard: bool,
}

impl Ledger {
    /// The counts of all kinds together.
    pub fn total(&self) -> Tally {
        self.kinds.values().fold(Tally::default(), |sum, it| Tally {
            given: sum.given.saturating_add(it.given),
            tokens: sum.tokens.saturating_add(it.tokens),
            acted: sum.acted.saturating_add(it.acted),
            ignored: sum.ignored.saturating_add(it.ignored),
        })
    }

    /// How many of a kind were given in the hour before `now`.
    pub fn in_last_hour(&self, kind: Kind, now: Timestamp) -> u32 {
        let given = self.recent.iter().filter(|(it, at)| *it == kind && is_recent(*at, now));
        u32::try_from(given.count()).unwrap_or(u32::MAX)
    }

    /// Counts a reminder. `judged`: the reminder asks for something, so it counts against the limit
    /// and is judged by what the agent does next. An earlier reminder of the same kind that is
    /// still pending was ignored.
    pub(super) fn gave(&mut self, kind: Kind, tokens: u64, now: Timestamp, judged: bool) {
        let tally = self.kinds.entry(kind).or_default();
        tally.given = tally.given.saturating_add(1);
        tally.tokens = tally.tokens.saturating_add(tokens);
        if judged {
            self.recent.retain(|(_, at)| is_recent(*at, now));
            self.recent.push((kind, now));
            // `ignored` may clear `heard`. A reminder at the start of a turn is judged by that same
            // turn.
            let heard = self.heard;
            self.ignored(|it| it == kind);
            self.pending.insert(kind, 1);
            self.heard = heard;
        }
    }

    /// Whether a reminder is not judged yet.
    pub(super) fn awaits(&self) -> bool {
        !self.pending.is_empty()
    }

    /// A turn of the agent begins. Pending reminders of the previous turn, which never reported its
    /// end, were ignored. `with_reminder`: a reminder is given together with this prompt.
    pub(super) fn turn_begins(&mut self, with_reminder: bool) {
        if self.heard {
            self.ignored(|_| true);
        }
        self.heard = with_reminder || self.awaits();
    }

    /// The agent did what these kinds ask for: their pending reminders were followed.
    pub(super) fn acted(&mut self, which: impl Fn(Kind) -> bool) {
        for (kind, given) in self.judged(which) {
            let tally = self.kinds.entry(kind).or_default();
            tally.acted = tally.acted.saturating_add(given);
        }
    }

    /// The turn is over and the agent did not do what these kinds ask for: their pending reminders
    /// were ignored.
    pub(super) fn ignored(&mut self, which: impl Fn(Kind) -> bool) {
        for (kind, given) in self.judged(which) {
            let tally = self.kinds.entry(kind).or_default();
            tally.ignored = tally.ignored.saturating_add(given);
        }
    }

    fn judged(&mut self, which: impl Fn(Kind) -> bool) -> BTreeMap<Kind, u64> {
        let pending = std::mem::take(&mut self.pending);
        let (judged, pending) = pending.into_iter().partition(|(kind, _)| which(*kind));
        self.pending = pending;
        self.heard &= self.awaits();
        judged
    }
}

/// A time in the future counts as recent: a clock that was set back must not lift the limit.
fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) < SignedDuration::from_hours(1)
}
