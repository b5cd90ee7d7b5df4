//! An editor for one line: moving, deleting, pasting, and scrolling to the part that fits. Pure.
//!
//! The cursor moves by grapheme clusters. A pasted line break is kept, and shown as a symbol.

use punchlist_formats::text::width::{graphemes, width};
use punchlist_formats::text::{Glyphs, Line, Style, many_lines};

use crate::keys::Key;

/// Maximum length of a line in bytes.
const LONGEST: usize = 16 * 1024;

/// A line that is being edited.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LineEditor {
    before: String,
    after: String,
}

impl LineEditor {
    /// A line with the cursor at its end.
    pub(crate) fn new(text: &str) -> Self {
        let mut editor = Self::default();
        editor.insert(text);
        editor
    }

    /// The text of the line.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.before, self.after)
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: &Key) {
        match key {
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => self.insert(text),
            Key::Left | Key::Ctrl('b') => self.left(),
            Key::Right | Key::Ctrl('f') => self.right(),
            Key::WordLeft | Key::Alt('b') => self.word_left(),
            Key::WordRight | Key::Alt('f') => self.word_right(),
            Key::Home | Key::Ctrl('a') => self.home(),
            Key::End | Key::Ctrl('e') => self.end(),
            Key::Backspace | Key::Ctrl('h') => drop(self.pop_before()),
            Key::Delete | Key::Ctrl('d') => drop(self.pop_after()),
            Key::Ctrl('u') => self.before.clear(),
            Key::Ctrl('k') => self.after.clear(),
            Key::Ctrl('w') | Key::WordBackspace => {
                let after = std::mem::take(&mut self.after);
                self.word_left();
                self.after = after;
            }
            Key::Alt('d') => {
                let before = self.before.clone();
                self.word_right();
                self.before = before;
            }
            Key::Enter
            | Key::Escape
            | Key::Tab
            | Key::Up
            | Key::Down
            | Key::Ctrl(_)
            | Key::Alt(_)
            | Key::AltEnter
            | Key::BackTab
            | Key::PageUp
            | Key::PageDown
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
    }

    /// Inserts a text, without invisible characters.
    fn insert(&mut self, text: &str) {
        for c in many_lines(text).chars() {
            if self.before.len() + self.after.len() < LONGEST {
                self.before.push(c);
            }
        }
    }

    fn pop_before(&mut self) -> Option<String> {
        let last = graphemes(&self.before).next_back()?.to_owned();
        self.before.truncate(self.before.len() - last.len());
        Some(last)
    }

    fn pop_after(&mut self) -> Option<String> {
        let first = graphemes(&self.after).next()?.to_owned();
        self.after.drain(..first.len());
        Some(first)
    }

    fn left(&mut self) {
        if let Some(it) = self.pop_before() {
            self.after.insert_str(0, &it);
        }
    }

    fn right(&mut self) {
        if let Some(it) = self.pop_after() {
            self.before.push_str(&it);
        }
    }

    fn home(&mut self) {
        self.after = self.text();
        self.before.clear();
    }

    fn end(&mut self) {
        self.before = self.text();
        self.after.clear();
    }

    /// Moves to the beginning of the word, skipping blanks first.
    fn word_left(&mut self) {
        let blanks = self.before.trim_end().len();
        let begin = self.before[..blanks].rfind(char::is_whitespace);
        let at =
            begin.map_or(0, |at| at + self.before[at..].chars().next().map_or(1, char::len_utf8));
        let word = self.before.split_off(at);
        self.after.insert_str(0, &word);
    }

    /// Moves to the end of the word, skipping blanks first.
    fn word_right(&mut self) {
        let blanks = self.after.len() - self.after.trim_start().len();
        let end = self.after[blanks..].find(char::is_whitespace);
        let at = end.map_or(self.after.len(), |at| blanks + at);
        let rest = self.after.split_off(at);
        self.before.push_str(&std::mem::replace(&mut self.after, rest));
    }

    /// The part of the line around the cursor that fits into `columns`, with marks where text is
    /// cut off.
    pub(crate) fn shown(&self, columns: usize, glyphs: Glyphs) -> Line {
        let cut = glyphs.ellipsis();
        let sign = if glyphs == Glyphs::Ascii { "$" } else { "↵" };
        let show = |it: &str| if it == "\n" { sign.to_owned() } else { it.to_owned() };
        let before: Vec<String> = graphemes(&self.before).map(show).collect();
        let mut after: Vec<String> = graphemes(&self.after).map(show).collect();
        // The cursor is on a character, or after the last one.
        let under = if after.is_empty() { " ".to_owned() } else { after.remove(0) };
        let wide = |all: &[String]| all.iter().map(|it| width(it)).sum::<usize>();
        let columns = columns.max(width(&under));
        let room = columns - width(&under);
        if wide(&before) + wide(&after) <= room {
            return with_caret(&before.concat(), &under, &after.concat());
        }
        // Two thirds of the room are for the text before the cursor, or more if the text after it
        // is short.
        let for_after = wide(&after).min(room / 3);
        let for_before = wide(&before).min(room - for_after);
        let for_after = room - for_before;
        let left = fitting(before.iter().rev(), for_before, wide(&before), cut);
        let left: String = left.into_iter().rev().collect();
        let right: String = fitting(after.iter(), for_after, wide(&after), cut).concat();
        with_caret(&left, &under, &right)
    }
}

