//! The dependencies of a plan, for Graphviz and Mermaid.
//!
//! Arrows point from a dependency to its dependant. A dashed line leads from an item to its
//! sub-items.

use std::collections::BTreeSet;

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
