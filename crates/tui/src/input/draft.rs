//! The text that is being edited: over a text area, by what a reader sees as one character.
//!
//! A large paste is one piece: the text area holds its name, such as `[pasted 120 lines]`, and the
//! cursor moves over it and deletes it as a whole.

use std::ops::Range;

use punchlist_formats::text::many_lines;
use punchlist_formats::text::width::graphemes;
use ratatui_textarea::{CursorMove, DataCursor, TextArea};

use super::layout;

/// Pastes with more lines than this are shown by their name.
const MOST_LINES: usize = 8;
/// Pastes with more characters than this are shown by their name.
const MOST_CHARS: usize = 800;
/// Texts with more characters than this are shown by their name, whoever put them there. The text area
/// counts columns up to 65,535.
const LONGEST_SHOWN: usize = 32 * 1024;

/// A text that is being edited.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    area: TextArea<'static>,
    pastes: Vec<Paste>,
    /// Whether anything was pasted since the draft was empty at first.
    has_paste: bool,
    begins_pasted: bool,
}

/// A large paste: the name that stands for it, and its text.
#[derive(Clone, Debug)]
struct Paste {
    name: String,
    text: String,
}

impl Draft {
    /// A text as if it were typed, with the cursor at its end.
    pub(super) fn typed(text: &str) -> Self {
        let mut draft = Self::default();
        let text = many_lines(text);
        if text.chars().count() > LONGEST_SHOWN {
            draft.paste(&text);
        } else {
            draft.area.insert_str(&text);
        }
        draft
    }

    /// A text that is a message, and no command.
    pub(super) fn message(text: &str) -> Self {
        Self { has_paste: true, begins_pasted: true, ..Self::typed(text) }
    }

