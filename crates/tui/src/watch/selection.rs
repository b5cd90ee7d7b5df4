//! The viewer's selection: which rows are shown, the selected row, and the row that is open. Pure.

use punchlist_formats::text::{Line, Style};
use punchlist_formats::view::Options;
use punchlist_formats::view::watch::{Look, line, watch};
use punchlist_model::agents::Row;

use crate::keys::Key;
use crate::line_editor::LineEditor;

/// How many rows a page is.
const PAGE: usize = 10;

/// The meaning of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Pressed {
    /// Leave.
    Leave,
    /// Draw everything again.
    Redraw,
    /// Put this row away, or take it out again.
    Archive(String),
    /// Answer the question of this row; without a row, the oldest question.
    Answer(Option<String>),
    /// Nothing, or a move of the selection.
    Stay,
}

/// The viewer's selection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Selection {
    /// The keys of the current rows, in order.
    rows: Vec<String>,
    selected: Option<String>,
    opened: Option<String>,
    /// The filter, if there is one.
    filter: Option<LineEditor>,
    /// Whether the filter is being typed.
    is_typing: bool,
    /// Whether rows that were put away are shown.
    shows_archived: bool,
}

impl Selection {
    /// Takes over the current rows.
    pub(super) fn see(&mut self, rows: &[Row]) {
        self.rows = rows.iter().map(|it| it.key.clone()).collect();
        self.selected.take_if(|it| !self.rows.contains(it));
    }

    /// The row that is open.
    pub(super) fn opened(&self) -> Option<&str> {
        self.opened.as_deref()
    }

    /// Whether no row is open and nothing is filtered.
    pub(super) fn is_at_first_step(&self) -> bool {
        self.opened.is_none() && self.filter.is_none() && !self.is_typing
    }

    /// Whether rows that were put away are shown.
    pub(super) fn shows_archived(&self) -> bool {
        self.shows_archived
    }

    /// Whether the filter lets a row through: each word of the filter is in the row.
    pub(super) fn lets_through(&self, row: &Row) -> bool {
        let Some(filter) = &self.filter else { return true };
        let text = format!("{} {} {}", line(row), row.model, row.project).to_lowercase();
        filter.text().to_lowercase().split_whitespace().all(|it| text.contains(it))
    }

    /// Handles a key.
    pub(super) fn key(&mut self, key: &Key) -> Pressed {
        if self.is_typing && self.typed(key) {
            return Pressed::Stay;
        }
        match key {
            // Ctrl-C arrives as a key if the terminal does not make it a signal.
            Key::Char('q' | 'Q') | Key::Ctrl('c' | 'd') => return Pressed::Leave,
            Key::Ctrl('l') => return Pressed::Redraw,
            Key::Char('j') | Key::Down => self.down(1),
            Key::Char('k') | Key::Up => self.up(1),
            Key::PageDown => self.down(PAGE),
            Key::PageUp => self.up(PAGE),
            Key::Home => self.selected = self.rows.first().cloned(),
            Key::End => self.selected = self.rows.last().cloned(),
            Key::Enter | Key::Char(' ') => {
                if self.selected.is_none() {
                    self.selected = self.rows.first().cloned();
                }
                let is_open = self.opened.is_some() && self.opened == self.selected;
                self.opened = if is_open { None } else { self.selected.clone() };
            }
            Key::Char('/') => {
                self.filter.get_or_insert_default();
                self.is_typing = true;
            }
            Key::Char('x') => {
                if let Some(row) = &self.selected {
                    return Pressed::Archive(row.clone());
                }
            }
            Key::Char('X') => self.shows_archived = !self.shows_archived,
            Key::Char('a') => return Pressed::Answer(self.selected.clone()),
            // Goes one step back.
            Key::Escape if self.opened.is_some() => self.opened = None,
            Key::Escape if self.filter.is_some() => self.filter = None,
            Key::Escape => self.selected = None,
            Key::Char(_)
            | Key::Ctrl(_)
            | Key::Alt(_)
            | Key::Tab
            | Key::Backspace
            | Key::WordBackspace
            | Key::Delete
            | Key::Left
            | Key::Right
            | Key::WordLeft
            | Key::WordRight
            | Key::Paste(_)
            | Key::AltEnter
            | Key::BackTab
            | Key::Function(_)
            | Key::AltUp
            | Key::AltDown
            | Key::FocusIn
            | Key::FocusOut
            | Key::ShiftEnter
            | Key::Terminal(_)
            | Key::Undo
            | Key::Other => {}
        }
        Pressed::Stay
    }

    /// Handles a key while the filter is typed. Returns whether the key was for the filter.
    fn typed(&mut self, key: &Key) -> bool {
        if matches!(key, Key::Down | Key::Up | Key::PageDown | Key::PageUp | Key::Ctrl('c' | 'l')) {
            return false;
        }
        if *key == Key::Enter {
            self.is_typing = false;
        } else if *key == Key::Escape {
            (self.is_typing, self.filter) = (false, None);
        } else {
            self.filter.get_or_insert_default().key(key);
        }
        let is_blank = self.filter.as_ref().is_some_and(|it| it.text().trim().is_empty());
        if !self.is_typing && is_blank {
            self.filter = None;
        }
        true
    }

    fn at(&self) -> Option<usize> {
        self.selected.as_ref().and_then(|it| self.rows.iter().position(|row| row == it))
    }

    fn down(&mut self, by: usize) {
        let next = self.at().map_or(0, |it| (it + by).min(self.rows.len().saturating_sub(1)));
        self.selected = self.rows.get(next).cloned();
    }

    fn up(&mut self, by: usize) {
        let next = self.at().unwrap_or(0).saturating_sub(by);
        self.selected = self.rows.get(next).cloned();
    }

    /// Draws the whole screen with the selection. The last frame, which stays, shows no keys.
    pub(super) fn view(
        &self,
        rows: &[Row],
        look: Look<'_>,
        is_last: bool,
        options: &Options,
    ) -> Vec<Line> {
        let selected = self.selected.as_deref().filter(|_| !is_last);
        let look = Look { selected, opened: self.opened.as_deref(), keys: !is_last, ..look };
        let Some(filter) = self.filter.as_ref().filter(|_| !is_last) else {
            return watch(rows, look, options);
        };
        let height = look.height.map(|it| it.saturating_sub(1).max(1));
        let mut lines = watch(rows, Look { height, ..look }, options);
        lines.push(self.filter_line(filter, options));
        lines
    }

    /// ` /shop  Enter keeps, Esc ends the filter`
    fn filter_line(&self, filter: &LineEditor, options: &Options) -> Line {
        let columns = usize::from(options.width).saturating_sub(1).max(1);
        let mut line = Line::new();
        line.push(" /", Style::Bold);
        let room = columns.saturating_sub(line.width()).max(1);
        if self.is_typing {
            line.append(filter.shown(room, options.glyphs));
        } else {
            line.push_text(&filter.text(), room, options.glyphs, Style::Plain);
        }
        let keys = if self.is_typing { "Enter keeps  Esc ends" } else { "Esc ends the filter" };
        if line.width() + 2 + keys.len() <= columns {
            line.push("  ", Style::Plain).push(keys, Style::Dim);
        }
        line
    }
}

#[cfg(test)]
mod tests;
