//! The order in which a batch completes items: dependencies and sub-items first, in whatever order
//! the caller named them. Otherwise the batch could be refused for its own order.

use std::collections::{BTreeMap, BTreeSet};

use super::Draft;
use crate::command::Op;
use crate::id::Number;

impl Draft<'_> {
    /// The order in which to apply the operations: as given, unless all of them complete items.
    pub(super) fn order(&self, ops: &[Op]) -> Vec<usize> {
        let completed = |op: &Op| {
            let Op::Complete { item, .. } = op else { return None };
            Some(self.resolve(item).ok())
        };
        match ops.iter().map(completed).collect::<Option<Vec<_>>>() {
            Some(numbers) => self.completion_order(&numbers),
            None => (0..ops.len()).collect(),
        }
    }

    /// The indexes of these items in an order in which they can be completed. The given order stays
    /// where it breaks no rule. An unknown item (`None`) keeps its place.
    pub(super) fn completion_order(&self, numbers: &[Option<Number>]) -> Vec<usize> {
        let mut places: BTreeMap<Number, Vec<usize>> = BTreeMap::new();
        let mut under: BTreeMap<Number, Vec<usize>> = BTreeMap::new();
        for (place, number) in numbers.iter().enumerate() {
            let Some(number) = *number else { continue };
            places.entry(number).or_default().push(place);
            for above in self.with_ancestors(number).into_iter().filter(|it| *it != number) {
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
        let mut visited = BTreeSet::new();
        for first in 0..numbers.len() {
            let mut stack = vec![(first, false)];
            while let Some((place, is_next)) = stack.pop() {
                if is_next {
                    order.push(place);
                } else if visited.insert(place) {
                    stack.push((place, true));
                    // In reverse, so that the first is popped first.
                    stack.extend(before(place).into_iter().rev().map(|it| (it, false)));
                }
            }
        }
        order
    }

    /// An item and all its ancestors.
    pub(super) fn with_ancestors(&self, number: Number) -> BTreeSet<Number> {
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
