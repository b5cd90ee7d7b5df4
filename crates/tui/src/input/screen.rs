//! How the input looks: its rows, the pop-up below them, the search.

use std::ops::Range;

use punchlist_formats::text::width::truncate_with;
use punchlist_formats::text::{Colour, Line, Style, isolated, one_line, width};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Input;
use super::draft::Draft;
use super::layout::{self, Row};
use crate::theme::{Theme, draw};

/// The most rows of text that are shown; the others are scrolled to.
const MOST_ROWS: usize = 10;
/// The width of the sign before the text.
const SIGN: usize = 2;

/// The lines of the input, and the place of the cursor in them.
struct Shown {
    lines: Vec<Line>,
    cursor: (usize, usize),
}

impl Input {
    /// The width of the text: beside the sign, and with a column for the cursor at the end.
    pub(super) fn text_width(&self) -> usize {
        text_width(self.width)
    }

    /// The height that the input wants at a width.
    pub fn height(&self, columns: u16) -> u16 {
        let rows = match &self.search {
            Some(search) => {
                let draft = Draft::typed(search.found(&self.history).unwrap_or_default());
                layout::rows(draft.lines(), text_width(columns)).len() + 1
            }
            None => layout::rows(self.draft.lines(), text_width(columns)).len(),
        };
        let height = rows.min(MOST_ROWS) + self.pop_up.height();
        u16::try_from(height).unwrap_or(u16::MAX)
    }

    /// Draws the input. Returns the place of the cursor.
    pub fn render(&self, area: Rect, buf: &mut Buffer, theme: &Theme) -> Option<(u16, u16)> {
        if area.is_empty() {
            return None;
        }
        let Shown { lines, cursor: (x, y) } = self.shown(area.width, area.height);
        for (line, y) in lines.iter().zip(area.y..area.bottom()) {
            draw(buf, area.x, y, area.width, line, theme);
        }
        let x = area.x.saturating_add(u16::try_from(x).ok()?).min(area.right() - 1);
        let y = area.y.saturating_add(u16::try_from(y).ok()?).min(area.bottom() - 1);
        Some((x, y))
    }

    fn shown(&self, columns: u16, rows: u16) -> Shown {
        let rows = usize::from(rows);
        match &self.search {
            Some(search) => {
                let found = search.found(&self.history);
                let draft = Draft::typed(found.unwrap_or_default());
                let mut shown = self.text_lines(&draft, columns, rows.saturating_sub(1));
                let mut line = Line::of("search: ", Style::Bold);
                let room = usize::from(columns).saturating_sub(9);
                line.push(&truncate_with(search.query(), room, ""), Style::Plain);
                shown.cursor = (line.width(), shown.lines.len());
                if found.is_none() {
                    line.push("  no match", Style::In(Colour::Yellow));
                }
                shown.lines.push(line);
                shown
            }
            None => {
                let pop_up = self.pop_up.height().min(rows.saturating_sub(1));
                let mut shown = self.text_lines(&self.draft, columns, rows - pop_up);
                let below = self.pop_up.lines(usize::from(columns), pop_up, self.glyphs);
                shown.lines.extend(below);
                shown
            }
        }
    }

    /// The rows of a text around the cursor.
    fn text_lines(&self, draft: &Draft, columns: u16, height: usize) -> Shown {
        let height = height.clamp(1, MOST_ROWS);
        let all = layout::rows(draft.lines(), text_width(columns));
        let (row, column) = layout::place(&all, draft.lines(), draft.cursor());
        let first = (row + 1).saturating_sub(height);
        let is_shell = self.is_shell && self.search.is_none();
        let mut lines: Vec<Line> = all
            .iter()
            .enumerate()
            .skip(first)
            .take(height)
            .map(|(at, it)| {
                let mut line = sign(at, is_shell);
                line.append(row_line(draft, it));
                line
            })
            .collect();
        if draft.is_empty()
            && !is_shell
            && self.search.is_none()
            && let Some(line) = lines.first_mut()
        {
            let hint = one_line(&self.hint);
            line.push_text(&hint, text_width(columns), self.glyphs, Style::Dim);
        }
        Shown { lines, cursor: (column + SIGN, row - first) }
    }
}

fn text_width(columns: u16) -> usize {
    usize::from(columns).saturating_sub(SIGN + 1).max(1)
}

/// The sign before a row.
fn sign(row: usize, is_shell: bool) -> Line {
    match (row, is_shell) {
        (0, true) => Line::of("! ", Style::BoldIn(Colour::Yellow)),
        (0, false) => Line::of("> ", Style::BoldIn(Colour::Cyan)),
        _ => Line::of("  ", Style::Plain),
    }
}

/// The text of a row, with the names of pastes marked.
fn row_line(draft: &Draft, row: &Row) -> Line {
    let mut line = Line::new();
    let Some(text) = draft.lines().get(row.line) else { return line };
    let inside =
        |it: Range<usize>| it.start.clamp(row.from, row.to)..it.end.clamp(row.from, row.to);
    let mut from = row.from;
    for name in draft.names_in(text).into_iter().map(inside).filter(|it| !it.is_empty()) {
        line.push(&isolated(&text[from..name.start]), Style::Plain);
        line.push(&text[name.clone()], Style::In(Colour::Cyan));
        from = name.end;
    }
    line.push(&isolated(&text[from..row.to]), Style::Plain);
    debug_assert_eq!(line.width(), width(&text[row.from..row.to]), "{text}");
    line
}
