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
