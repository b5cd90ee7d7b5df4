//! Dependencies and parents: known, in the same plan, and never in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::{Draft, Step, Stop};
use crate::command::{ItemRef, Mode};
use crate::id::Number;
use crate::item::{Item, Mark, Status};
use crate::refusal::{Broken, Tag};
use crate::slice::Slice;

impl Draft<'_> {
    /// The numbers of the items that new dependencies mean.
    ///
    /// Every bad one is noted, not only the first.
    pub(super) fn dependencies(
        &mut self,
        of: Option<Number>,
        refs: &[ItemRef],
    ) -> Result<BTreeSet<Number>, Stop> {
        let mut numbers = BTreeSet::new();
        for item in refs {
            let Some(on) = self.link(item)? else { continue };
            if let Some(of) = of
                && let Some(broken) = cycle(&self.plan, of, on)
            {
                let stop = Stop(self.plan.get(of).map(Tag::from), broken);
                self.breach(Mark::BadLink, || stop)?;
                continue;
            }
            numbers.insert(on);
        }
        Ok(numbers)
    }

    /// The number of the item that a new parent means.
    pub(super) fn parent(
        &mut self,
        of: Option<Number>,
        parent: &ItemRef,
    ) -> Result<Option<Number>, Stop> {
        let Some(parent) = self.link(parent)? else { return Ok(None) };
        if let Some(of) = of
            && let Some(broken) = parent_cycle(&self.plan, of, parent)
        {
            let stop = Stop(self.plan.get(of).map(Tag::from), broken);
            self.breach(Mark::BadLink, || stop)?;
            return Ok(None);
        }
        Ok(Some(parent))
    }

    /// An open item may not stand under a completed one: that one is not really done.
    pub(super) fn check_parent_open(&mut self, number: Number) -> Step {
        let Some(item) = self.plan.get(number) else { return Ok(()) };
        let Some(parent) = item.parent.and_then(|parent| self.plan.get(parent)) else {
            return Ok(());
        };
        if parent.status != Status::Completed || parent.is_superseded() {
            return Ok(());
        }
        let stop = Stop::at(item, Broken::ParentCompleted { parent: parent.into() });
        self.breach(Mark::OpenChild, || stop)
    }

    /// What a link means; in recorded mode an unknown one is marked and left out.
    fn link(&mut self, item: &ItemRef) -> Result<Option<Number>, Stop> {
        match self.resolve(item) {
            Ok(number) => Ok(Some(number)),
            Err(stop) if self.ctx.mode == Mode::Enforced => Err(stop),
            Err(_) => {
                self.marks.insert(Mark::BadLink);
                Ok(None)
            }
        }
    }
}

/// The circle that would close if `of` depended on `on`.
pub(crate) fn cycle(plan: &Slice, of: Number, on: Number) -> Option<Broken> {
    let path = std::iter::once(of).chain(chain(plan, on, of)?).collect();
    Some(Broken::Cycle { path })
}

/// The circle that would close if `of` stood under `parent`.
pub(crate) fn parent_cycle(plan: &Slice, of: Number, parent: Number) -> Option<Broken> {
    let mut path = vec![of, parent];
    while path.last() != Some(&of) {
        let above = path.last().and_then(|it| plan.get(*it)?.parent)?;
        // A circle further up, which only recorded mode could have made, is not this item's.
        if above != of && path.contains(&above) {
            return None;
        }
        path.push(above);
    }
    Some(Broken::ParentCycle { path })
}

/// The chain of dependencies from one item to another, both ends included.
fn chain(plan: &Slice, from: Number, to: Number) -> Option<Vec<Number>> {
    let mut came_from: BTreeMap<Number, Number> = BTreeMap::new();
    let mut waiting = vec![from];
    while let Some(number) = waiting.pop() {
        if number == to {
            let mut path = vec![number];
            while let Some(before) = path.last().and_then(|it| came_from.get(it)) {
                path.push(*before);
            }
            path.reverse();
            return Some(path);
        }
        let deps = plan.get(number).map(|item: &Item| &item.depends_on);
        for dep in deps.into_iter().flatten() {
            if *dep != from && !came_from.contains_key(dep) {
                came_from.insert(*dep, number);
                waiting.push(*dep);
            }
        }
    }
    None
}
