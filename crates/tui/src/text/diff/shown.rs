//! A line of a file as it is drawn: nothing in it is invisible, and nothing acts on the terminal.

use std::ops::Range;

use punchlist_formats::text::width::{graphemes, width};
use punchlist_formats::text::{Glyphs, Span, Style, many_lines};

/// The columns of a tab.
const TAB: usize = 4;
/// More of a line is not drawn.
const MOST_COLUMNS: usize = 2_000;

/// The line in styled parts: `marked` for the bytes in `marks`, `style` for the others.
pub(super) fn spans(
    line: &str,
    marks: &[Range<usize>],
    (style, marked): (Style, Style),
    glyphs: Glyphs,
) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let (mut at, mut column) = (0, 0);
    for grapheme in graphemes(line) {
        if column >= MOST_COLUMNS {
            let left_out = line[at..].chars().count();
            let text = format!("{} {left_out} more characters", glyphs.ellipsis());
            spans.push(Span { text, style: Style::Dim });
            return spans;
        }
        let is_marked = marks.iter().any(|it| it.contains(&at));
        let style = if is_marked { marked } else { style };
        let text = visible(grapheme, column, glyphs);
        at += grapheme.len();
        column += width(&text);
        match spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(&text),
            Some(_) | None => spans.push(Span { text, style }),
        }
    }
    spans
}

/// A character of a file. What a terminal does not draw is spelled.
fn visible(grapheme: &str, column: usize, glyphs: Glyphs) -> String {
    let is_ascii = glyphs == Glyphs::Ascii;
    if grapheme == "\t" {
        let arrow = if is_ascii { ">" } else { "→" };
        return format!("{arrow}{}", " ".repeat(TAB - 1 - column % TAB));
    }
    // A mark alone, or a character that cleaning would change, would not be seen.
    if width(grapheme) > 0 && many_lines(grapheme) == grapheme {
        return grapheme.to_owned();
    }
    grapheme.chars().map(|ch| spelled(ch, is_ascii)).collect()
}

fn spelled(ch: char, is_ascii: bool) -> String {
    let code = u32::from(ch);
    match ch {
        '\r' if is_ascii => "\\r".to_owned(),
        '\0'..='\u{1f}' if !is_ascii => char::from_u32(0x2400 + code).unwrap_or('?').to_string(),
        // `^[` for the escape character.
        '\0'..='\u{1f}' => format!("^{}", char::from_u32(0x40 + code).unwrap_or('?')),
        ' '..='~' => ch.to_string(),
        _ => format!("<U+{code:04X}>"),
    }
}
