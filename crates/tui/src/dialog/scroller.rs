//! Scrolls through lines that are wrapped to the width of the screen.
//!
//! The position is a line and a row within that line, so that only the lines on the screen are
//! wrapped, however long the text is, and the same text stays on top after a resize.

use punchlist_formats::text::Line;

use super::layout;
use crate::keys::Key;

/// A position in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scroller {
    /// The line on top of the screen.
    line: usize,
    /// The row of that line that is on top.
    row: usize,
    columns: usize,
    rows: usize,
}

impl Default for Scroller {
    fn default() -> Self {
        Self { line: 0, row: 0, columns: 80, rows: 20 }
    }
}

impl Scroller {
    /// Takes the size of the screen.
    pub(super) fn resize(&mut self, columns: usize, rows: usize) {
        (self.columns, self.rows) = (columns, rows.max(1));
    }

    /// Goes back to the beginning.
    pub(super) fn reset(&mut self) {
        (self.line, self.row) = (0, 0);
    }

    /// Scrolls. Returns whether the key is one for that.
    pub(super) fn key(&mut self, key: &Key, lines: &[Line]) -> bool {
        let page = self.rows.saturating_sub(1).max(1);
        match key {
            Key::Char('j') | Key::Down => self.down(1, lines),
            Key::Char('k') | Key::Up => self.up(1, lines),
            Key::Char('g') | Key::Home => self.reset(),
            Key::Char('G') | Key::End => (self.line, self.row) = self.last(lines),
            Key::Ctrl('d') => self.down(self.rows.div_ceil(2), lines),
            Key::Ctrl('u') => self.up(self.rows.div_ceil(2), lines),
            Key::Ctrl('f') | Key::Char(' ') | Key::PageDown => self.down(page, lines),
            Key::Ctrl('b') | Key::PageUp => self.up(page, lines),
            _ => return false,
        }
        true
    }

    fn count(&self, line: usize, lines: &[Line]) -> usize {
        lines.get(line).map_or(0, |it| layout::rows(it, self.columns).len())
    }

    fn down(&mut self, by: usize, lines: &[Line]) {
        let last = self.last(lines);
        for _ in 0..by {
            if (self.line, self.row) >= last {
                break;
            }
            self.row += 1;
            if self.row >= self.count(self.line, lines) {
                (self.line, self.row) = (self.line + 1, 0);
            }
        }
    }

    fn up(&mut self, by: usize, lines: &[Line]) {
        for _ in 0..by {
            match (self.line, self.row) {
                (0, 0) => break,
                (line, 0) => {
                    self.line = line - 1;
                    self.row = self.count(self.line, lines).saturating_sub(1);
                }
                (_, row) => self.row = row - 1,
            }
        }
    }

    /// The last position: the end of the text is at the bottom of the screen.
    fn last(&self, lines: &[Line]) -> (usize, usize) {
        let mut left = self.rows;
        for at in (0..lines.len()).rev() {
            let count = self.count(at, lines);
            if count >= left {
                return (at, count - left);
            }
            left -= count;
        }
        (0, 0)
    }

    /// Whether the end of the text is on the screen.
    pub(super) fn is_at_end(&self, lines: &[Line]) -> bool {
        (self.line, self.row) >= self.last(lines)
    }

    /// The rows on the screen.
    pub(super) fn draw(&self, lines: &[Line], columns: usize, rows: usize) -> Vec<Line> {
        let here = Self { columns, rows: rows.max(1), ..*self };
        let (from, skip) = (here.line, here.row).min(here.last(lines));
        let all = lines.iter().skip(from).flat_map(|it| layout::rows(it, columns));
        all.skip(skip).take(rows).collect()
    }

    /// How much of the text is above the end of the screen: `40%`, or nothing if all of it fits.
    pub(super) fn place(&self, lines: &[Line]) -> String {
        match (lines.len(), self.is_at_end(lines)) {
            (_, true) if (self.line, self.row) == (0, 0) => String::new(),
            (_, true) => "end".to_owned(),
            (count, false) => format!("{}%", self.line * 100 / count.max(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use punchlist_formats::text::Style;

    use super::*;

    fn lines(count: usize) -> Vec<Line> {
        (1..=count).map(|n| Line::of(&format!("line {n}"), Style::Plain)).collect()
    }

    fn first(scroller: Scroller, lines: &[Line]) -> String {
        let drawn = scroller.draw(lines, scroller.columns, scroller.rows);
        drawn.first().map(Line::to_plain).unwrap_or_default()
    }

    #[test]
    fn the_end_of_the_text_stays_at_the_bottom_of_the_screen() {
        let (all, mut scroller) = (lines(10), Scroller::default());
        scroller.resize(40, 4);
        for (key, expected) in [
            ('j', "line 2"),
            ('k', "line 1"),
            ('k', "line 1"),
            ('G', "line 7"),
            ('j', "line 7"),
            ('k', "line 6"),
            ('g', "line 1"),
            (' ', "line 4"),
        ] {
            assert!(scroller.key(&Key::Char(key), &all));
            assert_eq!(first(scroller, &all), expected, "after {key}");
        }
        assert_eq!(scroller.draw(&all[..2], 40, 4).len(), 2, "a text that became shorter");
        assert_eq!(scroller.draw(&[], 40, 4).len(), 0);
    }

    #[test]
    fn a_line_that_is_longer_than_the_screen_can_be_read_to_its_end() {
        let all = [Line::of(&"abcdefghij".repeat(100), Style::Plain)];
        let mut scroller = Scroller::default();
        scroller.resize(10, 4);
        let mut seen = 4;
        while !scroller.is_at_end(&all) {
            assert!(scroller.key(&Key::Down, &all));
            seen += 1;
        }
        assert_eq!(seen, 125, "the rows after the first are indented");
        scroller.resize(100, 4);
        assert_eq!(scroller.draw(&all, 100, 4).len(), 4, "the rows of a wider screen");
    }
}
