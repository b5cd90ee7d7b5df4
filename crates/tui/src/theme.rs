//! Themes: the colours of styles on a terminal, and drawing styled lines with them. Pure.
//!
//! A view returns lines of `formats::text` whose styles say what a text is. A theme says how that
//! looks. [`draw`] puts a line into a buffer that is compared and drawn again; [`Theme::ansi`]
//! renders a line that is written once.

mod ansi;
mod draw;

use punchlist_formats::text::{Colour, Style};
use ratatui::style::{Color, Modifier, Style as Look};

pub(crate) use ansi::codes;
pub use draw::draw;

/// The looks of all styles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Theme {
    name: &'static str,
    /// The palette; without one, there are no colours.
    palette: Option<&'static Palette>,
}

/// The colours of a theme. The background is the terminal's own.
#[derive(PartialEq, Eq, Debug)]
struct Palette {
    red: Color,
    green: Color,
    yellow: Color,
    blue: Color,
    magenta: Color,
    cyan: Color,
    white: Color,
    grey: Color,
    /// Weaker text. `None`: the terminal dims it.
    dim: Option<Color>,
    /// Foreground and background of the new part of a line; `None`: green, swapped.
    added_word: Option<(Color, Color)>,
    /// Foreground and background of the part that is gone; `None`: red, swapped.
    removed_word: Option<(Color, Color)>,
}

/// For a dark background, from the 256 colours.
const DARK: Palette = Palette {
    red: Color::Indexed(210),
    green: Color::Indexed(114),
    yellow: Color::Indexed(221),
    blue: Color::Indexed(75),
    magenta: Color::Indexed(176),
    cyan: Color::Indexed(80),
    white: Color::Indexed(255),
    grey: Color::Indexed(246),
    dim: Some(Color::Indexed(246)),
    added_word: Some((Color::Indexed(194), Color::Indexed(22))),
    removed_word: Some((Color::Indexed(224), Color::Indexed(88))),
};

/// For a light background, from the 256 colours.
const LIGHT: Palette = Palette {
    red: Color::Indexed(124),
    green: Color::Indexed(22),
    yellow: Color::Indexed(94),
    blue: Color::Indexed(25),
    magenta: Color::Indexed(90),
    cyan: Color::Indexed(23),
    white: Color::Indexed(235),
    grey: Color::Indexed(241),
    dim: Some(Color::Indexed(241)),
    added_word: Some((Color::Indexed(22), Color::Indexed(157))),
    removed_word: Some((Color::Indexed(88), Color::Indexed(224))),
};

/// The brightest colours, for a black background. Nothing is dim.
const CONTRAST: Palette = Palette {
    red: Color::Indexed(210),
    green: Color::Indexed(120),
    yellow: Color::Indexed(226),
    blue: Color::Indexed(117),
    magenta: Color::Indexed(219),
    cyan: Color::Indexed(123),
    white: Color::Indexed(231),
    grey: Color::Indexed(252),
    dim: Some(Color::Indexed(252)),
    added_word: Some((Color::Indexed(16), Color::Indexed(120))),
    removed_word: Some((Color::Indexed(16), Color::Indexed(210))),
};

/// The terminal's own sixteen colours, which fit its background.
const SIXTEEN: Palette = Palette {
    red: Color::Red,
    green: Color::Green,
    yellow: Color::Yellow,
    blue: Color::Blue,
    magenta: Color::Magenta,
    cyan: Color::Cyan,
    white: Color::Gray,
    grey: Color::DarkGray,
    dim: None,
    added_word: None,
    removed_word: None,
};

