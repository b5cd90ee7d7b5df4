//! A whole list against a plan: reconciled, never blindly replaced.
//!
//! Entries are matched by id, then by equal title. What matches keeps its id, number and history and
//! gets a transition; what is new is added; what is missing is superseded, with a warning if it was
//! open.

use std::collections::{BTreeMap, BTreeSet};

use super::transition::Act;
use super::{Draft, Step, Stop};
use crate::command::{ListEntry, NewItem, Patch};
use crate::event::What;
use crate::id::{Number, Position};
use crate::item::{Item, Mark, Status};
use crate::refusal::{Broken, Problem, Tag, Warning};

impl Draft<'_> {
    pub(super) fn replace(&mut self, entries: &[ListEntry]) -> Step {
        self.expire();
        let matches = self.match_entries(entries)?;
        let kept: BTreeSet<Number> = matches.values().copied().collect();
        self.drop_missing(&kept);
        self.check_list_room(entries, &matches)?;
        let mut numbers = Vec::with_capacity(entries.len());
        for (n, entry) in entries.iter().enumerate() {
            self.entry = n;
            let number = match matches.get(&n) {
                Some(number) => Ok(*number),
                None => self.add_entry(entry),
            };
            match number.and_then(|number| self.update_entry(number, entry).map(|()| number)) {
                Ok(number) => numbers.push((n, number)),
                Err(stop) => {
                    self.problems.push(Problem { entry: n, item: stop.0, broken: stop.1 });
                }
            }
        }
        self.move_entries(entries, &numbers);
        for (place, (_, number)) in (1..).zip(&numbers) {
            self.reposition(*number, Position(place));
        }
        Ok(())
    }

    /// Gives the items their new statuses, in an order that breaks no rule on the way: what ends,
    /// children first; what is put back or reopened, parents first; then what begins.
    fn move_entries(&mut self, entries: &[ListEntry], numbers: &[(usize, Number)]) {
        let mut steps: Vec<(i64, usize, Number)> = numbers
            .iter()
            .map(|(n, number)| {
                let depth = i64::from(self.depth(*number));
                let rank = match entries[*n].status {
                    Status::Completed | Status::Cancelled => -1 - depth,
                    Status::Pending => depth,
                    Status::InProgress => i64::from(u32::MAX) + depth,
                };
                (rank, *n, *number)
            })
            .collect();
        steps.sort_unstable();
        for (_, n, number) in steps {
            self.entry = n;
            self.marks.clear();
            if let Err(stop) = self.move_entry(number, entries[n].status) {
                self.problems.push(Problem { entry: n, item: stop.0, broken: stop.1 });
            }
        }
    }

    /// How many items stand above one.
    fn depth(&self, number: Number) -> u32 {
        let mut seen = BTreeSet::from([number]);
        let mut at = number;
        while let Some(parent) = self.plan.get(at).and_then(|item| item.parent) {
            if !seen.insert(parent) {
                break;
            }
            at = parent;
        }
        u32::try_from(seen.len()).unwrap_or(u32::MAX)
    }

    /// Which entry is which item.
    fn match_entries(&mut self, entries: &[ListEntry]) -> Result<BTreeMap<usize, Number>, Stop> {
        let mut matches: BTreeMap<usize, Number> = BTreeMap::new();
        for (n, entry) in entries.iter().enumerate() {
            let Some(item) = &entry.item else { continue };
            // An id that is not ours is somebody's own label: the title decides then.
            let Ok(number) = self.resolve(item) else { continue };
            if let Some(first) = matches.iter().find(|(_, it)| **it == number).map(|(n, _)| *n) {
                let broken = Broken::Twice { entries: vec![first, n] };
                self.breach(Mark::BadLink, || broken.into())?;
                continue;
            }
            matches.insert(n, number);
        }
        let mut free: BTreeMap<&str, Vec<Number>> = BTreeMap::new();
        let taken: BTreeSet<Number> = matches.values().copied().collect();
        let listed = self.plan.listed();
        // Last first, so that `pop` gives the first of equal titles.
        for item in listed.iter().rev().filter(|item| !taken.contains(&item.number)) {
            free.entry(item.title.as_str()).or_default().push(item.number);
        }
        for (n, entry) in entries.iter().enumerate() {
            if !matches.contains_key(&n)
                && let Some(number) = free.get_mut(entry.title.as_str()).and_then(Vec::pop)
            {
                matches.insert(n, number);
            }
        }
        Ok(matches)
    }

    fn drop_missing(&mut self, kept: &BTreeSet<Number>) {
        let missing: Vec<Tag> = self
            .plan
            .listed()
            .into_iter()
            .filter(|item| !kept.contains(&item.number))
            .map(Tag::from)
            .collect();
        for tag in missing {
            self.supersede(tag.number);
            if tag.status.is_open() {
                self.decision.warnings.push(Warning::DroppedOpen(tag));
            }
        }
    }

    /// The cap holds for the list as it will be, not for its states on the way.
    fn check_list_room(
        &mut self,
        entries: &[ListEntry],
        matches: &BTreeMap<usize, Number>,
    ) -> Step {
        let wanted = entries.iter().filter(|entry| entry.status.is_open()).count();
        let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
        let most = self.ctx.limits.open_items;
        if wanted <= most {
            return Ok(());
        }
        let open = matches.values().filter(|it| self.is_open(**it)).count();
        let open = u32::try_from(open).unwrap_or(u32::MAX);
        let broken = Broken::TooManyOpen { open, adding: wanted.saturating_sub(open), most };
        self.breach(Mark::OverLimit, || broken.into())
    }

    fn is_open(&self, number: Number) -> bool {
        self.plan.get(number).is_some_and(Item::is_open)
    }

    fn add_entry(&mut self, entry: &ListEntry) -> Result<Number, Stop> {
        let new = NewItem {
            title: entry.title.clone(),
            active_form: entry.active_form.clone(),
            ..NewItem::default()
        };
        self.marks.clear();
        self.add_unbounded(&new)
    }

    fn update_entry(&mut self, number: Number, entry: &ListEntry) -> Step {
        self.marks.clear();
        let patch = Patch {
            title: Some(entry.title.clone()),
            active_form: entry.active_form.clone().map(Some),
            ..Patch::default()
        };
        self.edit(number, &patch)?;
        match &entry.waiting_on {
            Some(on) if on.trim().is_empty() => {
                self.change(number, What::Resumed, |item| item.waiting_on = None);
                Ok(())
            }
            Some(on) => self.wait(number, on),
            None => Ok(()),
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
                self.check_turn(number)?;
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

    /// Adds an item of a whole list, whose cap has been looked at as a whole.
    fn add_unbounded(&mut self, new: &NewItem) -> Result<Number, Stop> {
        let open = std::mem::take(&mut self.plan.open);
        let number = self.plan.next_number;
        let result = self.add(new);
        self.plan.open += open;
        result.map(|()| number)
    }
}
