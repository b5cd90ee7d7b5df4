//! One member's plan on a team's screen.
//!
//! Items that a finished turn left open are shown as *assumed* done. The stored status does not
//! change.

use std::collections::BTreeSet;

use punchlist_model::{Number, Plan, Status};

use super::{Options, shown};
use crate::text::glyph::{Sign, marker};
use crate::text::{Colour, Glyphs, Line, Style, one_line, pad};

/// The member whose plan it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// The display name, else the agent's id.
    pub name: String,
    /// The member's colour.
    pub colour: Colour,
}

impl Member {
    /// A member as settings name it. A missing or unknown colour is cyan.
    pub fn new(name: impl Into<String>, colour: Option<&str>) -> Self {
        let colour = colour.and_then(Colour::parse).unwrap_or(Colour::Cyan);
        Self { name: name.into(), colour }
    }
}

/// One line of the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    /// The title.
    pub text: &'a str,
    /// Its status.
    pub status: Status,
    /// Not reported as done, but the turn ended well.
    pub assumed: bool,
    /// How deep it is nested.
    pub depth: usize,
}

/// A stored plan, with the numbers of the items that are assumed to be done.
pub fn team(
    plan: &Plan,
    member: &Member,
    assumed: &BTreeSet<Number>,
    options: &Options,
) -> Vec<Line> {
    let entries: Vec<_> = plan
        .nested()
        .into_iter()
        .map(|(depth, item)| Entry {
            text: item.label(),
            status: item.status,
            assumed: assumed.contains(&item.number),
            depth,
        })
        .collect();
    entries_of(&entries, member, options)
}

/// A member's list: a heading in the member's colour, one line per entry, a blank line around.
pub fn entries_of(entries: &[Entry<'_>], member: &Member, options: &Options) -> Vec<Line> {
    let most = usize::from(options.width);
    let mut lines = vec![Line::new()];
    let mut heading = Line::new();
    let words = format!("{}Plan ({}):", options.glyphs.clipboard(), one_line(&member.name));
    heading.push_text(&words, most, options.glyphs, Style::BoldIn(member.colour));
    lines.push(heading);
    for entry in entries {
        let assumed = entry.assumed && entry.status.is_open();
        let style = match entry.status {
            _ if assumed => Style::Dim,
            Status::Completed => Style::In(Colour::Green),
            Status::Pending | Status::InProgress | Status::Cancelled => Style::In(Colour::Yellow),
        };
        let indent = "  ".repeat(entry.depth);
        let sign = pad(sign(entry.status, assumed, options.glyphs), 2);
        let mut line = Line::new();
        line.push_text(&format!("{indent}{sign} "), most, options.glyphs, style);
        let room = most.saturating_sub(line.width());
        line.push_text(&shown(entry.text), room, options.glyphs, style);
        lines.push(line);
    }
    lines.push(Line::new());
    lines
}

fn sign(status: Status, assumed: bool, glyphs: Glyphs) -> &'static str {
    match (glyphs, status) {
        (Glyphs::Ascii, _) if assumed => "[?]",
        (Glyphs::Ascii, status) => marker(Sign::from(status)),
        (Glyphs::Emoji | Glyphs::Unicode, _) if assumed => "☑",
        (Glyphs::Emoji | Glyphs::Unicode, Status::Completed) => "✅",
        (Glyphs::Emoji | Glyphs::Unicode, Status::Cancelled) => "❌",
        (Glyphs::Emoji | Glyphs::Unicode, Status::Pending | Status::InProgress) => "❕",
    }
}
