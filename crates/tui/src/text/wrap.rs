//! Breaks styled text into lines: between words, or anywhere.

use std::borrow::Cow;

use punchlist_formats::text::width::{graphemes, spaces, width};
use punchlist_formats::text::{Line, Span, Style, isolated};

/// Drawn instead of a character that is wider than the whole line.
const TOO_WIDE: &str = "?";

/// Breaks a text between words. A word that is wider than a line is broken anywhere, and so is text
/// in wide characters, which has no spaces. Spaces at a break are dropped.
pub(super) fn words(spans: &[Span], columns: usize) -> Vec<Line> {
    let mut lines = Lines::new(columns);
    let mut word: Vec<(&str, Style)> = Vec::new();
    let (mut gap, mut gap_style) = (0, Style::Plain);
    for span in spans {
        for grapheme in graphemes(&span.text) {
            let is_wide = width(grapheme) > 1;
            if grapheme == " " || is_wide {
                lines.word(&mut word, &mut gap, gap_style);
            }
            if grapheme == " " {
                gap += 1;
                gap_style = span.style;
                continue;
            }
            word.push((grapheme, span.style));
            if is_wide {
                lines.word(&mut word, &mut gap, gap_style);
            }
        }
    }
    lines.word(&mut word, &mut gap, gap_style);
    lines.finish()
}

/// Breaks a text wherever a line is full. Nothing is dropped.
pub(super) fn pieces(spans: &[Span], columns: usize) -> Vec<Line> {
    let mut lines = Lines::new(columns);
    for span in spans {
        for grapheme in graphemes(&span.text) {
            lines.push(grapheme, span.style);
        }
    }
    lines.finish()
}

/// Lines that are being filled.
struct Lines {
    columns: usize,
    done: Vec<Line>,
    /// The parts of the line that is being filled, and its width.
    parts: Vec<Span>,
    filled: usize,
}

impl Lines {
    fn new(columns: usize) -> Self {
        Self { columns: columns.max(1), done: Vec::new(), parts: Vec::new(), filled: 0 }
    }

    /// Adds a word and the spaces before it, in this line or in the next one.
    fn word(&mut self, word: &mut Vec<(&str, Style)>, gap: &mut usize, gap_style: Style) {
        if word.is_empty() {
            return;
        }
        let wide: usize = word.iter().map(|it| width(it.0)).sum();
        let gap = std::mem::take(gap);
        if self.filled > 0 {
            if self.filled + gap + wide > self.columns {
                self.end_line();
            } else {
                self.append(&spaces(gap), gap, gap_style);
            }
        }
        for (grapheme, style) in word.drain(..) {
            self.push(grapheme, style);
        }
    }

    fn push(&mut self, grapheme: &str, style: Style) {
        let (grapheme, wide) = match width(grapheme) {
            // A mark without a letter would go to the text before it.
            0 => return,
            wide if wide > self.columns => (TOO_WIDE, 1),
            wide => (grapheme, wide),
        };
        if self.filled + wide > self.columns {
            self.end_line();
        }
        self.append(grapheme, wide, style);
    }

    fn append(&mut self, text: &str, wide: usize, style: Style) {
        self.filled += wide;
        match self.parts.last_mut() {
            Some(last) if last.style == style => last.text.push_str(text),
            Some(_) | None => self.parts.push(Span { text: text.to_owned(), style }),
        }
    }

    fn end_line(&mut self) {
        self.filled = 0;
        self.done.push(line(std::mem::take(&mut self.parts)));
    }

    fn finish(mut self) -> Vec<Line> {
        if self.filled > 0 {
            self.end_line();
        }
        self.done
    }
}

/// The parts of a line. A text that reads from right to left is isolated as a whole.
fn line(parts: Vec<Span>) -> Line {
    let is_isolated = parts.iter().any(|it| matches!(isolated(&it.text), Cow::Owned(_)));
    let mut line = Line::new();
    if is_isolated {
        line.push("\u{2068}", Style::Plain);
    }
    for part in &parts {
        line.push(&part.text, part.style);
    }
    if is_isolated {
        line.push("\u{2069}", Style::Plain);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(lines: &[Line]) -> Vec<String> {
        lines.iter().map(Line::to_plain).collect()
    }

    fn spans(parts: &[(&str, Style)]) -> Vec<Span> {
        parts.iter().map(|it| Span { text: it.0.to_owned(), style: it.1 }).collect()
    }

    #[test]
    fn a_word_may_have_several_styles_and_is_not_broken_between_them() {
        let text =
            spans(&[("fix ", Style::Plain), ("bold", Style::Bold), ("ly now", Style::Plain)]);
        let lines = words(&text, 8);
        assert_eq!(plain(&lines), ["fix", "boldly", "now"]);
        assert_eq!(lines[1].spans().len(), 2);
    }

    #[test]
    fn long_words_and_wide_characters_are_broken_where_the_line_ends() {
        let one = |text: &str, columns| plain(&words(&spans(&[(text, Style::Plain)]), columns));
        assert_eq!(one("see /a/very/long/path ok", 6), ["see", "/a/ver", "y/long", "/path", "ok"]);
        assert_eq!(one("ab 日本語 c", 5), ["ab 日", "本語", "c"]);
        assert_eq!(one("日", 1), ["?"]);
        assert_eq!(one("  a   b  ", 9), ["a   b"]);
        assert_eq!(one("", 9), [""; 0]);
    }

    #[test]
    fn pieces_keep_every_space() {
        let text = spans(&[("  a  ", Style::Plain), ("bc", Style::Bold)]);
        assert_eq!(plain(&pieces(&text, 3)), ["  a", "  b", "c"]);
    }

    #[test]
    fn a_line_that_reads_from_right_to_left_is_isolated_as_a_whole() {
        let text = spans(&[("שלום ", Style::Plain), ("עולם", Style::Bold)]);
        let lines = words(&text, 20);
        assert_eq!(plain(&lines), ["\u{2068}שלום עולם\u{2069}"]);
        assert_eq!(lines[0].width(), 9);
    }
}
