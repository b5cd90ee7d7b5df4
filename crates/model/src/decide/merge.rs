//! Merges one entry of a whole list with its item, which others may have changed too.
//!
//! A field that only the caller changed takes the caller's value. A field that only others changed
//! keeps their value, with a warning. A field that both changed differently is a conflict: in
//! enforced mode the change is refused and the refusal shows both values; in recorded mode the
//! caller's value is stored and the item is marked.

use super::history::Since;
use super::{Draft, Stop};
use crate::command::{ListEntry, Mode};
use crate::event::What;
use crate::id::Number;
use crate::item::{Item, Mark};
use crate::refusal::{Broken, Sides, Tag, Warning};

impl Draft<'_> {
    /// The entry after merging what others changed.
    pub(super) fn merged(
        &mut self,
        number: Number,
        entry: &ListEntry,
        since: Option<&Since>,
    ) -> Result<ListEntry, Stop> {
        let (Some(item), Some(since)) = (self.plan.get(number), since) else {
            return Ok(entry.clone());
        };
        let item = item.clone();
        let mut merged = entry.clone();
        let mut merge = Merge { clashes: Vec::new(), kept: false };
        merge.settle("title", &mut merged.title, since.title.as_ref(), &item.title);
        merge.settle("status", &mut merged.status, since.status.as_ref(), &item.status);
        if let (Some(yours), Some(shown)) = (&entry.active_form, &since.active_form) {
            let mut form = Some(yours.clone());
            merge.settle("active form", &mut form, Some(shown), &item.active_form);
            merged.active_form = form;
        }
        if let (Some(yours), Some(shown)) = (&entry.waiting_on, &since.waiting_on) {
            // The caller only says "blocked", so it agrees with whatever reason it was shown.
            let only_blocked = yours == ListEntry::BLOCKED && shown.is_some();
            let yours = if only_blocked { shown } else { &Some(yours.clone()) };
            let mut on = yours.clone().filter(|text| !text.trim().is_empty());
            merge.settle("wait", &mut on, Some(shown), &item.waiting_on);
            merged.waiting_on = Some(on.unwrap_or_default());
        }
        for clash in merge.clashes {
            self.clash(&item, since, clash)?;
        }
        if merge.kept {
            let (item, by) = (Tag::from(&item), since.by.clone());
            self.decision.warnings.push(Warning::ChangedSince { item, by });
        }
        Ok(merged)
    }

    /// A conflict: refuses it or, in recorded mode, marks the item and warns.
    pub(super) fn clash(&mut self, item: &Item, since: &Since, clash: Clash) -> Result<(), Stop> {
        let Clash { field, yours, theirs } = clash;
        let (by, revision) = (since.by.clone(), since.revision);
        let tag = Tag::from(item);
        let sides = Box::new(Sides { field, yours, theirs, by, revision });
        if self.ctx.mode == Mode::Enforced {
            return Err(Stop(Some(tag), Broken::Conflict(sides)));
        }
        self.change(item.number, What::Edited, |item| {
            item.marks.insert(Mark::Conflict);
        });
        self.decision.warnings.push(Warning::Conflict { item: tag, sides });
        Ok(())
    }
}

/// A field that both sides changed.
pub(super) struct Clash {
    pub(super) field: &'static str,
    pub(super) yours: String,
    pub(super) theirs: String,
}

struct Merge {
    clashes: Vec<Clash>,
    kept: bool,
}

impl Merge {
    /// Merges one field. `yours` has the caller's value and receives the result.
    fn settle<T: Clone + PartialEq + Shown>(
        &mut self,
        field: &'static str,
        yours: &mut T,
        shown: Option<&T>,
        theirs: &T,
    ) {
        let Some(shown) = shown else { return };
        if theirs == shown || yours == theirs {
            return;
        }
        if yours == shown {
            yours.clone_from(theirs);
            self.kept = true;
        } else {
            self.clashes.push(Clash { field, yours: yours.show(), theirs: theirs.show() });
        }
    }
}

/// How a value is written in a conflict's message.
trait Shown {
    fn show(&self) -> String;
}

impl Shown for String {
    fn show(&self) -> String {
        self.clone()
    }
}

impl Shown for Option<String> {
    fn show(&self) -> String {
        self.clone().unwrap_or_default()
    }
}

impl Shown for crate::item::Status {
    fn show(&self) -> String {
        self.words().to_owned()
    }
}
