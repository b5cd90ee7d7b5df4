//! The status transitions, and what else each of them changes.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Draft, Step, Stop};
use crate::actor::ActorKind;
use crate::event::What;
use crate::id::{Attempt, Number};
use crate::item::{Claim, Evidence, Item, Level, Mark, Status, Verification};
use crate::refusal::{Broken, Tag, Warning};
use crate::slice::Slice;

/// The acts that change a status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// `start`, `next`.
    Start,
    /// `done`.
    Complete,
    /// `skip`.
    Cancel,
    /// `release`, abort, an expired lease.
    Release,
    /// `reopen`.
    Reopen,
    /// A whole-list write, which may set any status.
    Replace,
}

impl Act {
    /// All acts.
    pub const ALL: [Self; 6] =
        [Self::Start, Self::Complete, Self::Cancel, Self::Release, Self::Reopen, Self::Replace];

    /// The statuses that this act may lead to from `from`.
    pub fn targets(self, from: Status) -> &'static [Status] {
        use Status::{Cancelled, Completed, InProgress, Pending};
        match (self, from) {
            (Self::Start, Pending) => &[InProgress],
            (Self::Complete, Pending | InProgress) => &[Completed],
            (Self::Cancel, Pending | InProgress) => &[Cancelled],
            (Self::Release, InProgress) => &[Pending],
            (Self::Reopen, Completed | Cancelled) => &[Pending, InProgress],
            (Self::Replace, _) => &Status::ALL,
            (Self::Start, InProgress | Completed | Cancelled)
            | (Self::Complete | Self::Cancel, Completed | Cancelled)
            | (Self::Release, Pending | Completed | Cancelled)
            | (Self::Reopen, Pending | InProgress) => &[],
        }
    }
}

/// The statuses that an act other than a whole-list write can lead to from `from`.
pub fn legal(from: Status) -> Vec<Status> {
    Status::ALL
        .into_iter()
        .filter(|to| {
            Act::ALL.into_iter().any(|act| act != Act::Replace && act.targets(from).contains(to))
        })
        .collect()
}

