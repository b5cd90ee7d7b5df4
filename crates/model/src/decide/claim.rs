//! Claims: who may write an item, for how long, and how many items a worker may have in progress.

use jiff::{SignedDuration, Timestamp};

use super::{Draft, Step, Stop};
use crate::actor::ActorKind;
use crate::event::What;
use crate::id::{Attempt, Number};
use crate::item::{Claim, Item, Mark};
use crate::refusal::{Broken, Tag};

impl Draft<'_> {
    /// When a claim that is made or renewed now expires.
    pub(super) fn lease_end(&self) -> Timestamp {
        let lease = SignedDuration::from_secs(i64::from(self.ctx.limits.lease_seconds));
        self.ctx.now.checked_add(lease).unwrap_or(Timestamp::MAX)
    }

    pub(super) fn max_in_progress(&self) -> Option<u32> {
        self.plan.rules.max_in_progress.or(self.ctx.limits.max_in_progress)
    }

    /// Whether the item in progress counts as this worker's. An item that nobody claims counts as
    /// everybody's, so that agents without claims still have one item in progress in all.
    pub(super) fn is_mine(&self, item: &Item) -> bool {
        item.claim.as_ref().is_none_or(|claim| claim.holder.name == self.ctx.holder.name)
    }

    /// Whether the claim no longer protects its holder: the lease has expired, or the process has
    /// ended.
    fn has_lapsed(&self, claim: &Claim) -> bool {
        claim.has_lapsed(self.ctx.now, &self.ctx.gone)
    }

    /// Releases the items of other workers whose claims have lapsed.
    pub(super) fn expire(&mut self) {
        let lapsed: Vec<Number> = self
            .plan
            .in_progress()
            .filter(|item| !self.is_mine(item))
            .filter(|item| item.claim.as_ref().is_some_and(|claim| self.has_lapsed(claim)))
            .map(|item| item.number)
            .collect();
        for number in lapsed {
            self.lease_ran_out(number);
        }
    }

    /// Puts an item back whose claim has lapsed. In a shared plan nobody knows how far its command came, so
    /// the item is marked as interrupted.
    fn lease_ran_out(&mut self, number: Number) {
        let Some(item) = self.plan.get(number) else { return };
        let is_interrupted = self.plan.rules.shared && item.can_harm() && !item.is_workers();
        let holder = item.claim.as_ref().map(|claim| claim.holder.name.clone()).unwrap_or_default();
        self.put_back(number, What::LeaseRanOut);
        if is_interrupted {
            self.change(number, What::LeaseRanOut, |item| {
                item.interrupt();
                item.outcome = Some(format!("interrupted: {holder} did not finish it"));
            });
        }
    }

    /// Puts an item back: its holder gives it up, or its claim has lapsed.
    pub(super) fn let_go(&mut self, number: Number) {
        let claim = self.plan.get(number).and_then(|item| item.claim.as_ref());
        match claim {
            Some(claim) if self.has_lapsed(claim) => self.lease_ran_out(number),
            Some(_) | None => self.put_back(number, What::Released),
        }
    }

    /// Renews the worker's leases, if the worker still holds the item.
    pub(super) fn renew_held(&mut self, number: Number, attempt: Option<Attempt>) -> Step {
        let Some(item) = self.plan.get(number) else { return Ok(()) };
        let claim = item.claim.as_ref().filter(|it| it.holder.name == self.ctx.holder.name);
        let is_held = claim.is_some_and(|it| attempt.is_none_or(|yours| yours == it.attempt));
        self.renews = true;
        if is_held {
            return Ok(());
        }
        let yours = attempt.unwrap_or(item.attempt);
        let broken = self
            .held_by_other(item)
            .filter(|_| attempt.is_none_or(|yours| yours == item.attempt))
            .unwrap_or(Broken::StaleAttempt { yours, current: item.attempt });
        let stop = Stop::at(item, broken);
        self.breach(Mark::HeldByOther, || stop)
    }

    /// Checks that the worker, or the plan, may have one more item in progress. Entries of workers'
    /// own lists do not count.
    pub(super) fn check_in_progress_limit(&mut self, number: Number) -> Step {
        if self.plan.get(number).is_some_and(Item::is_workers) {
            return Ok(());
        }
        let most = self.max_in_progress();
        let running: Vec<&Item> = self
            .plan
            .in_progress()
            .filter(|item| item.number != number && !item.is_workers())
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

    /// Checks that the worker may write this item: no other worker holds it, and the attempt is
    /// current.
    pub(super) fn check_holder(&mut self, number: Number) -> Step {
        self.check_attempt(number)?;
        self.check_held(number)
    }

    /// Checks that no other worker holds the item.
    pub(super) fn check_held(&mut self, number: Number) -> Step {
        let Some(item) = self.plan.get(number) else { return Ok(()) };
        let Some(broken) = self.held_by_other(item) else { return Ok(()) };
        let stop = Stop::at(item, broken);
        self.breach(Mark::HeldByOther, || stop)
    }

    /// The broken rule, if another worker holds the item.
    pub(super) fn held_by_other(&self, item: &Item) -> Option<Broken> {
        let claim = item.claim.as_ref()?;
        if claim.holder.name == self.ctx.holder.name || self.has_lapsed(claim) {
            return None;
        }
        Some(Broken::HeldByOther { holder: claim.holder.name.clone(), until: claim.expires_at })
    }

    /// Checks that the item may be released: by any person, by its holder, or by anyone once the
    /// claim has lapsed.
    pub(super) fn check_may_release(&mut self, number: Number) -> Step {
        if self.ctx.actor.kind == ActorKind::Person {
            return self.check_attempt(number);
        }
        self.check_holder(number)
    }

    /// Checks that the caller's attempt is current: the item has not been claimed again since.
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

    /// Renews all claims of the worker. Every change of the worker does this.
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
