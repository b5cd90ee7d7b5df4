//! Reads JSON with serde_json, one level at a time.
//!
//! A value is the text of the source (`RawValue`), so a text that is only passed on is never
//! unescaped or copied. [`Objects`] reads the objects of a line and validates the whole line;
//! reading inside the line cannot fail afterwards. The fields of an inner object are read when a
//! parser asks for them, or together with the line if the parser always needs them
//! ([`Objects::of`]). This module knows no agent.

mod check;
mod objects;

use std::borrow::Cow;
use std::fmt;

pub(crate) use check::check;
pub(crate) use objects::{Object, Objects, Part};
use punchlist_model::json_text::replace_lone_surrogates;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Maximum of fields of one object, and of elements of one array.
const MOST_VALUES: usize = 1 << 20;

/// Why bytes are not valid JSON.
#[derive(Debug)]
pub(crate) enum Flaw {
    /// Not UTF-8 from this byte on.
    Utf8(usize),
    /// serde_json refuses the value at this byte.
    Json(usize, serde_json::Error),
    /// There is something after the value, from this byte on.
    Trailing(usize),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Utf8(at) => write!(f, "not UTF-8 at byte {}", at + 1),
            Self::Json(at, error) => {
                let (line, column) = (error.line(), error.column());
                let text = error.to_string();
                let place = format!(" at line {line} column {column}");
                let what = text.strip_suffix(&place).unwrap_or(&text);
                match line {
                    0 | 1 => write!(f, "not JSON at byte {}: {what}", at + column),
                    _ => write!(f, "not JSON at line {line}, byte {column}: {what}"),
                }
            }
            Self::Trailing(at) => write!(f, "not JSON at byte {}: trailing characters", at + 1),
        }
    }
}

/// The text of some JSON in the form that serde_json accepts: without a byte order mark, and with
/// U+FFFD in place of lone surrogates.
pub(crate) fn text(json: &[u8]) -> Result<Cow<'_, str>, Flaw> {
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
    match replace_lone_surrogates(json) {
        Cow::Borrowed(json) => match std::str::from_utf8(json) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(error) => Err(Flaw::Utf8(error.valid_up_to())),
        },
        Cow::Owned(json) => match String::from_utf8(json) {
            Ok(text) => Ok(Cow::Owned(text)),
            Err(error) => Err(Flaw::Utf8(error.utf8_error().valid_up_to())),
        },
    }
}

/// A value as the source wrote it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'a>(&'a RawValue);

impl<'a> Value<'a> {
    /// Reads a text that is exactly one value.
    pub(crate) fn read(text: &'a str) -> Result<Self, Flaw> {
        serde_json::from_str(text).map(Self).map_err(|error| Flaw::Json(0, error))
    }

    fn first(self) -> u8 {
        self.raw().as_bytes().first().copied().unwrap_or(b'n')
    }

    /// The source text.
    pub(crate) fn raw(self) -> &'a str {
        self.0.get()
    }

    /// The source text, known to be JSON.
    pub(crate) fn raw_value(self) -> &'a RawValue {
        self.0
    }

    pub(crate) fn is_object(self) -> bool {
        self.first() == b'{'
    }

    pub(crate) fn is_array(self) -> bool {
        self.first() == b'['
    }

    pub(crate) fn is_null(self) -> bool {
        self.first() == b'n'
    }

    /// The string, if it is one.
    pub(crate) fn str(self) -> Option<Str<'a>> {
        (self.first() == b'"').then_some(Str(self.0))
    }

    pub(crate) fn bool(self) -> Option<bool> {
        self.raw().parse().ok()
    }

    /// The number, if it is a non-negative integer.
    pub(crate) fn u64(self) -> Option<u64> {
        self.raw().parse().ok()
    }

    /// The number, if it is an integer.
    pub(crate) fn i64(self) -> Option<i64> {
        self.raw().parse().ok()
    }

    /// The number, if a float can represent it.
    pub(crate) fn f64(self) -> Option<f64> {
        self.raw().parse().ok().filter(|it: &f64| it.is_finite())
    }

    /// The object, if it is one, with its fields.
    pub(crate) fn object(self) -> Option<Object<'a>> {
        self.is_object().then(|| Object::read(self.raw()))?
    }

    /// The elements of an array; empty for anything else.
    pub(crate) fn items(self) -> Vec<Self> {
        let read = || {
            let mut deserializer = serde_json::Deserializer::from_str(self.raw());
            deserializer.deserialize_seq(ReadItems).ok()
        };
        self.is_array().then(read).flatten().unwrap_or_default()
    }

    /// A field of an object. To read several fields, read the object first.
    pub(crate) fn get(self, name: &str) -> Option<Self> {
        self.object()?.get(name)
    }

    /// A field that is a string.
    pub(crate) fn text(self, name: &str) -> Option<Str<'a>> {
        self.get(name)?.str()
    }
}

