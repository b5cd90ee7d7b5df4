//! A list to choose from: plans, sessions, models, themes, approvals, agents, members.
//!
//! Rows may have a preview: beside the list on a wide screen, below it on a high one, and in a
//! pager by Space everywhere.

use punchlist_formats::text::{Glyphs, Line, Style, isolated, one_line, truncate, width};

use super::cursor::Cursor;
use super::layout::{self, Hint, Page, Status};
use super::pager::filtered;
use super::{DialogReply, KeysDialog, PagerDialog, RowId, Want};
use crate::keys::Key;
use crate::line_editor::LineEditor;

/// From this width on, the preview is beside the list.
const BESIDE_FROM: usize = 100;
/// From this height on, the preview is below the list.
const BELOW_FROM: usize = 20;

const KEYS: &[Hint] = &[
    ("j/k", "move"),
    ("Enter", "open"),
    ("Esc", "close"),
    ("/", "filter"),
    ("Space", "preview"),
    ("g/G", "first, last"),
    ("?", "keys"),
];
const DELETE_KEYS: &[Hint] = &[
    ("j/k", "move"),
    ("Enter", "open"),
    ("Esc", "close"),
    ("/", "filter"),
    ("Delete or x", "delete"),
    ("Space", "preview"),
    ("g/G", "first, last"),
    ("?", "keys"),
];
const FILTER_KEYS: &[Hint] = &[("Enter", "keep the filter"), ("Esc", "clear it")];
const YES_KEYS: &[Hint] = &[("y", "delete it"), ("n", "keep it")];

/// A row of a list.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ListRow {
    /// What the row stands for.
    pub(crate) id: RowId,
    /// The heading of the rows that belong together; empty if the list has no groups.
    pub(crate) group: String,
    /// The text of the row.
    pub(crate) title: String,
    /// A note at the right.
    pub(crate) note: String,
    /// More about the row. The lines are clean.
    pub(crate) preview: Vec<Line>,
    /// Whether it is the one in use.
    pub(crate) is_current: bool,
    /// Whether Delete applies to it.
    pub(crate) can_delete: bool,
}

impl ListRow {
    /// A row with a title.
    pub(crate) fn new(id: RowId, title: impl Into<String>) -> Self {
        Self {
            id,
            group: String::new(),
            title: title.into(),
            note: String::new(),
            preview: Vec::new(),
            is_current: false,
            can_delete: false,
        }
    }

    fn text(&self) -> String {
        format!("{} {} {}", self.group, self.title, self.note)
    }
}

/// A list to choose from.
#[derive(Clone, Debug)]
pub(crate) struct ListDialog {
    title: String,
    /// What stands there if the list is empty.
    empty: String,
    rows: Vec<ListRow>,
    /// The indexes of the rows that the filter leaves are found by these ids.
    cursor: Cursor<RowId>,
    filter: LineEditor,
    mode: ListMode,
    status: Option<Status>,
    size: (usize, usize),
    glyphs: Glyphs,
}

/// What keys do at the moment.
#[derive(Clone, Debug)]
enum ListMode {
    Browse,
    Filter,
    /// Asks whether to delete the row.
    Delete(RowId),
    Keys(Box<KeysDialog>),
    Preview(Box<PagerDialog>),
}

impl ListDialog {
    /// A list. The cursor is on the row in use, or on the first one.
    pub(crate) fn new(
        title: impl Into<String>,
        empty: impl Into<String>,
        rows: Vec<ListRow>,
        glyphs: Glyphs,
    ) -> Self {
        let mut cursor = Cursor::new(rows.iter().map(|it| it.id.clone()).collect());
        if let Some(current) = rows.iter().find(|it| it.is_current) {
            cursor.select(&current.id);
        }
        Self {
            title: title.into(),
            empty: empty.into(),
            rows,
            cursor,
            filter: LineEditor::default(),
            mode: ListMode::Browse,
            status: None,
            size: (80, 24),
            glyphs,
        }
    }

    /// Shows why something was refused.
    pub(crate) fn refused(&mut self, text: &str) {
        self.status = Some(Status::Refused(text.to_owned()));
    }

    /// The row under the cursor.
    pub(crate) fn selected(&self) -> Option<&ListRow> {
        let id = self.cursor.selected()?;
        self.rows.iter().find(|it| it.id == *id)
    }

