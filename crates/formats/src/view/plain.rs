//! Plain lines: the dialect `todowrite`'s text, the piped list, and what is said after a change.
//!
//! No width is known here and nothing is cut off: these lines go to models, pipes and logs.

use punchlist_model::{Item, Plan, Status};

use super::{Options, label, shown, tree};
use crate::text::glyph::{Sign, marker};
use crate::text::{Style, isolated, one_line};

/// What an empty list says.
pub const EMPTY: &str = "No todos.";

/// The list as `TodoWrite` answers it: flat, in order, with the count behind a blank line.
pub fn text(plan: &Plan) -> String {
    let listed = plan.listed();
    if listed.is_empty() {
        return EMPTY.to_owned();
    }
    let mut out = String::new();
    for item in listed {
        out.push_str(&format!(
            "{} {}{}\n",
            marker(item.status.into()),
            one_line(&item.title),
            active(item)
        ));
    }
    out + &count(plan)
}

/// The list as the verb prints it into a pipe: numbers to type, nested by indentation.
pub fn numbered(plan: &Plan) -> String {
    let nested = tree::nested(plan);
    if nested.is_empty() {
        return EMPTY.to_owned();
    }
    let mut out = String::new();
    for (depth, item) in nested {
        let (marker, title) = (marker(item.status.into()), shown(&item.title));
        let line =
            format!("{}{marker} {} {title}{}", "  ".repeat(depth), item.number, active(item));
        out.push_str(&line);
        out.push_str(&format!("{}\n", remark(plan, item)));
    }
    out + &count(plan)
}

fn active(item: &Item) -> String {
    match &item.active_form {
        Some(active) if item.status == Status::InProgress && !one_line(active).is_empty() => {
            format!(" <- {}", one_line(active))
        }
        Some(_) | None => String::new(),
    }
}

/// Why an open item does not go on, or was given up, in brackets.
fn remark(plan: &Plan, item: &Item) -> String {
    let waiting = item.waiting_on.as_deref().filter(|_| item.is_open());
    let blockers: Vec<_> = plan.blockers(item).map(|it| it.number.to_string()).collect();
    if let Some(whom) = waiting {
        format!(" (waiting for: {})", one_line(whom))
    } else if item.is_open() && !blockers.is_empty() {
        format!(" (after {})", blockers.join(", "))
    } else if let (Status::Cancelled, Some(reason)) = (item.status, &item.outcome) {
        format!(" ({})", one_line(reason))
    } else {
        String::new()
    }
}

fn count(plan: &Plan) -> String {
    let progress = plan.progress();
    format!("\n({}/{} completed)", progress.completed, progress.total)
}

/// `📋 Todo list updated:` and the list.
pub fn update(plan: &Plan, options: &Options) -> String {
    let glyphs = options.glyphs;
    let mut out = format!("{}Todo list updated:", glyphs.clipboard());
    for (depth, item) in tree::nested(plan) {
        let sign = glyphs.sign(Sign::from(item.status));
        let indent = "  ".repeat(depth + 1);
        out.push_str(&format!("\n{indent}{sign} {}", isolated(&label(item))));
    }
    if plan.placed == 0 && plan.listed().is_empty() {
        out.push_str(&format!("\n  {EMPTY}"));
    }
    out
}

/// `[Todo: "Title" → in_progress]`: how an item stands now, with its active form while in progress.
pub fn transition(item: &Item, options: &Options) -> String {
    let (label, arrow) = (label(item), options.glyphs.arrow());
    let line = format!("[Todo: \"{}\" {arrow} {}]", isolated(&label), item.status);
    Style::Dim.paint(&line, options.colour)
}
