//! A frame around lines, at any width.

use super::Options;
use crate::text::width::{spaces, truncate_with};
use crate::text::{Line, Style};

/// Draws lines of known width into a frame with a heading.
pub(super) struct Framed<'a> {
    options: &'a Options,
    right: usize,
    out: Vec<Line>,
}

impl<'a> Framed<'a> {
    /// A frame with one space on the left, and `right` spaces on the right if there is room.
    pub(super) fn new(options: &'a Options, right: usize) -> Self {
        Self { options, right, out: Vec::new() }
    }

    fn width(&self) -> usize {
        usize::from(self.options.width)
    }

    /// The width of a line inside.
    pub(super) fn room(&self) -> usize {
        self.width().saturating_sub(3 + self.right)
    }

    /// The upper edge, with as much of the heading as fits.
    pub(super) fn top(&mut self, heading: &str) {
        let inner = self.width().saturating_sub(2);
        let frame = self.options.glyphs.frame();
        let label = match inner {
            0..5 => String::new(),
            _ => {
                let cut = truncate_with(heading, inner - 4, self.options.glyphs.ellipsis());
                format!("{} {cut} ", frame.across)
            }
        };
        self.edge(frame.top_left, &label, frame.top_right);
    }

    /// The lower edge.
    pub(super) fn bottom(&mut self) {
        let frame = self.options.glyphs.frame();
        self.edge(frame.bottom_left, "", frame.bottom_right);
    }

    fn edge(&mut self, left: &str, label: &str, right: &str) {
        let mut line = Line::new();
        if self.width() > 0 {
            line.push(left, Style::Dim);
        }
        line.push(label, Style::Plain);
        let rest = self.width().saturating_sub(line.width() + 1);
        line.push(&self.options.glyphs.frame().across.repeat(rest), Style::Dim);
        if self.width() > 1 {
            line.push(right, Style::Dim);
        }
        self.out.push(line);
    }

    /// A line inside. It must not be wider than [`Framed::room`].
    pub(super) fn push(&mut self, content: Line) {
        let down = self.options.glyphs.frame().down;
        let mut line = Line::new();
        if self.width() > 0 {
            line.push(down, Style::Dim);
        }
        let inner = self.width().saturating_sub(2);
        let used = content.width();
        let before = usize::from(inner > used);
        line.push(&spaces(before), Style::Plain);
        line.append(content);
        line.fill(self.width().saturating_sub(1));
        if self.width() > 1 {
            line.push(down, Style::Dim);
        }
        self.out.push(line);
    }

    /// An empty line inside.
    pub(super) fn blank(&mut self) {
        self.push(Line::new());
    }

    /// The finished frame.
    pub(super) fn finish(self) -> Vec<Line> {
        self.out
    }
}
