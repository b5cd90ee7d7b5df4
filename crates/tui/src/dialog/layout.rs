//! The layout that all dialogs share: a head, a body, a foot with a status or an input, and the
//! keys in the last line.

use punchlist_formats::text::width::{graphemes, truncate_with};
use punchlist_formats::text::{Colour, Glyphs, Line, Style, isolated, one_line, width};

use crate::line_editor::LineEditor;

/// Keys and what they do.
pub(super) type Hint = (&'static str, &'static str);

/// The parts of a screen.
pub(super) struct Page {
    /// The heading.
    pub(super) head: Line,
    /// Lines above the keys: a status, or a question with an input line.
    pub(super) foot: Vec<Line>,
    /// The keys, the most important ones first.
    pub(super) keys: &'static [Hint],
    /// Which signs the terminal can show.
    pub(super) glyphs: Glyphs,
}

impl Page {
    /// How many rows are left for the body.
    pub(super) fn rows(&self, height: usize) -> usize {
        height.saturating_sub(2 + self.foot.len()).max(1)
    }

    /// The screen. The body is called with its number of rows. Where there is no room, the head
    /// goes first, then the keys.
    pub(super) fn draw(
        self,
        columns: usize,
        height: usize,
        body: impl FnOnce(usize) -> Vec<Line>,
    ) -> Vec<Line> {
        let rows = self.rows(height);
        let mut lines = Vec::with_capacity(height);
        if height > rows + self.foot.len() {
            lines.push(self.head);
        }
        let mut body = body(rows);
        body.resize(rows, Line::new());
        lines.extend(body);
        lines.extend(self.foot);
        lines.push(keys(self.keys, columns, self.glyphs));
        lines.truncate(height);
        lines
    }
}

/// A heading on the left and a note on the right. The heading is cut before the note.
pub(super) fn head(text: &str, note: &str, columns: usize, glyphs: Glyphs) -> Line {
    let note = truncate_with(note, columns, glyphs.ellipsis());
    let room = columns.saturating_sub(width(&note) + 2);
    let mut line = Line::new();
    line.push_text(&one_line(text), room, glyphs, Style::Bold);
    line.fill(columns.saturating_sub(width(&note))).push(&note, Style::Dim);
    line
}

/// The keys that fit, and always the last one, which shows all of them.
fn keys(hints: &[Hint], columns: usize, glyphs: Glyphs) -> Line {
    let text = |hint: &Hint| format!("{} {}", hint.0, hint.1);
    let Some((last, first)) = hints.split_last() else { return Line::new() };
    let mut words = Vec::new();
    let mut room = columns.saturating_sub(width(&text(last)));
    for hint in first {
        let wide = width(&text(hint)) + 2;
        if wide > room {
            break;
        }
        room -= wide;
        words.push(text(hint));
    }
    words.push(text(last));
    let mut line = Line::new();
    line.push_text(&words.join("  "), columns, glyphs, Style::Dim);
    line
}

/// The keys of a dialog as lines of help.
pub(super) fn help(hints: &[Hint]) -> Vec<Line> {
    let most = hints.iter().map(|it| width(it.0)).max().unwrap_or(0);
    let line = |hint: &Hint| {
        let mut line = Line::new();
        line.fill(2).push(hint.0, Style::Bold).fill(2 + most + 2).push(hint.1, Style::Plain);
        line
    };
    hints.iter().map(line).collect()
}

/// What a status says, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Status {
    /// Something was done.
    Told(String),
    /// Something was refused.
    Refused(String),
}

/// The lines of a status, one empty line if there is none. A long text gets several lines, at most
/// a third of the screen.
pub(super) fn status(
    status: Option<&Status>,
    columns: usize,
    height: usize,
    glyphs: Glyphs,
) -> Vec<Line> {
    let (text, style) = match status {
        None => return vec![Line::new()],
        Some(Status::Told(text)) => (text, Style::Plain),
        Some(Status::Refused(text)) => (text, Style::In(Colour::Yellow)),
    };
    let most = (height / 3).max(1);
    let mut lines = Vec::new();
    for text in text.lines().filter(|it| !it.trim().is_empty()) {
        let line = Line::of(&isolated(&one_line(text)), style);
        lines.extend(rows(&line, columns));
    }
    let is_cut = lines.len() > most;
    lines.truncate(most);
    if let Some(last) = lines.last_mut().filter(|_| is_cut) {
        let text = format!("{} {}", last.to_plain(), glyphs.ellipsis());
        let room = columns.saturating_sub(width(glyphs.ellipsis()) + 1);
        *last = match width(&text) > columns {
            true => {
                let start = truncate_with(&last.to_plain(), room, "").into_owned();
                Line::of(&format!("{start} {}", glyphs.ellipsis()), style)
            }
            false => Line::of(&text, style),
        };
    }
    if lines.is_empty() { vec![Line::new()] } else { lines }
}

/// A question and the line in which it is answered.
pub(super) fn input(
    question: &str,
    editor: &LineEditor,
    columns: usize,
    glyphs: Glyphs,
) -> Vec<Line> {
    let mut label = Line::new();
    label.push_text(&one_line(question), columns, glyphs, Style::Bold);
    let mut line = Line::of("> ", Style::Dim);
    line.append(editor.shown(columns.saturating_sub(2), glyphs));
    vec![label, line]
}

