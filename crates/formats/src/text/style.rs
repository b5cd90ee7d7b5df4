//! Colours and styles, and their ANSI escapes.
//!
//! The caller decides whether colour is used.

/// The colours of the terminal's theme, without those that are hard to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "they are colours")]
pub enum Colour {
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
    White,
    Grey,
}

impl Colour {
    /// The colour with this name, in any case, with or without `bright`; `None` for other words.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        let name = name.trim_start_matches("bright").trim_end_matches("bright");
        match name.trim_matches(['-', '_', ' ']) {
            "red" => Some(Self::Red),
            "green" => Some(Self::Green),
            "yellow" => Some(Self::Yellow),
            "blue" => Some(Self::Blue),
            "magenta" => Some(Self::Magenta),
            "cyan" => Some(Self::Cyan),
            "white" => Some(Self::White),
            "grey" | "gray" | "black" => Some(Self::Grey),
            _ => None,
        }
    }

    fn code(self) -> &'static str {
        match self {
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Blue => "34",
            Self::Magenta => "35",
            Self::Cyan => "36",
            Self::White => "37",
            Self::Grey => "90",
        }
    }
}

/// How a span of a line looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// The terminal's default.
    #[default]
    Plain,
    /// Weaker than the rest.
    Dim,
    /// Stronger than the rest.
    Bold,
    /// In a colour.
    In(Colour),
    /// Bold, in a colour.
    BoldIn(Colour),
    /// The caret of an input field: foreground and background swapped. It needs no colour.
    Caret,
}

impl Style {
    /// The text in this style: with ANSI escapes, or bare without colour. A caret is marked even
    /// without colour, and on a blank.
    pub fn paint(self, text: &str, colour: bool) -> String {
        let code = match self {
            Self::Dim => "2".to_owned(),
            Self::Bold => "1".to_owned(),
            Self::In(it) => it.code().to_owned(),
            Self::BoldIn(it) => format!("1;{}", it.code()),
            Self::Caret => return format!("\u{1b}[7m{text}\u{1b}[0m"),
            Self::Plain => String::new(),
        };
        if code.is_empty() || !colour || text.trim().is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}
