//! How many columns a text takes, and cutting and filling it to fit.
//!
//! Everything counts by graphemes, what a reader takes for one character. Texts must be clean
//! already: a control character has no width that could be known.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The columns that a text takes: the sum over its graphemes.
///
/// Not the width of the whole string: that would count ligatures across graphemes (Arabic lam-alef)
/// as one column, and terminals give them two.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.graphemes(true).map(UnicodeWidthStr::width).sum()
    }
}

/// What a reader takes for the characters of a text, one by one.
pub fn graphemes(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.graphemes(true)
}

/// The text, or its beginning and `…`, in at most `most` columns.
pub fn truncate(text: &str, most: usize) -> Cow<'_, str> {
    truncate_with(text, most, "…")
}

/// As [`truncate`], with another sign for what is left out. Where not even that fits, nothing stays.
pub fn truncate_with<'a>(text: &'a str, most: usize, ellipsis: &str) -> Cow<'a, str> {
    // Nothing is wider than it has bytes, and most titles are short.
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let room = most.saturating_sub(width(ellipsis));
    let (mut taken, mut cut) = (0, 0);
    // A title may be megabytes long; only as much of it is looked at as could be shown.
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

/// A clean line in pieces of at most `columns`, none of it lost. What is wider than that by itself
/// stands alone.
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
