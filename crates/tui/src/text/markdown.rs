//! Renders Markdown as styled lines, whole or while it streams in.
//!
//! Each block at the top level is rendered by itself: link definitions, which would act on other
//! blocks, are shown as text. So a text that grows can be rendered in parts: [`stable_prefix`] says how much of
//! it is final, and rendering that prefix and then the rest gives the same lines as rendering the
//! whole. One or more blank lines of the text become one empty line.
//!
//! Nothing is hidden: the target of a link is shown where it differs from its text, HTML and link
//! definitions are shown as they are, and no link becomes a terminal's hyperlink.

mod blocks;
mod render;
mod table;

use punchlist_formats::text::{Glyphs, Line};

use blocks::{Cleaned, blocks};

/// The text as lines of at most `width` columns. A text that begins with a blank line begins with an
/// empty line.
pub fn lines(text: &str, width: u16, glyphs: Glyphs) -> Vec<Line> {
    let mut lines = Vec::new();
    if width == 0 {
        return lines;
    }
    let clean = Cleaned::of(text);
    for block in blocks(&clean.text) {
        if block.is_after_blank {
            lines.push(Line::new());
        }
        lines.extend(render::block(&clean.text[block.range], usize::from(width), glyphs));
    }
    lines
}

/// How many bytes of a text that is still growing are final: whatever is added, [`lines()`] renders
/// them to the same lines. They end with a line break.
pub fn stable_prefix(text: &str) -> usize {
    // A line that is not complete can still become anything.
    let complete = text.rfind('\n').map_or(0, |at| at + 1);
    let clean = Cleaned::of(&text[..complete]);
    let blocks = blocks(&clean.text);
    // The last block may still grow; those before it are closed. A line that was cleaned may have
    // become several, and a text is only cut between lines as they were.
    let closed = blocks.iter().rev().skip(1);
    closed.filter_map(|it| clean.original(it.range.end)).next().unwrap_or(0)
}

#[cfg(test)]
mod tests;
