//! Plain lines: the result of `TodoWrite`, the list in a pipe, and messages after a change.
//!
//! These lines go to models, pipes and logs, so they have no width and nothing is cut.

use std::collections::BTreeSet;

use punchlist_model::{Item, Number, Plan, Status, Timestamp};

use super::{Options, Reader, goal, label, list, shown};
use crate::text::glyph::{Sign, marker};
use crate::text::{Line, Style, isolated, one_line};

/// The text for an empty list.
pub const EMPTY: &str = "No todos.";

/// The text if a filter matches no item.
pub const NOTHING_FITS: &str = "No item fits.";

/// The list as `TodoWrite` returns it: flat, in order, with the count after a blank line.
pub fn text(plan: &Plan) -> String {
    let listed = plan.listed();
    if listed.is_empty() {
        return EMPTY.to_owned();
    }
    let mut out = String::with_capacity(listed.len() * 64);
    for item in listed {
        push(&mut out, &[marker(item.status.into()), " ", &one_line(&item.title)]);
        push_active(&mut out, item);
        out.push('\n');
    }
    push_count(&mut out, plan);
    out
}

/// The list as `punchlist list` prints it into a pipe: with numbers, nested by indentation.
pub fn numbered(plan: &Plan) -> String {
    let mut out = lines(plan, None);
    if out.is_empty() {
        return EMPTY.to_owned();
    }
    push_count(&mut out, plan);
    out
}

/// The lines of these items only. Remarks are computed from the whole plan.
pub fn part(plan: &Plan, only: &BTreeSet<Number>) -> String {
    let out = lines(plan, Some(only));
    if out.is_empty() { format!("{NOTHING_FITS}\n") } else { out }
}

fn lines(plan: &Plan, only: Option<&BTreeSet<Number>>) -> String {
    let mut nested = plan.nested();
    if let Some(only) = only {
        nested.retain(|(_, item)| only.contains(&item.number));
    }
    let mut out = String::with_capacity(nested.len() * 64);
    for (depth, item) in nested {
        (0..depth).for_each(|_| out.push_str("  "));
        let number = item.number.to_string();
        push(&mut out, &[marker(item.status.into()), " ", &number, " ", &shown(&item.title)]);
        push_active(&mut out, item);
        push_remark(&mut out, plan, item);
        out.push('\n');
    }
    out
}

/// Appends the pieces. `write!` would be slower, and a list may have thousands of lines.
fn push(out: &mut String, pieces: &[&str]) {
    pieces.iter().for_each(|piece| out.push_str(piece));
}

fn push_active(out: &mut String, item: &Item) {
    if item.status != Status::InProgress {
        return;
    }
    if let Some(active) = item.active_form.as_deref().map(one_line)
        && !active.is_empty()
    {
        push(out, &[" <- ", &active]);
    }
}

/// The remark in brackets: an open item's priority and what it waits for, or why it was cancelled.
fn push_remark(out: &mut String, plan: &Plan, item: &Item) {
    if item.is_open() {
        if let Some(priority) = item.priority {
            push(out, &[" (P", &priority.to_string(), ")"]);
        }
        if let Some(whom) = &item.waiting_on {
            push(out, &[" (waiting for: ", &one_line(whom), ")"]);
        } else if plan.is_blocked(item) {
            let blockers: Vec<_> = plan.blockers(item).map(|it| it.number.to_string()).collect();
            push(out, &[" (after ", &blockers.join(", "), ")"]);
        }
    } else if let (Status::Cancelled, Some(reason)) = (item.status, &item.outcome) {
        push(out, &[" (", &one_line(reason), ")"]);
    }
}

fn push_count(out: &mut String, plan: &Plan) {
    let progress = plan.progress();
    out.push_str(&format!("\n({}/{} completed)", progress.completed, progress.total));
}

/// `📋 Todo list updated:` and the list.
pub fn update(plan: &Plan, options: &Options) -> String {
    let glyphs = options.glyphs;
    let mut out = format!("{}Todo list updated:", glyphs.clipboard());
    for (depth, item) in plan.nested() {
        let sign = glyphs.sign(Sign::from(item.status));
        let indent = "  ".repeat(depth + 1);
        out.push_str(&format!("\n{indent}{sign} {}", isolated(&label(item))));
    }
    if plan.placed == 0 && plan.listed().is_empty() {
        out.push_str(&format!("\n  {EMPTY}"));
    }
    out
}

/// `[Todo: "Title" → in_progress]`: an item's new status, with the active form while it is in
/// progress.
pub fn transition(item: &Item, options: &Options) -> Line {
    let (label, arrow) = (label(item), options.glyphs.arrow());
    let line = format!("[Todo: \"{}\" {arrow} {}]", isolated(&label), item.status);
    Line::of(&line, Style::Dim)
}

/// The superseded items, one per line.
pub fn dropped(plan: &Plan, only: Option<&BTreeSet<Number>>) -> String {
    let mut out = String::new();
    let wanted = |item: &&Item| only.is_none_or(|only| only.contains(&item.number));
    for item in plan.items.values().filter(|item| item.is_superseded()).filter(wanted) {
        let Number(number) = item.number;
        out.push_str(&format!("dropped {number}  {}\n", one_line(&item.title)));
    }
    out
}

/// The lines below a list in plain text: that it ended, and the state of its goal.
pub fn below(plan: &Plan, stale: &BTreeSet<Number>, now: Timestamp, reader: Reader) -> String {
    let mut lines = String::new();
    if let Some(words) = list::ending(plan) {
        lines.push_str(words);
        lines.push('\n');
    }
    if plan.goal.is_some() {
        lines.push_str(&goal::news(plan, stale, now, reader));
    }
    lines
}
