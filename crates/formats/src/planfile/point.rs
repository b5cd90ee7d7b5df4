//! Draws a problem: its message, its line, and a marker below the position.

use super::{Problem, Severity};
use crate::text::{many_lines, one_line, width};

/// Columns of a source line that are shown.
const WIDE: usize = 76;

/// Columns that are shown before the position, if the line is too long.
const BEFORE: usize = 30;

/// A problem in the style of compiler messages. `text` is the file's content, `name` its name.
pub fn draw(name: &str, text: &str, problem: &Problem) -> String {
    let Problem { line, column, length, severity, what, hint } = problem;
    let word = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut out = format!("{word}: {}\n", one_line(what));
    let gutter = line.to_string().len();
    let blank = " ".repeat(gutter);
    out.push_str(&format!("{blank}--> {}:{line}:{column}\n", one_line(name)));
    let source = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(source) = source.split('\n').nth(line - 1) {
        let (shown, before, marked) = window(source.trim_end_matches('\r'), *column, *length);
        out.push_str(&format!("{blank} |\n{line} | {shown}\n"));
        out.push_str(&format!("{blank} | {}{}\n", " ".repeat(before), "^".repeat(marked)));
    }
    if let Some(hint) = hint {
        out.push_str(&format!("{blank} = hint: {}\n", one_line(hint)));
    }
    out
}

/// The part of a line to show, the columns before the position in it, and the columns to mark.
fn window(line: &str, column: usize, length: usize) -> (String, usize, usize) {
    let at = column.saturating_sub(1);
    // Starts at the left edge if the position is near it, otherwise a few columns before the
    // position.
    let skip = if at + length.min(BEFORE) < WIDE { 0 } else { at.saturating_sub(BEFORE) };
    let part = |from: usize, count: usize| -> String {
        let letters: String = line.chars().skip(from).take(count).collect();
        many_lines(&letters).replace('\n', " ")
    };
    let lead = if skip > 0 { "…" } else { "" };
    let before = format!("{lead}{}", part(skip, at - skip));
    let room = WIDE.saturating_sub(width(&before)).max(1);
    let place = part(at, length.min(room));
    let tail = part(at + length.min(room), room.saturating_sub(width(&place)));
    let cut = line.chars().nth(at + length.min(room) + tail.chars().count()).is_some();
    let end = if cut { "…" } else { "" };
    let marked = width(&place).clamp(1, room);
    let shown = format!("{before}{place}{tail}{end}");
    (shown.trim_end().to_owned(), width(&before), marked)
}
