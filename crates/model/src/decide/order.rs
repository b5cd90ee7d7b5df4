//! In which order several items are completed: what one of them depends on before it, and what is under
//! it before it, however they were named. So a batch never stands in its own way.

use std::collections::{BTreeMap, BTreeSet};

use super::Draft;
use crate::command::Op;
use crate::id::Number;

impl Draft<'_> {
    /// In which order the steps are taken: as they stand, unless all of them complete something.
    pub(super) fn order(&self, ops: &[Op]) -> Vec<usize> {
        let completed = |op: &Op| {
            let Op::Complete { item, .. } = op else { return None };
            Some(self.resolve(item).ok())
        };
        match ops.iter().map(completed).collect::<Option<Vec<_>>>() {
            Some(numbers) => self.settled_first(&numbers),
            None => (0..ops.len()).collect(),
        }
    }

    /// The places of these items in the order in which they can be completed; as they stand where
    /// nothing is in the way. One that was not found stays where it is.
    pub(super) fn settled_first(&self, numbers: &[Option<Number>]) -> Vec<usize> {
        let mut places: BTreeMap<Number, Vec<usize>> = BTreeMap::new();
        let mut under: BTreeMap<Number, Vec<usize>> = BTreeMap::new();
        for (place, number) in numbers.iter().enumerate() {
            let Some(number) = *number else { continue };
            places.entry(number).or_default().push(place);
            for above in self.above(number).into_iter().filter(|it| *it != number) {
                under.entry(above).or_default().push(place);
            }
        }
        let before = |place: usize| -> Vec<usize> {
            let Some(number) = numbers[place] else { return Vec::new() };
            let on = self.plan.get(number).into_iter().flat_map(|item| &item.depends_on);
            let on = on.filter_map(|it| places.get(it)).flatten();
            on.chain(under.get(&number).into_iter().flatten()).copied().collect()
        };
        let mut order = Vec::with_capacity(numbers.len());
        let mut seen = BTreeSet::new();
        for first in 0..numbers.len() {
            let mut waiting = vec![(first, false)];
            while let Some((place, is_next)) = waiting.pop() {
                if is_next {
                    order.push(place);
                } else if seen.insert(place) {
                    waiting.push((place, true));
                    // Last first, so that the first is taken first.
                    waiting.extend(before(place).into_iter().rev().map(|it| (it, false)));
                }
            }
        }
        order
    }

    /// An item and those that it stands under.
    pub(super) fn above(&self, number: Number) -> BTreeSet<Number> {
        let mut above = BTreeSet::from([number]);
        let mut at = number;
        while let Some(parent) = self.plan.get(at).and_then(|item| item.parent) {
            if !above.insert(parent) {
                break;
            }
            at = parent;
        }
        above
    }
}