    /// The whole text, with what was pasted.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (at, line) in self.lines().iter().enumerate() {
            if at > 0 {
                text.push('\n');
            }
            let mut from = 0;
            for (range, paste) in self.pastes_in(line) {
                text.push_str(&line[from..range.start]);
                text.push_str(&paste.text);
                from = range.end;
            }
            text.push_str(&line[from..]);
        }
        text
    }

    /// The lines as they are shown.
    pub(super) fn lines(&self) -> &[String] {
        self.area.lines()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Whether the text begins with something that was pasted, or may do so.
    pub(super) fn begins_pasted(&self) -> bool {
        self.begins_pasted
    }

    /// The line of the cursor, and its byte in the line.
    pub(super) fn cursor(&self) -> (usize, usize) {
        let DataCursor(row, column) = self.area.cursor();
        let line = self.lines().get(row).map_or("", String::as_str);
        (row, line.char_indices().nth(column).map_or(line.len(), |it| it.0))
    }

    /// The line of the cursor, and its text before the cursor.
    pub(super) fn before_cursor(&self) -> (usize, &str) {
        let (row, at) = self.cursor();
        (row, self.lines().get(row).and_then(|it| it.get(..at)).unwrap_or_default())
    }

    /// The text of the line behind the cursor.
    pub(super) fn after_cursor(&self) -> &str {
        let (row, at) = self.cursor();
        self.lines().get(row).and_then(|it| it.get(at..)).unwrap_or_default()
    }

    /// Where the names of pastes are in a line.
    pub(super) fn names_in(&self, line: &str) -> Vec<Range<usize>> {
        self.pastes_in(line).into_iter().map(|it| it.0).collect()
    }

    fn pastes_in(&self, line: &str) -> Vec<(Range<usize>, &Paste)> {
        let mut found: Vec<_> = self
            .pastes
            .iter()
            .flat_map(|paste| {
                line.match_indices(&paste.name).map(move |(at, it)| (at..at + it.len(), paste))
            })
            .collect();
        found.sort_by_key(|it| it.0.start);
        found
    }

    /// Whether Enter continues the text: the line ends in a backslash at the cursor.
    pub(super) fn ends_in_backslash(&self) -> bool {
        self.before_cursor().1.ends_with('\\') && self.after_cursor().is_empty()
    }

    pub(super) fn type_char(&mut self, c: char) {
        let is_at_begin = self.cursor() == (0, 0);
        // A joiner is clean only between its neighbours, and an emoji comes character by character.
        let between = many_lines(&format!("👩{c}👩")).chars().count();
        if c == '\n' || between < 3 {
            return;
        }
        self.area.insert_char(c);
        if is_at_begin {
            self.begins_pasted = false;
        }
    }

    pub(super) fn new_line(&mut self) {
        self.area.insert_newline();
    }

    pub(super) fn paste(&mut self, text: &str) {
        let text = many_lines(text);
        self.begins_pasted |= self.cursor() == (0, 0);
        self.has_paste = true;
        let lines = text.lines().count();
        let chars = text.chars().count();
        if lines <= MOST_LINES && chars <= MOST_CHARS {
            self.area.insert_str(&*text);
            return;
        }
        let size = if lines > 1 { format!("{lines} lines") } else { format!("{chars} characters") };
        let mut name = format!("[pasted {size}]");
        let mut number = 2;
        while self.pastes.iter().any(|it| it.name == name) {
            name = format!("[pasted {size} #{number}]");
            number += 1;
        }
        self.area.insert_str(&name);
        self.pastes.push(Paste { name, text: text.into_owned() });
    }

    pub(super) fn left(&mut self) {
        let unit = self.unit_before();
        self.back(unit.max(1));
    }

    pub(super) fn right(&mut self) {
        let unit = self.unit_after();
        self.forward(unit.max(1));
    }

    pub(super) fn word_left(&mut self) {
        let chars = self.word_before();
        self.back(chars);
    }

    pub(super) fn word_right(&mut self) {
        let chars = self.word_after();
        self.forward(chars);
    }

    pub(super) fn home(&mut self) {
        self.area.move_cursor(CursorMove::Head);
    }

    pub(super) fn end(&mut self) {
        self.area.move_cursor(CursorMove::End);
    }

    pub(super) fn backspace(&mut self) {
        let unit = self.unit_before();
        self.delete_before(unit, false);
    }

    pub(super) fn delete(&mut self) {
        let unit = self.unit_after();
        self.delete_after(unit, false);
    }

    pub(super) fn delete_word_left(&mut self) {
        let chars = self.word_before();
        self.delete_before(chars, true);
    }

    pub(super) fn delete_word_right(&mut self) {
        let chars = self.word_after();
        self.delete_after(chars, true);
    }

    pub(super) fn delete_to_begin(&mut self) {
        let chars = self.before_cursor().1.chars().count();
        self.delete_before(chars, true);
    }

    pub(super) fn delete_to_end(&mut self) {
        let chars = self.after_cursor().chars().count();
        self.delete_after(chars, true);
    }

    pub(super) fn yank(&mut self) {
        self.area.paste();
        self.begins_pasted |= self.has_paste;
    }

    pub(super) fn undo(&mut self) {
        self.area.undo();
        self.begins_pasted |= self.has_paste;
    }

    pub(super) fn redo(&mut self) {
        self.area.redo();
        self.begins_pasted |= self.has_paste;
    }

    /// Replaces a word before the cursor.
    pub(super) fn replace_before(&mut self, word: &str, with: &str) {
        if self.before_cursor().1.ends_with(word) {
            let begins_pasted = self.begins_pasted;
            self.delete_before(word.chars().count(), false);
            self.area.insert_str(with);
            self.begins_pasted = begins_pasted;
        }
    }

    /// Moves to the row above. Returns `false` in the first row.
    pub(super) fn up(&mut self, columns: usize) -> bool {
        let rows = layout::rows(self.lines(), columns);
        let (row, column) = layout::place(&rows, self.lines(), self.cursor());
        let Some(above) = row.checked_sub(1) else { return false };
        self.go(&rows, above, column);
        true
    }

    /// Moves to the row below. Returns `false` in the last row.
    pub(super) fn down(&mut self, columns: usize) -> bool {
        let rows = layout::rows(self.lines(), columns);
        let (row, column) = layout::place(&rows, self.lines(), self.cursor());
        if row + 1 >= rows.len() {
            return false;
        }
        self.go(&rows, row + 1, column);
        true
    }

    fn go(&mut self, rows: &[layout::Row], row: usize, column: usize) {
        let Some(row) = rows.get(row) else { return };
        let Some(line) = self.lines().get(row.line) else { return };
        let mut at = layout::byte_at(row, line, column);
        // Never inside the name of a paste.
        let inside = |it: &Range<usize>| it.start < at && at < it.end;
        if let Some(name) = self.names_in(line).into_iter().find(inside) {
            at = name.start;
        }
        let chars = line[..at].chars().count();
        self.jump(row.line, chars);
    }

    /// Moves the cursor back in its line by some characters; from the beginning, over the line break.
    fn back(&mut self, chars: usize) {
        let DataCursor(row, column) = self.area.cursor();
        match column.checked_sub(chars) {
            Some(column) => self.jump(row, column),
            None => self.area.move_cursor(CursorMove::Back),
        }
    }

    /// Moves the cursor forward in its line by some characters; from the end, over the line break.
    fn forward(&mut self, chars: usize) {
        let DataCursor(row, column) = self.area.cursor();
        if self.after_cursor().is_empty() {
            self.area.move_cursor(CursorMove::Forward);
        } else {
            self.jump(row, column + chars);
        }
    }

    fn jump(&mut self, row: usize, column: usize) {
        let cell = |it: usize| u16::try_from(it).unwrap_or(u16::MAX);
        self.area.move_cursor(CursorMove::Jump(cell(row), cell(column)));
    }

    /// The characters of the paste or grapheme before the cursor; 0 at the beginning of a line.
    fn unit_before(&self) -> usize {
        let (row, before) = self.before_cursor();
        let line = &self.lines()[row];
        let name = self.names_in(line).into_iter().find(|it| it.end == before.len());
        let unit = match name {
            Some(name) => &line[name],
            None => graphemes(before).next_back().unwrap_or_default(),
        };
        unit.chars().count()
    }

    /// The characters of the paste or grapheme behind the cursor; 0 at the end of a line.
    fn unit_after(&self) -> usize {
        let (row, at) = self.cursor();
        let line = &self.lines()[row];
        let name = self.names_in(line).into_iter().find(|it| it.start == at);
        let unit = match name {
            Some(name) => &line[name],
            None => graphemes(&line[at..]).next().unwrap_or_default(),
        };
        unit.chars().count()
    }

    /// The characters up to the beginning of the word, blanks included. At the beginning of a line, the
    /// line break.
    fn word_before(&self) -> usize {
        let (row, before) = self.before_cursor();
        let end = before.trim_end().len();
        let names = self.names_in(&self.lines()[row]);
        let word = before[..end].rfind(char::is_whitespace);
        let begin = word.map_or(0, |it| it + before[it..].chars().next().map_or(1, char::len_utf8));
        // The name of a paste has blanks: it is a word, and it ends the word behind it.
        let begin = match names.iter().rfind(|it| it.start < end && it.end > begin) {
            Some(name) if name.end >= end => name.start,
            Some(name) => name.end,
            None => begin,
        };
        let chars = before[begin..].chars().count();
        if chars == 0 { usize::from(row > 0) } else { chars }
    }

    /// The characters up to the end of the word, blanks included. At the end of a line, the line break.
    fn word_after(&self) -> usize {
        let (row, at) = self.cursor();
        let line = &self.lines()[row];
        let blanks = line[at..].len() - line[at..].trim_start().len();
        let begin = at + blanks;
        let end = line[begin..].find(char::is_whitespace).map_or(line.len(), |it| begin + it);
        let names = self.names_in(line);
        let end = match names.iter().find(|it| it.end > begin && it.start < end) {
            Some(name) if name.start <= begin => name.end,
            Some(name) => name.start,
            None => end,
        };
        let chars = line[at..end].chars().count();
        if chars == 0 { usize::from(row + 1 < self.lines().len()) } else { chars }
    }

    /// Deletes characters before the cursor; with none, the line break.
    fn delete_before(&mut self, chars: usize, is_kept: bool) {
        if chars == 0 {
            self.area.delete_newline();
        } else {
            self.back(chars);
            self.delete_after(chars, is_kept);
        }
        self.touched();
    }

    /// Deletes characters behind the cursor; with none, the line break. Only `is_kept` text can be
    /// inserted again by [`Draft::yank`].
    fn delete_after(&mut self, chars: usize, is_kept: bool) {
        let yank = self.area.yank_text();
        self.area.delete_str(chars.max(1));
        if !is_kept {
            self.area.set_yank_text(yank);
        }
        self.touched();
    }

    /// After a deletion: what was pasted may be at the beginning now.
    fn touched(&mut self) {
        if self.cursor() == (0, 0) {
            self.begins_pasted |= self.has_paste;
        }
    }
}
