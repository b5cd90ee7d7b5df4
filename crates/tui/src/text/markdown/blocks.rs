//! Cleans a text and finds its blocks at the top level.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser};
use punchlist_formats::text::many_lines;

/// The extensions of Markdown that agents use.
pub(super) const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// A text without escape sequences, control characters and link definitions.
///
/// Each line is cleaned by itself, so that an escape sequence that never ends hides no other line.
/// A link definition would be hidden and would act on other blocks, so it is kept from being one:
/// an invisible character stands before its colon, and is not drawn.
pub(super) struct Cleaned {
    /// The clean text. Every line ends with a line feed.
    pub(super) text: String,
    /// Where each original line begins: in the clean text, and in the original.
    starts: Vec<(usize, usize)>,
}

impl Cleaned {
    pub(super) fn of(original: &str) -> Self {
        let mut text = String::with_capacity(original.len() + 1);
        let (mut starts, mut at) = (Vec::new(), 0);
        for line in original.split_inclusive('\n') {
            starts.push((text.len(), at));
            at += line.len();
            let line = line.strip_suffix('\n').unwrap_or(line);
            let line = many_lines(line.strip_suffix('\r').unwrap_or(line));
            text.push_str(&line.replace("]:", "]\u{2060}:"));
            text.push('\n');
        }
        starts.push((text.len(), at));
        Self { text, starts }
    }

    /// The place in the original of a place in the clean text, if an original line begins there.
    pub(super) fn original(&self, at: usize) -> Option<usize> {
        let found = self.starts.binary_search_by_key(&at, |it| it.0).ok()?;
        self.starts.get(found).map(|it| it.1)
    }
}

/// A block at the top level: whole lines.
pub(super) struct Block {
    pub(super) range: Range<usize>,
    /// Whether a blank line is before it.
    pub(super) is_after_blank: bool,
}

/// The blocks of a clean text, in order. Everything between them is blank.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut end = 0;
    for range in top_level(text) {
        let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1).max(end);
        let content = text[..range.end].trim_end_matches([' ', '\n']).len();
        let stop = text[content..].find('\n').map_or(text.len(), |at| content + at + 1);
        if start < stop {
            blocks.push(Block { range: start..stop, is_after_blank: start > end });
            end = stop;
        }
    }
    blocks
}

/// The places of all blocks at the top level, as the parser reports them.
fn top_level(text: &str) -> Vec<Range<usize>> {
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        let is_end = matches!(event, Event::End(_));
        if is_end {
            depth = depth.saturating_sub(1);
        } else if depth == 0 {
            found.push(range);
        }
        if matches!(event, Event::Start(_)) {
            depth += 1;
        }
    }
    found
}