fn with_caret(before: &str, under: &str, after: &str) -> Line {
    let mut line = Line::of(before, Style::Plain);
    line.push(under, Style::Caret).push(after, Style::Plain);
    line
}

/// As many characters as fit into the room, and a mark if some are cut off.
fn fitting<'a>(
    all: impl Iterator<Item = &'a String>,
    room: usize,
    wide: usize,
    cut: &str,
) -> Vec<String> {
    if wide <= room {
        return all.cloned().collect();
    }
    let Some(mut left) = room.checked_sub(width(cut)) else { return Vec::new() };
    let mut taken = Vec::new();
    for it in all {
        let Some(less) = left.checked_sub(width(it)) else { break };
        left = less;
        taken.push(it.clone());
    }
    taken.push(cut.to_owned());
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Decoder;

    /// Checks the line after these keys; `|` is the cursor.
    #[track_caller]
    fn check(text: &str, keys: &str, expected: &str) {
        let mut editor = LineEditor::new(text);
        Decoder::default().push(keys.as_bytes()).iter().for_each(|it| editor.key(it));
        assert_eq!(format!("{}|{}", editor.before, editor.after), expected, "{text:?} {keys:?}");
    }

    #[test]
    fn keys_move_and_change_the_line() {
        check("make all", "", "make all|");
        check("make all", "\u{1b}[D\u{1b}[Dx", "make ax|ll");
        check("make all", "\u{1b}[1~x", "x|make all");
        check("make all", "\u{1b}[Hx\u{1b}[F!", "xmake all!|");
        check("make all", "\u{1}x\u{5}y", "xmake ally|");
        check("make all", "\u{1}\u{1b}[3~", "|ake all");
        check("make all", "\u{1b}[D\u{15}", "|l");
        check("make all", "\u{1}\u{1b}[C\u{b}", "m|");
        check("make all  ", "\u{17}", "make |");
        check("make all", "\u{1b}[1;5D", "make |all");
        check("make all", "\u{1}\u{1b}[1;5C", "make| all");
        check("make all", "\u{1}\u{1b}d", "| all");
        check("make all", "\u{1b}b\u{1b}b\u{1b}f", "make| all");
        check("", "\u{7f}\u{1b}[D\u{1b}[C\u{1b}[3~\u{17}", "|");
    }

    #[test]
    fn a_character_is_what_a_reader_takes_for_one() {
        check("né 日本 👩‍👩‍👧", "\u{7f}", "né 日本 |");
        check("日本", "\u{1b}[D", "日|本");
        check("e\u{301}x", "\u{1b}[D\u{1b}[D", "|e\u{301}x");
    }

    #[test]
    fn what_is_pasted_goes_in_whole_and_what_cannot_be_seen_does_not() {
        check("a ", "\u{1b}[200~b\r\nc\td\u{1b}[201~", "a b\nc    d|");
        check("", "\u{1b}[200~rm \u{202e}x\u{7}\u{1b}[201~", "rm x|");
    }

    #[test]
    fn the_cursor_is_always_seen_and_what_is_left_out_is_said() {
        let long = "./publish.sh --with many --options that --go past --the edge";
        for text in [long, "日本語の長い行は幅が広いので切られることがある", "short", ""]
        {
            let mut editor = LineEditor::new(text);
            for step in 0..=text.chars().count() {
                for columns in [1, 2, 3, 8, 20, 200] {
                    let shown = editor.shown(columns, Glyphs::Unicode);
                    let bare = shown.to_plain();
                    assert!(shown.width() <= columns.max(2), "{columns} at {step}: {bare}");
                    let caret = shown.spans().iter().filter(|it| it.style == Style::Caret).count();
                    assert_eq!(caret, 1, "{columns} at {step}: {shown:?}");
                    let is_whole = bare.trim_end() == text;
                    assert!(is_whole || bare.contains('…') || columns < 8, "{columns}: {bare}");
                }
                editor.left();
            }
        }
        let end = LineEditor::new(long).shown(20, Glyphs::Unicode);
        assert_eq!(end.to_ansi(false), "…go past --the edge\u{1b}[7m \u{1b}[0m");
    }
}
