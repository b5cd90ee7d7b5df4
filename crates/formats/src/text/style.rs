//! Colours, and lines that are made of coloured pieces.
//!
//! Whether colour is wanted at all is the caller's to know. Width is counted on the text alone, so
//! that colour never moves anything.

use super::clean::isolated;
use super::glyph::Glyphs;
use super::width::{spaces, truncate_with, width};

/// The sixteen colours that every terminal's own theme defines, without the ones nobody can read.
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
    /// The colour with that name, in any case, with or without `bright`; `None` for other words.
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

/// How a piece of a line looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// As the terminal writes by itself.
    #[default]
    Plain,
    /// Weaker than the rest.
    Dim,
    /// Stronger than the rest.
    Bold,
    /// In a colour.
    In(Colour),
    /// In a colour, and stronger.
    BoldIn(Colour),
}

impl Style {
    /// The text in this style: with escapes of ours around it, or bare where colour is off.
    pub fn paint(self, text: &str, colour: bool) -> String {
        let code = match self {
            Self::Dim => "2".to_owned(),
            Self::Bold => "1".to_owned(),
            Self::In(it) => it.code().to_owned(),
            Self::BoldIn(it) => format!("1;{}", it.code()),
            Self::Plain => String::new(),
        };
        if code.is_empty() || !colour || text.trim().is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// A piece of text as the place where somebody types: the other way round, which needs no colour.
pub fn caret(text: &str) -> String {
    format!("\u{1b}[7m{text}\u{1b}[0m")
}

/// A line being put together. It knows how wide it is, and takes only clean text.
#[derive(Clone, Debug)]
pub struct Line {
    out: String,
    width: usize,
    colour: bool,
}

impl Line {
    /// An empty one.
    pub fn new(colour: bool) -> Self {
        Self { out: String::new(), width: 0, colour }
    }

    /// How many columns it takes so far.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Adds a piece.
    pub fn push(&mut self, text: &str, style: Style) -> &mut Self {
        self.width += width(text);
        self.out.push_str(&style.paint(text, self.colour));
        self
    }

    /// Adds somebody's text, cut to at most `most` columns and kept from disturbing its neighbours.
    pub fn push_text(
        &mut self,
        text: &str,
        most: usize,
        glyphs: Glyphs,
        style: Style,
    ) -> &mut Self {
        let cut = truncate_with(text, most, glyphs.ellipsis());
        self.push(&isolated(&cut), style)
    }

    /// Adds another line behind it.
    pub fn append(&mut self, other: Self) -> &mut Self {
        self.width += other.width;
        self.out.push_str(&other.out);
        self
    }

    /// Fills with spaces up to a column.
    pub fn fill(&mut self, to: usize) -> &mut Self {
        let missing = to.saturating_sub(self.width);
        self.push(&spaces(missing), Style::Plain)
    }

    /// The finished line.
    pub fn finish(self) -> String {
        self.out
    }
}