struct ReadItems;

impl<'de> Visitor<'de> for ReadItems {
    type Value = Vec<Value<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            if items.len() < MOST_VALUES {
                items.push(Value(item));
            }
        }
        Ok(items)
    }
}

/// A string as the source wrote it, with its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Str<'a>(&'a RawValue);

impl<'a> Str<'a> {
    /// The literal with quotes and escapes.
    pub(crate) fn literal(self) -> &'a str {
        self.0.get()
    }

    /// The literal, known to be JSON.
    pub(crate) fn raw_value(self) -> &'a RawValue {
        self.0
    }

    /// The unescaped text.
    pub(crate) fn cow(self) -> Cow<'a, str> {
        unescape(self.literal())
    }

    /// Whether it is this text.
    pub(crate) fn is(self, text: &str) -> bool {
        self.cow() == text
    }
}

/// Unescapes a literal.
pub(crate) fn unescape(literal: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\\', literal.as_bytes()).is_none() {
        let inner = literal.get(1..literal.len().saturating_sub(1));
        return Cow::Borrowed(inner.unwrap_or_default());
    }
    Cow::Owned(serde_json::from_str(literal).unwrap_or_default())
}

/// Appends a text as a JSON literal.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("memory takes all that is written");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_utf8_is_told_with_its_place() {
        let flaw = text(b"{\"a\":\"\xff\"}").map_err(|it| it.to_string());
        assert_eq!(flaw, Err("not UTF-8 at byte 7".to_owned()));
        let flaw = text(b"\"\\ud83d\xff\"").map_err(|it| it.to_string());
        assert_eq!(flaw, Err("not UTF-8 at byte 8".to_owned()));
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        assert!(matches!(text(b"\xef\xbb\xbf{}"), Ok(Cow::Borrowed("{}"))));
    }

    #[test]
    fn a_surrogate_without_its_other_half_is_replaced() {
        let text = text(br#""a\ud83dz""#).expect("UTF-8");
        let value = Value::read(&text).expect("JSON");
        assert_eq!(value.str().expect("a string").cow(), "a\u{fffd}z");
    }

    #[test]
    fn the_number_of_elements_is_bounded() {
        let values = |count: usize| format!("[{}0]", "0,".repeat(count - 1));
        let count = |text: &str| Value::read(text).expect("JSON").items().len();
        assert_eq!(count(&values(MOST_VALUES)), MOST_VALUES);
        assert_eq!(count(&values(MOST_VALUES + 1)), MOST_VALUES);
    }

    #[test]
    fn the_last_field_of_a_name_counts() {
        let value = Value::read(r#"{"a":1,"b":{"a":2},"\u0061":3}"#).expect("JSON");
        let object = value.object().expect("an object");
        assert_eq!(object.get("a").and_then(|it| it.u64()), Some(3));
        assert_eq!(object.path(&["b", "a"]).and_then(|it| it.u64()), Some(2));
        assert!(object.get("c").is_none() && object.path(&["a", "a"]).is_none());
    }

    #[test]
    fn values_are_what_they_look_like() {
        let read = |json| Value::read(json).expect("JSON");
        assert_eq!((read("7").u64(), read("-7").u64(), read("7.0").u64()), (Some(7), None, None));
        assert_eq!((read("-7").i64(), read("\"7\"").i64()), (Some(-7), None));
        assert_eq!((read("2.5").f64(), read("1e999").f64()), (Some(2.5), None));
        assert_eq!((read("true").bool(), read("\"true\"").bool()), (Some(true), None));
        assert!(read("null").is_null() && read("{}").is_object() && read("[]").is_array());
        assert!(read("\"\\u0061b\"").str().expect("a string").is("ab"));
    }
}
