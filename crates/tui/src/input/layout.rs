//! Which part of which line is in which row, for a width.

use punchlist_formats::text::width::{graphemes, width};

/// A row: a part of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Row {
    /// The line.
    pub(super) line: usize,
    /// The first byte.
    pub(super) from: usize,
    /// The byte behind the last one.
    pub(super) to: usize,
}

/// The rows of some lines, broken behind blanks where there are any.
pub(super) fn rows(lines: &[String], columns: usize) -> Vec<Row> {
    let columns = columns.max(1);
    let mut rows = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let (mut from, mut taken, mut at) = (0, 0, 0);
        let mut blank = None;
        for grapheme in graphemes(line) {
            let wide = width(grapheme);
            // A blank at the end of a full row is put into the column of the cursor.
            let hangs = grapheme == " " && taken == columns;
            if taken + wide > columns && at > from && !hangs {
                let to = blank.unwrap_or(at);
                rows.push(Row { line: number, from, to });
                (from, blank) = (to, None);
                taken = width(&line[from..at]);
            }
            taken += wide;
            at += grapheme.len();
            if grapheme == " " {
                blank = Some(at);
            }
        }
        rows.push(Row { line: number, from, to: line.len() });
    }
    rows
}

/// The row and the column of a cursor: a line, and a byte in it.
pub(super) fn place(
    rows: &[Row],
    lines: &[String],
    (line, byte): (usize, usize),
) -> (usize, usize) {
    let last = |it: &Row| it.line == line && it.from <= byte;
    let row = rows.iter().rposition(last).unwrap_or(0);
    let from = rows.get(row).map_or(0, |it| it.from);
    let before = lines.get(line).and_then(|it| it.get(from..byte)).unwrap_or_default();
    (row, width(before))
}

/// The byte at a column of a row, or the last one of the row.
pub(super) fn byte_at(row: &Row, line: &str, column: usize) -> usize {
    let text = line.get(row.from..row.to).unwrap_or_default();
    let mut taken = 0;
    let mut at = row.from;
    for grapheme in graphemes(text) {
        taken += width(grapheme);
        let next = at + grapheme.len();
        // The end of a row that goes on below is the beginning of the next one.
        if taken > column || (next == row.to && row.to < line.len()) {
            break;
        }
        at = next;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, columns: usize) -> Vec<String> {
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        rows(&lines, columns).iter().map(|it| lines[it.line][it.from..it.to].to_owned()).collect()
    }

    #[test]
    fn rows_break_behind_blanks_and_lose_nothing() {
        for (text, columns, expected) in [
            ("", 5, vec![""]),
            ("a\n\nb", 5, vec!["a", "", "b"]),
            ("one two three", 8, vec!["one two ", "three"]),
            ("one two three", 7, vec!["one two ", "three"]),
            ("abcdefgh", 3, vec!["abc", "def", "gh"]),
            ("a bcdefgh", 3, vec!["a ", "bcd", "efg", "h"]),
            ("日本語", 4, vec!["日本", "語"]),
            ("日本", 1, vec!["日", "本"]),
        ] {
            assert_eq!(shown(text, columns), expected, "{text:?} in {columns}");
            assert_eq!(shown(text, columns).concat(), text.replace('\n', ""));
        }
    }

    #[test]
    fn the_cursor_has_a_row_and_a_column() {
        let lines = ["one two three".to_owned(), "日本".to_owned()];
        let rows = rows(&lines, 8);
        for (cursor, expected) in [
            ((0, 0), (0, 0)),
            ((0, 7), (0, 7)),
            ((0, 8), (1, 0)),
            ((0, 13), (1, 5)),
            ((1, 3), (2, 2)),
            ((1, 6), (2, 4)),
        ] {
            assert_eq!(place(&rows, &lines, cursor), expected, "{cursor:?}");
        }
        assert_eq!(byte_at(&rows[0], &lines[0], 20), 7);
        assert_eq!(byte_at(&rows[1], &lines[0], 20), 13);
        assert_eq!(byte_at(&rows[2], &lines[1], 3), 3);
    }
}
