//! The rows of a buffer as text with escape sequences. Pure.

use punchlist_formats::text;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

use super::frame::Row;
use crate::theme::codes;

/// The rows of a buffer, without the blanks at their ends.
pub(crate) fn rows(buffer: &Buffer) -> Vec<Row> {
    let area = buffer.area;
    (area.top()..area.bottom()).map(|y| row(buffer, y)).collect()
}

fn row(buffer: &Buffer, y: u16) -> Row {
    let area = buffer.area;
    let mut out = Row::default();
    let mut pen = Pen::default();
    // Blanks are written only if something follows.
    let mut blanks = 0;
    let mut covered = 0;
    for x in area.left()..area.right() {
        if covered > 0 {
            // The second column of a wide character.
            covered -= 1;
            continue;
        }
        let Some(cell) = buffer.cell((x, y)) else { continue };
        let symbol = cell.symbol();
        let is_blank = symbol == " "
            && cell.bg == Color::Reset
            && !cell.modifier.intersects(Modifier::REVERSED | Modifier::UNDERLINED);
        if is_blank {
            blanks += 1;
            continue;
        }
        if blanks > 0 {
            pen.change(Style::new(), &mut out.text);
            out.text.push_str(&" ".repeat(blanks));
            out.width += std::mem::take(&mut blanks);
        }
        let style = Style::new().fg(cell.fg).bg(cell.bg).add_modifier(cell.modifier);
        pen.change(style, &mut out.text);
        out.text.push_str(symbol);
        let width = text::width(symbol).max(1);
        out.width += width;
        covered = width - 1;
    }
    pen.change(Style::new(), &mut out.text);
    out
}

/// The style that is being written with.
#[derive(Default)]
struct Pen(Option<String>);

impl Pen {
    fn change(&mut self, style: Style, out: &mut String) {
        let codes = codes(style);
        let codes = (!codes.is_empty()).then_some(codes);
        if self.0 == codes {
            return;
        }
        if self.0.is_some() {
            out.push_str("\x1b[0m");
        }
        if let Some(codes) = &codes {
            out.push_str(&format!("\x1b[{codes}m"));
        }
        self.0 = codes;
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;

    use super::*;

    #[test]
    fn a_row_ends_with_its_last_character_and_leaves_no_style_behind() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 2));
        buffer.set_string(0, 0, "a", Style::new());
        buffer.set_string(3, 0, "日本", Style::new().fg(Color::Green).add_modifier(Modifier::BOLD));
        buffer.set_string(8, 0, "z", Style::new().fg(Color::Rgb(1, 2, 3)));
        let rows = rows(&buffer);
        let text = "a  \x1b[1;32m日本\x1b[0m \x1b[38;2;1;2;3mz\x1b[0m";
        assert_eq!(rows[0], Row { text: text.to_owned(), width: 9 });
        assert_eq!(rows[1], Row::default());
    }
}
