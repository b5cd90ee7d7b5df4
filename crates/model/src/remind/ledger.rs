//! What reminders cost and whether they helped: counts, and as much of the last hour as caps need.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::Kind;

/// What a text costs, in tokens: a quarter of its bytes, rounded up.
pub fn tokens(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX).div_ceil(4)
}

/// What all reminders of one kind came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// How many were given.
    pub given: u64,
    /// What they cost.
    pub tokens: u64,
    /// After how many the next turn did what they ask for: wrote the list, or took over what was
    /// offered.
    pub acted: u64,
    /// After how many it did not.
    pub ignored: u64,
}

/// The books of one conversation. Their size does not grow with time.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// By kind.
    pub kinds: BTreeMap<Kind, Tally>,
    /// When reminders under the policy were given, as far back as an hour.
    recent: Vec<(Kind, Timestamp)>,
    /// How many were given that are yet to be judged.
    pending: BTreeMap<Kind, u64>,
    /// The turn that those are held against has begun.
    heard: bool,
}

impl Ledger {
    /// All kinds together.
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

    /// `judged`: it asks for something, so it counts against the cap and is held against what the
    /// next turn does. One that has to be said again has not helped so far.
    pub(super) fn gave(&mut self, kind: Kind, tokens: u64, now: Timestamp, judged: bool) {
        let tally = self.kinds.entry(kind).or_default();
        tally.given = tally.given.saturating_add(1);
        tally.tokens = tally.tokens.saturating_add(tokens);
        if judged {
            self.recent.retain(|(_, at)| is_recent(*at, now));
            self.recent.push((kind, now));
            // It may be said along with the turn's beginning, which holds for this one too.
            let heard = self.heard;
            self.ignored(|it| it == kind);
            self.pending.insert(kind, 1);
            self.heard = heard;
        }
    }

    /// Whether something that was said is yet to be judged.
    pub(super) fn awaits(&self) -> bool {
        !self.pending.is_empty()
    }

    /// A turn of the agent begins: what was said in the one before, if that never ended, and was not
    /// acted on in it, was ignored. `said`: something is said along with it.
    pub(super) fn begins(&mut self, said: bool) {
        if self.heard {
            self.ignored(|_| true);
        }
        self.heard = said || self.awaits();
    }

    /// What these kinds ask for was done: what was said before helped.
    pub(super) fn acted(&mut self, which: impl Fn(Kind) -> bool) {
        for (kind, given) in self.judged(which) {
            let tally = self.kinds.entry(kind).or_default();
            tally.acted = tally.acted.saturating_add(given);
        }
    }

    /// The turn that these kinds are held against is over, and what they ask for was not done.
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

/// A time that seems to lie ahead is recent: a clock that was set back must not lift a cap.
fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) < SignedDuration::from_hours(1)
}
