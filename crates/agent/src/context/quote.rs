//! Quotes foreign text: fenced as data, on one line, or cut to a size.

use punchlist_formats::prompt;
use punchlist_formats::text::one_line;

/// The word behind a fence around text that is not an instruction.
pub(super) const DATA: &str = "data";

/// Text that did not come from us, fenced as data under a label. The text cannot close its fence.
pub fn fence(label: &str, text: &str) -> String {
    fenced(label, DATA, text)
}

/// Like [`fence`], with another word behind the fence.
pub(super) fn fenced(label: &str, info: &str, text: &str) -> String {
    // A label may be a path or a tool's name, which are foreign too.
    let label = one_line(label).replace('`', "'");
    format!("{label}:\n{}", prompt::fence(info, text))
}

/// Like [`fenced`], in at most `most` bytes. A text that is too long is cut, with a note that says
/// so.
pub(super) fn fenced_within(label: &str, info: &str, text: &str, most: usize) -> String {
    if text.len() < most {
        let whole = fenced(label, info, text);
        if whole.len() <= most {
            return whole;
        }
    }
    let note = |shown: usize| format!("\n(Cut: {shown} of {} bytes are shown.)", text.len());
    let room = most.saturating_sub(note(text.len()).len());
    let shown = cut(text, room);
    // A shorter text needs no longer fences, so taking away what is too much is enough.
    let over = fenced(label, info, shown).len().saturating_sub(room);
    let shown = cut(shown, shown.len().saturating_sub(over));
    format!("{}{}", fenced(label, info, shown), note(shown.len()))
}

/// The beginning of a text, in at most `most` bytes: whole lines if that keeps at least half of it.
pub(super) fn cut(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let head = &text[..text.floor_char_boundary(most)];
    match head.rfind('\n') {
        Some(end) if end >= most / 2 => &head[..end],
        Some(_) | None => head,
    }
}