impl Draft<'_> {
    pub(super) fn start(&mut self, number: Number) -> Step {
        self.expire();
        self.check_move(number, Act::Start, Status::InProgress)?;
        self.check_in_progress_limit(number)?;
        self.check_unblocked(number, Status::InProgress)?;
        self.begin(number, What::Started);
        self.decision.picked = Some(number);
        Ok(())
    }

    /// Picks the worker's own item in progress, otherwise starts the next ready item.
    pub(super) fn next(&mut self) -> Step {
        let in_progress: Vec<Number> = self.plan.in_progress().map(|item| item.number).collect();
        self.expire();
        let own = self.plan.in_progress().find(|item| self.is_mine(item)).map(|it| it.number);
        if let (Some(number), None) = (own, self.max_in_progress()) {
            self.decision.picked = Some(number);
            return Ok(());
        }
        let next = if self.plan.is_whole {
            self.plan.next_ready_of(self.plan.items.values())
        } else {
            // The item that the store found, or one whose claim has just lapsed. What could block
            // another loaded item may not be loaded.
            let numbers = in_progress.iter().chain(&self.plan.next);
            self.plan.next_ready_of(numbers.filter_map(|number| self.plan.get(*number)))
        };
        let Some(number) = next.map(|item| item.number) else { return Ok(()) };
        self.start(number)
    }

    pub(super) fn complete(&mut self, number: Number, outcome: Option<&str>) -> Step {
        self.check_attempt(number)?;
        self.complete_at_any_attempt(number, outcome)
    }

    /// Completes an item without checking the attempt, which belongs to the item that the caller
    /// named and not to its sub-items.
    fn complete_at_any_attempt(&mut self, number: Number, outcome: Option<&str>) -> Step {
        self.check_move(number, Act::Complete, Status::Completed)?;
        self.check_held(number)?;
        let outcome = self.nonblank_text("outcome", outcome)?;
        self.check_completable(number)?;
        self.finish_item(number, What::Completed, Status::Completed, outcome);
        Ok(())
    }

    /// Completes an item because a person ticked it in a file. A missing verification is marked,
    /// not refused: the person has decided, and the mark shows on what basis.
    pub(super) fn tick(&mut self, number: Number, by: &str) -> Step {
        self.check_attempt(number)?;
        self.check_move(number, Act::Complete, Status::Completed)?;
        self.check_held(number)?;
        let by = self.text("name of the file", by)?;
        self.check_children_closed(number)?;
        let Some(item) = self.plan.get(number) else { return Ok(()) };
        match self.plan.verification(item, false) {
            Verification::None | Verification::Passed => {}
            Verification::Required | Verification::Failed | Verification::Stale => {
                self.marks.insert(Mark::Unverified);
            }
        }
        let now = self.ctx.now;
        self.change(number, What::Completed, |item| {
            item.close(Status::Completed, now);
            item.evidence.push(claimed(now, by));
        });
        Ok(())
    }

    /// Completes the open items under an item, sub-items and dependencies first.
    pub(super) fn complete_children(&mut self, number: Number) -> Step {
        let mut under: BTreeMap<Number, Vec<Number>> = BTreeMap::new();
        for item in self.plan.items.values().filter(|item| !item.is_superseded()) {
            under.entry(item.parent.unwrap_or_default()).or_default().push(item.number);
        }
        let mut all = vec![number];
        let mut next = 0;
        while let Some(parent) = all.get(next) {
            all.extend(under.remove(parent).unwrap_or_default());
            next += 1;
        }
        let is_open = |it: &Number| self.plan.get(*it).is_some_and(Item::is_open);
        let open: Vec<Option<Number>> = all.into_iter().skip(1).filter(is_open).map(Some).collect();
        for child in self.completion_order(&open).into_iter().filter_map(|place| open[place]) {
            self.complete_at_any_attempt(child, None)?;
        }
        Ok(())
    }

    pub(super) fn cancel(&mut self, number: Number, reason: Option<&str>) -> Step {
        self.check_move(number, Act::Cancel, Status::Cancelled)?;
        self.check_holder(number)?;
        let reason = self.nonblank_text("reason", reason)?;
        self.finish_item(number, What::Cancelled, Status::Cancelled, reason);
        self.decision.warnings.extend(self.plan.warn_cancelled(number));
        Ok(())
    }

    pub(super) fn release(&mut self, number: Number) -> Step {
        self.check_move(number, Act::Release, Status::Pending)?;
        self.check_may_release(number)?;
        self.let_go(number);
        Ok(())
    }

    pub(super) fn reopen(&mut self, number: Number, start: bool) -> Step {
        let to = if start { Status::InProgress } else { Status::Pending };
        self.check_move(number, Act::Reopen, to)?;
        self.check_parent_open(number)?;
        self.check_room_for(1)?;
        if start {
            self.expire();
            self.check_in_progress_limit(number)?;
            self.check_unblocked(number, Status::InProgress)?;
            self.begin(number, What::Reopened);
            self.decision.picked = Some(number);
        } else {
            self.put_back(number, What::Reopened);
        }
        Ok(())
    }

    /// Applies the act that leads to `to`.
    pub(super) fn set_status(&mut self, number: Number, to: Status) -> Step {
        use Status::{Cancelled, Completed, InProgress, Pending};
        self.expire();
        let Some(from) = self.plan.get(number).map(|item| item.status) else { return Ok(()) };
        match (from, to) {
            (Pending, Pending) | (Completed, Completed) | (Cancelled, Cancelled) => Ok(()),
            // Setting "in progress" again does not take over another worker's item.
            (InProgress, InProgress) => self.check_holder(number),
            (Pending, InProgress) => self.start(number),
            (InProgress, Pending) => self.release(number),
            (Completed | Cancelled, Pending) => self.reopen(number, false),
            (Completed | Cancelled, InProgress) => self.reopen(number, true),
            (Pending | InProgress | Cancelled, Completed) => self.complete(number, None),
            (Pending | InProgress | Completed, Cancelled) => self.cancel(number, None),
        }
    }

    pub(super) fn wait(&mut self, number: Number, on: &str) -> Step {
        if on.trim().is_empty() {
            let stop = |item: &Item| Stop::at(item, Broken::EmptyText { field: "reason to wait" });
            return Err(self
                .plan
                .get(number)
                .map_or_else(|| Broken::EmptyText { field: "reason to wait" }.into(), stop));
        }
        if let Some(item) = self.plan.get(number)
            && !item.is_open()
        {
            let stop = Stop::at(item, Broken::NotOpen);
            self.breach(Mark::IllegalTransition, || stop)?;
        }
        let on = self.text("waiting", on)?;
        self.change(number, What::Waiting, |item| item.waiting_on = Some(on));
        Ok(())
    }

    /// Checks the transition table.
    pub(super) fn check_move(&mut self, number: Number, act: Act, to: Status) -> Step {
        let Some(item) = self.plan.get(number) else { return Ok(()) };
        if act.targets(item.status).contains(&to) {
            return Ok(());
        }
        // If another worker holds the item, say so; that it is in progress already follows from it.
        let held = (item.status == to).then(|| self.held_by_other(item)).flatten();
        let broken = held.unwrap_or_else(|| Broken::Illegal { to, legal: legal(item.status) });
        let stop = Stop::at(item, broken);
        self.breach(Mark::IllegalTransition, || stop)
    }

    /// Checks that an item may be completed: all dependencies are completed, no sub-item is open,
    /// and the required evidence is there.
    pub(super) fn check_completable(&mut self, number: Number) -> Step {
        let Some(item) = self.plan.get(number) else { return Ok(()) };
        let tag = Tag::from(item);
        let verification = self.plan.verification(item, false);
        let demanded = self.plan.demanded(item).unwrap_or(Level::Reported);
        self.check_children_closed(number)?;
        self.check_unblocked(number, Status::Completed)?;
        match verification {
            Verification::None | Verification::Passed => Ok(()),
            Verification::Required | Verification::Failed | Verification::Stale => {
                let failed = verification == Verification::Failed;
                let stop = Stop(Some(tag), Broken::Unverified { demanded, failed });
                self.breach(Mark::Unverified, || stop)
            }
        }
    }

    fn check_children_closed(&mut self, number: Number) -> Step {
        let Some(item) = self.plan.get(number) else { return Ok(()) };
        let Some(child) = self.open_children(number).into_iter().next() else { return Ok(()) };
        let stop = Stop::at(item, Broken::OpenChild { child });
        self.breach(Mark::OpenChild, || stop)
    }

    pub(super) fn open_children(&self, number: Number) -> Vec<Tag> {
        let children = self.plan.children(number);
        children.into_iter().filter(|child| child.is_open()).map(Tag::from).collect()
    }

    /// Sets an item in progress with a new claim for the worker.
    pub(super) fn begin(&mut self, number: Number, what: What) {
        let now = self.ctx.now;
        let holder = self.ctx.holder.clone();
        let expires_at = self.lease_end();
        self.change(number, what, |item| {
            clear_result(item);
            item.status = Status::InProgress;
            item.started_at = Some(now);
            item.waiting_on = None;
            item.attempt = Attempt(item.attempt.0 + 1);
            item.claim = Some(Claim { holder, attempt: item.attempt, expires_at });
        });
    }

    pub(super) fn put_back(&mut self, number: Number, what: What) {
        self.change(number, what, |item| {
            clear_result(item);
            item.status = Status::Pending;
            item.started_at = None;
            item.claim = None;
        });
    }

    pub(super) fn finish_item(
        &mut self,
        number: Number,
        what: What,
        status: Status,
        outcome: Option<String>,
    ) {
        let now = self.ctx.now;
        let by = self.ctx.actor.name.clone();
        self.change(number, what, |item| {
            item.close(status, now);
            if outcome.is_some() {
                item.outcome = outcome;
            }
            if status == Status::Completed && item.evidence_level().is_none() {
                item.evidence.push(claimed(now, by));
            }
        });
    }

    /// Checks that all dependencies are completed. A person may override this with `anyway`.
    pub(super) fn check_unblocked(&mut self, number: Number, to: Status) -> Step {
        let Some(item) = self.plan.get(number) else { return Ok(()) };
        let by: Vec<Tag> = self.plan.blockers(item).map(Tag::from).collect();
        if by.is_empty() {
            return Ok(());
        }
        let tag = Tag::from(item);
        if !(self.ctx.anyway && self.ctx.actor.kind == ActorKind::Person) {
            let stop = Stop(Some(tag.clone()), Broken::Blocked { to, by: by.clone() });
            self.breach(Mark::Blocked, || stop)?;
        }
        self.decision.warnings.push(Warning::Blocked { item: tag, by });
        Ok(())
    }
}

