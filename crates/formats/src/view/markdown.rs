//! The list as a Markdown checklist.

use punchlist_model::{Item, Plan};

use crate::text::glyph::marker;
use crate::text::{escape, one_line};

/// A heading if the plan has a title, and one line per item, nested. Empty for an empty plan.
pub fn markdown(plan: &Plan) -> String {
    let mut out = String::new();
    let title = escape::markdown(&plan.title);
    if !title.is_empty() {
        out.push_str(&format!("# {title}\n\n"));
    }
    for (depth, item) in plan.nested() {
        let (indent, marker) = ("  ".repeat(depth), marker(item.status.into()));
        let line = format!("{indent}- {marker} {}", escape::markdown(&item.title));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// One line per item with its number, for an editor: `- [ ] #3 Title`, nested. Titles are cleaned
/// but not escaped.
pub fn numbered(plan: &Plan) -> String {
    let mut out = String::new();
    for (depth, item) in plan.nested() {
        let (indent, marker) = ("  ".repeat(depth), marker(item.status.into()));
        let line = format!("{indent}- {marker} #{} {}", item.number, one_line(&item.title).trim());
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The items in the order of the lines.
pub fn order(plan: &Plan) -> Vec<&Item> {
    plan.nested().into_iter().map(|it| it.1).collect()
}
