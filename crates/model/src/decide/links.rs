//! Dependencies and parents: they exist, are in the same plan, and form no cycle.

use std::collections::{BTreeMap, BTreeSet};

use super::{Draft, Step, Stop};
use crate::command::{ItemRef, Mode};
use crate::id::Number;
use crate::item::{Item, Mark, Status};
use crate::refusal::{Broken, Tag};
use crate::slice::Slice;

impl Draft<'_> {
    /// Resolves the references of new dependencies to numbers.
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

    /// Resolves the reference of a new parent to a number.
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

    /// Checks that an open item is not under a completed one, which would then not really be done.
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

    /// Resolves a reference. In recorded mode an unknown one causes a mark and is left out.
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

/// The cycle that would arise if `of` depended on `on`.
pub(crate) fn cycle(plan: &Slice, of: Number, on: Number) -> Option<Broken> {
    let path = std::iter::once(of).chain(chain(plan, on, of)?).collect();
    Some(Broken::Cycle { path })
}

/// The cycle that would arise if `parent` became the parent of `of`.
pub(crate) fn parent_cycle(plan: &Slice, of: Number, parent: Number) -> Option<Broken> {
    let mut path = vec![of, parent];
    while path.last() != Some(&of) {
        let above = path.last().and_then(|it| plan.get(*it)?.parent)?;
        // A cycle among the ancestors, which only recorded mode can make, does not contain this
        // item.
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
    let mut stack = vec![from];
    while let Some(number) = stack.pop() {
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
                stack.push(*dep);
            }
        }
    }
    None
}
