//! Tags around reminders, and lines of limited width.

use std::fmt;

/// The tag around a reminder: ASCII letters, digits, `-` and `_`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tag(String);

impl Tag {
    /// The default, `reminder`.
    pub fn reminder() -> Self {
        Self("reminder".to_owned())
    }

    /// `browser-state`, for `manager`.
    pub fn browser_state() -> Self {
        Self("browser-state".to_owned())
    }

    /// A tag by name, with or without angle brackets; `None` if the name is not valid.
    pub fn new(name: &str) -> Option<Self> {
        let inner = name.strip_prefix('<').and_then(|name| name.strip_suffix('>')).unwrap_or(name);
        let mut chars = inner.chars();
        let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
        let goes_on = chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        (starts && goes_on && inner.len() <= 64).then(|| Self(inner.to_owned()))
    }

    /// The text inside the tag. Titles are already cleaned. If a whole list nevertheless contains
    /// the end tag, the tag's bracket is removed.
    pub(super) fn around(&self, text: &str) -> String {
        let mut inside = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("</") {
            let (before, end) = rest.split_at(at);
            let name = end.as_bytes().get(2..2 + self.0.len());
            let closes = name.is_some_and(|name| name.eq_ignore_ascii_case(self.0.as_bytes()));
            inside.push_str(before);
            inside.push_str(if closes { "&lt;/" } else { "</" });
            rest = &end[2..];
        }
        inside.push_str(rest);
        format!("<{self}>{inside}</{self}>")
    }
}

impl Default for Tag {
    fn default() -> Self {
        Self::reminder()
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Wraps a paragraph at spaces to at most 90 columns. Only for Punchlist's own texts.
pub(super) fn fill(paragraph: &str) -> String {
    const WIDTH: usize = 90;
    let mut filled = String::with_capacity(paragraph.len());
    let mut column = 0;
    for word in paragraph.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            filled.push('\n');
            column = 0;
        } else if column > 0 {
            filled.push(' ');
            column += 1;
        }
        filled.push_str(word);
        column += length;
    }
    filled
}
