//! The messages that wait, as they are drawn above an input: each cut to three lines. Pure.

use punchlist_formats::text::{Colour, Glyphs, Line, Style, one_line, width};

/// How many lines of a message are shown.
const MESSAGE_LINES: usize = 3;

/// A message that waits.
pub(crate) struct Waiting<'a> {
    /// What stands before it: ` queued: `.
    pub(crate) label: String,
    pub(crate) text: &'a str,
}

/// The messages in at most `most` rows. `paused`: what is said about a queue that waits for the person; empty
/// if it does not.
pub(crate) fn rows(
    waiting: &[Waiting<'_>],
    paused: &str,
    columns: u16,
    most: usize,
    glyphs: Glyphs,
) -> Vec<Line> {
    let count = waiting.len();
    if count == 0 || most == 0 {
        return Vec::new();
    }
    let mut lines = Vec::new();
    if most == 1 {
        let mut line = Line::new();
        let text = format!(" {count} queued{paused}");
        line.push_text(&text, usize::from(columns), glyphs, Style::Dim);
        return vec![line];
    }
    let mut shown = 0;
    for message in waiting {
        let these = message_lines(message, columns, glyphs);
        // A row stays for those that do not fit.
        let reserved = usize::from(shown + 1 < count || !paused.is_empty());
        if lines.len() + these.len() + reserved > most {
            break;
        }
        lines.extend(these);
        shown += 1;
    }
    let left = count - shown;
    if left > 0 || !paused.is_empty() {
        let more = if left > 0 { format!("+{left} more") } else { format!("{count} queued") };
        let mut line = Line::new();
        let text = format!("   {more}{paused}");
        line.push_text(&text, usize::from(columns), glyphs, Style::Dim);
        lines.push(line);
    }
    lines
}

/// A message that waits, cut to three lines.
fn message_lines(message: &Waiting<'_>, columns: u16, glyphs: Glyphs) -> Vec<Line> {
    let label = &message.label;
    let room = usize::from(columns).saturating_sub(width(label) + 1).max(8);
    let all: Vec<&str> = message.text.trim().lines().collect();
    let mut lines = Vec::new();
    for (at, text) in all.iter().take(MESSAGE_LINES).enumerate() {
        let mut line = Line::new();
        let label = if at == 0 { label.clone() } else { " ".repeat(width(label)) };
        line.push(&label, Style::In(Colour::Yellow));
        let is_cut = at + 1 == MESSAGE_LINES && all.len() > MESSAGE_LINES;
        let dots = if is_cut { glyphs.ellipsis() } else { "" };
        line.push_text(&format!("{}{dots}", one_line(text)), room, glyphs, Style::Plain);
        lines.push(line);
    }
    lines
}
