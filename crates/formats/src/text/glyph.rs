//! The signs that views draw, in three sets.

use punchlist_model::Status;

/// Which signs a terminal can show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Glyphs {
    /// Emoji: two columns wide, with their own colours.
    Emoji,
    /// Line drawing and simple signs, one column wide.
    #[default]
    Unicode,
    /// For terminals and files without Unicode.
    Ascii,
}

/// What a sign says about an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// Completed.
    Done,
    /// In progress.
    Active,
    /// Pending.
    Open,
    /// Open and waiting.
    Waiting,
    /// Cancelled.
    Cancelled,
}

impl From<Status> for Sign {
    fn from(status: Status) -> Self {
        match status {
            Status::Pending => Self::Open,
            Status::InProgress => Self::Active,
            Status::Completed => Self::Done,
            Status::Cancelled => Self::Cancelled,
        }
    }
}

/// The characters of a frame.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names say where each character is used")]
pub struct Frame {
    pub top_left: &'static str,
    pub top_right: &'static str,
    pub bottom_left: &'static str,
    pub bottom_right: &'static str,
    pub across: &'static str,
    pub down: &'static str,
}

impl Glyphs {
    /// All sets.
    pub const ALL: [Self; 3] = [Self::Emoji, Self::Unicode, Self::Ascii];

    /// The set with this name, as options and settings spell it.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.as_str() == name)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Emoji => "emoji",
            Self::Unicode => "unicode",
            Self::Ascii => "ascii",
        }
    }

    /// The sign for an item. All signs of a set have the same width.
    pub fn sign(self, sign: Sign) -> &'static str {
        match (self, sign) {
            (Self::Emoji, Sign::Done) => "✅",
            (Self::Emoji, Sign::Active) => "🔄",
            (Self::Emoji, Sign::Open) => "⬜",
            (Self::Emoji, Sign::Waiting) => "⏳",
            (Self::Emoji, Sign::Cancelled) => "❌",
            (Self::Unicode, Sign::Done) => "✓",
            (Self::Unicode, Sign::Active) => "▶",
            (Self::Unicode, Sign::Open) => "○",
            (Self::Unicode, Sign::Waiting) => "◔",
            (Self::Unicode, Sign::Cancelled) => "✗",
            (Self::Ascii, Sign::Waiting) => "[~]",
            (Self::Ascii, Sign::Done | Sign::Active | Sign::Open | Sign::Cancelled) => marker(sign),
        }
    }

    /// The sign for omitted text.
    pub fn ellipsis(self) -> &'static str {
        match self {
            Self::Emoji | Self::Unicode => "…",
            Self::Ascii => "...",
        }
    }

    /// The arrow between two statuses.
    pub fn arrow(self) -> &'static str {
        match self {
            Self::Emoji | Self::Unicode => "→",
            Self::Ascii => "->",
        }
    }

    /// The sign before the heading of a plan, with a space.
    pub fn clipboard(self) -> &'static str {
        match self {
            Self::Emoji | Self::Unicode => "📋 ",
            Self::Ascii => "",
        }
    }

    /// The done and the open part of a bar.
    pub fn bar(self) -> (&'static str, &'static str) {
        match self {
            Self::Emoji | Self::Unicode => ("█", "░"),
            Self::Ascii => ("#", "."),
        }
    }

    /// The characters of a frame.
    pub fn frame(self) -> Frame {
        match self {
            Self::Emoji | Self::Unicode => Frame {
                top_left: "┌",
                top_right: "┐",
                bottom_left: "└",
                bottom_right: "┘",
                across: "─",
                down: "│",
            },
            Self::Ascii => Frame {
                top_left: "+",
                top_right: "+",
                bottom_left: "+",
                bottom_right: "+",
                across: "-",
                down: "|",
            },
        }
    }
}

/// The marker of plain text and Markdown.
pub fn marker(sign: Sign) -> &'static str {
    match sign {
        Sign::Done => "[x]",
        Sign::Active => "[>]",
        Sign::Open | Sign::Waiting => "[ ]",
        Sign::Cancelled => "[-]",
    }
}
