//! The list as `punchlist list` draws it: a box with numbers, evidence, owners, durations and a
//! bar.
//!
//! Where there is little room, notes go first, then durations; titles are cut last.

use std::borrow::Cow;
use std::collections::BTreeSet;

use punchlist_model::{End, Item, Level, Number, Plan, Status, Verification};

use super::frame::Framed;
use super::{Options, boxed, duration, goal, label, plain};
use crate::text::glyph::Sign;
use crate::text::width::{pad_left, spaces, truncate_with};
use crate::text::{Colour, Line, Style, isolated, one_line, width};

/// Below this many columns there are no notes.
const NOTES_FROM: usize = 48;
/// Below this many columns there are no durations.
const DURATIONS_FROM: usize = 30;
/// The length of the bar, where there is room.
const BAR: usize = 20;

/// The list, `options.width` columns wide in every line.
pub fn list(plan: &Plan, options: &Options) -> Vec<Line> {
    part(plan, None, options)
}

/// The list with only these items. Notes and progress are computed from the whole plan.
pub fn part(plan: &Plan, only: Option<&BTreeSet<Number>>, options: &Options) -> Vec<Line> {
    let mut frame = Framed::new(options, 2);
    let room = frame.room();
    frame.top(&heading(plan));
    let rows: Vec<Row<'_>> = plan
        .nested()
        .into_iter()
        .filter(|(_, it)| only.is_none_or(|only| only.contains(&it.number)))
        .map(|(depth, it)| Row::of(plan, depth, it, options))
        .collect();
    if rows.is_empty() {
        let words = if only.is_some() { plain::NOTHING_FITS } else { plain::EMPTY };
        frame.push(boxed::words(words, room, options));
    }
    let numbers = rows.iter().map(|row| width(&row.number)).max().unwrap_or(0);
    for line in draw(&rows, room, numbers, options) {
        frame.push(line);
    }
    frame.blank();
    frame.push(summary(plan, room, options));
    if let Some(words) = ending(plan) {
        let mut drawn = Line::new();
        drawn.push_text(words, room, options.glyphs, Style::In(Colour::Yellow));
        frame.push(drawn);
    }
    for line in goal::footer(plan, &options.stale, options.now, options.reader) {
        let mut drawn = Line::new();
        drawn.push_text(&line.text, room, options.glyphs, line.style);
        frame.push(drawn);
    }
    frame.bottom();
    frame.finish()
}

/// Some rows of the list without the box, `options.width` columns wide: items with their depths. A
/// front end that scrolls draws only the rows that it shows.
pub fn rows(plan: &Plan, items: &[(usize, &Item)], options: &Options) -> Vec<Line> {
    let rows: Vec<Row<'_>> =
        items.iter().map(|(depth, it)| Row::of(plan, *depth, it, options)).collect();
    // The widest number of the plan, so that titles stay where they are while rows scroll.
    let numbers = plan.next_number.0.saturating_sub(1).to_string().len();
    draw(&rows, usize::from(options.width), numbers, options)
}

fn draw(rows: &[Row<'_>], room: usize, numbers: usize, options: &Options) -> Vec<Line> {
    // One width for all, so that durations are aligned on the right.
    let durations = rows.iter().map(|row| width(&row.duration)).max().unwrap_or(0);
    let durations = if room < DURATIONS_FROM { 0 } else { durations };
    rows.iter().map(|row| row.draw(room, numbers, durations, options)).collect()
}

/// The plan's title, else its name.
pub fn heading(plan: &Plan) -> Cow<'_, str> {
    let title = one_line(&plan.title);
    match &plan.name {
        Some(name) if title.is_empty() => isolated(&one_line(name)).into_owned().into(),
        None if title.is_empty() => "Tasks".into(),
        Some(_) | None => isolated(&title).into_owned().into(),
    }
}

/// The line below a list whose session stopped with open items.
pub fn ending(plan: &Plan) -> Option<&'static str> {
    match plan.end {
        End::Stopped => Some("Stopped with open items"),
        End::Open | End::Drained => None,
    }
}

/// One item, split into columns.
struct Row<'a> {
    depth: usize,
    item: &'a Item,
    number: String,
    sign: Sign,
    sign_style: Style,
    note: String,
    note_style: Style,
    duration: String,
}

impl<'a> Row<'a> {
    fn of(plan: &Plan, depth: usize, item: &'a Item, options: &Options) -> Self {
        let (note, note_style) = note(plan, item, options);
        let sign = sign(item);
        let sign_style = sign_style(sign);
        let (number, duration) = (item.number.to_string(), spent(item, options));
        Self { depth, item, number, sign, sign_style, note, note_style, duration }
    }

    fn draw(&self, room: usize, numbers: usize, durations: usize, options: &Options) -> Line {
        let glyphs = options.glyphs;
        let mut line = Line::new();
        boxed::head(&mut line, self.depth, glyphs.sign(self.sign), self.sign_style, room);
        let number = format!("{}  ", pad_left(&self.number, numbers));
        if line.width() + width(&number) < room {
            line.push(&number, Style::Plain);
        }

        let mut right = Line::new();
        if room >= NOTES_FROM && !self.note.is_empty() {
            let note = truncate_with(&self.note, room * 2 / 5, glyphs.ellipsis());
            right.push("  ", Style::Plain).push(&isolated(&note), self.note_style);
        }
        // A row without anything on the right uses the room for its title.
        if durations > 0 && !(self.duration.is_empty() && right.width() == 0) {
            right.push("  ", Style::Plain).push(&pad_left(&self.duration, durations), Style::Dim);
        }

        let title = room.saturating_sub(line.width() + right.width());
        let style = if self.sign == Sign::Cancelled { Style::Dim } else { Style::Plain };
        line.push_text(&label(self.item), title, glyphs, style);
        let gap = room.saturating_sub(line.width() + right.width());
        line.push(&spaces(gap), Style::Plain);
        line.append(right);
        line
    }
}

