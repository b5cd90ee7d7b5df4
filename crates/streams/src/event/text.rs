//! Texts and JSON values that are passed on as the source wrote them.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::{self, Str, Value};

/// A text: a JSON literal of the source, or a plain text. Two texts are equal if their content is.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    /// A JSON string literal with its quotes. Only parsers create it.
    Raw(RawText<'a>),
    /// A plain text.
    Plain(Cow<'a, str>),
}

/// A JSON string literal with its quotes.
#[derive(Clone, Debug)]
pub struct RawText<'a>(Cow<'a, RawValue>);

impl RawText<'_> {
    fn literal(&self) -> &str {
        self.0.get()
    }
}

impl<'a> Text<'a> {
    /// A string of a line.
    pub(crate) fn raw(literal: Str<'a>) -> Self {
        Self::Raw(RawText(Cow::Borrowed(literal.raw_value())))
    }

    /// The text without quotes and escapes.
    pub fn to_str(&self) -> Cow<'_, str> {
        match self {
            Self::Raw(raw) => json::unescape(raw.literal()),
            Self::Plain(text) => Cow::Borrowed(text),
        }
    }

    /// Whether it begins with `prefix`, which must need no escapes in JSON.
    pub(crate) fn begins(&self, prefix: &str) -> bool {
        match self {
            Self::Raw(raw) => raw.literal().get(1..).is_some_and(|it| it.starts_with(prefix)),
            Self::Plain(text) => text.starts_with(prefix),
        }
    }

    /// Whether the text is blank.
    pub fn is_blank(&self) -> bool {
        let first = match self {
            Self::Raw(raw) => raw.literal().as_bytes().get(1),
            Self::Plain(text) => text.as_bytes().first(),
        };
        // Most texts begin with a letter, and need not be unescaped.
        !first.is_some_and(u8::is_ascii_alphanumeric) && self.to_str().trim().is_empty()
    }

    /// Borrows from this text.
    pub fn borrowed(&self) -> Text<'_> {
        match self {
            Self::Raw(RawText(raw)) => Text::Raw(RawText(Cow::Borrowed(raw))),
            Self::Plain(text) => Text::Plain(Cow::Borrowed(text)),
        }
    }

    /// Converts to a text that owns its content.
    pub fn into_owned(self) -> Text<'static> {
        match self {
            Self::Raw(RawText(raw)) => Text::Raw(RawText(Cow::Owned(raw.into_owned()))),
            Self::Plain(text) => Text::Plain(Cow::Owned(text.into_owned())),
        }
    }

    /// The approximate size in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Raw(raw) => raw.literal().len(),
            Self::Plain(text) => text.len(),
        }
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Raw(raw) => raw.literal().len() <= 2,
            Self::Plain(text) => text.is_empty(),
        }
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.to_str() == other.to_str()
    }
}

impl Eq for Text<'_> {}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self::Plain(Cow::Borrowed(text))
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self::Plain(Cow::Owned(text))
    }
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Raw(RawText(raw)) => raw.serialize(serializer),
            Self::Plain(text) => serializer.serialize_str(text),
        }
    }
}

/// Reads a text in any of the forms that agents use: a string, or several blocks, which become a
/// line each. `None` if it is empty.
pub(crate) fn joined(value: Value<'_>) -> Option<Text<'_>> {
    fn literal(value: Value<'_>) -> Option<Str<'_>> {
        value.str().or_else(|| value.text("text"))
    }
    let mut texts = match literal(value) {
        Some(text) => vec![text],
        None => value.items().into_iter().filter_map(literal).collect(),
    };
    let text = match (texts.len(), texts.pop()) {
        (_, None) => return None,
        (1, Some(only)) => Text::raw(only),
        (_, Some(last)) => {
            let all: Vec<Cow<'_, str>> = texts.into_iter().chain([last]).map(Str::cow).collect();
            Text::from(all.join("\n"))
        }
    };
    Some(text).filter(|it| !it.is_empty())
}

/// A JSON value of the source, with limited nesting and numbers that other readers accept. Never
/// `null`.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct RawJson<'a>(&'a RawValue);

impl<'a> RawJson<'a> {
    /// A text that is a JSON value.
    pub fn of(text: &'a str) -> Option<Self> {
        Self::checked(Value::read(text).ok()?).ok()?
    }

    /// A value of a line.
    pub(crate) fn checked(value: Value<'a>) -> Result<Option<Self>, json::Flaw> {
        json::check(value.raw())?;
        Ok(Some(Self(value.raw_value())).filter(|_| !value.is_null()))
    }

    /// The JSON text.
    pub fn get(&self) -> &'a str {
        self.0.get()
    }
}

impl PartialEq for RawJson<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for RawJson<'_> {}
