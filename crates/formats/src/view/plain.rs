//! Plain lines: the dialect `todowrite`'s text, the piped list, and what is said after a change.
//!
//! No width is known here and nothing is cut off: these lines go to models, pipes and logs.

use std::collections::BTreeSet;

use punchlist_model::{Item, Number, Plan, Status, Timestamp};

use super::{Options, Reader, goal, label, list, shown};
use crate::text::glyph::{Sign, marker};
use crate::text::{Line, Style, isolated, one_line};

/// What an empty list says.
pub const EMPTY: &str = "No todos.";

/// What is said where items were asked for that there are not.
pub const NOTHING_FITS: &str = "No item fits.";

/// The list as `TodoWrite` answers it: flat, in order, with the count behind a blank line.
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

/// The list as the verb prints it into a pipe: numbers to type, nested by indentation.
pub fn numbered(plan: &Plan) -> String {
    let mut out = lines(plan, None);
    if out.is_empty() {
        return EMPTY.to_owned();
    }
    push_count(&mut out, plan);
    out
}

/// The lines of these items only; what is said of each is told from the whole.
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

/// Puts pieces behind one another. A cold start is mostly this and reading the rows, and the
/// formatting machinery would cost it more than all of them.
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

/// An open item's priority, why it does not go on, or was given up, in brackets.
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

/// `[Todo: "Title" → in_progress]`: how an item stands now, with its active form while in progress.
pub fn transition(item: &Item, options: &Options) -> Line {
    let (label, arrow) = (label(item), options.glyphs.arrow());
    let line = format!("[Todo: \"{}\" {arrow} {}]", isolated(&label), item.status);
    Line::of(&line, Style::Dim)
}

/// The items that were dropped, a line each.
pub fn dropped(plan: &Plan, only: Option<&BTreeSet<Number>>) -> String {
    let mut out = String::new();
    let wanted = |item: &&Item| only.is_none_or(|only| only.contains(&item.number));
    for item in plan.items.values().filter(|item| item.is_superseded()).filter(wanted) {
        let Number(number) = item.number;
        out.push_str(&format!("dropped {number}  {}\n", one_line(&item.title)));
    }
    out
}

/// What stands below a list that is not drawn with it: that it ended, and the news of its goal.
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
