//! Measures text in columns, and cuts and pads it.
//!
//! Everything counts by graphemes, the characters that a reader sees. Texts must be clean, because
//! control characters have no defined width.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The width of a text in columns: the sum over its graphemes.
///
/// This is not the width of the whole string, which counts ligatures across graphemes (Arabic
/// lam-alef) as one column. Terminals use two.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.graphemes(true).map(UnicodeWidthStr::width).sum()
    }
}

/// The characters that a reader sees, one by one.
pub fn graphemes(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.graphemes(true)
}

/// The text, or its beginning and `…`, in at most `most` columns.
pub fn truncate(text: &str, most: usize) -> Cow<'_, str> {
    truncate_with(text, most, "…")
}

/// Like [`truncate`], with another ellipsis. Empty if not even the ellipsis fits.
pub fn truncate_with<'a>(text: &'a str, most: usize, ellipsis: &str) -> Cow<'a, str> {
    // No text is wider than its number of bytes, and most titles are short.
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let room = most.saturating_sub(width(ellipsis));
    let (mut taken, mut cut) = (0, 0);
    // A title may be very long; only as much is read as can be shown.
    for (at, grapheme) in text.grapheme_indices(true) {
        taken += grapheme.width();
        if taken <= room {
            cut = at + grapheme.len();
        }
        if taken > most {
            let sign = if width(ellipsis) <= most { ellipsis } else { "" };
            return Cow::Owned(format!("{}{sign}", text[..cut].trim_end()));
        }
    }
    Cow::Borrowed(text)
}

/// Splits a clean line into pieces of at most `columns`, without losing anything. A wider grapheme
/// is a piece of its own.
pub fn pieces(text: &str, columns: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut from, mut taken) = (0, 0);
    for (at, grapheme) in text.grapheme_indices(true) {
        let width = grapheme.width();
        if taken + width > columns && at > from {
            pieces.push(&text[from..at]);
            (from, taken) = (at, 0);
        }
        taken += width;
    }
    pieces.push(&text[from..]);
    pieces
}

/// The text with spaces behind it, up to `to` columns.
pub fn pad(text: &str, to: usize) -> String {
    format!("{text}{}", spaces(to.saturating_sub(width(text))))
}

/// The text with spaces before it, up to `to` columns.
pub fn pad_left(text: &str, to: usize) -> String {
    format!("{}{text}", spaces(to.saturating_sub(width(text))))
}

/// That many spaces.
pub fn spaces(count: usize) -> String {
    " ".repeat(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_in_pieces_loses_nothing() {
        for (text, columns, expected) in [
            ("", 3, vec![""]),
            ("abc", 3, vec!["abc"]),
            ("abcdefg", 3, vec!["abc", "def", "g"]),
            ("日本語", 4, vec!["日本", "語"]),
            ("日本", 1, vec!["日", "本"]),
            ("a\u{301}bc", 2, vec!["a\u{301}b", "c"]),
        ] {
            assert_eq!(pieces(text, columns), expected, "{text:?} in {columns}");
        }
    }
}
