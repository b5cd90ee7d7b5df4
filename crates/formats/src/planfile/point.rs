//! How a problem is drawn: its words, its line, and a pointer at the place.

use super::{Problem, Severity};
use crate::text::{many_lines, one_line, width};

/// Columns of a source line that are shown.
const WIDE: usize = 76;

/// Columns that are shown before the place, when the line is too long.
const BEFORE: usize = 30;

/// A problem as people know it from compilers. `text` is what was read, `name` what it is called.
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

/// The part of a line to show, the columns before the place in it, and the columns of the place.
fn window(line: &str, column: usize, length: usize) -> (String, usize, usize) {
    let at = column.saturating_sub(1);
    // From the left edge if the place is near it, else from some way before.
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
