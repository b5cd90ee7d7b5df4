//! The order in which nested items are shown.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Item, Number, Plan};

/// The deepest indent. Deeper items are shown at this level.
const DEEPEST: usize = 16;

impl Plan {
    /// The items on the list, each followed by its sub-items, with their depth.
    ///
    /// An item whose parent is not on the list is at the top level, and so is the first item of a
    /// cycle of parents. Every item on the list occurs exactly once, whatever a mirror has
    /// recorded.
    pub fn nested(&self) -> Vec<(usize, &Item)> {
        let listed = self.listed();
        if listed.iter().all(|item| item.parent.is_none()) {
            return listed.into_iter().map(|item| (0, item)).collect();
        }
        let on_list: BTreeSet<Number> = listed.iter().map(|item| item.number).collect();
        let parent =
            |item: &Item| item.parent.filter(|it| on_list.contains(it) && *it != item.number);
        let mut under: BTreeMap<Option<Number>, Vec<&Item>> = BTreeMap::new();
        for item in &listed {
            under.entry(parent(item)).or_default().push(item);
        }
        let mut order = Vec::with_capacity(listed.len());
        let mut visited = BTreeSet::new();
        let tops = under.get(&None).cloned().unwrap_or_default();
        // Items that no top-level item leads to are in a cycle; they come last.
        for top in tops.into_iter().chain(listed.iter().copied()) {
            let mut stack = vec![(0, top)];
            while let Some((depth, item)) = stack.pop() {
                if !visited.insert(item.number) {
                    continue;
                }
                order.push((depth, item));
                let children = under.get(&Some(item.number)).into_iter().flatten();
                stack.extend(children.rev().map(|child| ((depth + 1).min(DEEPEST), *child)));
            }
        }
        order
    }
}