/// The mark before the selected row, or blanks of the same width.
pub(super) fn mark(is_selected: bool, glyphs: Glyphs) -> Line {
    match (is_selected, glyphs) {
        (false, _) => Line::of("  ", Style::Plain),
        (true, Glyphs::Ascii) => Line::of("> ", Style::BoldIn(Colour::Cyan)),
        (true, Glyphs::Emoji | Glyphs::Unicode) => Line::of("› ", Style::BoldIn(Colour::Cyan)),
    }
}

/// A line in rows of at most `columns`, broken between words where possible. Continuation rows are
/// indented two columns further. Nothing but blanks at a break is lost.
pub(super) fn rows(line: &Line, columns: usize) -> Vec<Line> {
    if line.width() <= columns {
        return vec![line.clone()];
    }
    let columns = columns.max(2);
    let mut cells: Vec<(&str, Style)> = Vec::new();
    for span in line.spans() {
        cells.extend(graphemes(&span.text).map(|it| (it, span.style)));
    }
    let indent = cells.iter().take_while(|it| it.0 == " ").count();
    let hang = (indent + 2).min(columns / 4);
    let mut rows = Vec::new();
    let mut from = 0;
    while from < cells.len() {
        let hang = if from == 0 { 0 } else { hang };
        let (mut end, mut wide) = (from, hang);
        while let Some(cell) = cells.get(end) {
            wide += width(cell.0);
            if wide > columns && end > from {
                break;
            }
            end += 1;
        }
        let is_last = end == cells.len();
        let blank = cells[from..end].iter().rposition(|it| it.0 == " ").map(|it| from + it);
        // Indentation is no place to break.
        let is_inside = |at: &usize| cells[from..*at].iter().any(|it| it.0 != " ");
        let cut = match (is_last, cells.get(end), blank.filter(is_inside)) {
            (true, _, _) | (_, Some((" ", _)), _) | (_, _, None) => end,
            (_, _, Some(at)) => at,
        };
        rows.push(joined(&cells[from..cut]).indented(hang));
        from = cut;
        while cells.get(from).is_some_and(|it| it.0 == " ") {
            from += 1;
        }
    }
    rows
}

fn joined(cells: &[(&str, Style)]) -> Line {
    let mut line = Line::new();
    for run in cells.chunk_by(|one, other| one.1 == other.1) {
        let text: String = run.iter().map(|it| it.0).collect();
        line.push(&text, run.first().map(|it| it.1).unwrap_or_default());
    }
    line.trimmed_end()
}

/// Two columns of lines, with a line between them. The left one is `left_columns` wide.
pub(super) fn beside(
    left: Vec<Line>,
    left_columns: usize,
    right: Vec<Line>,
    height: usize,
    glyphs: Glyphs,
) -> Vec<Line> {
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let row = |_| {
        let mut line = left.next().unwrap_or_default();
        line.fill(left_columns).push(" ", Style::Plain);
        line.push(glyphs.frame().down, Style::Dim).push(" ", Style::Plain);
        line.append(right.next().unwrap_or_default());
        line
    };
    (0..height).map(row).collect()
}

/// Whether all words of a filter occur in a text, in any case.
pub(super) fn fits(filter: &str, text: &str) -> bool {
    let text = text.to_lowercase();
    filter.to_lowercase().split_whitespace().all(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn wrapped(text: &str, columns: usize, expected: &[&str]) {
        let rows = rows(&Line::of(text, Style::Plain), columns);
        assert_eq!(rows.iter().map(Line::to_plain).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_wide_line_is_broken_between_words_or_inside_a_long_word() {
        wrapped("", 5, &[""]);
        wrapped("one two", 7, &["one two"]);
        wrapped("one two three", 8, &["one two", "  three"]);
        wrapped("one two three", 7, &["one two", " three"]);
        wrapped("abcdefghij", 4, &["abcd", " efg", " hij"]);
        wrapped("  abcdefghijklmnopqr", 16, &["  abcdefghijklmn", "    opqr"]);
        wrapped("日本語 日本語", 7, &["日本語", " 日本語"]);
        wrapped("日本語", 1, &["日", "本", "語"]);
    }

    #[test]
    fn styles_stay_where_they_were() {
        let mut line = Line::of("name ", Style::Dim);
        line.push("value", Style::Bold);
        let rows = rows(&line, 6);
        let value = Line::of("value", Style::Bold).indented(1);
        assert_eq!(rows, [Line::of("name", Style::Dim), value]);
    }

    #[test]
    fn keys_that_do_not_fit_go_but_the_last_stays() {
        let hints = [("j/k", "move"), ("Enter", "open"), ("Esc", "close"), ("?", "keys")];
        let text = |columns| keys(&hints, columns, Glyphs::Unicode).to_plain();
        assert_eq!(text(60), "j/k move  Enter open  Esc close  ? keys");
        assert_eq!(text(30), "j/k move  Enter open  ? keys");
        assert_eq!(text(7), "? keys");
    }

    #[test]
    fn a_long_status_gets_several_lines_and_says_that_it_was_cut() {
        let text =
            Status::Refused("item 3 cannot be completed: item 5 under it is open".to_owned());
        let lines = status(Some(&text), 20, 12, Glyphs::Unicode);
        assert_eq!(
            lines.iter().map(Line::to_plain).collect::<Vec<_>>(),
            ["item 3 cannot be", "  completed: item 5", "  under it is open"]
        );
        let lines = status(Some(&text), 20, 6, Glyphs::Unicode);
        assert_eq!(
            lines.iter().map(Line::to_plain).collect::<Vec<_>>(),
            ["item 3 cannot be", "  completed: item …"]
        );
    }
}
