//! Lines of styled spans.
//!
//! Views return lines. A terminal gets them as ANSI text, a pipe as plain text, and a terminal UI
//! or a page draws the spans itself. Width is computed from the text alone, so colour never changes
//! the layout.

use super::clean::isolated;
use super::glyph::Glyphs;
use super::style::Style;
use super::width::{spaces, truncate_with, width};

/// A text in one style. The text is clean: it contains no control characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// The text.
    pub text: String,
    /// The style. Colour only supports what the words say.
    pub style: Style,
}

/// A line of spans with a known width. It accepts only clean text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Line {
    spans: Vec<Span>,
    width: usize,
}

impl Line {
    /// An empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// A line of one span.
    pub fn of(text: &str, style: Style) -> Self {
        let mut line = Self::new();
        line.push(text, style);
        line
    }

    /// The spans, from left to right. No span is empty.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The width in columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Adds a span.
    pub fn push(&mut self, text: &str, style: Style) -> &mut Self {
        if !text.is_empty() {
            self.width += width(text);
            self.spans.push(Span { text: text.to_owned(), style });
        }
        self
    }

    /// Adds foreign text: cleaned, isolated if it reads from right to left, and cut to at most
    /// `most` columns.
    pub fn push_text(
        &mut self,
        text: &str,
        most: usize,
        glyphs: Glyphs,
        style: Style,
    ) -> &mut Self {
        let cut = truncate_with(text, most, glyphs.ellipsis());
        self.push(&isolated(&cut), style)
    }

    /// Appends another line.
    pub fn append(&mut self, other: Self) -> &mut Self {
        self.width += other.width;
        self.spans.extend(other.spans);
        self
    }

    /// Fills with spaces up to a column.
    pub fn fill(&mut self, to: usize) -> &mut Self {
        let missing = to.saturating_sub(self.width);
        self.push(&spaces(missing), Style::Plain)
    }

    /// The line, indented by some columns.
    pub fn indented(self, columns: usize) -> Self {
        let mut line = Self::new();
        line.fill(columns).append(self);
        line
    }

    /// The line without blanks at its end.
    pub fn trimmed_end(mut self) -> Self {
        while let Some(mut last) = self.spans.pop() {
            self.width -= width(&last.text);
            last.text.truncate(last.text.trim_end().len());
            if !last.text.is_empty() {
                self.width += width(&last.text);
                self.spans.push(last);
                break;
            }
        }
        self
    }

    /// The text without styles.
    pub fn to_plain(&self) -> String {
        self.spans.iter().map(|it| it.text.as_str()).collect()
    }

    /// The text with ANSI escapes for a terminal. Without colour, only the caret is marked.
    pub fn to_ansi(&self, colour: bool) -> String {
        self.spans.iter().map(|it| it.style.paint(&it.text, colour)).collect()
    }
}

/// Lines as plain text, with line breaks between them.
pub fn to_plain(lines: &[Line]) -> String {
    joined(lines, Line::to_plain)
}

/// Lines as [`Line::to_ansi`] writes them, with line breaks between them.
pub fn to_ansi(lines: &[Line], colour: bool) -> String {
    joined(lines, |line| line.to_ansi(colour))
}

fn joined(lines: &[Line], write: impl Fn(&Line) -> String) -> String {
    lines.iter().map(write).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Colour;

    #[test]
    fn colour_and_the_caret_are_written_for_terminals_alone() {
        let mut line = Line::of("✓ ", Style::In(Colour::Green));
        line.push("done", Style::Plain).fill(8).push("x", Style::Caret);
        assert_eq!(line.width(), 9);
        assert_eq!(line.to_plain(), "✓ done  x");
        assert_eq!(line.to_ansi(false), "✓ done  \u{1b}[7mx\u{1b}[0m");
        assert_eq!(line.to_ansi(true), "\u{1b}[32m✓ \u{1b}[0mdone  \u{1b}[7mx\u{1b}[0m");
        assert_eq!(
            to_plain(&[line.clone().indented(2), Line::new(), line]),
            "  ✓ done  x\n\n✓ done  x"
        );
    }

    #[test]
    fn blanks_at_the_end_go_whatever_their_style() {
        let mut line = Line::of("a", Style::Bold);
        line.push(" b  ", Style::Dim).fill(8).push(" ", Style::Dim);
        let line = line.trimmed_end();
        assert_eq!((line.to_plain().as_str(), line.width()), ("a b", 3));
        assert_eq!(Line::of("  ", Style::Dim).trimmed_end(), Line::new());
    }
}