/// The sign of an item; one that is open and waits has its own.
pub fn sign(item: &Item) -> Sign {
    if item.is_open() && item.waiting_on.is_some() { Sign::Waiting } else { item.status.into() }
}

pub(super) fn sign_style(sign: Sign) -> Style {
    match sign {
        Sign::Done => Style::In(Colour::Green),
        Sign::Active => Style::In(Colour::Cyan),
        Sign::Waiting => Style::In(Colour::Yellow),
        Sign::Cancelled => Style::Dim,
        Sign::Open => Style::Plain,
    }
}

/// The text in the right-hand column, and its style.
pub fn note(plan: &Plan, item: &Item, options: &Options) -> (String, Style) {
    match item.status {
        Status::Completed => evidence(plan, item, options),
        Status::Cancelled => {
            (one_line(item.outcome.as_deref().unwrap_or_default()).into_owned(), Style::Dim)
        }
        Status::Pending | Status::InProgress => {
            let (note, style) = open_note(plan, item, options);
            match item.priority {
                Some(priority) if note.is_empty() => (format!("P{priority}"), style),
                Some(priority) => (format!("P{priority}, {note}"), style),
                None => (note, style),
            }
        }
    }
}

fn evidence(plan: &Plan, item: &Item, options: &Options) -> (String, Style) {
    let stale = options.stale.contains(&item.number);
    let level = item.evidence_level();
    match plan.verification(item, stale) {
        Verification::Failed => ("failed".to_owned(), Style::In(Colour::Red)),
        Verification::Required => ("unverified".to_owned(), Style::In(Colour::Yellow)),
        Verification::None | Verification::Passed | Verification::Stale => match level {
            Some(Level::Checked) if stale => ("stale".to_owned(), Style::In(Colour::Yellow)),
            Some(level @ (Level::Checked | Level::Approved)) => {
                (level.as_str().to_owned(), Style::In(Colour::Green))
            }
            // Every completed item is at least reported, so this level is not shown.
            Some(Level::Reported) | None => (String::new(), Style::Plain),
        },
    }
}

fn open_note(plan: &Plan, item: &Item, options: &Options) -> (String, Style) {
    if let Some(whom) = &item.waiting_on {
        return (format!("waiting for: {}", one_line(whom)), Style::In(Colour::Yellow));
    }
    if item.status == Status::Pending && item.is_interrupted() {
        return ("interrupted".to_owned(), Style::In(Colour::Yellow));
    }
    let stale = options.stale.contains(&item.number);
    if plan.verification(item, stale) == Verification::Failed {
        return ("failed".to_owned(), Style::In(Colour::Red));
    }
    let cancelled = plan.blockers(item).find(|it| it.status == Status::Cancelled);
    if let Some(gone) = cancelled {
        return (format!("{} was cancelled", gone.number), Style::In(Colour::Yellow));
    }
    let after: Vec<_> = plan.blockers(item).map(|it| it.number.to_string()).collect();
    if item.status == Status::Pending && !after.is_empty() {
        return (format!("after {}", after.join(", ")), Style::Dim);
    }
    let holder = item.claim.as_ref().map(|claim| &claim.holder.name);
    let who = holder.or(item.owner.as_ref()).map_or("", String::as_str);
    (one_line(who).into_owned(), Style::Plain)
}

/// How long the item took, or has taken so far.
pub fn spent(item: &Item, options: &Options) -> String {
    let until = match item.status {
        Status::Completed => item.completed_at,
        Status::InProgress => Some(options.now),
        Status::Pending | Status::Cancelled => None,
    };
    match (item.started_at, until) {
        (Some(from), Some(to)) => duration::between(from, to),
        (None, _) | (_, None) => String::new(),
    }
}

fn summary(plan: &Plan, room: usize, options: &Options) -> Line {
    let progress = plan.progress();
    let mut line = boxed::progress(progress, room, options);
    let cells = room.saturating_sub(line.width() + 2).min(BAR);
    if cells >= 5 {
        line.push("  ", Style::Plain);
        bar(&mut line, progress.completed, progress.total, cells, options);
    }
    line
}

/// A bar of this many cells. It is full only if everything is done, and empty only if nothing is.
pub(super) fn bar(line: &mut Line, done: u32, total: u32, cells: usize, options: &Options) {
    let (full, open) = options.glyphs.bar();
    let most = u64::try_from(cells).unwrap_or(u64::MAX);
    let share = match (u64::from(done), u64::from(total)) {
        (0, _) | (_, 0) => 0,
        (done, total) if done >= total => most,
        (done, total) => (done * most / total).clamp(1, most.saturating_sub(1).max(1)),
    };
    let filled = usize::try_from(share).unwrap_or(cells).min(cells);
    line.push(&full.repeat(filled), Style::In(Colour::Green));
    line.push(&open.repeat(cells - filled), Style::Dim);
}
