//! Somebody's text on one line of ours, so that it cannot pass for anything but data.

use crate::text::{one_line, truncate};

/// The text on one line, word for word, without what could steer a terminal. `<` becomes `&lt;`, so
/// that no text can close the tag that it stands in.
pub(super) fn whole(text: &str) -> String {
    one_line(text).replace('<', "&lt;")
}

/// As [`whole`], but at most about `most` columns, with `…` where it was cut.
pub(super) fn brief(text: &str, most: usize) -> String {
    // Ten megabytes are not cleaned for the sake of a hundred columns. What is invisible at the
    // beginning may use up the rest; then so little is shown of it.
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
