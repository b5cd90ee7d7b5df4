//! The diff of a change, for a question to a person. Its size is limited, so that the question
//! stays readable.

use std::time::Duration;

use similar::{Algorithm, TextDiff};

/// Maximum of lines of a diff.
const MOST_LINES: usize = 400;
/// Maximum length of a line.
const LONGEST: usize = 400;
/// The largest texts that are compared, in bytes.
const MOST: usize = 2 * 1024 * 1024;
/// How long to search for the shortest diff before taking any.
const PATIENCE: Duration = Duration::from_millis(500);

/// The lines that differ, with a little context; `None` if none do.
pub(crate) fn diff(old: &str, new: &str) -> Option<String> {
    if old == new {
        return None;
    }
    if old.len() + new.len() > MOST {
        return Some(format!("too large to be shown: {} bytes become {}\n", old.len(), new.len()));
    }
    let diff =
        TextDiff::configure().algorithm(Algorithm::Myers).timeout(PATIENCE).diff_lines(old, new);
    let whole = diff.unified_diff().context_radius(3).missing_newline_hint(true).to_string();
    let mut out = String::new();
    let mut lines = whole.lines();
    for line in lines.by_ref().take(MOST_LINES) {
        let mut chars = line.chars();
        out.extend(chars.by_ref().take(LONGEST));
        out.push_str(if chars.next().is_some() { "…\n" } else { "\n" });
    }
    match lines.count() {
        0 => {}
        more => out.push_str(&format!("… {more} lines more\n")),
    }
    Some(out)
}
