//! A long text: the output of a call, a journal, a transcript.

use punchlist_formats::text::width::pieces;
use punchlist_formats::text::{Glyphs, Line, Style, isolated, many_lines};

use super::layout::{self, Hint, Page};
use super::scroller::Scroller;
use super::{DialogReply, KeysDialog};
use crate::keys::Key;
use crate::line_editor::LineEditor;

/// A longer line is shown as several lines, so that wrapping it stays cheap.
const LONGEST: usize = 2_000;

const KEYS: &[Hint] = &[
    ("j/k", "scroll"),
    ("Esc", "close"),
    ("/", "filter"),
    ("g/G", "ends"),
    ("Space, PgDn", "next page"),
    ("PgUp", "previous page"),
    ("?", "keys"),
];
const FILTER_KEYS: &[Hint] = &[("Enter", "keep the filter"), ("Esc", "clear it")];

/// A text that is scrolled and filtered.
#[derive(Clone, Debug)]
pub(crate) struct PagerDialog {
    title: String,
    lines: Vec<Line>,
    /// The lines that the filter leaves.
    shown: Vec<Line>,
    scroller: Scroller,
    filter: LineEditor,
    is_filtering: bool,
    keys: Option<Box<KeysDialog>>,
    size: (usize, usize),
    glyphs: Glyphs,
}

impl PagerDialog {
    /// A pager for the lines of a view.
    pub(crate) fn lines_of(title: impl Into<String>, lines: Vec<Line>, glyphs: Glyphs) -> Self {
        Self {
            title: title.into(),
            shown: lines.clone(),
            lines,
            scroller: Scroller::default(),
            filter: LineEditor::default(),
            is_filtering: false,
            keys: None,
            size: (80, 24),
            glyphs,
        }
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: &Key) -> DialogReply {
        if let Some(keys) = &mut self.keys {
            if keys.key(key) == DialogReply::Close {
                self.keys = None;
            }
            return DialogReply::Stay;
        }
        if self.is_filtering {
            match key {
                Key::Enter => self.is_filtering = false,
                Key::Escape => self.clear(),
                Key::Up | Key::Down => drop(self.scroller.key(key, &self.shown)),
                _ => {
                    self.filter.key(key);
                    self.narrow();
                }
            }
            return DialogReply::Stay;
        }
        match key {
            Key::Escape if !self.filter.text().is_empty() => self.clear(),
            Key::Escape | Key::Char('q') => return DialogReply::Close,
            Key::Char('/') => self.is_filtering = true,
            Key::Char('?') => {
                let mut keys = KeysDialog::of("Keys of a text", KEYS, self.glyphs);
                keys.resize(self.size.0, self.size.1);
                self.keys = Some(Box::new(keys));
            }
            _ => drop(self.scroller.key(key, &self.shown)),
        }
        DialogReply::Stay
    }

    fn clear(&mut self) {
        self.is_filtering = false;
        self.filter = LineEditor::default();
        self.narrow();
    }

    fn narrow(&mut self) {
        let filter = self.filter.text();
        let fits = |it: &&Line| layout::fits(&filter, &it.to_plain());
        self.shown = self.lines.iter().filter(fits).cloned().collect();
        self.scroller.reset();
    }

    /// Takes the size of the screen.
    pub(crate) fn resize(&mut self, width: usize, height: usize) {
        self.size = (width, height);
        self.scroller.resize(width, height.saturating_sub(3));
        if let Some(keys) = &mut self.keys {
            keys.resize(width, height);
        }
    }

    pub(super) fn lines(&self, width: usize, height: usize) -> Vec<Line> {
        if let Some(keys) = &self.keys {
            return keys.lines(width, height);
        }
        let place = self.scroller.place(&self.shown);
        let filter = self.filter.text();
        let (foot, keys) = match (self.is_filtering, filter.is_empty()) {
            (true, _) => (layout::input("Filter", &self.filter, width, self.glyphs), FILTER_KEYS),
            (false, true) => (vec![Line::new()], KEYS),
            (false, false) => (vec![filtered(&filter, width, self.glyphs)], KEYS),
        };
        let head = layout::head(&self.title, &place, width, self.glyphs);
        Page { head, foot, keys, glyphs: self.glyphs }.draw(width, height, |rows| {
            if self.shown.is_empty() {
                let words = if filter.is_empty() { "(empty)" } else { "No line fits the filter." };
                return vec![Line::of(words, Style::Dim)];
            }
            self.scroller.draw(&self.shown, width, rows)
        })
    }
}

/// The line that says which filter is set.
pub(super) fn filtered(filter: &str, columns: usize, glyphs: Glyphs) -> Line {
    let mut line = Line::of("filter: ", Style::Dim);
    let room = columns.saturating_sub(line.width());
    line.push_text(filter, room, glyphs, Style::Plain);
    line
}

/// A text of an agent or a program as lines without anything that could control a terminal.
pub(super) fn text_lines(text: &str) -> Vec<Line> {
    let clean = many_lines(text);
    let lines = clean.trim_end_matches('\n').split('\n');
    let pieces = lines.flat_map(|it| pieces(it, LONGEST));
    pieces.map(|it| Line::of(&isolated(it), Style::Plain)).collect()
}