impl Slice {
    /// Warnings after an item was cancelled: the open items that depend on it, and those under it.
    pub(crate) fn warn_cancelled(&self, number: Number) -> Vec<Warning> {
        let Some(item) = self.get(number) else { return Vec::new() };
        let tags = |of: &dyn Fn(&Item) -> bool| -> Vec<Tag> {
            self.items.values().filter(|it| it.is_open() && of(it)).map(Tag::from).collect()
        };
        let dependants = tags(&|it| it.depends_on.contains(&number));
        let mut children = tags(&|it| it.parent == Some(number));
        children.sort_by_key(|tag| self.get(tag.number).and_then(|it| it.position));
        let mut warnings = Vec::new();
        if !dependants.is_empty() {
            warnings.push(Warning::DependsOnCancelled { item: item.into(), dependants });
        }
        if !children.is_empty() {
            warnings.push(Warning::OpenUnderCancelled { item: item.into(), children });
        }
        warnings
    }
}

impl Item {
    /// Sets the item's final status.
    pub(crate) fn close(&mut self, status: Status, at: Timestamp) {
        self.status = status;
        self.completed_at = Some(at);
        self.claim = None;
        self.waiting_on = None;
        // Closing the item answers what became of the interrupted run.
        if self.is_interrupted() {
            let mut metadata = self.metadata.take().unwrap_or_default();
            metadata.remove(Self::INTERRUPTED);
            self.metadata = Some(metadata).filter(|it| !it.is_empty());
        }
    }
}

/// Clears the results of an earlier completion when the item is open again. The journal keeps them.
fn clear_result(item: &mut Item) {
    item.completed_at = None;
    if !item.status.is_open() {
        item.outcome = None;
        item.evidence.clear();
        item.marks.remove(&Mark::Unverified);
    }
}

fn claimed(at: Timestamp, by: String) -> Evidence {
    Evidence { level: Level::Reported, at, by, run: None }
}
