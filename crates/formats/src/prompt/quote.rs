//! Quotes foreign text on one line, so that a model takes it only for data.

use crate::text::{one_line, truncate};

/// The text on one line, in full, without control characters. `<` becomes `&lt;`, so that no text
/// can close the tag around it.
pub(super) fn whole(text: &str) -> String {
    one_line(text).replace('<', "&lt;")
}

/// Like [`whole`], but shortened to about `most` columns, with `…`.
pub(super) fn brief(text: &str, most: usize) -> String {
    // Only the beginning of a very long text is cleaned. If it consists of invisible characters,
    // less is shown.
    let most_chars = most.saturating_mul(20);
    let head = if text.len() <= most_chars {
        text.len()
    } else {
        text.char_indices().nth(most_chars).map_or(text.len(), |(end, _)| end)
    };
    let mut line = one_line(&text[..head]).into_owned();
    if head < text.len() {
        line.push('…');
    }
    truncate(&line, most).replace('<', "&lt;")
}
