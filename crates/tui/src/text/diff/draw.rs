//! Draws a diff: one text below the other, or side by side.

use std::ops::Range;

use punchlist_formats::text::{Glyphs, Line, Span, Style};

use super::shown::spans;
use super::words::changed;
use super::{Numbered, Part};
use crate::text::wrap;

/// More lines are not drawn.
const MOST_LINES: usize = 2_000;
/// Below this width, there are no line numbers.
const WITH_NUMBERS: usize = 30;

/// The styles of a removed and of an added line, and of its marked words.
const REMOVED: (Style, Style) = (Style::Removed, Style::RemovedWord);
const ADDED: (Style, Style) = (Style::Added, Style::AddedWord);
const SAME: (Style, Style) = (Style::Plain, Style::Plain);

/// The parts as lines of at most `columns`.
pub(super) fn lines(
    parts: &[Part],
    columns: usize,
    is_side_by_side: bool,
    glyphs: Glyphs,
) -> Vec<Line> {
    let down = format!(" {} ", glyphs.frame().down);
    let half = (columns.saturating_sub(down.chars().count())) / 2;
    let room = if is_side_by_side { half } else { columns };
    let digits = if columns < WITH_NUMBERS { 0 } else { digits(parts) };
    let pen = Pen { room, digits, glyphs };
    let mut lines = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if lines.len() >= MOST_LINES {
            let left_out = parts[at..].iter().map(height).sum::<usize>();
            let text = format!("{} {left_out} more lines", glyphs.ellipsis());
            lines.extend(wrap::words(&[Span { text, style: Style::Dim }], columns));
            break;
        }
        match part {
            Part::Note(text, style) => {
                lines.extend(wrap::pieces(&spans(text, &[], (*style, *style), glyphs), columns));
            }
            Part::Same { old, new, text } => {
                let right = pen.line(*new, ' ', text, &[], SAME);
                if is_side_by_side {
                    let left = pen.line(*old, ' ', text, &[], SAME);
                    lines.extend(beside(left, right, half, &down));
                } else {
                    lines.extend(right);
                }
            }
            Part::Change { removed, added } if is_side_by_side => {
                for at in 0..removed.len().max(added.len()).min(MOST_LINES) {
                    let marks = marks(removed.get(at), added.get(at));
                    let left = pen.removed(removed.get(at), &marks.0);
                    let right = pen.added(added.get(at), &marks.1);
                    lines.extend(beside(left, right, half, &down));
                }
                lines.extend(pen.left_out(removed.len().max(added.len()), columns));
            }
            Part::Change { removed, added } => {
                for (at, line) in removed.iter().enumerate().take(MOST_LINES) {
                    lines.extend(pen.removed(Some(line), &marks(Some(line), added.get(at)).0));
                }
                lines.extend(pen.left_out(removed.len(), columns));
                for (at, line) in added.iter().enumerate().take(MOST_LINES) {
                    lines.extend(pen.added(Some(line), &marks(removed.get(at), Some(line)).1));
                }
                lines.extend(pen.left_out(added.len(), columns));
            }
        }
    }
    lines
}

/// How many lines of the files a part has.
fn height(part: &Part) -> usize {
    match part {
        Part::Note(..) | Part::Same { .. } => 1,
        Part::Change { removed, added } => removed.len() + added.len(),
    }
}

/// The width of the highest line number.
fn digits(parts: &[Part]) -> usize {
    let highest = |part: &Part| match part {
        Part::Note(..) => 0,
        Part::Same { old, new, .. } => *old.max(new),
        Part::Change { removed, added } => {
            removed.iter().chain(added).map(|it| it.number).max().unwrap_or(0)
        }
    };
    parts.iter().map(highest).max().unwrap_or(0).to_string().len()
}

/// The words that differ between the two lines of a pair.
fn marks(
    removed: Option<&Numbered>,
    added: Option<&Numbered>,
) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    match (removed, added) {
        (Some(removed), Some(added)) => changed(&removed.text, &added.text),
        (Some(_) | None, _) => (Vec::new(), Vec::new()),
    }
}

/// How a line of a file is drawn.
struct Pen {
    /// The columns of a line.
    room: usize,
    /// The columns of a line number; 0: there are none.
    digits: usize,
    glyphs: Glyphs,
}

impl Pen {
    fn removed(&self, line: Option<&Numbered>, marks: &[Range<usize>]) -> Vec<Line> {
        line.map_or_else(Vec::new, |it| self.line(it.number, '-', &it.text, marks, REMOVED))
    }

    fn added(&self, line: Option<&Numbered>, marks: &[Range<usize>]) -> Vec<Line> {
        line.map_or_else(Vec::new, |it| self.line(it.number, '+', &it.text, marks, ADDED))
    }

    /// A line of a file, wrapped: its number, a sign and its text.
    fn line(
        &self,
        number: usize,
        sign: char,
        text: &str,
        marks: &[Range<usize>],
        styles: (Style, Style),
    ) -> Vec<Line> {
        let mut head = Line::new();
        if self.digits > 0 {
            head.push(&format!("{number:>width$} ", width = self.digits), Style::Dim);
        }
        if self.room > 3 {
            head.push(&format!("{sign} "), styles.0);
        }
        let room = self.room.saturating_sub(head.width()).max(1);
        let texts = wrap::pieces(&spans(text, marks, styles, self.glyphs), room);
        let indent = head.width();
        let mut texts = texts.into_iter();
        head.append(texts.next().unwrap_or_default());
        let mut lines = vec![head.trimmed_end()];
        lines.extend(texts.map(|it| it.indented(indent)));
        lines
    }

    /// Says how many of these lines were not drawn, if any.
    fn left_out(&self, count: usize, columns: usize) -> Vec<Line> {
        if count <= MOST_LINES {
            return Vec::new();
        }
        let text = format!("{} {} more lines", self.glyphs.ellipsis(), count - MOST_LINES);
        wrap::words(&[Span { text, style: Style::Dim }], columns)
    }
}

/// Two columns, as high as the higher one.
fn beside(left: Vec<Line>, right: Vec<Line>, half: usize, down: &str) -> Vec<Line> {
    let height = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let mut lines = Vec::new();
    for _ in 0..height {
        let mut line = left.next().unwrap_or_default();
        line.fill(half).push(down, Style::Dim).append(right.next().unwrap_or_default());
        lines.push(line.trimmed_end());
    }
    lines
}
