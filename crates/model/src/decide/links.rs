//! Dependencies and parents: known, in the same plan, and never in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::{Draft, Step, Stop};
use crate::command::{ItemRef, Mode};
use crate::id::Number;
use crate::item::{Item, Mark, Status};
use crate::refusal::{Broken, Tag};

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
                && let Some(path) = self.path(on, of)
            {
                let mut cycle = vec![of];
                cycle.extend(path);
                let stop = Stop(self.plan.get(of).map(Tag::from), Broken::Cycle { path: cycle });
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
        let mut path = vec![parent];
        while let Some(above) = path.last().and_then(|it| self.plan.get(*it)?.parent) {
            if path.contains(&above) {
                break;
            }
            path.push(above);
        }
        if let Some(of) = of
            && let Some(end) = path.iter().position(|number| *number == of)
        {
            path.truncate(end + 1);
            path.insert(0, of);
            let stop = Stop(self.plan.get(of).map(Tag::from), Broken::ParentCycle { path });
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

    /// The chain of dependencies from one item to another, both ends included.
    fn path(&self, from: Number, to: Number) -> Option<Vec<Number>> {
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
            let deps = self.plan.get(number).map(|item: &Item| &item.depends_on);
            for dep in deps.into_iter().flatten() {
                if *dep != from && !came_from.contains_key(dep) {
                    came_from.insert(*dep, number);
                    waiting.push(*dep);
                }
            }
        }
        None
    }
}