    fn fitting(&self) -> Vec<RowId> {
        let filter = self.filter.text();
        let fits = |it: &&ListRow| layout::fits(&filter, &it.text());
        self.rows.iter().filter(fits).map(|it| it.id.clone()).collect()
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: &Key) -> DialogReply {
        self.status = None;
        match &mut self.mode {
            ListMode::Browse => return self.browse(key),
            ListMode::Filter => match key {
                Key::Enter => self.mode = ListMode::Browse,
                Key::Escape => self.clear(),
                Key::Up | Key::Down => drop(self.cursor.key(key)),
                _ => {
                    self.filter.key(key);
                    self.cursor.narrow(self.fitting());
                }
            },
            ListMode::Delete(id) => {
                let id = id.clone();
                match key {
                    Key::Char('y') => {
                        self.mode = ListMode::Browse;
                        return DialogReply::Want(Want::Delete(id));
                    }
                    Key::Char('n') | Key::Escape => self.mode = ListMode::Browse,
                    _ => {}
                }
            }
            ListMode::Keys(keys) => {
                if keys.key(key) == DialogReply::Close {
                    self.mode = ListMode::Browse;
                }
            }
            ListMode::Preview(pager) => {
                if pager.key(key) == DialogReply::Close {
                    self.mode = ListMode::Browse;
                }
            }
        }
        DialogReply::Stay
    }

    fn browse(&mut self, key: &Key) -> DialogReply {
        if self.cursor.key(key) {
            return DialogReply::Stay;
        }
        match key {
            Key::Escape if !self.filter.text().is_empty() => self.clear(),
            Key::Escape | Key::Char('q') => return DialogReply::Close,
            Key::Enter => {
                if let Some(id) = self.cursor.selected() {
                    return DialogReply::Want(Want::Open(id.clone()));
                }
            }
            Key::Delete | Key::Char('x') => self.ask_delete(),
            Key::Char('/') => self.mode = ListMode::Filter,
            Key::Char('?') => {
                let mut keys = KeysDialog::of("Keys of a list", self.keys(), self.glyphs);
                keys.resize(self.size.0, self.size.1);
                self.mode = ListMode::Keys(Box::new(keys));
            }
            Key::Char(' ') => self.preview(),
            _ => {}
        }
        DialogReply::Stay
    }

    fn ask_delete(&mut self) {
        match self.selected() {
            Some(row) if row.can_delete => self.mode = ListMode::Delete(row.id.clone()),
            Some(_) => self.refused("This row cannot be deleted."),
            None => {}
        }
    }

    fn preview(&mut self) {
        let Some(row) = self.selected().filter(|it| !it.preview.is_empty()) else { return };
        let mut pager = PagerDialog::lines_of(row.title.clone(), row.preview.clone(), self.glyphs);
        pager.resize(self.size.0, self.size.1);
        self.mode = ListMode::Preview(Box::new(pager));
    }

    fn clear(&mut self) {
        self.mode = ListMode::Browse;
        self.filter = LineEditor::default();
        self.cursor.narrow(self.fitting());
    }

