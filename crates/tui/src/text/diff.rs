//! Draws the change of a file: line numbers, marked words, side by side where there is room.
//!
//! [`lines()`] compares two texts, [`unified`] reads a diff that exists already. Tabs, carriage
//! returns and other characters that a terminal would not show are drawn, because a change of them
//! is a change too. The work and the number of lines are bounded, and what is left out is said.

mod compare;
mod draw;
mod parse;
mod shown;
mod words;

use punchlist_formats::text::{Glyphs, Line, Style, one_line};

/// From this width on, the old and the new text stand side by side. A question on a screen of 121 columns
/// leaves so much for its diff.
const SIDE_BY_SIDE: u16 = 117;
/// The largest texts that are compared, in bytes of both.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// A part of a diff.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    /// A line that says something about the diff.
    Note(String, Style),
    /// A line that both texts have.
    Same { old: usize, new: usize, text: String },
    /// Lines that were replaced: some, none or all of them new.
    Change { removed: Vec<Numbered>, added: Vec<Numbered> },
}

/// A line and its number in its text.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Numbered {
    number: usize,
    text: String,
}

/// The difference between two texts of a file, in lines of at most `width` columns.
pub fn lines(before: &str, after: &str, path: &str, width: u16, glyphs: Glyphs) -> Vec<Line> {
    let mut head = Line::of(&one_line(path), Style::Bold);
    let note = |text: String| vec![Part::Note(text, Style::Dim)];
    let sizes = || format!("{} bytes become {}", before.len(), after.len());
    let parts = if before == after {
        note("no change".to_owned())
    } else if is_binary(before) || is_binary(after) {
        note(format!("binary: {}", sizes()))
    } else if before.len() + after.len() > MOST_BYTES {
        note(format!("too large to be compared: {}", sizes()))
    } else {
        let parts = compare::parts(before, after, glyphs);
        let (added, removed) = counts(&parts);
        head.push(&format!("  +{added}"), Style::Added);
        head.push(&format!(" -{removed}"), Style::Removed);
        parts
    };
    let mut lines = super::wrap::words(head.spans(), usize::from(width));
    lines.extend(drawn(&parts, width, glyphs));
    if width == 0 { Vec::new() } else { lines }
}

/// A unified diff, in lines of at most `width` columns. Lines that are not part of a diff are shown
/// as they are.
pub fn unified(text: &str, width: u16, glyphs: Glyphs) -> Vec<Line> {
    if width == 0 {
        return Vec::new();
    }
    if text.len() > MOST_BYTES {
        let note = format!("too large to be shown: {} bytes", text.len());
        return drawn(&[Part::Note(note, Style::Dim)], width, glyphs);
    }
    drawn(&parse::parts(text), width, glyphs)
}

fn drawn(parts: &[Part], width: u16, glyphs: Glyphs) -> Vec<Line> {
    draw::lines(parts, usize::from(width), width >= SIDE_BY_SIDE, glyphs)
}

fn counts(parts: &[Part]) -> (usize, usize) {
    let mut counts = (0, 0);
    for part in parts {
        if let Part::Change { removed, added } = part {
            counts.0 += added.len();
            counts.1 += removed.len();
        }
    }
    counts
}

/// Whether a text is no text. Bytes that are not UTF-8 have become replacement characters.
fn is_binary(text: &str) -> bool {
    let head = text.chars().take(8_000);
    let (mut count, mut bad) = (0_usize, 0_usize);
    for ch in head {
        if ch == '\0' {
            return true;
        }
        count += 1;
        bad += usize::from(ch == '\u{fffd}');
    }
    bad * 10 > count
}

#[cfg(test)]
mod tests;
