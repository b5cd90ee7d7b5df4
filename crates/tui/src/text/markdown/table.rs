//! Tables of Markdown: columns that fit the screen, or one line per cell where they cannot.

use pulldown_cmark::Alignment;
use punchlist_formats::text::width::width;
use punchlist_formats::text::{Glyphs, Line, Span, Style};

use crate::text::wrap;

/// A column that would like to be wider has at least this width.
const NARROWEST: usize = 8;
/// The width of what is between two columns.
const BETWEEN: usize = 3;

/// A table. The first row is its head.
pub(super) struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Vec<Span>>>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: vec![Vec::new()] }
    }

    /// Begins the next row.
    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a cell to the last row.
    pub(super) fn cell(&mut self, cell: Vec<Span>) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// The table in at most `room` columns.
    pub(super) fn lines(&self, room: usize, glyphs: Glyphs) -> Vec<Line> {
        let count = self.alignments.len().max(1);
        let between = BETWEEN * (count - 1);
        let wanted = self.widths(count);
        let least: usize = wanted.iter().map(|it| *it.min(&NARROWEST)).sum();
        if room < between + least {
            return self.as_list(room, glyphs);
        }
        let widths = fitted(&wanted, room - between);
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            lines.extend(self.row_lines(row, &widths, glyphs));
            if at == 0 {
                lines.push(rule(&widths, glyphs));
            }
        }
        lines
    }

    /// The width that each column would like to have.
    fn widths(&self, count: usize) -> Vec<usize> {
        let of_cell = |cell: &Vec<Span>| cell.iter().map(|it| width(&it.text)).sum::<usize>();
        let of_column = |at| self.rows.iter().filter_map(|it| it.get(at)).map(of_cell).max();
        (0..count).map(|at| of_column(at).unwrap_or(0).max(1)).collect()
    }

    /// One row of the table, as high as its highest cell.
    fn row_lines(&self, row: &[Vec<Span>], widths: &[usize], glyphs: Glyphs) -> Vec<Line> {
        let cells: Vec<Vec<Line>> = widths
            .iter()
            .enumerate()
            .map(|(at, width)| row.get(at).map_or_else(Vec::new, |it| wrap::words(it, *width)))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let mut lines = Vec::new();
        for nth in 0..height {
            let (mut line, mut column) = (Line::new(), 0);
            for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
                if at > 0 {
                    line.push(&format!(" {} ", glyphs.frame().down), Style::Dim);
                    column += BETWEEN;
                }
                let part = cell.get(nth).cloned().unwrap_or_default();
                let free = width.saturating_sub(part.width());
                let before = match self.alignments.get(at) {
                    Some(Alignment::Right) => free,
                    Some(Alignment::Center) => free / 2,
                    Some(Alignment::None | Alignment::Left) | None => 0,
                };
                line.fill(column + before).append(part);
                column += width;
                line.fill(column);
            }
            lines.push(line);
        }
        lines
    }

    /// Each cell in a line of its own, with the head of its column before it.
    fn as_list(&self, room: usize, glyphs: Glyphs) -> Vec<Line> {
        let mut lines = Vec::new();
        let Some((head, rows)) = self.rows.split_first() else { return lines };
        let across = Line::of(&glyphs.frame().across.repeat(room.min(NARROWEST)), Style::Dim);
        if rows.is_empty() {
            lines.extend(head.iter().flat_map(|it| wrap::words(it, room)));
        }
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                lines.push(across.clone());
            }
            for (at, cell) in row.iter().enumerate() {
                let mut spans = head.get(at).cloned().unwrap_or_default();
                if !spans.is_empty() {
                    spans.push(Span { text: ": ".to_owned(), style: Style::Dim });
                }
                spans.extend(cell.iter().cloned());
                lines.extend(wrap::words(&spans, room));
            }
        }
        lines
    }
}

/// Reduces the widest columns until all fit.
fn fitted(wanted: &[usize], room: usize) -> Vec<usize> {
    let with_limit = |limit: usize| wanted.iter().map(|it| *it.min(&limit)).sum::<usize>();
    let (mut limit, mut above) = (NARROWEST, wanted.iter().copied().max().unwrap_or(0));
    // The highest limit with which the columns fit.
    while limit < above {
        let middle = limit + (above - limit).div_ceil(2);
        if with_limit(middle) <= room {
            limit = middle;
        } else {
            above = middle - 1;
        }
    }
    wanted.iter().map(|it| *it.min(&limit)).collect()
}

/// The line below the head.
fn rule(widths: &[usize], glyphs: Glyphs) -> Line {
    let (across, cross) = match glyphs {
        Glyphs::Emoji | Glyphs::Unicode => ("─", "─┼─"),
        Glyphs::Ascii => ("-", "-+-"),
    };
    let parts: Vec<String> = widths.iter().map(|it| across.repeat(*it)).collect();
    Line::of(&parts.join(cross), Style::Dim)
}
