//! Reconciles a plan with a whole list.
//!
//! Items that match an entry keep their id, number and history, and move to the entry's status.
//! Other entries become new items. Items without an entry are superseded, with a warning if they
//! were open; the list of an agent supersedes only items that came from such a list. Changes that
//! others made since the caller was last shown the plan are kept with a warning, or are a conflict
//! (see [`super::merge`]).

use std::collections::BTreeSet;

use super::history::History;
use super::matching::{Match, Matches};
use super::merge::Clash;
use super::transition::Act;
use super::{Draft, Step, Stop};
use crate::command::{ListEntry, Mode, NewItem, Patch};
use crate::event::What;
use crate::id::{Number, Position};
use crate::item::{Item, Mark, Status};
use crate::refusal::{Broken, Problem, Tag, Warning};
use crate::store::Entry;

impl Draft<'_> {
    /// With `all`, supersedes every missing item; otherwise only those that came from an agent's
    /// list.
    pub(super) fn replace(&mut self, entries: &[ListEntry], all: bool) -> Step {
        self.expire();
        // A mirror is never shown the plan, so its base revision stays behind once somebody else
        // has written. Its own changes since then are not somebody else's.
        let own = |entry: &&Entry| self.ctx.mode == Mode::Recorded && entry.actor == self.ctx.actor;
        let history = History::of(self.since.iter().filter(|entry| !own(entry)));
        let matches = self.match_entries(entries, &history)?;
        let entries = self.merge_entries(entries, &matches, &history);
        self.drop_missing(&matches, &history, all);
        self.check_list_room(&entries, &matches, all)?;
        let mut numbers = Vec::with_capacity(entries.len());
        for (n, entry) in &entries {
            self.entry = *n;
            match self.place_entry(matches.get(n).copied(), entry, !all) {
                Ok(number) => numbers.push((entry, *n, number)),
                Err(stop) => self.add_problem(*n, stop),
            }
        }
        self.move_entries(&numbers);
        self.set_waits(&numbers);
        for (place, (_, _, number)) in (1..).zip(&numbers) {
            self.reposition(*number, Position(place));
        }
        Ok(())
    }

    fn add_problem(&mut self, entry: usize, stop: Stop) {
        self.problems.push(Problem { entry, item: stop.0, broken: stop.1 });
    }

    /// Merges the entries with what others changed, and leaves out the entries of items that others
    /// removed.
    fn merge_entries(
        &mut self,
        entries: &[ListEntry],
        matches: &Matches,
        history: &History,
    ) -> Vec<(usize, ListEntry)> {
        let mut merged = Vec::with_capacity(entries.len());
        for (n, entry) in entries.iter().enumerate() {
            self.entry = n;
            let result = match matches.get(&n) {
                None => Ok(Some(entry.clone())),
                Some(Match::Removed(number)) => self.removed(*number, entry, history),
                Some(Match::Same(number) | Match::Reworded(number)) => {
                    self.merged(*number, entry, history.get(*number)).map(Some)
                }
            };
            match result {
                Ok(entry) => merged.extend(entry.map(|entry| (n, entry))),
                Err(stop) => self.add_problem(n, stop),
            }
        }
        merged
    }

    /// Decides an entry whose item somebody else took off the list. The item stays off, unless the
    /// caller changed it: that is a conflict.
    fn removed(
        &mut self,
        number: Number,
        entry: &ListEntry,
        history: &History,
    ) -> Result<Option<ListEntry>, Stop> {
        let (Some(item), Some(since)) = (self.plan.get(number).cloned(), history.get(number))
        else {
            return Ok(Some(entry.clone()));
        };
        if entry.status == since.shown_status(&item) {
            let (item, by) = (Tag::from(&item), since.by.clone());
            self.decision.warnings.push(Warning::RemovedSince { item, by });
            return Ok(None);
        }
        let yours = entry.status.words().to_owned();
        let clash = Clash { field: "status", yours, theirs: "taken off the list".to_owned() };
        self.clash(&item, since, clash)?;
        Ok(Some(entry.clone()))
    }

    /// Updates the item of an entry, or adds a new item.
    fn place_entry(
        &mut self,
        found: Option<Match>,
        entry: &ListEntry,
        from_list: bool,
    ) -> Result<Number, Stop> {
        self.marks.clear();
        let number = match found {
            Some(Match::Same(number)) => number,
            Some(Match::Reworded(number)) => {
                self.check_held(number)?;
                self.start_over(number);
                number
            }
            Some(Match::Removed(_)) | None => self.add_entry(entry, from_list)?,
        };
        self.update_entry(number, entry)?;
        Ok(number)
    }

    /// Removes claim and evidence of a reworded item: they belong to the old wording.
    fn start_over(&mut self, number: Number) {
        if self.plan.get(number).is_some_and(|item| item.status == Status::InProgress) {
            self.put_back(number, What::Released);
        }
        self.change(number, What::Edited, |item| item.evidence.clear());
    }

    /// Moves the items to their new statuses, in an order that breaks no rule on the way: first the
    /// items that are closed, sub-items and dependencies first; then those that are reopened or
    /// released, parents first; then those that are started.
    fn move_entries(&mut self, numbers: &[(&ListEntry, usize, Number)]) {
        let ends = |entry: &ListEntry| !entry.status.is_open();
        let (ending, mut others): (Vec<_>, Vec<_>) =
            numbers.iter().copied().partition(|(entry, _, _)| ends(entry));
        let named: Vec<Option<Number>> = ending.iter().map(|it| Some(it.2)).collect();
        let ending: Vec<_> =
            self.completion_order(&named).into_iter().map(|place| ending[place]).collect();
        others.sort_by_key(|(entry, n, number)| {
            (entry.status == Status::InProgress, self.with_ancestors(*number).len(), *n)
        });
        for (entry, n, number) in ending.into_iter().chain(others) {
            self.entry = n;
            self.marks.clear();
            if let Err(stop) = self.move_entry(number, entry.status) {
                self.add_problem(n, stop);
            }
        }
    }

    fn drop_missing(&mut self, matches: &Matches, history: &History, all: bool) {
        let kept: BTreeSet<Number> = matches.values().map(|found| found.number()).collect();
        let listed = self.plan.listed().into_iter();
        let missing: Vec<Item> = listed.filter(|it| !kept.contains(&it.number)).cloned().collect();
        for item in missing {
            let tag = Tag::from(&item);
            match history.get(item.number) {
                Some(since) if since.added => {
                    let by = since.by.clone();
                    self.decision.warnings.push(Warning::AddedSince { item: tag, by });
                    continue;
                }
                // The item did not come from an agent's list, so an agent's list cannot remove it.
                Some(_) | None if !all && !item.from_list => {
                    if item.is_open() {
                        self.decision.warnings.push(Warning::NotFromList(tag));
                    }
                    continue;
                }
                Some(since) if since.differs(&item) => {
                    let theirs = format!("{} ({})", item.title, item.status.words());
                    let clash = Clash { field: "item", yours: "left out".to_owned(), theirs };
                    if let Err(stop) = self.clash(&item, since, clash) {
                        self.add_problem(self.entry, stop);
                        continue;
                    }
                }
                Some(_) | None => {}
            }
            self.supersede(item.number);
            if tag.status.is_open() {
                self.decision.warnings.push(Warning::DroppedOpen(tag));
            }
        }
    }

    /// Checks the maximum of open items for the final list, not for the states on the way.
    fn check_list_room(
        &mut self,
        entries: &[(usize, ListEntry)],
        matches: &Matches,
        all: bool,
    ) -> Step {
        let Some(most) = self.ctx.most_open() else { return Ok(()) };
        let wanted = entries.iter().filter(|(_, entry)| entry.status.is_open()).count();
        let open = matches.values().filter(|it| self.is_open(it.number())).count();
        let [wanted, open] = [wanted, open].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        // Items that did not come from an agent's list do not count.
        let foreign = |it: &&Item| !all && it.is_open() && !it.from_list;
        let foreign = self.plan.items.values().filter(foreign).map(|it| it.number);
        let matched: BTreeSet<Number> = matches.values().map(|it| it.number()).collect();
        let foreign = foreign.filter(|it| !matched.contains(it)).count();
        let foreign = u32::try_from(foreign).unwrap_or(u32::MAX);
        let others = self.plan.open.saturating_sub(open).saturating_sub(foreign);
        let total = wanted.saturating_add(others);
        if total <= most || total <= self.plan.open.saturating_sub(foreign) {
            return Ok(());
        }
        let broken = Broken::TooManyOpen {
            open: self.plan.open.saturating_sub(foreign),
            adding: total.saturating_sub(self.plan.open.saturating_sub(foreign)),
            most,
        };
        self.breach(Mark::OverLimit, || broken.into())
    }

    fn is_open(&self, number: Number) -> bool {
        self.plan.get(number).is_some_and(Item::is_open)
    }

    fn add_entry(&mut self, entry: &ListEntry, from_list: bool) -> Result<Number, Stop> {
        let new = NewItem {
            title: entry.title.clone(),
            active_form: entry.active_form.clone(),
            from_list,
            ..NewItem::default()
        };
        self.add_unbounded(&new)
    }

    fn update_entry(&mut self, number: Number, entry: &ListEntry) -> Step {
        self.marks.clear();
        let patch = Patch {
            title: Some(entry.title.clone()),
            active_form: entry.active_form.clone().map(Some),
            ..Patch::default()
        };
        self.edit(number, &patch)
    }

    /// Sets or ends the waits of items. This comes after the statuses: only an open item can wait,
    /// and starting an item ends its wait.
    fn set_waits(&mut self, numbers: &[(&ListEntry, usize, Number)]) {
        let failed: BTreeSet<usize> = self.problems.iter().map(|problem| problem.entry).collect();
        for (entry, n, number) in numbers.iter().filter(|(_, n, _)| !failed.contains(n)) {
            self.entry = *n;
            self.marks.clear();
            let waits = self.plan.get(*number).is_some_and(|item| item.waiting_on.is_some());
            let result = match entry.waiting_on.as_deref() {
                None => Ok(()),
                Some(ListEntry::BLOCKED) if waits => Ok(()),
                Some(on) if on.trim().is_empty() => {
                    self.change(*number, What::Resumed, |item| item.waiting_on = None);
                    Ok(())
                }
                Some(on) => self.wait(*number, on),
            };
            if let Err(stop) = result {
                let tag = self.plan.get(*number).map(Tag::from);
                self.add_problem(*n, Stop(stop.0.or(tag), stop.1));
            }
        }
    }

    fn move_entry(&mut self, number: Number, to: Status) -> Step {
        let Some(from) = self.plan.get(number).map(|item| item.status) else { return Ok(()) };
        if from == to {
            return Ok(());
        }
        self.check_move(number, Act::Replace, to)?;
        self.check_holder(number)?;
        match to {
            Status::InProgress => {
                self.check_in_progress_limit(number)?;
                self.check_unblocked(number, to)?;
                if !from.is_open() {
                    self.check_parent_open(number)?;
                }
                let what = if from.is_open() { What::Started } else { What::Reopened };
                self.begin(number, what);
            }
            Status::Pending => {
                if !from.is_open() {
                    self.check_parent_open(number)?;
                }
                let what = if from.is_open() { What::Released } else { What::Reopened };
                self.put_back(number, what);
            }
            Status::Completed => {
                self.check_completable(number)?;
                self.finish_item(number, What::Completed, to, None);
            }
            Status::Cancelled => self.finish_item(number, What::Cancelled, to, None),
        }
        Ok(())
    }

    /// Adds an item without checking the maximum of open items, which was checked for the whole
    /// list.
    fn add_unbounded(&mut self, new: &NewItem) -> Result<Number, Stop> {
        let open = std::mem::take(&mut self.plan.open);
        let number = self.plan.next_number;
        let result = self.add(new);
        self.plan.open += open;
        result.map(|()| number)
    }
}
