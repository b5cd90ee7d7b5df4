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
    /// An exact colour: red, green and blue.
    Rgb(u8, u8, u8),
}

impl Colour {
    /// The colour with this name, in any case, with or without `bright`, or `#rrggbb`; `None` for other
    /// words.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        if let Some(digits) = name.strip_prefix('#') {
            let is_exact = digits.len() == 6 && digits.bytes().all(|it| it.is_ascii_hexdigit());
            let number = is_exact.then(|| u32::from_str_radix(digits, 16).ok()).flatten()?;
            let [_, red, green, blue] = number.to_be_bytes();
            return Some(Self::Rgb(red, green, blue));
        }
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

    fn code(self) -> String {
        let code = match self {
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Blue => "34",
            Self::Magenta => "35",
            Self::Cyan => "36",
            Self::White => "37",
            Self::Grey => "90",
            Self::Rgb(red, green, blue) => return format!("38;2;{red};{green};{blue}"),
        };
        code.to_owned()
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
    /// Emphasis in a text.
    Italic,
    /// Crossed out.
    Struck,
    /// The text of a link.
    Link,
    /// Code in a text.
    Code,
    /// A line that a change adds.
    Added,
    /// A line that a change removes.
    Removed,
    /// The part of an added line that is new.
    AddedWord,
    /// The part of a removed line that is gone.
    RemovedWord,
}

impl Style {
    /// The text in this style: with ANSI escapes, or bare without colour. A caret is marked even
    /// without colour, and on a blank.
    pub fn paint(self, text: &str, colour: bool) -> String {
        let code = match self {
            Self::Dim => "2".to_owned(),
            Self::Bold => "1".to_owned(),
            Self::In(it) => it.code(),
            Self::BoldIn(it) => format!("1;{}", it.code()),
            Self::Caret => return format!("\u{1b}[7m{text}\u{1b}[0m"),
            Self::Italic => "3".to_owned(),
            Self::Struck => "9".to_owned(),
            Self::Link => "4".to_owned(),
            Self::Code => Colour::Cyan.code(),
            Self::Added => Colour::Green.code(),
            Self::Removed => Colour::Red.code(),
            Self::AddedWord => format!("7;{}", Colour::Green.code()),
            Self::RemovedWord => format!("7;{}", Colour::Red.code()),
            Self::Plain => String::new(),
        };
        // A changed blank is seen, other blanks need no style.
        let is_seen =
            matches!(self, Self::AddedWord | Self::RemovedWord) || !text.trim().is_empty();
        if code.is_empty() || !colour || !is_seen {
            return text.to_owned();
        }
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}
