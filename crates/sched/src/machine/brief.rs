//! What is asked of calls most often, in few bytes and side by side.
//!
//! A call is large, and who waits for whom is all over the place. Looking a call up only to count down
//! what it waits for would be what a large batch costs most, so that is answered from here. A brief says
//! nothing that its call does not say too; who changes the one changes the other.

use crate::call::{BatchId, CallId, Kind, Live, State};

/// Where a call stands, in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    Validating,
    /// Scheduled, and not allowed to run yet.
    Scheduled,
    /// Scheduled, and allowed to run.
    Allowed,
    Awaiting,
    Executing,
    /// Executing, and to be stopped.
    Stopping,
    Well,
    Ill,
}

impl Stage {
    pub(super) fn of(state: &State) -> Self {
        match state {
            State::Live(Live::Validating { .. }) => Self::Validating,
            State::Live(Live::Scheduled { allowed: false, .. }) => Self::Scheduled,
            State::Live(Live::Scheduled { allowed: true, .. }) => Self::Allowed,
            State::Live(Live::AwaitingApproval { .. }) => Self::Awaiting,
            State::Live(Live::Executing { stopping: None, .. }) => Self::Executing,
            State::Live(Live::Executing { stopping: Some(_), .. }) => Self::Stopping,
            State::Done(outcome) if outcome.is_success() => Self::Well,
            State::Done(_) => Self::Ill,
        }
    }

    pub(super) fn is_scheduled(self) -> bool {
        matches!(self, Self::Scheduled | Self::Allowed)
    }
}

/// A call in brief.
#[derive(Clone, Copy, Debug)]
pub(super) struct Brief {
    pub(super) batch: BatchId,
    pub(super) stage: Stage,
    /// It touches nothing that others could mind.
    pub(super) is_free: bool,
    pub(super) kind: Kind,
    pub(super) priority: i32,
    /// How many of the calls that it waits for have not succeeded yet.
    pub(super) unmet: u32,
    /// The last one that came to wait for it.
    dependants: Option<Link>,
}

/// A place in the list of ties, counted from one so that none is as small as one.
#[derive(Clone, Copy, Debug)]
struct Link(std::num::NonZeroU32);

/// Somebody who waits, and who came to wait before.
#[derive(Clone, Copy, Debug)]
struct Tie {
    dependant: CallId,
    before: Option<Link>,
}

/// All calls in brief, and who waits for whom.
#[derive(Clone, Debug, Default)]
pub(super) struct Briefs {
    all: Vec<Brief>,
    ties: Vec<Tie>,
}

impl Briefs {
    /// A new call, which is validated.
    pub(super) fn push(&mut self, batch: BatchId, priority: i32) {
        self.all.push(Brief {
            batch,
            stage: Stage::Validating,
            is_free: true,
            kind: Kind::OTHER,
            priority,
            unmet: 0,
            dependants: None,
        });
    }

    pub(super) fn reserve(&mut self, count: usize) {
        self.all.reserve(count);
    }

    pub(super) fn get(&self, id: CallId) -> Option<&Brief> {
        self.all.get(usize::try_from(id.0).ok()?)
    }

    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut Brief> {
        self.all.get_mut(usize::try_from(id.0).ok()?)
    }

    /// One call waits for another.
    pub(super) fn tie(&mut self, dependant: CallId, other: CallId) {
        let Some(brief) = self.all.get_mut(usize::try_from(other.0).unwrap_or(usize::MAX)) else {
            return;
        };
        let count = u32::try_from(self.ties.len()).ok().and_then(|it| it.checked_add(1));
        let Some(link) = count.and_then(std::num::NonZeroU32::new) else { return };
        self.ties.push(Tie { dependant, before: brief.dependants });
        brief.dependants = Some(Link(link));
        if let Some(brief) = self.get_mut(dependant) {
            brief.unmet = brief.unmet.saturating_add(1);
        }
    }

    /// Who waits for a call, the last one first.
    pub(super) fn dependants(&self, id: CallId) -> impl Iterator<Item = CallId> {
        let mut link = self.get(id).and_then(|it| it.dependants);
        std::iter::from_fn(move || {
            let tie = self.tie_at(link?)?;
            link = tie.before;
            Some(tie.dependant)
        })
    }

    /// Takes the last one off that waits for a call.
    pub(super) fn take_dependant(&mut self, id: CallId) -> Option<CallId> {
        let tie = *self.tie_at(self.get(id)?.dependants?)?;
        self.get_mut(id)?.dependants = tie.before;
        Some(tie.dependant)
    }

    /// Leaves of those who wait for a call only some.
    pub(super) fn retain_dependants(&mut self, id: CallId, keep: impl Fn(CallId) -> bool) {
        let mut kept: Vec<CallId> = self.dependants(id).filter(|it| keep(*it)).collect();
        if let Some(brief) = self.get_mut(id) {
            brief.dependants = None;
        }
        while let Some(dependant) = kept.pop() {
            let unmet = self.get(dependant).map(|it| it.unmet);
            self.tie(dependant, id);
            // It waited for it all the time.
            if let (Some(unmet), Some(brief)) = (unmet, self.get_mut(dependant)) {
                brief.unmet = unmet;
            }
        }
    }

    fn tie_at(&self, link: Link) -> Option<&Tie> {
        self.ties.get(usize::try_from(link.0.get() - 1).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_is_brief() {
        assert!(size_of::<Brief>() <= 20, "{} bytes", size_of::<Brief>());
        assert_eq!(size_of::<Tie>(), 8);
    }

    #[test]
    fn who_waits_is_found_the_last_one_first_and_taken_once() {
        let mut briefs = Briefs::default();
        (0..5).for_each(|_| briefs.push(BatchId(0), 0));
        let of =
            |briefs: &Briefs, id| briefs.dependants(CallId(id)).map(|it| it.0).collect::<Vec<_>>();
        for (dependant, other) in [(1, 0), (2, 0), (2, 1), (3, 0), (4, 0)] {
            briefs.tie(CallId(dependant), CallId(other));
        }
        assert_eq!((of(&briefs, 0), of(&briefs, 1)), (vec![4, 3, 2, 1], vec![2]));
        assert_eq!(briefs.get(CallId(2)).unwrap().unmet, 2);
        briefs.retain_dependants(CallId(0), |it| it.0 % 2 == 0);
        assert_eq!(of(&briefs, 0), [4, 2]);
        assert_eq!(briefs.get(CallId(2)).unwrap().unmet, 2);
        assert_eq!(briefs.take_dependant(CallId(0)), Some(CallId(4)));
        assert_eq!(briefs.take_dependant(CallId(0)), Some(CallId(2)));
        assert_eq!(briefs.take_dependant(CallId(0)), None);
        assert_eq!(briefs.take_dependant(CallId(99)), None);
    }
}
