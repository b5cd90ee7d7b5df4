//! One entry of a whole list against its item, when others may have changed it too.
//!
//! What only the caller changed is taken, what only others changed is kept and named, and what both
//! changed differently is a conflict that shows both: refused whole in enforced mode; in recorded
//! mode the caller's word stands and the item is marked.

use super::history::Since;
use super::{Draft, Stop};
use crate::command::{ListEntry, Mode};
use crate::event::What;
use crate::id::Number;
use crate::item::{Item, Mark};
use crate::refusal::{Broken, Sides, Tag, Warning};

impl Draft<'_> {
    /// What the entry should be, given what happened since.
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
            // Whoever says no more than that it waits means what was shown, whatever that was.
            let unsaid = yours == ListEntry::BLOCKED && shown.is_some();
            let yours = if unsaid { shown } else { &Some(yours.clone()) };
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

    /// A conflict: refused, or in recorded mode marked and told.
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
    /// Decides one field: `yours` is what the caller sent and becomes what shall be.
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

/// How a field's value reads in a conflict.
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
