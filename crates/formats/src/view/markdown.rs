//! The list as Markdown: a checklist as people write it.

use punchlist_model::Plan;

use super::tree;
use crate::text::escape;
use crate::text::glyph::marker;

/// A heading if the plan has a title, and one line per item, nested. Empty for an empty plan.
pub fn markdown(plan: &Plan) -> String {
    let mut out = String::new();
    let title = escape::markdown(&plan.title);
    if !title.is_empty() {
        out.push_str(&format!("# {title}\n\n"));
    }
    for (depth, item) in tree::nested(plan) {
        let (indent, marker) = ("  ".repeat(depth), marker(item.status.into()));
        let line = format!("{indent}- {marker} {}", escape::markdown(&item.title));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
