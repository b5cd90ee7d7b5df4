//! Claims: who may write an item, for how long, and how many a worker may have at once.

use jiff::{SignedDuration, Timestamp};

use super::{Draft, Step, Stop};
use crate::actor::ActorKind;
use crate::event::What;
use crate::id::Number;
use crate::item::{Claim, Item, Mark};
use crate::refusal::{Broken, Tag};

impl Draft<'_> {
    /// When a claim given or renewed now ends.
    pub(super) fn lease_end(&self) -> Timestamp {
        let lease = SignedDuration::from_secs(i64::from(self.ctx.limits.lease_seconds));
        self.ctx.now.checked_add(lease).unwrap_or(Timestamp::MAX)
    }

    pub(super) fn max_in_progress(&self) -> Option<u32> {
        self.plan.rules.max_in_progress.or(self.ctx.limits.max_in_progress)
    }

    /// Whether the worker has it in progress. An item in progress that nobody claims counts as
    /// anybody's, so that one agent without claims still has one in all.
    pub(super) fn is_mine(&self, item: &Item) -> bool {
        item.claim.as_ref().is_none_or(|claim| claim.holder.name == self.ctx.holder.name)
    }

    /// Whether a claim no longer protects its holder: the lease is over, or the process is gone.
    fn has_lapsed(&self, claim: &Claim) -> bool {
        claim.has_lapsed(self.ctx.now, &self.ctx.gone)
    }

    /// Puts back what other workers let lapse, so that it can be taken.
    pub(super) fn expire(&mut self) {
        let lapsed: Vec<Number> = self
            .plan
            .in_progress()
            .filter(|item| !self.is_mine(item))
            .filter(|item| item.claim.as_ref().is_some_and(|claim| self.has_lapsed(claim)))
            .map(|item| item.number)
            .collect();
        for number in lapsed {
            self.put_back(number, What::LeaseRanOut);
        }
    }

    /// Whether the worker, and the plan, have room for one more in progress.
    pub(super) fn check_turn(&mut self, number: Number) -> Step {
        let most = self.max_in_progress();
        let running: Vec<&Item> = self
            .plan
            .in_progress()
            .filter(|item| item.number != number)
            .filter(|item| most.is_some() || self.is_mine(item))
            .collect();
        let most = most.unwrap_or(1);
        if u32::try_from(running.len()).unwrap_or(u32::MAX) < most {
            return Ok(());
        }
        let Some(first) = running.first() else { return Ok(()) };
        let broken = Broken::AlreadyInProgress {
            holder: Tag::from(*first),
            by: first.claim.as_ref().map(|claim| claim.holder.name.clone()),
            most,
        };
        let stop = Stop(self.plan.get(number).map(Tag::from), broken);
        self.breach(Mark::TwoInProgress, || stop)
    }

    /// Whether the worker may move this item: nobody else holds it, and it is not late.
    pub(super) fn check_holder(&mut self, number: Number) -> Step {
        self.check_attempt(number)?;
        self.check_held(number)
    }

    /// Whether nobody else holds it.
    pub(super) fn check_held(&mut self, number: Number) -> Step {
        let Some(item) = self.plan.get(number) else { return Ok(()) };
        let Some(broken) = self.held_by_other(item) else { return Ok(()) };
        let stop = Stop::at(item, broken);
        self.breach(Mark::HeldByOther, || stop)
    }

    /// That somebody else holds it, if that is so.
    pub(super) fn held_by_other(&self, item: &Item) -> Option<Broken> {
        let claim = item.claim.as_ref()?;
        if claim.holder.name == self.ctx.holder.name || self.has_lapsed(claim) {
            return None;
        }
        Some(Broken::HeldByOther { holder: claim.holder.name.clone(), until: claim.expires_at })
    }

    /// A person may take any item back; a worker only its own, or what has lapsed.
    pub(super) fn check_may_release(&mut self, number: Number) -> Step {
        if self.ctx.actor.kind == ActorKind::Person {
            return self.check_attempt(number);
        }
        self.check_holder(number)
    }

    /// Whether a write under an attempt is late: the item has been claimed again since.
    pub(super) fn check_attempt(&mut self, number: Number) -> Step {
        let Some(item) = self.plan.get(number) else { return Ok(()) };
        match self.ctx.attempt {
            Some(yours) if yours != item.attempt => {
                let broken = Broken::StaleAttempt { yours, current: item.attempt };
                let stop = Stop::at(item, broken);
                self.breach(Mark::HeldByOther, || stop)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Any write of the holder renews what it holds.
    pub(super) fn renew(&mut self) {
        let end = self.lease_end();
        let held: Vec<Number> = self
            .plan
            .in_progress()
            .filter(|item| {
                item.claim.as_ref().is_some_and(|claim| {
                    claim.holder.name == self.ctx.holder.name && claim.expires_at < end
                })
            })
            .map(|item| item.number)
            .collect();
        for number in held {
            self.change(number, What::Renewed, |item| {
                if let Some(claim) = &mut item.claim {
                    claim.expires_at = end;
                }
            });
        }
    }
}
