//! Draws a styled line into a buffer.

use punchlist_formats::text::Line;
use punchlist_formats::text::width::{graphemes, width};
use ratatui::buffer::Buffer;

use super::Theme;

/// Draws a line at a position, in at most `width` columns. What does not fit is left out, and so is
/// everything outside the buffer.
///
/// A character without a width of its own, such as the isolates around a text that reads from right
/// to left, goes into the cell beside it, so that it is written with it.
pub fn draw(buffer: &mut Buffer, x: u16, y: u16, most: u16, line: &Line, theme: &Theme) {
    let area = buffer.area;
    if !(area.top()..area.bottom()).contains(&y) || x < area.left() {
        return;
    }
    let end = x.saturating_add(most).min(area.right());
    let mut at = x;
    // The cell that was drawn last, and what goes before the next one.
    let (mut last, mut before) = (None, String::new());
    for span in line.spans() {
        let look = theme.style(span.style);
        for grapheme in graphemes(&span.text) {
            let columns = u16::try_from(width(grapheme)).unwrap_or(u16::MAX);
            if columns == 0 {
                match last {
                    Some(last) if grapheme != OPENS => {
                        let symbol = format!("{}{grapheme}", buffer[(last, y)].symbol());
                        buffer[(last, y)].set_symbol(&symbol);
                    }
                    Some(_) | None => before.push_str(grapheme),
                }
                continue;
            }
            if end.saturating_sub(at) < columns {
                // An isolate that was opened is closed, also if its end is cut off.
                close(buffer, last, y);
                return;
            }
            let cell = &mut buffer[(at, y)];
            cell.set_style(look);
            if before.is_empty() {
                cell.set_symbol(grapheme);
            } else {
                cell.set_symbol(&(std::mem::take(&mut before) + grapheme));
            }
            for hidden in at + 1..at + columns {
                buffer[(hidden, y)].reset();
            }
            last = Some(at);
            at += columns;
        }
    }
}

/// The first-strong isolate, and its end.
const OPENS: &str = "\u{2068}";
const CLOSES: char = '\u{2069}';

/// Ends an isolate that begins in this row and does not end there.
fn close(buffer: &mut Buffer, last: Option<u16>, y: u16) {
    let Some(last) = last else { return };
    let row: String = (buffer.area.left()..=last).map(|x| buffer[(x, y)].symbol()).collect();
    let (opened, closed) = (row.matches(OPENS).count(), row.matches(CLOSES).count());
    if opened > closed {
        let symbol = format!("{}{CLOSES}", buffer[(last, y)].symbol());
        buffer[(last, y)].set_symbol(&symbol);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use punchlist_formats::text::{Glyphs, Style, isolated, one_line};
    use punchlist_testkit::naughty;
    use ratatui::layout::Rect;

    use super::*;

    fn row(buffer: &Buffer, y: u16) -> Vec<&str> {
        (buffer.area.left()..buffer.area.right()).map(|x| buffer[(x, y)].symbol()).collect()
    }

    #[test]
    fn wide_characters_take_two_cells_and_none_is_cut_in_half() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 5, 1));
        draw(&mut buffer, 0, 0, 5, &Line::of("日本語", Style::Plain), &Theme::plain());
        assert_eq!(row(&buffer, 0), ["日", " ", "本", " ", " "]);
    }

    #[test]
    fn isolates_are_drawn_with_the_text_that_they_isolate_and_always_closed() {
        let mut line = Line::of("1 ", Style::Dim);
        line.push(&isolated("שלום"), Style::Plain).push(" x", Style::Plain);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 8, 1));
        draw(&mut buffer, 0, 0, 8, &line, &Theme::plain());
        assert_eq!(row(&buffer, 0), ["1", " ", "\u{2068}ש", "ל", "ו", "ם\u{2069}", " ", "x"]);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 4, 1));
        draw(&mut buffer, 0, 0, 4, &line, &Theme::plain());
        assert_eq!(row(&buffer, 0), ["1", " ", "\u{2068}ש", "ל\u{2069}"]);
    }

    #[test]
    fn nothing_is_drawn_outside_the_width_or_the_buffer() {
        let line = Line::of("abcdef", Style::Bold);
        let mut buffer = Buffer::empty(Rect::new(2, 1, 4, 2));
        for (x, y, most) in [(0, 1, 9), (2, 0, 9), (2, 3, 9), (6, 1, 9), (4, 2, 0)] {
            draw(&mut buffer, x, y, most, &line, &Theme::plain());
            assert_eq!(buffer, Buffer::empty(buffer.area), "{x} {y} {most}");
        }
        draw(&mut buffer, 3, 2, 2, &line, &Theme::plain());
        assert_eq!(row(&buffer, 2), [" ", "a", "b", " "]);
    }

    proptest! {
        #[test]
        fn any_clean_line_is_drawn_within_its_columns(
            text in any::<String>(),
            piece in prop::sample::select(naughty_texts()),
            x in 0_u16..20,
            most in 0_u16..30,
        ) {
            let mut line = Line::new();
            line.push_text(&one_line(&(text + &piece)), 50, Glyphs::Unicode, Style::Bold);
            let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 1));
            draw(&mut buffer, x, 0, most, &line, &Theme::plain());
            for column in (0..x).chain(x.saturating_add(most)..20) {
                prop_assert_eq!(buffer[(column, 0)].symbol(), " ");
            }
            prop_assert!(!row(&buffer, 0).concat().chars().any(char::is_control));
        }
    }

    fn naughty_texts() -> Vec<String> {
        naughty().into_iter().map(|it| it.text).filter(|it| it.len() < 1_000).collect()
    }
}
