//! Renders a styled line as text with escape sequences, for output that is written once.

use punchlist_formats::text::Line;
use ratatui::style::{Color, Modifier, Style as Look};

use super::Theme;

impl Theme {
    /// The line with the escape sequences of this theme. Every style ends where its text ends.
    pub fn ansi(&self, line: &Line) -> String {
        let mut out = String::new();
        for span in line.spans() {
            let codes = codes(self.style(span.style));
            if codes.is_empty() {
                out.push_str(&span.text);
            } else {
                out.push_str(&format!("\x1b[{codes}m{}\x1b[0m", span.text));
            }
        }
        out
    }
}

/// The parameters of the escape sequence that sets this look; empty if there is nothing to set.
pub(crate) fn codes(look: Look) -> String {
    const MODIFIERS: [(Modifier, &str); 6] = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
        (Modifier::CROSSED_OUT, "9"),
    ];
    let set = MODIFIERS.into_iter().filter(|it| look.add_modifier.contains(it.0));
    let mut codes: Vec<String> = set.map(|it| it.1.to_owned()).collect();
    codes.extend(look.fg.and_then(|it| colour(it, 30)));
    codes.extend(look.bg.and_then(|it| colour(it, 40)));
    codes.join(";")
}

/// The parameter for a colour: `base` is 30 for text and 40 for what is behind it.
fn colour(colour: Color, base: u8) -> Option<String> {
    let bright = base + 60;
    let code = match colour {
        Color::Reset => return None,
        Color::Black => base,
        Color::Red => base + 1,
        Color::Green => base + 2,
        Color::Yellow => base + 3,
        Color::Blue => base + 4,
        Color::Magenta => base + 5,
        Color::Cyan => base + 6,
        Color::Gray => base + 7,
        Color::DarkGray => bright,
        Color::LightRed => bright + 1,
        Color::LightGreen => bright + 2,
        Color::LightYellow => bright + 3,
        Color::LightBlue => bright + 4,
        Color::LightMagenta => bright + 5,
        Color::LightCyan => bright + 6,
        Color::White => bright + 7,
        Color::Indexed(index) => return Some(format!("{};5;{index}", base + 8)),
        Color::Rgb(red, green, blue) => {
            return Some(format!("{};2;{red};{green};{blue}", base + 8));
        }
    };
    Some(code.to_string())
}

#[cfg(test)]
mod tests {
    use punchlist_formats::text::{Colour, Style};

    use super::*;

    #[test]
    fn a_line_has_the_escapes_of_its_theme() {
        let mut line = Line::of("a", Style::Plain);
        line.push("b", Style::BoldIn(Colour::Green)).push(" ", Style::RemovedWord);
        let ansi = |name| Theme::named(name).unwrap().ansi(&line);
        assert_eq!(ansi("sixteen"), "a\x1b[1;32mb\x1b[0m\x1b[7;31m \x1b[0m");
        assert_eq!(ansi("dark"), "a\x1b[1;38;5;114mb\x1b[0m\x1b[38;5;224;48;5;88m \x1b[0m");
        assert_eq!(Theme::plain().ansi(&line), "a\x1b[1mb\x1b[0m\x1b[7m \x1b[0m");
    }
}
