//! The change of a file as a unified diff, for people.
//!
//! Control characters are removed and very long lines are cut, so the diff is not meant for
//! `patch`.

use punchlist_formats::text::{Colour, Style, many_lines, truncate};
use similar::{ChangeTag, TextDiff};

use super::Change;

/// Unchanged lines around a change.
const AROUND: usize = 3;
/// The longest line that is shown in full.
const MOST_COLUMNS: usize = 400;

/// The change as a unified diff, with or without colours.
pub fn diff(change: &Change, colour: bool) -> String {
    let text = |bytes: &Option<Vec<u8>>| {
        let bytes = bytes.as_deref().unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    let (before, after) = (text(&change.before), text(&change.after));
    let name = shown(&change.path.to_string_lossy());
    let side = |bytes: &Option<Vec<u8>>| {
        if bytes.is_some() { name.clone() } else { "/dev/null".to_owned() }
    };
    let mut out = String::new();
    let mut line = |text: String, style: Style| {
        out.push_str(&style.paint(&text, colour));
        out.push('\n');
    };
    line(format!("--- {}", side(&change.before)), Style::Bold);
    line(format!("+++ {}", side(&change.after)), Style::Bold);
    let diff = TextDiff::from_lines(&before, &after);
    for hunk in diff.unified_diff().context_radius(AROUND).iter_hunks() {
        line(hunk.header().to_string(), Style::In(Colour::Cyan));
        for part in hunk.iter_changes() {
            let (sign, style) = match part.tag() {
                ChangeTag::Equal => (' ', Style::Plain),
                ChangeTag::Delete => ('-', Style::In(Colour::Red)),
                ChangeTag::Insert => ('+', Style::In(Colour::Green)),
            };
            line(format!("{sign}{}", shown(part.value())), style);
            if part.missing_newline() {
                line("\\ No newline at end of file".to_owned(), Style::Dim);
            }
        }
    }
    out
}

/// A line without control characters. Its indentation stays.
fn shown(line: &str) -> String {
    let line = line.trim_end_matches(['\n', '\r']);
    let clean = many_lines(line).replace('\n', " ");
    truncate(&clean, MOST_COLUMNS).to_string()
}
