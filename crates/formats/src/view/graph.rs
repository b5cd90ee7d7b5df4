//! The dependencies of a plan, for Graphviz, Mermaid and a terminal.
//!
//! Arrows point from a dependency to its dependant. A dashed line leads from an item to its
//! sub-items. In a terminal, a dependant is below the dependency that it comes after last.

use std::collections::{BTreeMap, BTreeSet};

use punchlist_model::{Item, Number, Plan, Status};

use crate::text::escape;

/// For Graphviz.
pub fn dot(plan: &Plan) -> String {
    let mut out =
        String::from("digraph plan {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n");
    for item in plan.listed() {
        let (number, title) = (item.number, escape::dot(&item.title));
        let look = match item.status {
            Status::Pending => "",
            Status::InProgress => ", penwidth=2",
            Status::Completed => r#", style="rounded,filled", fillcolor=palegreen"#,
            Status::Cancelled => r#", style="rounded,dashed", fontcolor=gray"#,
        };
        out.push_str(&format!("  n{number} [label=\"{number} {title}\"{look}];\n"));
    }
    for edge in edges(plan) {
        out.push_str(&match edge {
            Edge::Before(from, to) => format!("  n{from} -> n{to};\n"),
            Edge::Under(from, to) => {
                format!("  n{from} -> n{to} [style=dashed, arrowhead=none];\n")
            }
        });
    }
    out.push_str("}\n");
    out
}

/// For Mermaid.
pub fn mermaid(plan: &Plan) -> String {
    let mut out = String::from("flowchart LR\n");
    for item in plan.listed() {
        let (number, title) = (item.number, escape::mermaid(&item.title));
        let class = item.status;
        out.push_str(&format!("  n{number}[\"{number} {title}\"]:::{class}\n"));
    }
    for edge in edges(plan) {
        out.push_str(&match edge {
            Edge::Before(from, to) => format!("  n{from} --> n{to}\n"),
            Edge::Under(from, to) => format!("  n{from} -.- n{to}\n"),
        });
    }
    out.push_str("  classDef pending fill:none\n");
    out.push_str("  classDef in_progress stroke-width:3px\n");
    out.push_str("  classDef completed fill:#bfb\n");
    out.push_str("  classDef cancelled stroke-dasharray:4,color:#888\n");
    out
}

/// A row of the dependency tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Branch {
    /// The item.
    pub number: Number,
    /// How many items are above it in its branch.
    pub depth: usize,
    /// The dependencies that the tree does not show above it.
    pub also_after: Vec<Number>,
}

/// The deepest indent. Longer chains go on at this level.
const DEEPEST: usize = 16;

/// The dependencies as a tree: an item stands below its dependency, or below the one with the
/// longest chain before it if there are several. Every item on the list occurs exactly once, also
/// if a mirror has recorded a cycle.
pub fn tree(plan: &Plan) -> Vec<Branch> {
    let listed = plan.listed();
    let on_list: BTreeSet<Number> = listed.iter().map(|item| item.number).collect();
    let before = |item: &Item| -> Vec<Number> {
        item.depends_on.iter().copied().filter(|it| on_list.contains(it)).collect()
    };
    let levels = levels(&listed, before);
    let mut below: BTreeMap<Option<Number>, Vec<&Item>> = BTreeMap::new();
    for item in &listed {
        let known = before(item).into_iter().filter(|it| levels.contains_key(it));
        let last = known.max_by_key(|it| levels.get(it).copied());
        // An item of a cycle has no level; it is a beginning.
        let above = last.filter(|_| levels.contains_key(&item.number));
        below.entry(above).or_default().push(item);
    }
    let mut rows = Vec::with_capacity(listed.len());
    let tops = below.get(&None).into_iter().flatten().rev();
    let mut stack: Vec<(usize, Option<Number>, &Item)> = tops.map(|it| (0, None, *it)).collect();
    while let Some((depth, above, item)) = stack.pop() {
        let also_after = before(item).into_iter().filter(|it| Some(*it) != above).collect();
        rows.push(Branch { number: item.number, depth: depth.min(DEEPEST), also_after });
        let next = below.get(&Some(item.number)).into_iter().flatten().rev();
        stack.extend(next.map(|it| (depth + 1, Some(item.number), *it)));
    }
    rows
}

/// The length of the longest chain before each item. Items of a cycle, and those after one, have
/// none.
fn levels(listed: &[&Item], before: impl Fn(&Item) -> Vec<Number>) -> BTreeMap<Number, usize> {
    let mut missing: BTreeMap<Number, usize> = BTreeMap::new();
    let mut after: BTreeMap<Number, Vec<Number>> = BTreeMap::new();
    for item in listed {
        let first = before(item);
        missing.insert(item.number, first.len());
        for it in first {
            after.entry(it).or_default().push(item.number);
        }
    }
    let mut levels = BTreeMap::new();
    let mut level: Vec<Number> = missing.iter().filter(|it| *it.1 == 0).map(|it| *it.0).collect();
    let mut depth = 0;
    while !level.is_empty() {
        let mut next = Vec::new();
        for number in level {
            levels.insert(number, depth);
            for it in after.get(&number).into_iter().flatten() {
                if let Some(left) = missing.get_mut(it) {
                    *left -= 1;
                    if *left == 0 {
                        next.push(*it);
                    }
                }
            }
        }
        level = next;
        depth += 1;
    }
    levels
}

enum Edge {
    Before(Number, Number),
    Under(Number, Number),
}

/// The edges between items that are on the list.
fn edges(plan: &Plan) -> Vec<Edge> {
    let listed = plan.listed();
    let on_list: BTreeSet<Number> = listed.iter().map(|item: &&Item| item.number).collect();
    let mut edges = Vec::new();
    for item in listed {
        let before = item.depends_on.iter().filter(|it| on_list.contains(it));
        edges.extend(before.map(|first| Edge::Before(*first, item.number)));
        let above = item.parent.filter(|it| on_list.contains(it));
        edges.extend(above.map(|parent| Edge::Under(parent, item.number)));
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    /// Checks the tree of items with these dependencies: `depth:number`, and the other
    /// dependencies in brackets.
    #[track_caller]
    fn check(after: &[&[u32]], expected: &str) {
        let titles: Vec<(Status, String)> =
            (1..=after.len()).map(|n| (Status::Pending, format!("Step {n}"))).collect();
        let mut plan = fixture::plan(&titles);
        for (number, after) in (1..).zip(after) {
            fixture::with(&mut plan, number, |item| {
                item.depends_on = after.iter().map(|it| Number(*it)).collect();
            });
        }
        let words = |row: &Branch| {
            let also: Vec<String> = row.also_after.iter().map(ToString::to_string).collect();
            let also =
                if also.is_empty() { String::new() } else { format!("({})", also.join(",")) };
            format!("{}:{}{also}", row.depth, row.number)
        };
        assert_eq!(tree(&plan).iter().map(words).collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn an_item_stands_below_the_dependency_with_the_longest_chain() {
        check(&[], "");
        check(&[&[], &[], &[]], "0:1 0:2 0:3");
        check(&[&[], &[1], &[2], &[1]], "0:1 1:2 2:3 1:4");
        check(&[&[], &[], &[2], &[1, 3]], "0:1 0:2 1:3 2:4(1)");
        check(&[&[9], &[1]], "0:1 1:2");
    }

    #[test]
    fn items_of_a_cycle_occur_once_each() {
        check(&[&[2], &[1], &[1], &[]], "0:1(2) 0:2(1) 0:3(1) 0:4");
        check(&[&[1]], "0:1(1)");
    }
}