    fn keys(&self) -> &'static [Hint] {
        if self.rows.iter().any(|it| it.can_delete) { DELETE_KEYS } else { KEYS }
    }

    /// Takes the size of the screen.
    pub(crate) fn resize(&mut self, width: usize, height: usize) {
        self.size = (width, height);
        self.cursor.resize(height.saturating_sub(3));
        match &mut self.mode {
            ListMode::Keys(it) => it.resize(width, height),
            ListMode::Preview(it) => it.resize(width, height),
            ListMode::Browse | ListMode::Filter | ListMode::Delete(_) => {}
        }
    }

    pub(super) fn lines(&self, width: usize, height: usize) -> Vec<Line> {
        let filter = self.filter.text();
        let glyphs = self.glyphs;
        let (foot, keys) = match &self.mode {
            ListMode::Keys(keys) => return keys.lines(width, height),
            ListMode::Preview(pager) => return pager.lines(width, height),
            ListMode::Filter => (layout::input("Filter", &self.filter, width, glyphs), FILTER_KEYS),
            ListMode::Delete(id) => {
                let row = self.rows.iter().find(|it| it.id == *id);
                let title = row.map(|it| one_line(&it.title)).unwrap_or_default();
                let words = format!("Delete \"{}\"?", isolated(&truncate(&title, 60)));
                (layout::status(Some(&Status::Refused(words)), width, height, glyphs), YES_KEYS)
            }
            ListMode::Browse if self.status.is_none() && !filter.is_empty() => {
                (vec![filtered(&filter, width, glyphs)], self.keys())
            }
            ListMode::Browse => {
                (layout::status(self.status.as_ref(), width, height, glyphs), self.keys())
            }
        };
        let head = layout::head(&self.title, &self.cursor.place(), width, glyphs);
        Page { head, foot, keys, glyphs }.draw(width, height, |rows| self.body(width, rows))
    }

    fn body(&self, width: usize, rows: usize) -> Vec<Line> {
        if self.cursor.keys().is_empty() {
            let words = if self.rows.is_empty() { &self.empty } else { "Nothing fits the filter." };
            let line = Line::of(&isolated(&one_line(words)), Style::Dim);
            return layout::rows(&line, width);
        }
        let preview = self.selected().map(|it| it.preview.as_slice()).unwrap_or_default();
        let wrapped = |columns: usize, most: usize| -> Vec<Line> {
            preview.iter().flat_map(|it| layout::rows(it, columns)).take(most).collect()
        };
        let has_preview = self.rows.iter().any(|it| !it.preview.is_empty());
        if has_preview && width >= BESIDE_FROM {
            let left = width / 2;
            let right = wrapped(width - left - 3, rows);
            return layout::beside(self.drawn(left, rows), left, right, rows, self.glyphs);
        }
        if has_preview && rows >= BELOW_FROM - 3 {
            let above = rows / 2;
            let mut lines = self.drawn(width, above);
            lines.resize(above, Line::new());
            lines.push(Line::of(&self.glyphs.frame().across.repeat(width), Style::Dim));
            lines.extend(wrapped(width, rows - above - 1));
            return lines;
        }
        self.drawn(width, rows)
    }

    /// The rows that fit, with the headings of their groups.
    fn drawn(&self, columns: usize, height: usize) -> Vec<Line> {
        let find = |id: &RowId| self.rows.iter().find(|it| it.id == *id);
        let mut lines = Vec::new();
        let mut selected = 0;
        let from = self.cursor.first(height);
        let mut group = "";
        for (at, id) in self.cursor.keys().iter().enumerate().skip(from).take(height) {
            let Some(row) = find(id) else { continue };
            if row.group != group {
                group = &row.group;
                let mut heading = Line::new();
                heading.push_text(&one_line(group), columns, self.glyphs, Style::Bold);
                lines.push(heading);
            }
            if self.cursor.is_at(at) {
                selected = lines.len();
            }
            lines.push(self.row(row, self.cursor.is_at(at), columns));
        }
        // Headings take room too; the selected row stays in the window.
        let skip = (selected + 1).saturating_sub(height);
        lines.into_iter().skip(skip).take(height).collect()
    }

    fn row(&self, row: &ListRow, is_selected: bool, columns: usize) -> Line {
        let glyphs = self.glyphs;
        let mut line = layout::mark(is_selected, glyphs);
        let current = match (row.is_current, glyphs) {
            (false, _) => "  ",
            (true, Glyphs::Ascii) => "* ",
            (true, Glyphs::Emoji | Glyphs::Unicode) => "● ",
        };
        if self.rows.iter().any(|it| it.is_current) {
            line.push(current, Style::Plain);
        }
        let note = one_line(&row.note);
        let note = truncate(&note, columns / 2);
        // On a narrow screen the title needs the room more.
        let room = columns.saturating_sub(line.width());
        let has_note = !note.is_empty() && room >= 30;
        let right = if has_note { width(&note) + 2 } else { 0 };
        let style = if is_selected { Style::Bold } else { Style::Plain };
        let title = one_line(&row.title);
        let title = if title.is_empty() { "(no title)".into() } else { title };
        line.push_text(&title, room.saturating_sub(right), glyphs, style);
        if has_note {
            line.fill(columns.saturating_sub(width(&note)));
            line.push(&isolated(&note), Style::Dim);
        }
        line
    }
}