impl Theme {
    /// The names of all themes, as a person types them.
    pub const NAMES: [&'static str; 4] = ["dark", "light", "contrast", "sixteen"];

    /// The theme with this name.
    pub fn named(name: &str) -> Option<Self> {
        let (name, palette) = match name {
            "dark" => ("dark", &DARK),
            "light" => ("light", &LIGHT),
            "contrast" => ("contrast", &CONTRAST),
            "sixteen" => ("sixteen", &SIXTEEN),
            _ => return None,
        };
        Some(Self { name, palette: Some(palette) })
    }

    /// The theme without colours, for `NO_COLOR`. Bold, underlined and swapped text stays.
    pub fn plain() -> Self {
        Self { name: "plain", palette: None }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// How a style looks.
    pub fn style(&self, style: Style) -> Look {
        let look = Look::new();
        match style {
            Style::Plain => look,
            Style::Dim => match self.palette.and_then(|it| it.dim) {
                Some(dim) => look.fg(dim),
                None if self.palette.is_some() => look.add_modifier(Modifier::DIM),
                None => look,
            },
            Style::Bold => look.add_modifier(Modifier::BOLD),
            Style::In(colour) => self.colour(colour),
            Style::BoldIn(colour) => self.colour(colour).add_modifier(Modifier::BOLD),
            Style::Caret => look.add_modifier(Modifier::REVERSED),
            Style::Italic => look.add_modifier(Modifier::ITALIC),
            Style::Struck => look.add_modifier(Modifier::CROSSED_OUT),
            Style::Link => self.colour(Colour::Blue).add_modifier(Modifier::UNDERLINED),
            Style::Code => self.colour(Colour::Cyan),
            Style::Added => self.colour(Colour::Green),
            Style::Removed => self.colour(Colour::Red),
            Style::AddedWord => self.word(Colour::Green, self.palette.and_then(|it| it.added_word)),
            Style::RemovedWord => {
                self.word(Colour::Red, self.palette.and_then(|it| it.removed_word))
            }
        }
    }

    fn colour(&self, colour: Colour) -> Look {
        let look = Look::new();
        self.palette.map_or(look, |palette| look.fg(palette.colour(colour)))
    }

    fn word(&self, colour: Colour, colours: Option<(Color, Color)>) -> Look {
        match colours {
            Some((text, behind)) => Look::new().fg(text).bg(behind),
            None => self.colour(colour).add_modifier(Modifier::REVERSED),
        }
    }
}

impl Default for Theme {
    /// The terminal's own colours: they fit whatever its background is.
    fn default() -> Self {
        Self { name: "sixteen", palette: Some(&SIXTEEN) }
    }
}

impl Palette {
    fn colour(&self, colour: Colour) -> Color {
        match colour {
            Colour::Red => self.red,
            Colour::Green => self.green,
            Colour::Yellow => self.yellow,
            Colour::Blue => self.blue,
            Colour::Magenta => self.magenta,
            Colour::Cyan => self.cyan,
            Colour::White => self.white,
            Colour::Grey => self.grey,
            Colour::Rgb(red, green, blue) => Color::Rgb(red, green, blue),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STYLES: [Style; 15] = [
        Style::Plain,
        Style::Dim,
        Style::Bold,
        Style::In(Colour::Red),
        Style::In(Colour::Grey),
        Style::BoldIn(Colour::Yellow),
        Style::Caret,
        Style::Italic,
        Style::Struck,
        Style::Link,
        Style::Code,
        Style::Added,
        Style::Removed,
        Style::AddedWord,
        Style::RemovedWord,
    ];

    #[test]
    fn every_name_is_a_theme_and_other_words_are_none() {
        for name in Theme::NAMES {
            assert_eq!(Theme::named(name).unwrap().name(), name);
        }
        for other in ["", "Dark", "plain", "solarized"] {
            assert_eq!(Theme::named(other), None, "{other}");
        }
        assert_eq!(Theme::default(), Theme::named("sixteen").unwrap());
    }

    #[test]
    fn without_colour_no_style_has_one() {
        for style in STYLES {
            let look = Theme::plain().style(style);
            assert_eq!((look.fg, look.bg), (None, None), "{style:?}");
        }
    }

    #[test]
    fn the_sixteen_colours_are_only_the_terminals_own() {
        for style in STYLES {
            let look = Theme::named("sixteen").unwrap().style(style);
            for colour in [look.fg, look.bg].into_iter().flatten() {
                assert!(!matches!(colour, Color::Indexed(_) | Color::Rgb(..)), "{style:?}");
            }
        }
    }

    /// A changed word must differ from the rest of its line in every theme, a heading from text, and
    /// so on: what differs in meaning differs in look.
    #[test]
    fn what_is_added_removed_or_marked_differs_in_every_theme() {
        let themes = Theme::NAMES.iter().filter_map(|it| Theme::named(it));
        for theme in themes.chain([Theme::plain()]) {
            let look = |it| theme.style(it);
            assert_ne!(look(Style::Added), look(Style::AddedWord), "{theme:?}");
            assert_ne!(look(Style::Removed), look(Style::RemovedWord), "{theme:?}");
            assert_ne!(look(Style::Plain), look(Style::Bold), "{theme:?}");
            assert_ne!(look(Style::Plain), look(Style::Caret), "{theme:?}");
            assert_ne!(look(Style::Plain), look(Style::Link), "{theme:?}");
        }
    }

    /// The luminance of a colour of the 256, as WCAG defines it.
    fn luminance(colour: Color) -> f64 {
        let Color::Indexed(index) = colour else { panic!("{colour:?} depends on the terminal") };
        let (red, green, blue) = match index {
            232..=255 => {
                let grey = 8 + 10 * (index - 232);
                (grey, grey, grey)
            }
            16..=231 => {
                let level = |it: u8| if it == 0 { 0 } else { 55 + 40 * it };
                let index = index - 16;
                (level(index / 36), level(index / 6 % 6), level(index % 6))
            }
            0..=15 => panic!("{index} depends on the terminal"),
        };
        let linear = |it: u8| {
            let it = f64::from(it) / 255.0;
            if it <= 0.040_45 { it / 12.92 } else { ((it + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    fn contrast(one: f64, other: f64) -> f64 {
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// 4.5 is what WCAG asks of text, 7 of text with enhanced contrast.
    #[test]
    fn every_colour_is_readable_on_the_background_that_its_theme_is_for() {
        for (name, background, least) in
            [("dark", 0.015, 4.5), ("light", 0.9, 4.5), ("contrast", 0.0, 7.0)]
        {
            let theme = Theme::named(name).unwrap();
            for style in STYLES {
                let look = theme.style(style);
                let Some(text) = look.fg else { continue };
                let behind = look.bg.map_or(background, luminance);
                let contrast = contrast(luminance(text), behind);
                assert!(contrast >= least, "{name} {style:?}: {contrast:.2}");
            }
        }
    }
}
