//! The list in a box with a border: completed items, items in progress, open items.

use punchlist_model::{Plan, Progress};

use super::frame::Framed;
use super::plain::EMPTY;
use super::{Options, label};
use crate::text::glyph::Sign;
use crate::text::{Line, Style};

/// The box, `options.width` columns wide in every line.
pub fn boxed(plan: &Plan, options: &Options) -> Vec<Line> {
    let mut frame = Framed::new(options, 1);
    let room = frame.room();
    frame.top("Tasks");
    let items = plan.nested();
    if items.is_empty() {
        frame.push(words(EMPTY, room, options));
    }
    for (depth, item) in items {
        let mut line = Line::new();
        head(&mut line, depth, options.glyphs.sign(Sign::from(item.status)), Style::Plain, room);
        line.push_text(
            &label(item),
            room.saturating_sub(line.width()),
            options.glyphs,
            Style::Plain,
        );
        frame.push(line);
    }
    frame.blank();
    frame.push(progress(plan.progress(), room, options));
    frame.bottom();
    frame.finish()
}

/// `Progress: 1/3 (33%)`. In a narrow box the word is left out before the numbers.
pub(super) fn progress(progress: Progress, room: usize, options: &Options) -> Line {
    let numbers = format!("{}/{} ({}%)", progress.completed, progress.total, progress.percent);
    let full = format!("Progress: {numbers}");
    words(if full.len() <= room { &full } else { &numbers }, room, options)
}

/// Punchlist's own words, cut to fit.
pub(super) fn words(words: &str, room: usize, options: &Options) -> Line {
    let mut line = Line::new();
    line.push_text(words, room, options.glyphs, Style::Plain);
    line
}

/// The indentation and the sign of an item, and a space. Where there is little room, the
/// indentation shrinks before the title.
pub(super) fn head(line: &mut Line, depth: usize, sign: &str, style: Style, room: usize) {
    let width = crate::text::width(sign);
    line.fill((depth * 2).min(room / 4));
    if line.width() + width < room {
        line.push(sign, style).push(" ", Style::Plain);
    }
}
